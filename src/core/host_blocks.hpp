// Internal: host blocks that were freed, kept for the next array of their size: the system clears
// every page it hands out, which costs more than filling it does.
#pragma once

#include <cstddef>

namespace lacuna::detail {

/// Blocks from here on are kept: what malloc may give back to the system when it is freed.
inline constexpr std::size_t kept_from = std::size_t{128} << 10;
/// Blocks from here on lie on huge pages.
inline constexpr std::size_t huge_from = std::size_t{4} << 20;

/// A block for `bytes`, which are kept_from or more: kept, or new; nullptr if there is no memory.
void* take_block(std::size_t bytes) noexcept;
/// Keeps the block for the next one who takes that many bytes, or frees it.
void give_block(void* p, std::size_t bytes) noexcept;
/// Frees all that are kept.
void free_blocks() noexcept;

} // namespace lacuna::detail
