#include "core/memory.hpp"

#include <atomic>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

namespace lacuna {
namespace {

std::atomic<allocation_hook> current_hook{nullptr};

struct counter {
  std::atomic<std::int64_t> in_use{0}, peak{0};
};
counter counters[2];
counter& of(space s) { return counters[s == space::host ? 0 : 1]; }

} // namespace

memory_usage memory(space s) noexcept { return {of(s).in_use.load(), of(s).peak.load()}; }
void reset_memory_peak(space s) noexcept { of(s).peak.store(of(s).in_use.load()); }
allocation_hook set_allocation_hook(allocation_hook hook) noexcept {
  return current_hook.exchange(hook);
}

namespace detail {

bool allocation_allowed(space s, std::size_t bytes) noexcept {
  const auto hook = current_hook.load();
  return hook == nullptr || hook(s, bytes);
}
void note_allocated(space s, std::size_t bytes) noexcept {
  const std::int64_t now = of(s).in_use += static_cast<std::int64_t>(bytes);
  std::int64_t peak = of(s).peak.load();
  while (peak < now && !of(s).peak.compare_exchange_weak(peak, now)) {
  }
}
void note_freed(space s, std::size_t bytes) noexcept {
  of(s).in_use -= static_cast<std::int64_t>(bytes);
}
void throw_out_of_memory(space s, std::size_t bytes) {
  throw out_of_memory(fmt::format("out of {} memory: {} bytes asked for, {} in use by Lacuna",
                                  to_string(s), bytes, memory(s).in_use),
                      bytes);
}

} // namespace detail
} // namespace lacuna
