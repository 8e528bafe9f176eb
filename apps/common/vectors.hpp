// The fixed, seeded vectors that stand in where the user gives none.
#pragma once

#include <cstdint>

#include <lacuna/core/array.hpp>

namespace lacuna::app {

/// Element i: in [-1, 1), with all the digits of a double.
inline double seeded_element(std::uint64_t seed, std::int64_t i) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(i); // splitmix64
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-52 - 1;
}

/// With all the digits of T, so that products are rounded as they are in real work.
template <class T> void fill_vector(vector_view<T> v, std::uint64_t seed) {
  for (std::int64_t i = 0; i < v.size(); ++i) v[i] = static_cast<T>(seeded_element(seed, i));
}

} // namespace lacuna::app
