// Views and owners: what they are made from, what they give back, what they refuse.
#include <array>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

using i32 = std::int32_t;
using i64 = std::int64_t;

// Views go to kernels by value.
static_assert(std::is_trivially_copyable_v<vector_view<double>>);
static_assert(std::is_trivially_copyable_v<vector_view<const float, space::device>>);
static_assert(std::is_trivially_copyable_v<csr_view<double, i32, i64>>);
static_assert(std::is_trivially_copyable_v<csc_view<double>>);
static_assert(std::is_trivially_copyable_v<coo_view<double>>);
static_assert(std::is_trivially_copyable_v<dense_view<double, space::device>>);
// Owners move and do not copy.
static_assert(std::is_nothrow_move_constructible_v<csr<double>>);
static_assert(std::is_nothrow_move_assignable_v<csc<float>>);
static_assert(std::is_nothrow_move_constructible_v<coo<double>>);
static_assert(std::is_nothrow_move_assignable_v<dense<double>>);
static_assert(!std::is_copy_constructible_v<csr<double>>);
static_assert(!std::is_copy_assignable_v<array<double>>);
// Writable converts to read-only, never back; spaces never convert.
static_assert(std::is_convertible_v<csr_view<double>, csr_view<const double>>);
static_assert(!std::is_convertible_v<csr_view<const double>, csr_view<double>>);
static_assert(
    !std::is_convertible_v<csr_view<double>, csr_view<const double, i32, i32, space::device>>);
static_assert(std::is_convertible_v<csc_view<double>, csc_view<const double>>);
static_assert(std::is_convertible_v<coo_view<double>, coo_view<const double>>);
static_assert(std::is_convertible_v<dense_view<double>, dense_view<const double>>);
static_assert(!std::is_convertible_v<dense_view<const double>, dense_view<double>>);
static_assert(std::is_convertible_v<vector_view<float>, vector_view<const float>>);
static_assert(!std::is_convertible_v<vector_view<const float>, vector_view<float>>);
static_assert(!std::is_convertible_v<vector_view<float>, vector_view<float, space::device>>);
static_assert(!std::is_convertible_v<const std::vector<float>&, vector_view<float>>);
static_assert(!std::is_convertible_v<std::vector<float>&, vector_view<float, space::device>>);
static_assert(std::is_convertible_v<csr<double>&, csr_view<double>>);
static_assert(std::is_convertible_v<const csr<double>&, csr_view<const double>>);
static_assert(!std::is_convertible_v<const csr<double>&, csr_view<double>>);

TEST(Index, ReadsByNameAndNumber) {
  constexpr index<i64> at{3, 5};
  static_assert(at.row == 3 && at.col == 5 && at[0] == 3 && at[1] == 5);
  static_assert(at == index<i64>{3, 5} && at != index<i64>{5, 3});
  static_assert(index<>{} == index<>{0, 0});
  static_assert(std::is_same_v<decltype(index<>{}.row), index_t>);
}

TEST(Facts, SayNothingByDefault) {
  static_assert(!facts{}.sorted && !facts{}.unique);
  static_assert(facts{true, false} != facts{} && facts{true, true} == facts{true, true});
  csr<double> a(default_context<space::host>(), {2, 2}, 0);
  EXPECT_EQ(a.order(), facts{});
  a.state({true, true});
  EXPECT_EQ(a.order(), (facts{true, true}));
  EXPECT_EQ(a.view().order(), (facts{true, true}));
  EXPECT_EQ((csr_view<const double>(a.view()).order()), (facts{true, true}));
}

TEST(VectorView, OverRanges) {
  std::vector<double> v{1, 2, 3};
  vector_view<double> view = v;
  EXPECT_EQ(view.size(), 3);
  EXPECT_EQ(view.data(), v.data());
  view[1] = 7;
  EXPECT_EQ(v[1], 7);
  const std::vector<double>& constant = v;
  vector_view<const double> read = constant;
  EXPECT_EQ(read[1], 7);
  read = view;
  EXPECT_EQ(read.data(), v.data());
  double sum = 0;
  for (const double x : read) sum += x;
  EXPECT_EQ(sum, 11);
  std::array<float, 2> few{1, 2};
  EXPECT_EQ(vector_view<float>(few).size(), 2);
  EXPECT_EQ(vector_view<double>(std::span<double>(v).first(2)).size(), 2);
  EXPECT_TRUE(vector_view<float>().empty());
  EXPECT_EQ(vector_view<float>().data(), nullptr);
}

TEST(CsrView, OverRanges) {
  std::vector<double> values{1, 2, 3};
  std::vector<i32> rowptr{0, 2, 3}, colind{0, 2, 1};
  csr_view<double> a(values, rowptr, colind, {2, 3}, 3, {true, true});
  EXPECT_EQ(a.shape(), (index<>{2, 3}));
  EXPECT_EQ(a.size(), 3);
  EXPECT_EQ(a.values().data(), values.data());
  EXPECT_EQ(a.rowptr().size(), 3);
  EXPECT_EQ(a.colind().size(), 3);
  EXPECT_EQ(a.order(), (facts{true, true}));
  EXPECT_NO_THROW(check(a));
  a.values()[0] = 9;
  EXPECT_EQ(values[0], 9);

  csr_view deduced(values, rowptr, colind, index<i32>{2, 3}, 3);
  static_assert(std::is_same_v<decltype(deduced), csr_view<double, i32, i32>>);
  const auto& fixed = values;
  csr_view<const double> read(fixed, rowptr, colind, {2, 3}, 3);
  static_assert(std::is_same_v<decltype(read.rowptr()), vector_view<const i32>>);
  EXPECT_EQ(read.values()[0], 9);
}

TEST(CsrView, RefusesShortRanges) {
  std::vector<double> values(3);
  std::vector<i32> rowptr(3), colind(3);
  const auto message = [&](index<> shape, i32 nnz) -> std::string {
    try {
      csr_view<double> a(values, rowptr, colind, shape, nnz);
    } catch (const size_mismatch& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message({2, 9}, 3), "nothing was thrown");
  EXPECT_NE(message({3, 9}, 3).find("rowptr"), std::string::npos);
  EXPECT_NE(message({2, 9}, 4).find("values"), std::string::npos);
  colind.pop_back();
  EXPECT_NE(message({2, 9}, 3).find("colind has 2 elements, 3 are needed"), std::string::npos);
}

TEST(CsrView, RefusesNegativeSizes) {
  std::vector<double> values;
  std::vector<i32> rowptr(1), colind;
  EXPECT_THROW(csr_view<double>(values, rowptr, colind, {0, -1}, 0), bad_input);
  EXPECT_THROW(csr_view<double>(values, rowptr, colind, {0, 0}, -1), bad_input);
  EXPECT_THROW(csr_view<double>(values, rowptr, colind, {-1, 0}, 0), bad_input);
  const auto& ctx = default_context<space::host>();
  EXPECT_THROW(csr<double>(ctx, {-1, 0}, 0), bad_input);
  EXPECT_THROW(csr<double>(ctx, {0, -1}, 0), bad_input);
  EXPECT_THROW(csr<double>(ctx, {0, 0}, -1), bad_input);
  EXPECT_THROW(csc<double>(ctx, {0, -1}, 0), bad_input);
  EXPECT_THROW(coo<double>(ctx, {3, -3}, 0), bad_input);
  EXPECT_THROW(dense<double>(ctx, {-3, 3}), bad_input);
}

TEST(CooView, OverRanges) {
  std::vector<float> values{1, 2};
  std::vector<i64> rowind{1, 0}, colind{2, 2};
  coo_view<float, i64> a(values, rowind, colind, {2, 3}, 2);
  EXPECT_EQ(a.shape(), (index<i64>{2, 3}));
  EXPECT_EQ(a.rowind()[0], 1);
  EXPECT_NO_THROW(check(a));
  EXPECT_THROW((coo_view<float, i64>(values, rowind, colind, {2, 3}, 3)), size_mismatch);
  rowind.pop_back();
  EXPECT_THROW((coo_view<float, i64>(values, rowind, colind, {2, 3}, 2)), size_mismatch);
}

TEST(CscView, IsTheTransposeInCsr) {
  std::vector<double> values{1, 2, 3};
  std::vector<i32> colptr{0, 1, 1, 3}, rowind{1, 0, 1};
  csc_view<double> a(values, colptr, rowind, {2, 3}, 3, {true, true});
  EXPECT_EQ(a.shape(), (index<>{2, 3}));
  EXPECT_EQ(a.colptr().size(), 4);
  EXPECT_EQ(a.transpose().shape(), (index<>{3, 2}));
  EXPECT_EQ(a.transpose().values().data(), values.data());
  EXPECT_NO_THROW(check(a));
  const csc_view<double> again(a.transpose());
  EXPECT_EQ(again.shape(), a.shape());
  colptr.pop_back();
  EXPECT_THROW(csc_view<double>(values, colptr, rowind, {2, 3}, 3), size_mismatch);
}

TEST(DenseView, Strides) {
  std::vector<double> values{0, 1, 2, 3, 4, 5, 6, 7};
  const dense_view<double> rows(values.data(), {2, 3}, layout::row_major, 4);
  EXPECT_EQ(rows.row_stride(), 4);
  EXPECT_EQ(rows.col_stride(), 1);
  EXPECT_EQ(rows(1, 2), 6);
  const dense_view<double> columns(values.data(), {3, 2}, layout::column_major, 4);
  EXPECT_EQ(columns.row_stride(), 1);
  EXPECT_EQ(columns.col_stride(), 4);
  EXPECT_EQ(columns(2, 1), 6);
  EXPECT_EQ((dense_view<double>(values.data(), {2, 3}).ld()), 3);
  EXPECT_EQ((dense_view<double>(values.data(), {2, 3}, layout::column_major).ld()), 2);
  EXPECT_NO_THROW(check(rows));
}

TEST(Owners, HandOutViewsOfTheirMemory) {
  auto a = make_csr<double, i32, i64>(battery_matrix("band"));
  EXPECT_EQ(a.view().values().data(), a.values().data());
  EXPECT_EQ(std::as_const(a).view().rowptr().data(), a.rowptr().data());
  const csr_view<const double, i32, i64> read = std::as_const(a);
  EXPECT_EQ(read.colind().data(), a.colind().data());
  EXPECT_EQ(a.bytes(), static_cast<std::size_t>(a.size()) * (8 + 4) +
                           (static_cast<std::size_t>(a.shape().row) + 1) * 8);
  const auto c = make_coo<float, i64, i64>(battery_matrix("band"));
  EXPECT_EQ(c.bytes(), static_cast<std::size_t>(c.size()) * (4 + 8 + 8));
  const auto d = make_csc<double, i32, i32>(battery_matrix("wide"));
  EXPECT_EQ(d.shape(), (index<>{20, 3000}));
  EXPECT_EQ(d.colptr().size(), 3001);
}

TEST(Owners, DefaultIsAnEmptyMatrix) {
  const auto& ctx = default_context<space::host>();
  const csr<double> a;
  EXPECT_EQ(a.shape(), index<>{});
  EXPECT_EQ(a.size(), 0);
  EXPECT_EQ(a.bytes(), 0U);
  EXPECT_NO_THROW(check(a));
  EXPECT_NO_THROW(check(csc<float>()));
  EXPECT_NO_THROW(check(coo<float>()));
  EXPECT_NO_THROW(check(dense<float>()));
  // It can be an operand like any other 0 x 0 matrix.
  std::vector<double> nothing;
  EXPECT_NO_THROW(multiply(a, nothing, nothing));
  EXPECT_NO_THROW(multiply(transposed(a), nothing, nothing));
  EXPECT_EQ(copy_to(ctx, a).shape(), index<>{});
  EXPECT_EQ(transpose(ctx, a).size(), 0);
  EXPECT_EQ(to_coo(ctx, a).size(), 0);
  EXPECT_EQ(to_csc(ctx, a).size(), 0);
  EXPECT_EQ(to_dense(ctx, a).shape(), (index<i64>{0, 0}));
  EXPECT_EQ(merge_duplicates(ctx, a).size(), 0);
}

TEST(Owners, MovedFromHoldsNothing) {
  auto a = make_csr<double, i32, i32>(battery_matrix("stencil 40 x 40"));
  const auto* values = a.values().data();
  const auto want = make_csr<double, i32, i32>(battery_matrix("stencil 40 x 40"));
  auto b = std::move(a);
  EXPECT_EQ(b.values().data(), values);
  EXPECT_TRUE(same_matrix(b, want));
  // NOLINTBEGIN(bugprone-use-after-move): this is what is tested
  EXPECT_EQ(a.size(), 0);
  EXPECT_EQ(a.bytes(), 0U);
  EXPECT_THROW(check(a), bad_input); // a shape without its row pointers
  a = std::move(b);
  EXPECT_TRUE(same_matrix(a, want));
  // NOLINTEND(bugprone-use-after-move)
}

TEST(Owners, TakeOverArrays) {
  const auto& ctx = default_context<space::host>();
  auto rowptr = copy_to(ctx, std::vector<i32>{0, 1, 2});
  auto colind = copy_to(ctx, std::vector<i32>{1, 0});
  auto values = copy_to(ctx, std::vector<double>{5, 6});
  const auto* data = values.data();
  const csr<double> a({2, 2}, std::move(rowptr), std::move(colind), std::move(values),
                      {true, true});
  EXPECT_EQ(a.values().data(), data);
  EXPECT_NO_THROW(check(a));
}

TEST(Dense, ElementsAndOwners) {
  dense<float> d(default_context<space::host>(), {2, 3}, layout::column_major);
  for (i64 k = 0; k < 6; ++k) d.values()[k] = static_cast<float>(k);
  EXPECT_EQ(d(1, 2), 5);
  EXPECT_EQ(std::as_const(d)(0, 1), 2);
  EXPECT_EQ(d.view().ld(), 2);
  EXPECT_EQ(d.bytes(), 24U);
  EXPECT_THROW(dense<float>(default_context<space::host>(), {i64{1} << 40, i64{1} << 40}),
               bad_input);
}

} // namespace
} // namespace lacuna::test
