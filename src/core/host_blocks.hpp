// Internal: large host blocks that were freed, kept for the next array of their size: the system
// clears every page it hands out, which costs more than filling it does.
#pragma once

#include <cstddef>

namespace lacuna::detail {

/// Blocks from here on are kept, and lie on huge pages.
inline constexpr std::size_t kept_from = std::size_t{4} << 20;

/// The bytes that a block for `bytes` has: up to an eighth more, so that sizes repeat. `bytes` is
/// kept_from or more.
std::size_t block_size(std::size_t bytes) noexcept;
/// A kept block for so many bytes, or nullptr.
void* take_block(std::size_t bytes) noexcept;
/// Keeps the block; false if there are enough.
bool keep_block(void* p, std::size_t bytes) noexcept;
/// Frees all that are kept.
void free_blocks() noexcept;

} // namespace lacuna::detail
