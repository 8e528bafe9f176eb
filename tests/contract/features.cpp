// Features against their definitions, by sets and maps over the battery and generated matrices.
#include <bit>
#include <map>
#include <set>

#include "plan/feature_sums.hpp"
#include "support/engine.hpp"
#include <lacuna/gen/generate.hpp>
#include <lacuna/plan/features.hpp>
#include <lacuna/plan/statistics.hpp>

namespace lacuna::test {
namespace {

using numbers = std::vector<std::int64_t>;

std::int64_t distinct(const numbers& n) {
  return static_cast<std::int64_t>(std::set(n.begin(), n.end()).size());
}
/// 0, 1, 2: the span of the numbers needs 8 bits, 16 bits, more.
int width_of(const numbers& n) {
  const auto [least, most] = std::minmax_element(n.begin(), n.end());
  const int bits = std::bit_width(static_cast<std::uint64_t>(*most - *least));
  return bits <= 8 ? 0 : bits <= 16 ? 1 : 2;
}
/// Columns as numbers of the 32-byte sectors that hold them.
template <class T> numbers sectors(numbers columns) {
  for (std::int64_t& j : columns) j = j * static_cast<std::int64_t>(sizeof(T)) / 32;
  return columns;
}

template <class T, class I, class O>
void add_group(spmv_features& f, const csr<T, I, O>& a, std::int64_t first) {
  const std::int64_t end = std::min<std::int64_t>(first + 32, a.shape().row);
  std::map<std::int64_t, numbers> steps;
  numbers in_order, diagonals, before;
  for (std::int64_t i = first; i < end; ++i) {
    const numbers whole(a.colind().begin() + a.rowptr()[i], a.colind().begin() + a.rowptr()[i + 1]);
    const numbers row(whole.begin(),
                      whole.begin() + std::min<std::ptrdiff_t>(256, std::ssize(whole)));
    for (std::size_t j = 0; j < row.size(); ++j) {
      steps[static_cast<std::int64_t>(j)].push_back(row[j]);
      in_order.push_back(row[j]);
      diagonals.push_back(row[j] - (i - first));
      f.following_entries += j > 0 && row[j] - row[j - 1] == 1 ? 1 : 0;
    }
    const bool same =
        std::equal(row.begin(), row.end(), before.begin(),
                   before.begin() + std::min<std::ptrdiff_t>(256, std::ssize(before)));
    f.twin_rows += i > first && !row.empty() && whole.size() == before.size() && same ? 1 : 0;
    before = whole;
  }
  int width = 0;
  for (const auto& [j, columns] : steps) {
    width = std::max(width, width_of(columns));
    f.sectors_by_row_lane += distinct(sectors<T>(columns));
  }
  const std::int64_t longest = std::ssize(steps);
  (width == 0 ? f.steps_8 : width == 1 ? f.steps_16 : f.steps_full) += longest;
  f.sampled_steps += longest;
  f.sampled_entries += std::ssize(in_order);
  f.diagonal_steps += std::min(distinct(diagonals), 2 * longest + 8);
  const auto entries_from = [&](std::ptrdiff_t k, std::ptrdiff_t n) {
    return numbers(in_order.begin() + k,
                   in_order.begin() + std::min<std::ptrdiff_t>(k + n, std::ssize(in_order)));
  };
  for (std::ptrdiff_t k = 0; k < std::ssize(in_order); k += 32)
    f.sectors_by_entry += distinct(sectors<T>(entries_from(k, 32)));
  for (std::ptrdiff_t k = 0; k < std::ssize(in_order); k += 64) {
    const int chunk = width_of(entries_from(k, 64));
    ++(chunk == 0 ? f.chunks_8 : chunk == 1 ? f.chunks_16 : f.chunks_full);
  }
}

/// Everything by its definition; only which groups and entries are sampled is the library's word.
template <class T, class I, class O> spmv_features plain_features(const csr<T, I, O>& a) {
  spmv_features f;
  const matrix_statistics s = statistics(host_engine::context(), a);
  f.rows = s.rows;
  f.cols = s.cols;
  f.entries = s.entries;
  f.row_length = s.row_length;
  f.length_histogram = s.length_histogram;
  for (std::int64_t first = 0; first < f.rows; first += 32) {
    std::int64_t longest = 0;
    for (std::int64_t i = first; i < std::min(first + 32, f.rows); ++i) {
      const std::int64_t length = a.rowptr()[i + 1] - a.rowptr()[i];
      f.entries_by_length[static_cast<std::size_t>(
          std::bit_width(static_cast<std::uint64_t>(length)))] += length;
      longest = std::max(longest, length);
    }
    f.slice_steps += longest;
  }

  const auto groups = detail::sample_groups(f.rows, f.entries);
  f.sampled_groups = groups.size;
  for (std::int64_t g = 0; g < groups.size; ++g)
    f.sampled_rows += std::min<std::int64_t>(32, f.rows - 32 * groups.place(g));
  for (std::int64_t g = 0; g < groups.size; ++g) add_group(f, a, groups.place(g) * 32);

  const auto entries = detail::sample_entries(f.entries);
  f.sampled_columns = entries.size;
  std::map<std::int64_t, std::int64_t> hits;
  for (std::int64_t m = 0; m < entries.size; ++m) ++hits[a.colind()[entries.place(m)]];
  numbers often;
  for (const auto& [column, n] : hits)
    if (n >= 4) often.push_back(n);
  std::sort(often.begin(), often.end(), std::greater<>());
  double hot = 0;
  for (std::size_t k = 0; k < std::min<std::size_t>(often.size(), 4096); ++k)
    hot += static_cast<double>(often[k]);
  if (entries.size > 0) f.hot_share_4096 = hot / static_cast<double>(entries.size);
  return f;
}

void expect_same(const spmv_features& got, const spmv_features& want) {
  if (got == want) return;
  ADD_FAILURE() << "features differ";
  EXPECT_EQ(got.row_length.longest, want.row_length.longest);
  EXPECT_EQ(got.row_length.deviation, want.row_length.deviation);
  EXPECT_EQ(got.length_histogram, want.length_histogram);
  EXPECT_EQ(got.entries_by_length, want.entries_by_length);
  EXPECT_EQ(got.slice_steps, want.slice_steps);
  EXPECT_EQ(got.sampled_groups, want.sampled_groups);
  EXPECT_EQ(got.sampled_rows, want.sampled_rows);
  EXPECT_EQ(got.sampled_entries, want.sampled_entries);
  EXPECT_EQ(got.steps_8, want.steps_8);
  EXPECT_EQ(got.steps_16, want.steps_16);
  EXPECT_EQ(got.steps_full, want.steps_full);
  EXPECT_EQ(got.diagonal_steps, want.diagonal_steps);
  EXPECT_EQ(got.sectors_by_row_lane, want.sectors_by_row_lane);
  EXPECT_EQ(got.sectors_by_entry, want.sectors_by_entry);
  EXPECT_EQ(got.chunks_8, want.chunks_8);
  EXPECT_EQ(got.chunks_16, want.chunks_16);
  EXPECT_EQ(got.chunks_full, want.chunks_full);
  EXPECT_EQ(got.following_entries, want.following_entries);
  EXPECT_EQ(got.twin_rows, want.twin_rows);
  EXPECT_EQ(got.sampled_columns, want.sampled_columns);
  EXPECT_EQ(got.hot_share_4096, want.hot_share_4096);
}

template <class C> class Features : public engine_test<C> {};
TYPED_TEST_SUITE(Features, all_configs, config_name);

TYPED_TEST(Features, AreThoseOfTheDefinitions) {
  using C = TypeParam;
  C::for_each_matrix([](const triplets& m) {
    expect_same(find_features(C::context(), C::put_csr(m)), plain_features(C::host_csr(m)));
  });
}

template <class C> class GeneratedFeatures : public engine_test<C> {};
TYPED_TEST_SUITE(GeneratedFeatures, few_configs, config_name);

TYPED_TEST(GeneratedFeatures, AreThoseOfTheDefinitions) {
  using C = TypeParam;
  // More groups than are sampled, many and few columns, rows of all lengths, one hot column.
  for (const char* spec :
       {"poisson2d:n=300", "kron:scale=12", "uniform:rows=200000,per_row=3", "fem3d:n=8",
        "patents:n=50000", "circuit:n=50000", "arrow:n=50000", "lp:rows=300,cols=20000", "dense"}) {
    SCOPED_TRACE(spec);
    const auto a = gen::generate<typename C::value, typename C::index, typename C::offset>(
        host_engine::context(), spec);
    expect_same(find_features(C::context(), copy_to(C::context(), a)), plain_features(a));
  }
}

spmv_features features_of(const triplets& m) {
  return find_features(host_engine::context(), make_csr<double, std::int32_t, std::int32_t>(m));
}
spmv_features features_of(const char* spec) {
  return find_features(host_engine::context(), gen::generate<double>(host_engine::context(), spec));
}
triplets matrix(std::int64_t cols, const std::vector<numbers>& rows) {
  triplets m;
  m.rows = std::ssize(rows);
  m.cols = cols;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::int64_t j : rows[i]) m.add(static_cast<std::int64_t>(i), j, 1);
  return m;
}
numbers range(std::int64_t first, std::int64_t size) {
  numbers n;
  for (std::int64_t k = 0; k < size; ++k) n.push_back(first + k);
  return n;
}

TEST(FeaturesByHand, OfFourRows) {
  const auto f = features_of(matrix(80000, {{0, 1, 300}, {1, 2, 301}, {}, {70000, 5}}));
  EXPECT_EQ(f.entries, 8);
  EXPECT_EQ(f.row_length.empty, 1);
  EXPECT_EQ(f.entries_by_length[2], 8); // rows of 2 and 3 entries
  EXPECT_EQ(f.slice_steps, 3);
  EXPECT_EQ(f.sampled_groups, 1);
  EXPECT_EQ(f.sampled_entries, 8);
  EXPECT_EQ(f.sampled_steps, 3);
  EXPECT_EQ(f.steps_full, 3);          // the first step: 0 to 70000
  EXPECT_EQ(f.diagonal_steps, 5);      // 0, 1, 300, 69997, 2
  EXPECT_EQ(f.sectors_by_row_lane, 5); // {0, 0, 17500}, {0, 0, 1}, {75, 75}
  EXPECT_EQ(f.sectors_by_entry, 4);    // 0, 75, 17500, 1
  EXPECT_EQ(f.chunks_full, 1);
  EXPECT_EQ(f.following_entries, 2);
  EXPECT_EQ(f.twin_rows, 0);
}

TEST(FeaturesByHand, OfTwinRowsAndHotColumns) {
  const auto f = features_of(matrix(10, {{2, 7}, {2, 7}, {2, 7}, {2, 7}, {2, 7}, {}, {}, {7}}));
  EXPECT_EQ(f.twin_rows, 4);
  EXPECT_EQ(f.diagonal_steps, 10); // -2 to 7; 12 at most
  EXPECT_EQ(f.steps_8, 2);
  EXPECT_EQ(f.chunks_8, 1);
  EXPECT_EQ(f.sampled_columns, 11);
  EXPECT_EQ(f.hot_share_4096, 1);
}

TEST(FeaturesByHand, OfShortAndLongRows) {
  // Each group of 32 rows has steps of its own.
  std::vector<numbers> rows(64);
  rows[3] = range(0, 65);
  rows[4] = range(0, 64);
  rows[40] = range(0, 7);
  auto f = features_of(matrix(100, rows));
  EXPECT_EQ(f.slice_steps, 65 + 7);
  EXPECT_EQ(f.diagonal_steps, 66 + 7);
  EXPECT_EQ(f.twin_rows, 0);

  // What lies beyond 256 entries is not looked at.
  rows = {range(0, 300), range(0, 300), range(0, 301)};
  rows[1].back() = 100000;
  f = features_of(matrix(100001, rows));
  EXPECT_EQ(f.slice_steps, 301);
  EXPECT_EQ(f.sampled_entries, 3 * 256);
  EXPECT_EQ(f.sampled_steps, 256);
  EXPECT_EQ(f.steps_8, 256);
  EXPECT_EQ(f.twin_rows, 1);
}

TEST(FeaturesByHand, OfDiagonalsBeyondTheMost) {
  std::vector<numbers> rows;
  for (std::int64_t i = 0; i < 32; ++i) rows.push_back({100 * i, 100 * i + 50});
  EXPECT_EQ(features_of(matrix(4000, rows)).diagonal_steps, 2 * 2 + 8);
}

TEST(FeaturesByHand, OfNothing) {
  EXPECT_EQ(find_features(host_engine::context(), csr<double>()), spmv_features());
  spmv_features columns_alone;
  columns_alone.cols = 5;
  EXPECT_EQ(features_of(matrix(5, {})), columns_alone);
  const auto empty = features_of(matrix(5, std::vector<numbers>(40)));
  EXPECT_EQ(empty.row_length.empty, 40);
  EXPECT_EQ(empty.length_histogram[0], 40);
  EXPECT_EQ(empty.sampled_groups, 2);
  EXPECT_EQ(empty.diagonal_steps, 0);
  EXPECT_EQ(empty.hot_share_4096, 0);
}

TEST(FeaturesOnTheHost, AreTheSameForAnyNumberOfThreads) {
  const auto expect_equal = [](const auto& a) {
    const auto alone = find_features(host_context({1}), a);
    for (const int threads : {2, 3, 4})
      expect_same(find_features(host_context({threads}), a), alone);
  };
  for (const triplets& m : battery()) {
    SCOPED_TRACE(m.name);
    expect_equal(make_csr<double, std::int32_t, std::int32_t>(m));
  }
  expect_equal(gen::generate<double>(host_engine::context(), "patents:n=100000"));
}

/// What the choices will be made of.
TEST(FeaturesOfKinds, TellThemApart) {
  const auto grid = features_of("poisson2d:n=512");
  EXPECT_EQ(grid.diagonal_steps, grid.sampled_steps);
  EXPECT_EQ(grid.steps_full, 0);
  // A line of the grid is 16 groups; the two at its ends need 16 bits.
  EXPECT_GT(grid.steps_8, 12 * grid.sampled_steps / 16);
  EXPECT_GT(grid.steps_16, 0);
  EXPECT_LT(grid.hot_share_4096, 0.01);
  EXPECT_LT(grid.sectors_by_row_lane, grid.sampled_entries / 3);

  const auto uniform = features_of("uniform:rows=1000000,per_row=4");
  EXPECT_EQ(uniform.steps_full, uniform.sampled_steps);
  EXPECT_LT(uniform.hot_share_4096, 0.001);
  EXPECT_GT(uniform.sectors_by_row_lane, uniform.sampled_entries * 99 / 100);

  const auto graph = features_of("kron:scale=16");
  EXPECT_GT(graph.hot_share_4096, 0.5);
  EXPECT_GT(graph.diagonal_steps, 2 * graph.sampled_steps);

  const auto blocks = features_of("fem3d:n=16");
  EXPECT_GT(3 * blocks.twin_rows, 0.95 * 2 * 32 * blocks.sampled_groups);
}

} // namespace
} // namespace lacuna::test
