// What the library has allocated, per space; and a hook with which tests make allocations fail.
#pragma once

#include <cstddef>
#include <cstdint>

#include <lacuna/core/export.hpp>
#include <lacuna/core/space.hpp>

namespace lacuna {

struct memory_usage {
  std::int64_t in_use = 0; ///< bytes held by arrays now
  std::int64_t peak = 0;   ///< most bytes held at once since the last reset
};

LACUNA_EXPORT memory_usage memory(space s) noexcept;
/// Sets the peak to what is in use now.
LACUNA_EXPORT void reset_memory_peak(space s) noexcept;

/// Called before each allocation by an array; returning false makes it throw out_of_memory.
/// Called from any thread. nullptr (the default) lets everything through.
using allocation_hook = bool (*)(space s, std::size_t bytes);
/// Installs a hook for the process and returns the one before.
LACUNA_EXPORT allocation_hook set_allocation_hook(allocation_hook hook) noexcept;

} // namespace lacuna
