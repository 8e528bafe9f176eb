// Random numbers by position: a hash of (seed, i, k), the same on every machine and thread.
#pragma once

#include <algorithm>
#include <bit>
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
/// The same for the entry (i, j) and for (j, i).
constexpr double symmetric_value(std::uint64_t seed, std::int64_t i, std::int64_t j) {
  return value_of(hash(seed, std::min(i, j), std::max(i, j)));
}

/// In [0, 1), a multiple of 2^-32.
constexpr double unit(std::uint64_t h) { return static_cast<double>(h >> 32) * 0x1p-32; }

/// In [0, 1), of an element of a matrix: 24 bits, which float holds exactly.
constexpr double unit_value(std::uint64_t seed, std::int64_t element) {
  return static_cast<double>(hash(seed, element, 1) >> 40) * 0x1p-24;
}

/// In [0, size), from the upper 32 or all bits of h.
constexpr std::int64_t below(std::int64_t size, std::uint64_t h) {
  if (size <= INT64_C(1) << 31)
    return static_cast<std::int64_t>(((h >> 32) * static_cast<std::uint64_t>(size)) >> 32);
  return static_cast<std::int64_t>(h % static_cast<std::uint64_t>(size));
}

/// One to one on [0, n), without a table: four Feistel rounds on the next even power of two, again
/// until the result is below n (less than four times on average).
class permutation {
public:
  constexpr permutation(std::int64_t n, std::uint64_t seed)
      : n_(n), half_((std::bit_width(static_cast<std::uint64_t>(n > 1 ? n - 1 : 1)) + 1) / 2),
        seed_(mix(seed)) {}

  [[nodiscard]] constexpr std::int64_t operator()(std::int64_t i) const {
    do {
      std::uint64_t left = upper(i), right = lower(i);
      for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::uint64_t next = left ^ scramble(right, round);
        left = right;
        right = next;
      }
      i = join(left, right);
    } while (i >= n_);
    return i;
  }
  [[nodiscard]] std::int64_t inverse(std::int64_t i) const {
    do {
      std::uint64_t left = upper(i), right = lower(i);
      for (std::uint64_t round = rounds; round-- > 0;) {
        const std::uint64_t before = right ^ scramble(left, round);
        right = left;
        left = before;
      }
      i = join(left, right);
    } while (i >= n_);
    return i;
  }

private:
  static constexpr std::uint64_t rounds = 4;
  [[nodiscard]] constexpr std::uint64_t upper(std::int64_t i) const {
    return static_cast<std::uint64_t>(i) >> half_;
  }
  [[nodiscard]] constexpr std::uint64_t lower(std::int64_t i) const {
    return static_cast<std::uint64_t>(i) & ((std::uint64_t{1} << half_) - 1);
  }
  [[nodiscard]] constexpr std::int64_t join(std::uint64_t left, std::uint64_t right) const {
    return static_cast<std::int64_t>(left << half_ | right);
  }
  [[nodiscard]] constexpr std::uint64_t scramble(std::uint64_t x, std::uint64_t round) const {
    return mix(seed_ + round + (x << 2)) >> (64 - half_);
  }

  std::int64_t n_;
  int half_; // bits; 1 to 32
  std::uint64_t seed_;
};

/// Emits `count` <= size columns of row i: one at random in each of `count` equal shares of
/// [0, size).
template <class Emit>
void spread(std::int64_t size, std::int64_t count, std::uint64_t seed, std::int64_t i,
            Emit&& emit) {
  if (count == 0) return;
  const std::int64_t share = size / count, rest = size % count;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t begin = share * k + std::min(k, rest);
    const std::uint64_t h = hash(seed, i, k);
    emit(begin + below(share + (k < rest ? 1 : 0), h), value_of(mix(h)));
  }
}

} // namespace lacuna::gen
