// Internal: the size of blocks for a bsr, on either engine.
#pragma once

#include <cstddef>
#include <utility>

namespace lacuna::detail {

/// The size that was asked for, or if that is 0 the one of 2 to 8 that takes the fewest bytes, and
/// its blocks: pattern(b), which has as many entries as there are blocks of b x b.
template <class Pattern>
auto smallest_blocks(int asked, std::size_t value_bytes, std::size_t index_bytes, Pattern pattern) {
  using result = std::pair<int, decltype(pattern(2))>;
  if (asked != 0) return result(asked, pattern(asked));
  result best;
  double least = 0;
  for (const int block : {2, 3, 4, 5, 6, 7, 8}) {
    auto blocks = pattern(block);
    const auto block_bytes = static_cast<double>(block * block * value_bytes + index_bytes);
    const double bytes = static_cast<double>(blocks.size()) * block_bytes;
    if (best.first != 0 && bytes >= least) continue;
    least = bytes;
    best = {block, std::move(blocks)};
  }
  return best;
}

} // namespace lacuna::detail
