// Plain shapes with random values.
#include <cmath>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

#include "gen/families.hpp"
#include "gen/random.hpp"

namespace lacuna::gen::make {

source diagonal(const arguments& a) {
  const std::int64_t n = a["n"];
  const std::uint64_t seed = a.seed();
  return {.shape = {n, n, n},
          .row = [=](std::int64_t i, row_sink& emit) { emit(i, value_of(hash(seed, i, i))); }};
}

source banded(const arguments& a) {
  const std::int64_t n = a["n"],
                     width = std::min(a["half_bandwidth"], std::max<std::int64_t>(n - 1, 0));
  const std::uint64_t seed = a.seed();
  return {.shape = {n, n, n * (2 * width + 1) - width * (width + 1)},
          .row =
              [=](std::int64_t i, row_sink& emit) {
                const std::int64_t last = std::min(n - 1, i + width);
                for (std::int64_t j = std::max<std::int64_t>(0, i - width); j <= last; ++j)
                  emit(j, value_of(hash(seed, i, j)));
              },
          .row_length =
              [=](std::int64_t i) {
                return std::min(n - 1, i + width) - std::max<std::int64_t>(0, i - width) + 1;
              }};
}

source dense(const arguments& a) {
  const std::int64_t n = a["n"], m = a["m"];
  const std::uint64_t seed = a.seed();
  return {.shape = {n, m, n * m},
          .row =
              [=](std::int64_t i, row_sink& emit) {
                for (std::int64_t j = 0; j < m; ++j) emit(j, value_of(hash(seed, i, j)));
              },
          .row_length = [=](std::int64_t) { return m; }};
}

source arrow(const arguments& a) {
  const std::int64_t n = a["n"];
  const std::uint64_t seed = a.seed();
  return {.shape = {n, n, n == 0 ? 0 : 3 * n - 2},
          .row =
              [=](std::int64_t i, row_sink& emit) {
                if (i == 0) {
                  for (std::int64_t j = 0; j < n; ++j) emit(j, value_of(hash(seed, i, j)));
                } else {
                  emit(0, value_of(hash(seed, i, 0)));
                  emit(i, value_of(hash(seed, i, i)));
                }
              },
          .row_length = [=](std::int64_t i) { return i == 0 ? n : 2; }};
}

source uniform(const arguments& a) {
  const std::int64_t rows = a["rows"], cols = a["cols"];
  const std::int64_t per_row = a["per_row"];
  const std::uint64_t seed = a.seed();
  if (per_row > cols && rows > 0)
    throw bad_input(fmt::format("uniform: per_row={} is more than the {} columns", per_row, cols));
  return {.shape = {rows, cols, rows * per_row},
          .row = [=](std::int64_t i, row_sink& emit) { spread(cols, per_row, seed, i, emit); },
          .row_length = [=](std::int64_t) { return per_row; }};
}

/// Dense blocks, the same number in every row of blocks, one in each of as many equal shares of the
/// columns.
source localized(const arguments& a) {
  const std::int64_t n = a["n"], block = a["block"], across = (n + block - 1) / block;
  const std::int64_t clusters = std::min(a["clusters"], across);
  const std::uint64_t seed = a.seed();
  return {.shape = {n, n, n * std::min(n, block * clusters)},
          .row = [=](std::int64_t i, row_sink& emit) {
            spread(across, clusters, seed, i / block, [&](std::int64_t cluster, double) {
              const std::int64_t end = std::min(n, (cluster + 1) * block);
              for (std::int64_t j = cluster * block; j < end; ++j)
                emit(j, value_of(hash(~seed, i, j)));
            });
          }};
}

/// Few long rows of very different lengths: of the mean / 2 times the square root of 1 / u, where u
/// is 1/rows, 2/rows, … in a random order. These add up to at most rows times the mean.
source lp(const arguments& a) {
  const std::int64_t rows = a["rows"], cols = a["cols"];
  const double per_col = a.real("per_col");
  const std::uint64_t seed = a.seed();
  if (per_col > static_cast<double>(rows) && cols > 0)
    throw bad_input(fmt::format("lp: per_col={} is more than the {} rows", per_col, rows));
  const double entries = static_cast<double>(cols) * per_col;
  const permutation rank(rows, seed);
  return {.shape = {rows, cols, static_cast<std::int64_t>(entries)},
          .row = [=](std::int64_t i, row_sink& emit) {
            const auto u = static_cast<double>(rank(i) + 1) / static_cast<double>(rows);
            const double length = entries / static_cast<double>(rows) / (2 * std::sqrt(u));
            spread(cols, static_cast<std::int64_t>(std::min(length, static_cast<double>(cols))),
                   seed, i, emit);
          }};
}

/// From each word of `scale` bits to the two that follow when a bit is shifted in.
source debruijn(const arguments& a) {
  const std::int64_t n = std::int64_t{1} << a["scale"];
  const std::uint64_t seed = a.seed();
  return {.shape = {n, n, n == 1 ? 1 : 2 * n}, .row = [=](std::int64_t i, row_sink& emit) {
            const std::int64_t next = 2 * i % n;
            emit(next, value_of(hash(seed, i, 0)));
            if (n > 1) emit(next + 1, value_of(hash(seed, i, 1)));
          }};
}

} // namespace lacuna::gen::make
