// Statistics, symmetry and the density grid against plain loops over the triplets of the battery.
#include <cmath>
#include <map>
#include <set>

#include "support/engine.hpp"
#include <lacuna/plan/density.hpp>
#include <lacuna/plan/statistics.hpp>

namespace lacuna::test {
namespace {

using coordinate = std::pair<std::int64_t, std::int64_t>;

/// Everything by its definition.
matrix_statistics plain_statistics(const triplets& m) {
  matrix_statistics s;
  s.rows = m.rows;
  s.cols = m.cols;
  s.entries = m.size();
  const auto lengths = row_lengths(m);
  double squares = 0;
  if (!lengths.empty()) {
    s.shortest_row = *std::min_element(lengths.begin(), lengths.end());
    s.row_length.longest = *std::max_element(lengths.begin(), lengths.end());
    s.row_length.mean = static_cast<double>(m.size()) / static_cast<double>(m.rows);
  }
  for (const std::int64_t length : lengths) {
    s.row_length.empty += length == 0 ? 1 : 0;
    std::size_t bin = 0;
    for (std::int64_t left = length; left > 0; left /= 2) ++bin;
    ++s.length_histogram[bin];
    const double off = static_cast<double>(length) - s.row_length.mean;
    squares += off * off;
  }
  if (m.rows > 0) s.row_length.deviation = std::sqrt(squares / static_cast<double>(m.rows));

  std::set<coordinate> blocks;
  std::map<std::int64_t, std::int64_t> first;
  for (std::size_t k = 0; k < m.value.size(); ++k) {
    const std::int64_t i = m.row[k], j = m.col[k];
    s.lower_bandwidth = std::max(s.lower_bandwidth, i - j);
    s.upper_bandwidth = std::max(s.upper_bandwidth, j - i);
    s.diagonal_entries += i == j ? 1 : 0;
    s.zeros += m.value[k] == 0 ? 1 : 0;
    s.nans += std::isnan(m.value[k]) ? 1 : 0;
    s.infinities += std::isinf(m.value[k]) ? 1 : 0;
    blocks.insert({i / 128, j / 128});
    first[i] = first.contains(i) ? std::min(first[i], j) : j;
  }
  for (const auto& [row, col] : first) s.profile += std::max<std::int64_t>(row - col, 0);
  s.blocks = static_cast<std::int64_t>(blocks.size());
  return s;
}

void expect_same(const matrix_statistics& got, const matrix_statistics& want, double tolerance) {
  EXPECT_EQ(got.rows, want.rows);
  EXPECT_EQ(got.cols, want.cols);
  EXPECT_EQ(got.entries, want.entries);
  EXPECT_EQ(got.row_length.longest, want.row_length.longest);
  EXPECT_EQ(got.row_length.empty, want.row_length.empty);
  EXPECT_LE(std::abs(got.row_length.mean - want.row_length.mean), tolerance * got.row_length.mean);
  EXPECT_LE(std::abs(got.row_length.deviation - want.row_length.deviation),
            tolerance * (got.row_length.deviation + got.row_length.mean));
  EXPECT_EQ(got.shortest_row, want.shortest_row);
  EXPECT_EQ(got.length_histogram, want.length_histogram);
  EXPECT_EQ(got.lower_bandwidth, want.lower_bandwidth);
  EXPECT_EQ(got.upper_bandwidth, want.upper_bandwidth);
  EXPECT_EQ(got.profile, want.profile);
  EXPECT_EQ(got.diagonal_entries, want.diagonal_entries);
  EXPECT_EQ(got.zeros, want.zeros);
  EXPECT_EQ(got.nans, want.nans);
  EXPECT_EQ(got.infinities, want.infinities);
  EXPECT_EQ(got.blocks, want.blocks);
}

template <class T, class I, class O> void battery_agrees() {
  for (const triplets& m : battery()) {
    SCOPED_TRACE(m.name);
    const auto a = make_csr<T, I, O>(m);
    expect_same(statistics(host_engine::context(), a), plain_statistics(m), 1e-12);
  }
}

TEST(Statistics, AgreeWithThePlainLoop) {
  battery_agrees<double, std::int32_t, std::int32_t>();
  battery_agrees<double, std::int32_t, std::int64_t>();
  battery_agrees<float, std::int64_t, std::int32_t>();
  battery_agrees<float, std::int64_t, std::int64_t>();
}

TEST(Statistics, AreTheSameForAnyNumberOfThreads) {
  for (const triplets& m : battery()) {
    SCOPED_TRACE(m.name);
    const auto a = make_csr<double, std::int32_t, std::int32_t>(m);
    const auto alone = statistics(host_context({1}), a);
    for (const int threads : {2, 3, 7})
      expect_same(statistics(host_context({threads}), a), alone, 0);
  }
}

/// So many columns that a bit for every 128 columns would be larger than the matrix.
TEST(Statistics, OfAMatrixOfVeryManyColumns) {
  triplets m;
  m.rows = 300;
  m.cols = std::int64_t{1} << 40;
  for (std::int64_t k = 0; k < 900; ++k)
    m.add(k / 3, (k * 7919) % 640 * (std::int64_t{1} << 30), 1);
  const auto a = make_csr<double, std::int64_t, std::int32_t>(m);
  reset_memory_peak(space::host);
  const auto before = memory(space::host).in_use;
  expect_same(statistics(host_engine::context(), a), plain_statistics(m), 1e-12);
  EXPECT_LT(memory(space::host).peak - before, 100'000);
}

TEST(Statistics, OfNothing) {
  const auto s = statistics(host_engine::context(), csr<double>());
  EXPECT_EQ(s.entries, 0);
  EXPECT_EQ(s.bandwidth(), 0);
  EXPECT_EQ(s.block_fill(), 0);
}

TEST(FindSymmetry, AgreesWithTheDefinition) {
  for (const triplets& m : battery()) {
    SCOPED_TRACE(m.name);
    if (m.size() > 100'000) continue; // the maps below are slow
    const auto a = make_csr<double, std::int32_t, std::int32_t>(m);
    std::multimap<coordinate, double> entries, back;
    for (std::size_t k = 0; k < m.value.size(); ++k) {
      entries.emplace(coordinate(m.row[k], m.col[k]), m.value[k]);
      back.emplace(coordinate(m.col[k], m.row[k]), m.value[k]);
    }
    const bool square = m.rows == m.cols;
    const auto compare = [&](auto same) {
      return square && std::equal(entries.begin(), entries.end(), back.begin(), back.end(),
                                  [&](const auto& x, const auto& y) {
                                    return x.first == y.first && same(x.second, y.second);
                                  });
    };
    const auto both_nan = [](double x, double y) { return std::isnan(x) && std::isnan(y); };
    const auto symmetry = find_symmetry(host_engine::context(), a);
    EXPECT_EQ(symmetry.pattern, compare([](double, double) { return true; }));
    EXPECT_EQ(symmetry.symmetric,
              compare([&](double x, double y) { return x == y || both_nan(x, y); }));
    EXPECT_EQ(symmetry.skew_symmetric,
              compare([&](double x, double y) { return x == -y || both_nan(x, y); }));
  }
}

TEST(FindSymmetry, TellsTheKindsApart) {
  const auto symmetry_of = [](double upper, double lower, double diagonal) {
    triplets m;
    m.rows = m.cols = 2;
    m.add(0, 0, diagonal);
    m.add(0, 1, upper);
    m.add(1, 0, lower);
    return find_symmetry(host_engine::context(), make_csr<double, std::int32_t, std::int32_t>(m));
  };
  EXPECT_EQ(symmetry_of(3, 3, 1), (symmetry_found{true, true, false}));
  EXPECT_EQ(symmetry_of(3, -3, 0), (symmetry_found{true, false, true}));
  EXPECT_EQ(symmetry_of(3, -3, 1), (symmetry_found{true, false, false}));
  EXPECT_EQ(symmetry_of(3, 4, 1), (symmetry_found{true, false, false}));
}

TEST(Density, CountsEveryEntryOnce) {
  for (const triplets& m : battery()) {
    SCOPED_TRACE(m.name);
    const auto a = make_csr<double, std::int32_t, std::int32_t>(m);
    for (const auto& [height, width] : {coordinate(1, 1), {7, 5}, {64, 1000}, {1 << 12, 3}}) {
      const auto grid = density(host_engine::context(), std::as_const(a).view(), height, width);
      if (m.rows == 0 || m.cols == 0) {
        EXPECT_TRUE(grid.count.empty());
        continue;
      }
      EXPECT_EQ(grid.height, std::min(m.rows, height));
      EXPECT_EQ(grid.width, std::min(m.cols, width));
      std::vector<std::int64_t> want(static_cast<std::size_t>(grid.height * grid.width));
      for (std::size_t k = 0; k < m.value.size(); ++k) {
        const std::int64_t y = (2 * m.row[k] + 1) * grid.height / (2 * m.rows);
        const std::int64_t x = (2 * m.col[k] + 1) * grid.width / (2 * m.cols);
        ++want[static_cast<std::size_t>(y * grid.width + x)];
      }
      EXPECT_TRUE(std::equal(want.begin(), want.end(), grid.count.begin(), grid.count.end()));
    }
  }
}

} // namespace
} // namespace lacuna::test
