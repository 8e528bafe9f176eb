// Random numbers by position: a hash of (seed, i, k), the same on every machine and thread.
#pragma once

#include <cstdint>

namespace lacuna::gen {

/// splitmix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}
constexpr std::uint64_t hash(std::uint64_t seed, std::int64_t i, std::int64_t k) {
  return mix(mix(mix(seed) + static_cast<std::uint64_t>(i)) + static_cast<std::uint64_t>(k));
}

/// In [-1, 1), never 0: an odd multiple of 2^-23, which float holds exactly.
constexpr double value_of(std::uint64_t h) {
  return (static_cast<double>((h >> 40) | 1U) - 0x1p23) * 0x1p-23;
}

/// In [0, size), from the upper 32 or all bits of h.
constexpr std::int64_t below(std::int64_t size, std::uint64_t h) {
  if (size <= INT64_C(1) << 31)
    return static_cast<std::int64_t>(((h >> 32) * static_cast<std::uint64_t>(size)) >> 32);
  return static_cast<std::int64_t>(h % static_cast<std::uint64_t>(size));
}

} // namespace lacuna::gen
