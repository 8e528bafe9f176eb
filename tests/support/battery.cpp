#include "support/battery.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace lacuna::test {
namespace {

value_kind in_use = value_kind::random;

} // namespace

with_values::with_values(value_kind kind) : before_(in_use) { in_use = kind; }
with_values::~with_values() { in_use = before_; }
value_kind values_in_use() { return in_use; }
const char* name_of(value_kind kind) { return kind == value_kind::random ? "random" : "integers"; }
double scalar(double number) {
  return in_use == value_kind::random ? number : std::round(4 * number) / 4;
}

std::uint64_t random_source::bits() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}
double random_source::uniform() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }
double random_source::value() {
  // As many draws for either kind: patterns that are drawn in between stay the same.
  const double u = uniform();
  const double magnitude = in_use == value_kind::random ? 0.5 + u : (u < 0.5 ? 1 : 2);
  return (bits() & 1U) != 0 ? magnitude : -magnitude;
}
std::int64_t random_source::below(std::int64_t limit) {
  return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(limit));
}

namespace {

triplets shaped(const char* name, std::int64_t rows, std::int64_t cols) {
  return {name, rows, cols, {}, {}, {}};
}

/// `count` entries in row i, columns ascending and apart, spread over the width.
void add_row(triplets& a, random_source& random, std::int64_t i, std::int64_t count) {
  if (count == 0) return;
  const std::int64_t step = a.cols / count; // at least 1: the callers leave room
  for (std::int64_t k = 0; k < count; ++k) a.add(i, k * step + random.below(step), random.value());
}

/// Every row has the length that `lengths` gives.
triplets with_lengths(const char* name, std::int64_t cols, const std::vector<std::int64_t>& lengths,
                      std::uint64_t seed) {
  auto a = shaped(name, static_cast<std::int64_t>(lengths.size()), cols);
  random_source random(seed);
  for (std::int64_t i = 0; i < a.rows; ++i)
    add_row(a, random, i, lengths[static_cast<std::size_t>(i)]);
  return a;
}

/// Entry (i, j) wherever `inside` says so.
template <class Inside>
triplets where(const char* name, std::int64_t rows, std::int64_t cols, Inside inside) {
  auto a = shaped(name, rows, cols);
  random_source random(static_cast<std::uint64_t>(rows * 1000 + cols));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j)
      if (inside(i, j)) a.add(i, j, random.value());
  return a;
}

triplets shuffled(triplets a, const char* name, std::uint64_t seed) {
  random_source random(seed);
  std::vector<std::int64_t> order(a.value.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t k = order.size(); k > 1; --k)
    std::swap(order[k - 1],
              order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(k)))]);
  a.name = name;
  return permuted(a, order);
}

triplets identity() {
  auto a = shaped("identity", 100, 100);
  for (std::int64_t i = 0; i < a.rows; ++i) a.add(i, i, 1);
  return a;
}

triplets huge_row(const char* name) {
  std::vector<std::int64_t> lengths(2000);
  random_source random(11);
  for (auto& length : lengths) length = random.below(4);
  lengths[1000] = 200'000;
  return with_lengths(name, 250'000, lengths, 12);
}

triplets huge_column() {
  auto a = huge_row("one huge column");
  return sorted(exchanged(a));
}

triplets huge_ends() {
  std::vector<std::int64_t> lengths(900);
  random_source random(13);
  for (auto& length : lengths) length = random.below(6);
  lengths.front() = 30'000;
  lengths.back() = 40'001;
  return with_lengths("huge first and last row", 50'000, lengths, 14);
}

triplets power_law() {
  std::vector<std::int64_t> lengths(3000);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[(i * 1009) % lengths.size()] =
        static_cast<std::int64_t>(1500.0 / std::pow(static_cast<double>(i + 1), 0.9));
  return with_lengths("power law", 3000, lengths, 15);
}

triplets every_length() {
  std::vector<std::int64_t> lengths(71);
  std::iota(lengths.begin(), lengths.end(), std::int64_t{0});
  return with_lengths("rows of 0 to 70", 150, lengths, 16);
}

triplets around_widths() {
  const std::vector<std::int64_t> lengths{31,  32,  33,  1, 127,  128,  129, 0,
                                          255, 256, 257, 2, 2047, 2048, 2049};
  return with_lengths("rows around kernel widths", 5000, lengths, 17);
}

triplets around_pieces() {
  const std::vector<std::int64_t> lengths{3, 16'383, 0, 16'384, 16'385, 1, 32'768, 32'769, 2};
  return with_lengths("rows around long pieces", 33'000, lengths, 22);
}

triplets empty_rows() {
  std::vector<std::int64_t> lengths(1200);
  for (std::size_t i = 300; i < 400; ++i) lengths[i] = 5;
  for (std::size_t i = 800; i < 900; ++i) lengths[i] = 1 + static_cast<std::int64_t>(i % 40);
  return with_lengths("empty rows at start, middle and end", 200, lengths, 18);
}

/// Each row has some columns two or three times.
triplets repeated(const char* name) {
  auto a = shaped(name, 150, 90);
  random_source random(19);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < i % 13; ++k) {
      const std::int64_t j = (i + 7 * k) % a.cols;
      for (std::int64_t times = 0; times <= (i + k) % 3; ++times) a.add(i, j, random.value());
    }
  return a;
}

triplets descending() {
  auto a = where("descending rows", 60, 80, [](auto i, auto j) { return (i * j) % 5 == 1; });
  std::vector<std::int64_t> order(a.value.size());
  std::iota(order.rbegin(), order.rend(), std::int64_t{0});
  return permuted(a, order);
}

triplets explicit_zeros() {
  auto a = where("explicit zeros", 80, 70, [](auto i, auto j) { return (i + 2 * j) % 7 == 0; });
  for (std::size_t k = 0; k < a.value.size(); ++k) {
    if (k % 3 == 0) a.value[k] = 0.0;
    if (k % 9 == 4) a.value[k] = -0.0;
  }
  return a;
}

triplets not_finite() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  auto a = where("NaN and Inf values", 60, 50, [](auto i, auto j) { return (i + j) % 4 == 0; });
  for (std::size_t k = 0; k < a.value.size(); ++k) {
    if (a.row[k] == 3 && a.col[k] == 5) a.value[k] = nan;
    if (a.row[k] == 8 && a.col[k] == 0) a.value[k] = inf;
    if (a.row[k] == 17 && a.col[k] == 3) a.value[k] = -inf;
    if (a.row[k] == 24 && (a.col[k] == 4 || a.col[k] == 8)) a.value[k] = a.col[k] == 4 ? inf : -inf;
    if (a.row[k] == 59) a.value[k] = nan;
  }
  return a;
}

triplets huge_and_tiny() {
  auto a = where("huge and tiny values", 64, 64, [](auto i, auto j) { return (i ^ j) % 3 != 0; });
  if (in_use == value_kind::integers) return a; // no sum of these is exact
  for (std::size_t k = 0; k < a.value.size(); ++k)
    a.value[k] *= std::pow(10.0, static_cast<double>(k % 31) - 15.0);
  return a;
}

triplets stencil() {
  constexpr std::int64_t n = 40;
  auto a = shaped("stencil 40 x 40", n * n, n * n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t at = i * n + j;
      if (i > 0) a.add(at, at - n, -1);
      if (j > 0) a.add(at, at - 1, -1);
      a.add(at, at, 4);
      if (j + 1 < n) a.add(at, at + 1, -1);
      if (i + 1 < n) a.add(at, at + n, -1);
    }
  return a;
}

std::vector<triplets> make_battery() {
  const auto all = [](auto, auto) { return true; };
  const auto none = [](auto, auto) { return false; };
  const auto scattered = [](auto i, auto j) { return (i * 31 + j * 17) % 23 == 0; };
  return {
      shaped("0 x 0", 0, 0),
      shaped("0 x 7", 0, 7),
      shaped("9 x 0", 9, 0),
      where("1 x 1", 1, 1, all),
      where("1 x 1 without entry", 1, 1, none),
      where("1 x 300", 1, 300, all),
      where("300 x 1", 300, 1, all),
      shaped("no entries", 50, 40),
      identity(),
      where("diagonal with gaps", 120, 120, [](auto i, auto j) { return i == j && i % 5 != 2; }),
      where("tridiagonal", 500, 500, [](auto i, auto j) { return std::abs(i - j) <= 1; }),
      where("band", 300, 300, [](auto i, auto j) { return std::abs(i - j) <= 7; }),
      where("dense block in the corner", 200, 210, [](auto i, auto j) { return i < 20 && j < 25; }),
      where("dense", 67, 45, all),
      where("arrow", 400, 400, [](auto i, auto j) { return i == 0 || j == 0 || i == j; }),
      stencil(),
      where("wide", 20, 3000, scattered),
      where("tall", 3000, 20, scattered),
      power_law(),
      huge_row("one huge row"),
      huge_ends(),
      huge_column(),
      empty_rows(),
      every_length(),
      around_widths(),
      around_pieces(),
      sorted(repeated("duplicates")),
      shuffled(where("", 130, 140, scattered), "unsorted", 20),
      shuffled(repeated(""), "unsorted with duplicates", 21),
      descending(),
      explicit_zeros(),
      not_finite(),
      huge_and_tiny(),
  };
}

} // namespace

const std::vector<triplets>& battery() {
  static std::optional<std::vector<triplets>> random, integers;
  auto& list = in_use == value_kind::random ? random : integers;
  if (!list) list = make_battery();
  return *list;
}

const triplets& battery_matrix(std::string_view name) {
  for (const triplets& a : battery())
    if (a.name == name) return a;
  throw std::logic_error("no such matrix in the battery: " + std::string(name));
}

} // namespace lacuna::test
