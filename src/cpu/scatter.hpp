// Stable counting sort of entries by row or column: the common part of coo -> csr and
// transposition.
#pragma once

#include <lacuna/core/array.hpp>

#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {

/// p[i + 1] becomes p[0] + … + p[i + 1], for i in [0, size). `sums` has an element per part.
template <class O>
void inclusive_scan(const host_context& ctx, O* p, std::int64_t size, array<std::int64_t>& sums) {
  const int parts = static_cast<int>(sums.size());
  for_each_part(ctx, parts, 1, [&](int part, int) {
    if (part + 1 == parts) return; // nobody needs the last sum
    const std::int64_t end = part_begin(size, part + 1, parts);
    std::int64_t sum = 0;
    for (std::int64_t i = part_begin(size, part, parts); i < end; ++i) sum += p[i + 1];
    sums[part] = sum;
  });
  for_each_part(ctx, parts, 1, [&](int part, int) {
    std::int64_t sum = p[0];
    for (int before = 0; before < part; ++before) sum += sums[before];
    const std::int64_t end = part_begin(size, part + 1, parts);
    for (std::int64_t i = part_begin(size, part, parts); i < end; ++i)
      p[i + 1] = static_cast<O>(sum += p[i + 1]);
  });
}

/// The entries of one thread and the window of keys that occur among them.
struct scatter_part {
  std::int64_t begin, end;
  std::int64_t low, high;
  std::int64_t slot; ///< where the window's counters begin
};

/// Deals the entries out and finds the windows; returns the size of all together. Where counters
/// for all keys are few beside the entries, looking for narrower windows would cost more than it
/// saves.
template <class Keys>
std::int64_t find_windows(const host_context& ctx, const Keys& key, std::int64_t nnz,
                          std::int64_t keys, array<scatter_part>& parts) {
  const int count = static_cast<int>(parts.size());
  for_each_part(ctx, count, 1, [&](int part, int) {
    auto& p = parts[part];
    p.begin = part_begin(nnz, part, count);
    p.end = part_begin(nnz, part + 1, count);
    p.low = 0;
    p.high = keys;
    // 4: reasoned, a pass over the keys against three over the counters. Saved 5 to 20 % of the
    // processor time of transpositions on EPYC with 2 threads (a busy machine; one run each).
    if (count == 1 || keys <= nnz / (4 * count)) return;
    p.low = keys;
    p.high = 0;
    for (std::int64_t k = p.begin; k < p.end; ++k) {
      p.low = std::min<std::int64_t>(p.low, key[k]);
      p.high = std::max<std::int64_t>(p.high, key[k] + 1);
    }
  });
  std::int64_t slots = 0;
  for (auto& p : parts) {
    p.slot = slots;
    slots += p.high - p.low;
  }
  return slots;
}

/// key[k] is the key of entry k: an array, or something that computes it.
/// Fills rowptr[0 .. keys] and calls move(begin, end, next, low) for shares of the entries, in
/// which entry k goes to position next[key[k] - low]++: the same for any number of threads. Each
/// thread counts in a window of its own: narrow for banded matrices, all keys for others. Windows
/// beyond `budget` counters in all make fewer threads take part.
template <class Keys, class O, class Move>
void scatter_by_key(const host_context& ctx, const Keys& key, std::int64_t nnz, std::int64_t keys,
                    std::int64_t budget, O* rowptr, Move move) {
  array<scatter_part> parts(ctx, part_count(ctx, nnz, entry_grain));
  std::int64_t slots = find_windows(ctx, key, nnz, keys, parts);
  if (parts.size() > 1 && slots > std::max(keys, budget)) {
    parts = array<scatter_part>(ctx, std::clamp<std::int64_t>(budget / keys, 1, parts.size()));
    slots = find_windows(ctx, key, nnz, keys, parts);
  }
  array<O> counters(ctx, slots);
  array<std::int64_t> sums(ctx, part_count(ctx, keys, entry_grain));
  // Nothing is allocated from here on: rowptr may be the caller's, who keeps it if this fails.
  const int count = static_cast<int>(parts.size());
  for_each_part(ctx, count, 1, [&](int part, int) {
    const auto& p = parts[part];
    O* const counter = counters.data() + p.slot;
    std::fill_n(counter, p.high - p.low, O{0});
    for (std::int64_t k = p.begin; k < p.end; ++k) ++counter[key[k] - p.low];
  });
  rowptr[0] = 0;
  const auto for_each_overlap = [&](std::int64_t begin, std::int64_t end, auto f) {
    for (const auto& p : parts) {
      const std::int64_t from = std::max(begin, p.low), to = std::min(end, p.high);
      if (from < to) f(counters.data() + p.slot + (from - p.low), from, to - from);
    }
  };
  for_each_range(ctx, keys, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    std::fill(rowptr + 1 + begin, rowptr + 1 + end, O{0});
    for_each_overlap(begin, end, [&](O* counter, std::int64_t from, std::int64_t size) {
      O* const total = rowptr + 1 + from;
      for (std::int64_t j = 0; j < size; ++j) {
        const O before = total[j];
        total[j] = before + counter[j];
        counter[j] = before;
      }
    });
  });
  inclusive_scan(ctx, rowptr, keys, sums);
  for_each_range(ctx, keys, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for_each_overlap(begin, end, [&](O* counter, std::int64_t from, std::int64_t size) {
      for (std::int64_t j = 0; j < size; ++j) counter[j] += rowptr[from + j];
    });
  });
  for_each_part(ctx, count, 1, [&](int part, int) {
    const auto& p = parts[part];
    move(p.begin, p.end, counters.data() + p.slot, p.low);
  });
}

} // namespace lacuna::detail::cpu
