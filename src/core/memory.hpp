// Internal: what allocators report to memory() and ask of the hook.
#pragma once

#include <lacuna/core/memory.hpp>

namespace lacuna::detail {

/// False: the hook refuses this allocation.
bool allocation_allowed(space s, std::size_t bytes) noexcept;
void note_allocated(space s, std::size_t bytes) noexcept;
void note_freed(space s, std::size_t bytes) noexcept;
[[noreturn]] void throw_out_of_memory(space s, std::size_t bytes);

} // namespace lacuna::detail
