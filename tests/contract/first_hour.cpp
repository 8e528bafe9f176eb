// What a newcomer writes first: views over arrays of his own, of whatever integer types, results
// that grow into them, and what must be refused.
#include <sstream>

#include <lacuna/fmt.hpp>

#include "support/engine.hpp"

namespace lacuna::test {
namespace {

TEST(Index, IsATuple) {
  const index<> i(3, 4);
  EXPECT_EQ(get<0>(i), 3);
  EXPECT_EQ(get<1>(i), 4);
  const auto [row, col] = i;
  EXPECT_EQ(row, 3);
  EXPECT_EQ(col, 4);
  EXPECT_EQ(i[0], 3);
  EXPECT_EQ(i[std::size_t{1}], 4);
  static_assert(std::tuple_size_v<index<>> == 2);
  static_assert(std::is_same_v<std::tuple_element_t<0, index<std::int64_t>>, std::int64_t>);
  const index deduced(std::int64_t{5}, 6);
  static_assert(std::is_same_v<decltype(deduced), const index<std::int64_t>>);
}

TEST(Index, RefusesWhatDoesNotFit) {
  EXPECT_THROW((index<std::int32_t>(std::int64_t{1} << 31, 1)), bad_input);
  EXPECT_THROW((index<std::int32_t>(std::size_t{1}, std::size_t{1} << 40)), bad_input);
  EXPECT_EQ((index<std::int32_t>(std::size_t{7}, 8LL)), (index<std::int32_t>(7, 8)));
}

TEST(CsrView, TypesFollowTheArrays) {
  std::vector<double> values{1, 2, 3};
  std::vector<long long> rowptr{0, 2, 3};
  std::vector<int> colind{0, 2, 1};
  csr_view a(values, rowptr, colind, index{2, 3}, values.size());
  static_assert(std::is_same_v<decltype(a), csr_view<double, std::int32_t, std::int64_t>>);
  EXPECT_EQ(a.size(), 3);
  EXPECT_NO_THROW(check(a));
  const csr_view stated(values, rowptr, colind, index{2, 3}, 3U, facts{true, true});
  EXPECT_TRUE(stated.order().sorted);

  const std::vector<long long> fixed = rowptr;
  csr_view read_only(values, fixed, colind, index{2, 3}, 3);
  static_assert(
      std::is_same_v<decltype(read_only), csr_view<const double, std::int32_t, std::int64_t>>);

  csr_view by_pointer(values.data(), rowptr.data(), colind.data(), index{2, 3}, 3);
  static_assert(std::is_same_v<decltype(by_pointer), decltype(a)>);
  EXPECT_EQ(by_pointer.rowptr()[1], 2);
}

TEST(CscAndCooView, TypesFollowTheArrays) {
  std::vector<float> values{1, 2};
  std::vector<std::int64_t> first{0, 1}, second{1, 0};
  std::vector<int> colptr{0, 1, 2};
  coo_view entries(values, first, second, index{2, 2}, 2);
  static_assert(std::is_same_v<decltype(entries), coo_view<float, std::int64_t>>);
  csc_view columns(values, colptr, first, index{2, 2}, 2, facts{true, true});
  static_assert(std::is_same_v<decltype(columns), csc_view<float, std::int64_t, std::int32_t>>);
  EXPECT_THROW((coo_view(values, first, second, index{2, 2}, 3)), size_mismatch);
  EXPECT_THROW((csc_view(values, colptr, first, index{2, 3}, 2)), size_mismatch);
}

TEST(DenseView, OverARangeIsChecked) {
  std::vector<double> values(6);
  const dense_view a(values, {2, 3});
  EXPECT_EQ(&a(1, 2), &values[5]);
  EXPECT_THROW((dense_view(values, {2, 4})), size_mismatch);
  EXPECT_THROW((dense_view(values, {3, 3}, layout::column_major, 2)), size_mismatch);
  EXPECT_THROW((dense_view(values.data(), {2, 3}, layout::row_major, 2)), size_mismatch);
  EXPECT_NO_THROW((dense_view(values, {2, 2}, layout::row_major, 3)));
}

TEST(CsrView, GrowsIntoSpareCapacity) {
  std::vector<int> rowptr(3);
  csr_view<float> c(nullptr, rowptr.data(), nullptr, {2, 2}, 0);
  EXPECT_EQ(c.capacity(), 0);
  std::vector<float> values(5);
  std::vector<int> colind(4);
  c.update(values, rowptr, colind);
  EXPECT_EQ(c.capacity(), 4);
  EXPECT_EQ(c.size(), 0);
  c.update(values, rowptr, colind, {2, 2}, 3, {true, true});
  EXPECT_EQ(c.size(), 3);
  EXPECT_EQ(c.values().size(), 3);
  EXPECT_TRUE(c.order().unique);
  EXPECT_THROW(c.update(values, rowptr, colind, {2, 2}, 6), size_mismatch);
  EXPECT_THROW(c.update(values, rowptr, colind, {3, 2}, 3), size_mismatch);
  EXPECT_EQ(c.size(), 3); // as it was
  csr_view<const float> seen = c;
  EXPECT_EQ(seen.capacity(), 4);
}

TEST(Views, AreSpans) {
  std::vector<double> values{1, 2};
  std::vector<int> rowptr{0, 2}, colind{0, 1};
  csr_view a(values, rowptr, colind, index{1, 2}, 2);
  const std::span<double> span = a.values();
  EXPECT_EQ(span.data(), values.data());
  EXPECT_EQ(std::span<const int>(a.colind()).size(), 2U);
  static_assert(std::ranges::borrowed_range<vector_view<double>>);
  static_assert(std::ranges::view<vector_view<double>>);
  // A view of a view's arrays, which are temporaries but borrowed.
  csc_view<double> t(a.values(), a.rowptr(), a.colind(), {2, 1}, a.size());
  EXPECT_EQ(t.values().data(), values.data());
}

TEST(Views, TemporariesAreRefused) {
  static_assert(!std::is_constructible_v<vector_view<double>, std::vector<double>>);
  static_assert(!std::is_constructible_v<vector_view<double>, array<double>>);
  static_assert(std::is_constructible_v<vector_view<double>, std::vector<double>&>);
  static_assert(std::is_constructible_v<vector_view<double>, std::span<double>>);
  static_assert(!std::is_convertible_v<csr<double>, csr_view<const double>>);
  static_assert(std::is_convertible_v<csr<double>&, csr_view<double>>);
  static_assert(std::is_convertible_v<const csr<double>&, csr_view<const double>>);
}

TEST(OperandViews, TellWhatTheyAre) {
  std::vector<float> values{1, 2};
  std::vector<int> rowptr{0, 2}, colind{0, 1};
  csr_view a(values, rowptr, colind, index{1, 2}, 2);
  const auto s = scaled(2, a);
  static_assert(std::is_same_v<decltype(s.alpha()), float>);
  EXPECT_EQ(s.alpha(), 2.0F);
  EXPECT_EQ(s.shape(), a.shape());
  EXPECT_EQ(s.size(), 2);
  EXPECT_EQ(s.base().values().data(), values.data());
  const auto t = transposed(a);
  EXPECT_EQ(t.shape(), (index<>(2, 1)));
  EXPECT_EQ(t.base().values().data(), values.data());
  EXPECT_EQ(scaled(0.5, values).shape(), 2);
}

/// Enough of an mdspan to be taken for one.
struct my_mdspan {
  static constexpr std::size_t rank() { return 2; }
  double* data;
  std::size_t extents[2], strides[2];
  [[nodiscard]] std::size_t extent(std::size_t i) const { return extents[i]; }
  [[nodiscard]] std::size_t stride(std::size_t i) const { return strides[i]; }
  [[nodiscard]] double* data_handle() const { return data; }
};

TEST(Mdspan, IsADenseOperand) {
  std::vector<double> values{2, 3};
  std::vector<int> rowptr{0, 1, 2}, colind{1, 0};
  csr_view a(values, rowptr, colind, index{2, 2}, 2);
  std::vector<double> x{1, 2, 3, 4, 5, 6}, y(6);
  multiply(a, my_mdspan{x.data(), {2, 3}, {3, 1}}, my_mdspan{y.data(), {2, 3}, {3, 1}});
  EXPECT_EQ(y, (std::vector<double>{8, 10, 12, 3, 6, 9}));
  multiply(a, scaled(2.0, my_mdspan{x.data(), {2, 3}, {1, 2}}),
           my_mdspan{y.data(), {2, 3}, {1, 2}}); // by columns
  EXPECT_EQ(y, (std::vector<double>{8, 6, 16, 18, 24, 30}));
  EXPECT_THROW(
      multiply(a, my_mdspan{x.data(), {2, 2}, {3, 2}}, my_mdspan{y.data(), {2, 2}, {2, 1}}),
      unsupported);
}

TEST(Concepts, HoldForWhatOperationsTake) {
  static_assert(matrix<csr<double>> && matrix<csc_view<float>> && matrix<dense<double>>);
  static_assert(matrix<my_mdspan> && matrix<decltype(scaled(2.0, std::declval<csr<double>&>()))>);
  static_assert(vector<std::vector<double>> && vector<array<float>> && !vector<csr<double>>);
  static_assert(!matrix<std::vector<double>> && !tensor<int>);
  static_assert(view<csr_view<double>> && view<std::span<double>>);
  static_assert(!view<csr<double>> && !view<std::vector<double>>);
}

TEST(Print, ShowsSmallMatricesAsGrids) {
  const auto a = from_triplets(
      {2, 3}, std::vector<std::tuple<int, int, double>>{{0, 0, 2}, {0, 2, -1.5}, {1, 1, 0}});
  const std::string want = "csr 2 x 3, 3 entries, double\n     2     .  -1.5\n     .     0     .\n";
  EXPECT_EQ(to_string(a), want);
  std::ostringstream out;
  out << a;
  EXPECT_EQ(out.str(), want);
  EXPECT_EQ(fmt::format("{}", a), want);
  EXPECT_EQ(to_string(to_csc(a)).substr(0, 9), "csc 2 x 3");
  EXPECT_EQ(to_string(to_dense(a)),
            "dense 2 x 3, double\n     2     0  -1.5\n     0     0     0\n");
}

TEST(Print, ListsTheFirstEntriesOfLargeOnes) {
  const std::string text = to_string(gen::generate("tridiagonal:n=100"));
  EXPECT_EQ(text.substr(0, 53), "csr 100 x 100, 298 entries, double\n  (0, 0)  2\n  (0, ");
  EXPECT_NE(text.find("and 286 more"), std::string::npos) << text;
}

} // namespace
} // namespace lacuna::test
