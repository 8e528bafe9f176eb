// Internal: element i of fill_random, the same on host and device.
#pragma once

#include <cstdint>

namespace lacuna::detail {

/// [-1, 1): the upper 24 bits of splitmix64's output for seed and i, so that float and double get
/// the same number.
constexpr double random_element(std::uint64_t seed, std::int64_t i) {
  std::uint64_t z =
      seed * 0xd1342543de82ef95u + (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return static_cast<double>(z >> 40) * 0x1p-23 - 1;
}

} // namespace lacuna::detail
