// How host kernels use threads: one function, so that every parallel region looks alike.
#pragma once

#include <algorithm>
#include <cstdint>

#include <lacuna/core/context.hpp>

namespace lacuna::detail::cpu {

/// Calls f(part, parts) for part = 0 .. parts - 1, each on a thread of its own. f must not throw:
/// allocate before. Small work (`size` below `grain`) stays on the calling thread.
template <class F>
void for_each_part(const host_context& ctx, std::int64_t size, std::int64_t grain, F&& f) {
  const int parts = static_cast<int>(
      std::clamp<std::int64_t>(size / std::max<std::int64_t>(grain, 1), 1, ctx.threads()));
  if (parts == 1) return f(0, 1);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) f(part, parts);
}

/// Calls f(part) for part = 0 .. parts - 1 on up to `threads` threads, each taking the next part
/// when it is done with one: for parts of equal size but unequal cost.
template <class F> void for_each_dynamic(int threads, int parts, F&& f) {
  if (threads == 1 || parts == 1) {
    for (int part = 0; part < parts; ++part) f(part);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int part = 0; part < parts; ++part) f(part);
}

/// First element of part `part` when `size` elements are dealt out evenly.
inline std::int64_t part_begin(std::int64_t size, int part, int parts) {
  return size / parts * part + std::min<std::int64_t>(part, size % parts);
}

/// Calls f(begin, end) on even shares of [0, size).
template <class F>
void for_each_range(const host_context& ctx, std::int64_t size, std::int64_t grain, F&& f) {
  for_each_part(ctx, size, grain, [&](int part, int parts) {
    f(part_begin(size, part, parts), part_begin(size, part + 1, parts));
  });
}

} // namespace lacuna::detail::cpu
