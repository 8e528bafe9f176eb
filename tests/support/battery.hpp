// The battery: one list of awkward matrices that every kernel of every format and engine runs.
//
// What it promises, tested in contract/battery.cpp:
//   0 x 0, 0 x n, n x 0, 1 x 1 (with and without its entry), 1 x n, n x 1; no entries at all;
//   identity, diagonal with gaps, tridiagonal, band, a dense block in a corner, fully dense, arrow,
//   a 40 x 40 five-point stencil, wide, tall, power-law rows;
//   one row of 200,000 entries among short ones, a huge first and last row, one huge column;
//   empty rows at the start, in the middle and at the end;
//   rows of every length from 0 to 70, and of 31, 32, 33, 127, 128, 129, 255, 256, 257, 2047,
//   2048 and 2049 entries, around the sizes by which kernels cut rows up; the same around
//   16384 and 32768 (more such sizes: cross/boundaries.cpp);
//   duplicates, unsorted rows, descending rows, both at once; explicit zeros of both signs;
//   NaN and infinite values; values from 1e-15 to 1e15 in one row.
//
// The same matrices exist twice: with random numbers as values, and with small integers.
#pragma once

#include <string_view>

#include "support/triplets.hpp"

namespace lacuna::test {

/// What the finite numbers of matrices and vectors are.
enum class value_kind {
  random,  ///< magnitude [0.5, 1.5): sums round, so results are compared within a bound
  integers ///< +-1 and +-2: sums are exact in float, so one lost entry shows in a row of any length
};
/// Random unless an object of this class lives.
class with_values {
public:
  explicit with_values(value_kind kind);
  ~with_values();
  with_values(const with_values&) = delete;
  with_values& operator=(const with_values&) = delete;

private:
  value_kind before_;
};
value_kind values_in_use();
const char* name_of(value_kind kind);
/// alpha or beta: itself, or with integers the nearest multiple of 1/4.
double scalar(double number);

/// With the current kind of numbers.
const std::vector<triplets>& battery();
/// The one of that name; fails the program if there is none.
const triplets& battery_matrix(std::string_view name);

/// The same numbers on every machine: splitmix64.
class random_source {
public:
  explicit random_source(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits();
  double uniform();                       ///< [0, 1)
  double value();                         ///< one of the current kind of numbers, either sign
  std::int64_t below(std::int64_t limit); ///< [0, limit)

private:
  std::uint64_t state_;
};

} // namespace lacuna::test
