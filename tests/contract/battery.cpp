// The battery has what the comment at its list promises.
#include <cmath>
#include <set>

#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

std::int64_t longest(const triplets& m) {
  const auto lengths = row_lengths(m);
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}
std::int64_t width_of(const triplets& m) {
  std::int64_t width = 0;
  for (std::size_t k = 0; k < m.value.size(); ++k)
    width = std::max(width, std::abs(m.row[k] - m.col[k]));
  return width;
}
template <class Test> std::int64_t count_values(const triplets& m, Test test) {
  return std::count_if(m.value.begin(), m.value.end(), test);
}
/// Rows from the first in `[begin, end)` on that have no entry.
bool empty_between(const triplets& m, std::int64_t begin, std::int64_t end) {
  const auto lengths = row_lengths(m);
  return std::all_of(lengths.begin() + begin, lengths.begin() + end, [](auto n) { return n == 0; });
}

TEST(Battery, NamesAreApart) {
  std::set<std::string> names;
  for (const triplets& m : battery()) EXPECT_TRUE(names.insert(m.name).second) << m.name;
  EXPECT_GE(names.size(), 30U);
  EXPECT_THROW((void)battery_matrix("no such name"), std::logic_error);
}

TEST(Battery, IndicesAreInRange) {
  for (const triplets& m : battery()) {
    SCOPED_TRACE(m.name);
    for (std::size_t k = 0; k < m.value.size(); ++k) {
      ASSERT_TRUE(m.row[k] >= 0 && m.row[k] < m.rows);
      ASSERT_TRUE(m.col[k] >= 0 && m.col[k] < m.cols);
    }
  }
}

TEST(Battery, DegenerateShapes) {
  const auto shape = [](const char* name) {
    const auto& m = battery_matrix(name);
    return std::tuple(m.rows, m.cols, m.size());
  };
  EXPECT_EQ(shape("0 x 0"), std::tuple(0, 0, 0));
  EXPECT_EQ(shape("0 x 7"), std::tuple(0, 7, 0));
  EXPECT_EQ(shape("9 x 0"), std::tuple(9, 0, 0));
  EXPECT_EQ(shape("1 x 1"), std::tuple(1, 1, 1));
  EXPECT_EQ(shape("1 x 1 without entry"), std::tuple(1, 1, 0));
  EXPECT_EQ(shape("1 x 300"), std::tuple(1, 300, 300));
  EXPECT_EQ(shape("300 x 1"), std::tuple(300, 1, 300));
  EXPECT_EQ(shape("no entries"), std::tuple(50, 40, 0));
  EXPECT_EQ(shape("dense"), std::tuple(67, 45, 67 * 45));
}

TEST(Battery, Diagonals) {
  const auto& identity = battery_matrix("identity");
  EXPECT_EQ(identity.row, identity.col);
  EXPECT_EQ(count_values(identity, [](double v) { return v == 1; }), identity.rows);
  const auto& gaps = battery_matrix("diagonal with gaps");
  EXPECT_EQ(gaps.row, gaps.col);
  EXPECT_LT(gaps.size(), gaps.rows);
  EXPECT_EQ(width_of(battery_matrix("tridiagonal")), 1);
  EXPECT_EQ(width_of(battery_matrix("band")), 7);
  EXPECT_EQ(longest(battery_matrix("band")), 15);
  const auto& arrow = battery_matrix("arrow");
  EXPECT_EQ(arrow.size(), 3 * arrow.rows - 2);
  EXPECT_EQ(longest(arrow), arrow.cols);
}

TEST(Battery, Blocks) {
  const auto& corner = battery_matrix("dense block in the corner");
  EXPECT_EQ(corner.size(), 20 * 25);
  EXPECT_TRUE(empty_between(corner, 20, corner.rows));
  const auto& stencil = battery_matrix("stencil 40 x 40");
  EXPECT_EQ(stencil.rows, 1600);
  EXPECT_EQ(stencil.size(), 5 * 1600 - 4 * 40);
}

TEST(Battery, Uneven) {
  const auto& row = battery_matrix("one huge row");
  EXPECT_EQ(longest(row), 200'000);
  EXPECT_LT(row.size() - 200'000, 4 * row.rows);
  EXPECT_EQ(longest(exchanged(battery_matrix("one huge column"))), 200'000);
  const auto ends = row_lengths(battery_matrix("huge first and last row"));
  EXPECT_GE(ends.front(), 30'000);
  EXPECT_GE(ends.back(), 30'000);
  const auto& power = battery_matrix("power law");
  EXPECT_GT(longest(power) * power.rows, 50 * power.size());
  EXPECT_GT(battery_matrix("wide").cols, 100 * battery_matrix("wide").rows);
  EXPECT_GT(battery_matrix("tall").rows, 100 * battery_matrix("tall").cols);
}

TEST(Battery, EmptyRows) {
  const auto& m = battery_matrix("empty rows at start, middle and end");
  EXPECT_TRUE(empty_between(m, 0, 300));
  EXPECT_TRUE(empty_between(m, 400, 800));
  EXPECT_TRUE(empty_between(m, 900, m.rows));
  EXPECT_GT(m.size(), 0);
}

TEST(Battery, RowLengths) {
  const auto lengths = row_lengths(battery_matrix("rows of 0 to 70"));
  for (std::size_t i = 0; i <= 70; ++i) EXPECT_EQ(lengths[i], static_cast<std::int64_t>(i));
  const auto around = row_lengths(battery_matrix("rows around kernel widths"));
  for (const int length : {31, 32, 33, 127, 128, 129, 255, 256, 257, 2047, 2048, 2049})
    EXPECT_EQ(std::count(around.begin(), around.end(), length), 1) << length;
  const auto pieces = row_lengths(battery_matrix("rows around long pieces"));
  for (const int length : {16'383, 16'384, 16'385, 32'768, 32'769})
    EXPECT_EQ(std::count(pieces.begin(), pieces.end(), length), 1) << length;
}

TEST(Battery, Order) {
  EXPECT_EQ(csr_facts(battery_matrix("duplicates")), (facts{true, false}));
  EXPECT_EQ(csr_facts(battery_matrix("unsorted")), (facts{false, true}));
  EXPECT_EQ(csr_facts(battery_matrix("unsorted with duplicates")), (facts{false, false}));
  EXPECT_EQ(csr_facts(battery_matrix("descending rows")), (facts{false, true}));
  EXPECT_EQ(coo_facts(battery_matrix("dense")), (facts{true, true}));
  // Some coordinate three times, so that first, last and sum all differ.
  const auto& repeated = battery_matrix("duplicates");
  std::multiset<std::pair<std::int64_t, std::int64_t>> at;
  std::size_t most = 0;
  for (std::size_t k = 0; k < repeated.value.size(); ++k) {
    at.emplace(repeated.row[k], repeated.col[k]);
    most = std::max(most, at.count({repeated.row[k], repeated.col[k]}));
  }
  EXPECT_GE(most, 3U);
}

TEST(Battery, Values) {
  const auto& zeros = battery_matrix("explicit zeros");
  EXPECT_GT(count_values(zeros, [](double v) { return v == 0 && !std::signbit(v); }), 0);
  EXPECT_GT(count_values(zeros, [](double v) { return v == 0 && std::signbit(v); }), 0);
  EXPECT_GT(count_values(zeros, [](double v) { return v != 0; }), 0);
  const auto& special = battery_matrix("NaN and Inf values");
  EXPECT_GT(count_values(special, [](double v) { return std::isnan(v); }), 1);
  EXPECT_GT(count_values(special, [](double v) { return std::isinf(v) && v > 0; }), 0);
  EXPECT_GT(count_values(special, [](double v) { return std::isinf(v) && v < 0; }), 0);
  const auto& both = battery_matrix("huge and tiny values");
  EXPECT_GT(count_values(both, [](double v) { return std::abs(v) > 1e14; }), 0);
  EXPECT_GT(count_values(both, [](double v) { return std::abs(v) < 1e-14; }), 0);
}

TEST(Battery, OfIntegersHasTheSamePatterns) {
  const auto& random = battery();
  const with_values in_use(value_kind::integers);
  ASSERT_EQ(battery().size(), random.size());
  for (std::size_t i = 0; i < random.size(); ++i) {
    const triplets &m = battery()[i], &other = random[i];
    SCOPED_TRACE(m.name);
    EXPECT_EQ(m.name, other.name);
    EXPECT_EQ(std::tuple(m.rows, m.cols), std::tuple(other.rows, other.cols));
    EXPECT_EQ(m.row, other.row);
    EXPECT_EQ(m.col, other.col);
    for (std::size_t k = 0; k < m.value.size(); ++k) {
      if (!std::isfinite(other.value[k]) || other.value[k] == 0)
        ASSERT_TRUE(same(std::vector{m.value[k]}, std::vector{other.value[k]}));
      else // 4: the stencil's diagonal
        ASSERT_TRUE(m.value[k] != 0 && std::abs(m.value[k]) <= 4 &&
                    m.value[k] == std::round(m.value[k]));
    }
  }
}

TEST(Battery, VectorsHaveSpecialValues) {
  const auto x = special_vector<double>(100, 1);
  const auto has = [&](auto test) { return std::any_of(x.begin(), x.end(), test); };
  EXPECT_TRUE(has([](double v) { return std::isnan(v); }));
  EXPECT_TRUE(has([](double v) { return std::isinf(v) && v > 0; }));
  EXPECT_TRUE(has([](double v) { return std::isinf(v) && v < 0; }));
  EXPECT_TRUE(has([](double v) { return v == 0 && std::signbit(v); }));
  EXPECT_TRUE(has([](double v) { return v == 0 && !std::signbit(v); }));
}

/// The owners that tests make keep the formats' invariants and say all that is true.
TEST(Battery, OwnersAreValid) {
  for (const triplets& m : battery()) {
    SCOPED_TRACE(m.name);
    const auto rows = make_csr<double, std::int32_t, std::int64_t>(m);
    const auto columns = make_csc<float, std::int64_t, std::int32_t>(m);
    const auto triples = make_coo<double, std::int32_t, std::int32_t>(m);
    EXPECT_NO_THROW(check(rows));
    EXPECT_NO_THROW(check(columns));
    EXPECT_NO_THROW(check(triples));
    EXPECT_TRUE(
        same_entries(reference::sort(entries_of(rows)), reference::sort(entries_of(triples))));
  }
}

} // namespace
} // namespace lacuna::test
