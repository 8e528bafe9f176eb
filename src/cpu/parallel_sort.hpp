// Sorting in place with several threads and without scratch.
#pragma once

#include <algorithm>
#include <bit>

#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {

/// Sorts first[0 .. size); not stable, so give equal elements a place of their own. Ranges are
/// halved at their median, all halves of one size at once, until each thread has one to sort.
template <class E> void parallel_sort(const host_context& ctx, E* first, std::int64_t size) {
  const int parts =
      static_cast<int>(std::bit_floor(static_cast<unsigned>(part_count(ctx, size, entry_grain))));
  const auto at = [=](int part) { return first + part_begin(size, part, parts); };
  for (int width = parts; width > 1; width /= 2)
    for_each_part(ctx, parts / width, 1, [=](int i, int) {
      std::nth_element(at(i * width), at(i * width + width / 2), at((i + 1) * width));
    });
  for_each_part(ctx, parts, 1, [=](int part, int) { std::sort(at(part), at(part + 1)); });
}

} // namespace lacuna::detail::cpu
