// Products in phases, refilled, in parts and out of core; and the check of a product.
#include <set>

#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

template <class C> class SpGEMMPhases : public engine_test<C> {};
TYPED_TEST_SUITE(SpGEMMPhases, all_configs, config_name);
template <class C> class SpGEMMPhasesFew : public SpGEMMPhases<C> {};
TYPED_TEST_SUITE(SpGEMMPhasesFew, few_configs, config_name);
template <class C> class SpGEMMParts : public engine_test<C> {};
TYPED_TEST_SUITE(SpGEMMParts, few_configs, config_name);

const host_context& host() { return default_context<space::host>(); }

triplets with_other_values(triplets m) {
  random_source random(77);
  for (double& v : m.value) v = random.value();
  return m;
}

/// Arrays that hold nothing of use: what a new owner may find in memory.
template <class C, space S> auto spoilt(const context<S>& ctx, const operation_info_t& info) {
  using T = typename C::value;
  using I = typename C::index;
  using O = typename C::offset;
  csr<T, I, O> c(host(), info.shape(), static_cast<O>(info.nnz()));
  std::fill(c.rowptr().begin(), c.rowptr().end(), O{-9});
  for (std::int64_t k = 0; k < c.colind().size(); ++k)
    c.colind()[k] = static_cast<I>(1'000'000 - 77 * k);
  std::fill(c.values().begin(), c.values().end(), std::numeric_limits<T>::quiet_NaN());
  return copy_to(ctx, c);
}

TYPED_TEST(SpGEMMPhases, ComputeFillRefill) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto b = random_matrix(m.cols, 400, 2, 1);
    if (product_count(m, b) > 400'000) return;
    const auto a_on_engine = TypeParam::put_csr(m), b_on_engine = TypeParam::put_csr(b);
    const auto want = copy_to(host(), multiply(ctx, scaled(2, a_on_engine), b_on_engine));
    const auto info = multiply_compute(ctx, a_on_engine, b_on_engine);
    EXPECT_EQ(info.shape(), (index<std::int64_t>{want.shape().row, want.shape().col}));
    EXPECT_EQ(info.nnz(), want.size());
    EXPECT_EQ(info.result_shape(), info.shape());
    EXPECT_EQ(info.result_nnz(), info.nnz());
    EXPECT_GT(info.bytes(), 0U);
    EXPECT_NE(info.explain().find(std::to_string(want.size())), std::string::npos);
    auto c = spoilt<TypeParam>(ctx, info);
    multiply_fill(ctx, info, scaled(2, a_on_engine), b_on_engine, c);
    EXPECT_TRUE(same_matrix(c, want));
    EXPECT_EQ(c.order(), (facts{true, true}));

    // Other values, same patterns, in other places: bit by bit what a new product has.
    const auto a2 = TypeParam::put_csr(with_other_values(m)),
               b2 = TypeParam::put_csr(with_other_values(b));
    const auto other = copy_to(host(), multiply(ctx, a2, scaled(-1, b2)));
    fill(ctx, -7, c.values());
    multiply_refill(ctx, info, a2, scaled(-1, b2), c);
    EXPECT_TRUE(same_matrix(c, other));
    multiply_refill(ctx, info, scaled(2, a_on_engine), b_on_engine, c.view());
    EXPECT_TRUE(same_matrix(c, want));

    csr<T, I, std::int64_t, S> wide;
    const auto wide_info = multiply_compute(ctx, a_on_engine, b_on_engine, wide);
    wide = csr<T, I, std::int64_t, S>(ctx, wide_info.shape(), wide_info.nnz());
    multiply_fill(ctx, wide_info, scaled(2, a_on_engine), b_on_engine, wide);
    EXPECT_TRUE(same_matrix(
        wide, copy_to(host(), multiply_wide(ctx, scaled(2, a_on_engine), b_on_engine))));
    multiply(ctx, scaled(2, a_on_engine), b_on_engine, wide);
    EXPECT_EQ(wide.size(), want.size());

    csr<T, I, O, S> whole;
    multiply(ctx, scaled(2, a_on_engine), b_on_engine, whole);
    EXPECT_TRUE(same_matrix(whole, want));
  });
}

TYPED_TEST(SpGEMMPhasesFew, FillWritesAllOfC) {
  // The same memory again and again, spoilt between: what a loop gets that makes a new C each time.
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("stencil 40 x 40"));
  const auto info = multiply_compute(ctx, a, a);
  const auto want = copy_to(host(), multiply(ctx, a, a));
  auto c = spoilt<TypeParam>(ctx, info);
  for (int times = 0; times < 3; ++times) {
    const auto junk = spoilt<TypeParam>(ctx, info);
    lacuna::detail::copy_bytes(ctx, c.rowptr().data(), junk.rowptr().data(),
                               c.rowptr().size() * sizeof(typename TypeParam::offset),
                               TypeParam::memory_space);
    lacuna::detail::copy_bytes(ctx, c.colind().data(), junk.colind().data(),
                               c.colind().size() * sizeof(typename TypeParam::index),
                               TypeParam::memory_space);
    fill(ctx, 3, c.values());
    multiply_fill(ctx, info, a, a, c);
    EXPECT_TRUE(same_matrix(c, want));
  }
  // Memory that was never filled is not taken for a pattern.
  auto never = spoilt<TypeParam>(ctx, info);
  EXPECT_THROW(multiply_refill(ctx, info, a, a, never), bad_input);
}

/// Other bits than what is written, where nothing but values is.
template <class C, class M> void expect_refills(const M& a, const M& b, const M& a2, const M& b2) {
  const auto& ctx = C::context();
  const auto want = copy_to(host(), multiply(ctx, a, b)),
             other = copy_to(host(), multiply(ctx, a2, b2));
  const auto info = multiply_compute(ctx, a, b);
  const std::size_t counted = info.bytes();
  auto c = spoilt<C>(ctx, info);
  multiply_symbolic_fill(ctx, info, a, b, c);
  EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply_pattern(ctx, a, b))));
  auto never = spoilt<C>(ctx, info);
  EXPECT_THROW(multiply_refill(ctx, info, a, b, never), bad_input);
  for (int times = 0; times < 2; ++times) { // the first finds places
    SCOPED_TRACE(times);
    fill(ctx, -7, c.values());
    multiply_refill(ctx, info, a2, b2, c);
    EXPECT_TRUE(same_matrix(c, other));
    fill(ctx, -7, c.values());
    multiply_refill(ctx, info, a, b, c);
    EXPECT_TRUE(same_matrix(c, want));
  }
  EXPECT_THROW(multiply_refill(ctx, info, a, b, never), bad_input);
  EXPECT_GE(info.bytes(), counted);
  multiply_fill(ctx, info, a2, b2, c);
  EXPECT_TRUE(same_matrix(c, other));
  // One column of C changed, all else as it was.
  if (want.size() == 0) return;
  auto wrong = copy_to(host(), c);
  wrong.colind()[want.size() / 2] += 1;
  auto wrong_there = copy_to(ctx, wrong);
  EXPECT_THROW(multiply_refill(ctx, info, a, b, wrong_there), bad_input);
}

TYPED_TEST(SpGEMMPhases, RefillsAgainAndAgain) {
  const auto expect = [](const triplets& m, const triplets& n) {
    SCOPED_TRACE(m.name);
    expect_refills<TypeParam>(TypeParam::put_csr(m), TypeParam::put_csr(n),
                              TypeParam::put_csr(with_other_values(m)),
                              TypeParam::put_csr(with_other_values(n)));
  };
  for (const char* name : {"power law", "tridiagonal"}) {
    const triplets& m = battery_matrix(name);
    expect(m, random_matrix(m.cols, 400, 3, 1));
  }
  // Rows of C with tables of every size, heavy ones, and one with places beyond 2^16.
  const auto m = random_matrix(40, 300, 20, 3);
  for (const std::int64_t per_row : {2, 12, 40}) expect(m, random_matrix(300, 6000, per_row, 4));
  expect(random_matrix(20, 300, 80, 5), random_matrix(300, 6000, 40, 6));
  // So many rows of more than 192 entries that they keep their tables, and places of two bytes.
  expect(random_matrix(800, 300, 20, 9), random_matrix(300, 6000, 20, 10));
  expect(random_matrix(1, 300, 250, 7), random_matrix(300, 200'000, 300, 8));
}

TYPED_TEST(SpGEMMPhasesFew, WrongColumnsAreSeenAndForgotten) {
  // Row 0 is heavy, and so broad that a device sorts its products.
  const auto& ctx = TypeParam::context();
  constexpr std::int64_t inner = 20'000, apart = 420;
  triplets m{"a broad row and a short one", 2, inner, {}, {}, {}};
  triplets n{"one entry a row", inner, inner * apart, {}, {}, {}};
  for (std::int64_t k = 0; k < inner; ++k) {
    m.add(0, k, 1);
    n.add(k, k * apart, static_cast<double>(k % 7));
  }
  m.add(1, 3, 2);
  const auto a = TypeParam::put_csr(m), b = TypeParam::put_csr(n);
  const auto want = copy_to(host(), multiply(ctx, a, b));
  for (const std::int64_t changed : {inner / 2, inner}) {
    SCOPED_TRACE(changed);
    const auto info = multiply_compute(ctx, a, b);
    auto wrong = copy_to(host(), want);
    wrong.colind()[changed] += 1;
    auto wrong_there = copy_to(ctx, wrong);
    EXPECT_THROW(multiply_refill(ctx, info, a, b, wrong_there), bad_input);
    auto c = spoilt<TypeParam>(ctx, info);
    multiply_fill(ctx, info, a, b, c);
    for (int times = 0; times < 2; ++times) {
      fill(ctx, -7, c.values());
      multiply_refill(ctx, info, a, b, c);
      EXPECT_TRUE(same_matrix(c, want));
    }
    EXPECT_THROW(multiply_refill(ctx, info, a, b, wrong_there), bad_input);
  }
}

TYPED_TEST(SpGEMMPhasesFew, RowsOfOnePattern) {
  // Enough products for a device to make them together.
  const auto m = grouped_matrix(250, 251, 12, 3, 5), n = grouped_matrix(251, 300, 12, 3, 7);
  ASSERT_GT(product_count(m, n), 200'000);
  expect_refills<TypeParam>(TypeParam::put_csr(m), TypeParam::put_csr(n),
                            TypeParam::put_csr(with_other_values(m)),
                            TypeParam::put_csr(with_other_values(n)));
}

TYPED_TEST(SpGEMMPhases, SymbolicAndNumeric) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const char* name : {"unsorted with duplicates", "power law", "one huge row", "tall"}) {
    SCOPED_TRACE(name);
    const triplets& m = battery_matrix(name);
    const auto b = random_matrix(m.cols, 300, 2, 5);
    const auto b_on_engine = TypeParam::put_csr(b);
    // No value is there yet when the pattern is made.
    triplets nothing = m;
    for (double& v : nothing.value) v = std::numeric_limits<double>::quiet_NaN();
    const auto symbolic = TypeParam::put_csr(nothing);
    operation_info_t info;
    auto c = TypeParam::put_csr({"none", m.rows, 300, {}, {}, {}});
    multiply_symbolic_compute(ctx, info, symbolic, b_on_engine, c);
    c = spoilt<TypeParam>(ctx, info);
    multiply_symbolic_fill(ctx, info, symbolic, b_on_engine, c);
    EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply_pattern(ctx, symbolic, b_on_engine))));
    for (const triplets& values : {m, with_other_values(m)}) {
      const auto a = TypeParam::put_csr(values);
      multiply_numeric(ctx, info, scaled(T{3}, a), b_on_engine, c);
      EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply(ctx, scaled(T{3}, a), b_on_engine))));
    }
  }
}

TYPED_TEST(SpGEMMPhasesFew, TransposedOperands) {
  const auto& ctx = TypeParam::context();
  for (const char* name : {"unsorted with duplicates", "wide", "duplicates"}) {
    SCOPED_TRACE(name);
    const triplets& m = battery_matrix(name);
    const auto a = TypeParam::put_csr(m), a2 = TypeParam::put_csr(with_other_values(m));
    const auto by_columns = TypeParam::put_csc(m);
    const auto info = multiply_compute(ctx, transposed(a), a);
    auto c = spoilt<TypeParam>(ctx, info);
    multiply_fill(ctx, info, transposed(a), a, c);
    EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply(ctx, transposed(a), a))));
    // Values are those of the matrix that is given, whatever was counted.
    multiply_refill(ctx, info, transposed(a2), a2, c);
    EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply(ctx, transposed(a2), a2))));
    const auto mixed = multiply_compute(ctx, by_columns, transposed(a));
    auto d = spoilt<TypeParam>(ctx, mixed);
    multiply_fill(ctx, mixed, by_columns, transposed(a), d);
    EXPECT_TRUE(same_matrix(d, copy_to(host(), multiply(ctx, by_columns, transposed(a)))));
    EXPECT_THROW(multiply_fill(ctx, info, a, a, c), error);
  }
}

TYPED_TEST(SpGEMMPhasesFew, ResultsByColumns) {
  using T = typename TypeParam::value;
  using columns =
      csc<T, typename TypeParam::index, typename TypeParam::offset, TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto b = random_matrix(m.cols, 120, 2, 6);
    if (product_count(m, b) > 100'000) return;
    const auto a_rows = TypeParam::put_csr(m), b_rows = TypeParam::put_csr(b);
    const auto a_columns = TypeParam::put_csc(m), b_columns = TypeParam::put_csc(b);
    const auto expect = [&](const auto& x, const auto& y) {
      // C^T = B^T A^T, bit by bit.
      const auto want = copy_to(host(), multiply(ctx, transposed(y), transposed(x)));
      columns c;
      const auto info = multiply_compute(ctx, x, y, c);
      ASSERT_EQ(info.nnz(), want.size());
      c = columns(ctx, info.shape(), info.nnz());
      multiply_fill(ctx, info, x, y, c);
      EXPECT_TRUE(same_matrix(c.transpose(), want));
      EXPECT_EQ(c.order(), (facts{true, true}));
      fill(ctx, 5, c.values());
      multiply_refill(ctx, info, x, y, c);
      EXPECT_TRUE(same_matrix(c.transpose(), want));
      columns whole;
      multiply(ctx, x, y, whole);
      EXPECT_TRUE(same_matrix(whole.transpose(), want));
      if (a_rows.order().sorted && a_rows.order().unique && m.name != "NaN and Inf values") {
        EXPECT_TRUE(same_matrix(to_csr(ctx, c), copy_to(host(), multiply(ctx, x, y))));
      }
    };
    expect(a_rows, b_rows);
    expect(a_columns, b_rows);
    expect(a_rows, b_columns);
    expect(a_columns, b_columns);
  });
}

TYPED_TEST(SpGEMMPhasesFew, SaysWhatDoesNotFit) {
  using T = typename TypeParam::value;
  using matrix =
      csr<T, typename TypeParam::index, typename TypeParam::offset, TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("tridiagonal"));
  const auto info = multiply_compute(ctx, a, a);
  matrix c(ctx, info.shape(), info.nnz());
  matrix small(ctx, info.shape(), info.nnz() - 1);
  EXPECT_THROW(multiply_fill(ctx, info, a, a, small), size_mismatch);
  EXPECT_THROW(multiply_refill(ctx, info, a, a, small), size_mismatch);
  const auto other = TypeParam::put_csr(battery_matrix("identity"));
  EXPECT_THROW(multiply_fill(ctx, info, other, other, c), size_mismatch);
  triplets fewer = battery_matrix("tridiagonal");
  fewer.row.pop_back();
  fewer.col.pop_back();
  fewer.value.pop_back();
  try {
    multiply_fill(ctx, info, a, TypeParam::put_csr(fewer), c);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const size_mismatch& e) {
    EXPECT_NE(std::string(e.what()).find(std::to_string(fewer.value.size())), std::string::npos)
        << e.what();
    EXPECT_NE(std::string(e.what()).find(std::to_string(a.size())), std::string::npos) << e.what();
  }
  // Infos of other operations, and one of nothing.
  EXPECT_THROW(multiply_fill(ctx, operation_info_t(), a, a, c), bad_input);
  EXPECT_THROW(multiply_fill(ctx, add_inspect(ctx, a, a), a, a, c), bad_input);
  EXPECT_THROW(multiply_fill(ctx, transpose_inspect(ctx, a, c), a, a, c), bad_input);
  EXPECT_THROW(add_compute(ctx, info, a, a, c), bad_input);
  EXPECT_THROW(transpose(ctx, info, a, c), bad_input);
  EXPECT_THROW(multiply_fill(ctx, info, transposed(a), a, c), bad_input);
  csc<T, typename TypeParam::index, typename TypeParam::offset, TypeParam::memory_space> columns(
      ctx, info.shape(), info.nnz());
  EXPECT_THROW(multiply_fill(ctx, info, a, a, columns), bad_input);

  // As many entries elsewhere.
  triplets moved = battery_matrix("tridiagonal");
  for (std::size_t k = 0; k < moved.value.size(); ++k)
    if (moved.row[k] == 250) moved.col[k] = 100 + 7 * (moved.col[k] - 249);
  const auto b = TypeParam::put_csr(moved);
  EXPECT_THROW(multiply_fill(ctx, info, b, b, c), error);
  multiply_fill(ctx, info, a, a, c);
  EXPECT_THROW(multiply_refill(ctx, info, b, b, c), bad_input);
  EXPECT_THROW(multiply_refill(ctx, info, a, b, c), bad_input);
  const auto of_transpose = multiply_compute(ctx, transposed(a), a);
  EXPECT_THROW(multiply_fill(ctx, of_transpose, transposed(b), a, c), bad_input);
  multiply_fill(ctx, info, a, a, c);
  EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply(ctx, a, a))));
}

TYPED_TEST(SpGEMMPhasesFew, ViewsWithSpareRoom) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("wide"));
  const auto b = TypeParam::put_csr(random_matrix(a.shape().col, 70, 3, 8));
  const auto want = copy_to(host(), multiply(ctx, a, b));
  const index<I> shape{a.shape().row, b.shape().col};
  array<O, S> rowptr(ctx, std::int64_t{shape.row} + 1);
  csr_view<T, I, O, S> c(nullptr, rowptr.data(), nullptr, shape, 0);
  const auto info = multiply_compute(ctx, a, b, c);
  const auto same_view = [&](const csr_view<T, I, O, S>& got) {
    return same_matrix(copy_to(ctx, got), want);
  };
  for (const std::int64_t spare : {0, 5}) {
    array<T, S> values(ctx, info.result_nnz() + spare);
    array<I, S> colind(ctx, info.result_nnz() + spare);
    c.update(values.view(), rowptr.view(), colind.view());
    EXPECT_EQ(c.capacity(), info.result_nnz() + spare);
    multiply_fill(ctx, info, a, b, c);
    EXPECT_EQ(c.size(), want.size());
    EXPECT_EQ(c.capacity(), info.result_nnz() + spare);
    EXPECT_EQ(c.order(), (facts{true, true}));
    EXPECT_TRUE(same_view(c));
    fill(ctx, 2, c.values());
    multiply_refill(ctx, info, a, b, c);
    EXPECT_TRUE(same_view(c));
    c.update(values.view(), rowptr.view(), colind.view(), shape, 0);
    multiply(ctx, a, b, c); // counts and fills
    EXPECT_TRUE(same_view(c));
    c.update(values.view(), rowptr.view(), colind.view(), shape, 0);
  }
  // One too few: C is as it was, and the message has both numbers.
  array<T, S> values(ctx, info.result_nnz() - 1);
  array<I, S> colind(ctx, info.result_nnz() - 1);
  c.update(values.view(), rowptr.view(), colind.view(), shape, 0);
  try {
    multiply(ctx, a, b, c);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const size_mismatch& e) {
    for (const std::int64_t number : {info.result_nnz(), info.result_nnz() - 1})
      EXPECT_NE(std::string(e.what()).find(std::to_string(number)), std::string::npos) << e.what();
  }
  EXPECT_EQ(c.size(), 0);
  EXPECT_THROW(multiply_fill(ctx, info, a, b, c), size_mismatch);
  // Columns.
  array<O, S> colptr(ctx, std::int64_t{shape.col} + 1);
  csc_view<T, I, O, S> by_columns(nullptr, colptr.data(), nullptr, shape, 0);
  const auto info_of_csc = multiply_compute(ctx, a, b, by_columns);
  array<T, S> more_values(ctx, info_of_csc.result_nnz() + 3);
  array<I, S> rowind(ctx, info_of_csc.result_nnz() + 3);
  by_columns.update(more_values.view(), colptr.view(), rowind.view());
  multiply_fill(ctx, info_of_csc, a, b, by_columns);
  EXPECT_EQ(by_columns.size(), want.size());
  EXPECT_TRUE(same_matrix(to_csr(ctx, by_columns), want));
}

TYPED_TEST(SpGEMMPhasesFew, InspectionIsAFirstPhase) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("wide"));
  auto c = TypeParam::put_csr({"none", 0, 0, {}, {}, {}});
  auto info = multiply_inspect(ctx, a, transposed(a), c);
  EXPECT_EQ(info.result_shape(), (index<std::int64_t>{a.shape().row, a.shape().row}));
  multiply_compute(ctx, info, a, transposed(a), c);
  c = spoilt<TypeParam>(ctx, info);
  multiply_fill(ctx, info, a, transposed(a), c);
  EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply(ctx, a, transposed(a)))));
  EXPECT_THROW((void)multiply_inspect(ctx, a, a, c), size_mismatch);
}

TYPED_TEST(SpGEMMPhases, GalerkinKeepsItsPatterns) {
  using matrix = csr<typename TypeParam::value, typename TypeParam::index,
                     typename TypeParam::offset, TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  const triplets& m = battery_matrix("stencil 40 x 40");
  const auto a = TypeParam::put_csr(m), a2 = TypeParam::put_csr(with_other_values(m));
  std::set<bool> orders;
  for (const auto& [fine, coarse] : {std::pair{m.rows, std::int64_t{200}}, {m.rows, 9000}})
    for (const bool swapped : {false, true}) {
      SCOPED_TRACE(coarse);
      const auto p = random_matrix(fine, coarse, swapped ? 6 : 1, 2);
      const auto p_on_engine = TypeParam::put_csr(p), p2 = TypeParam::put_csr(with_other_values(p));
      const auto r =
          TypeParam::put_csr(random_matrix(swapped ? 50 : 3000, fine, swapped ? 1 : 6, 3));
      const auto expect = [&](const auto& left, const auto& right, const auto& other_left,
                              const auto& other_right) {
        const auto info = galerkin_compute(ctx, left, a, right);
        orders.insert(info.explain().find("(R A) P") != std::string::npos);
        matrix c(ctx, info.shape(), info.nnz());
        galerkin_fill(ctx, info, left, a, right, c);
        EXPECT_TRUE(same_matrix(c, copy_to(host(), galerkin(ctx, left, a, right))));
        EXPECT_EQ(c.order(), (facts{true, true}));
        fill(ctx, 2, c.values());
        galerkin_refill(ctx, info, other_left, a2, scaled(0.3, other_right), c);
        EXPECT_TRUE(same_matrix(
            c, copy_to(host(), galerkin(ctx, other_left, a2, scaled(0.3, other_right)))));
        EXPECT_GT(info.bytes(), 0U);
        matrix small(ctx, info.shape(), info.nnz() - 1);
        EXPECT_THROW(galerkin_fill(ctx, info, left, a, right, small), size_mismatch);
        EXPECT_THROW(galerkin_fill(ctx, info, left, left, right, c), error);
        EXPECT_THROW(galerkin_fill(ctx, multiply_compute(ctx, a, right), left, a, right, c),
                     bad_input);
      };
      expect(scaled(2, transposed(p_on_engine)), p_on_engine, transposed(p2), p2);
      expect(r, p_on_engine, r, p2);
    }
  EXPECT_EQ(orders.size(), 2U) << "both orders of the products";
}

TYPED_TEST(SpGEMMParts, LimitsChangeNothingButTheParts) {
  const auto& ctx = TypeParam::context();
  for (const char* name : {"power law", "band", "stencil 40 x 40", "arrow", "tall", "0 x 7"}) {
    const triplets& m = battery_matrix(name);
    const auto a = TypeParam::put_csr(m);
    const auto want = copy_to(host(), multiply_wide(ctx, scaled(3, a), transposed(a)));
    for (const std::size_t limit :
         {std::size_t{0}, std::size_t{8'000'000}, std::size_t{1'500'000}}) {
      SCOPED_TRACE(std::string(name) + " within " + std::to_string(limit));
      const spgemm_options options{.memory_limit = limit};
      EXPECT_TRUE(same_matrix(multiply_in_parts(ctx, scaled(3, a), transposed(a), options), want));
      EXPECT_TRUE(
          same_matrix(multiply_to_host(ctx, host(), scaled(3, a), transposed(a), options), want));
    }
  }
}

TYPED_TEST(SpGEMMParts, PartsStayWithinTheLimit) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("power law"));
  const std::size_t whole = multiply_wide(ctx, a, a).bytes();
  const std::size_t limit = whole / 3;
  int parts = 0;
  std::int64_t row = 0;
  for_each_product_part(ctx, a, a, {.memory_limit = limit}, [&](std::int64_t first, auto part) {
    EXPECT_EQ(first, row);
    row += part.shape().row;
    EXPECT_LE(part.bytes(), limit);
    ++parts;
  });
  EXPECT_EQ(row, 3000);
  EXPECT_GE(parts, 3);
}

TEST(SpGEMMLimit, IsKeptOrNamed) {
  const host_context ctx(host_options{2});
  const auto a = make_csr<double, int, int>(battery_matrix("power law"));
  const auto want = multiply(ctx, a, a);
  int met = 0, refused = 0;
  for (std::size_t limit = want.bytes() / 2; limit < 4 * want.bytes(); limit += want.bytes() / 8) {
    reset_memory_peak(space::host);
    const auto before = memory(space::host).in_use;
    try {
      const auto c = multiply(ctx, a, a, {.memory_limit = limit});
      EXPECT_LE(memory(space::host).peak - before, static_cast<std::int64_t>(limit));
      EXPECT_TRUE(same_matrix(c, want));
      ++met;
    } catch (const out_of_memory& e) {
      EXPECT_GT(e.bytes(), limit);
      EXPECT_NE(std::string(e.what()).find(std::to_string(limit)), std::string::npos) << e.what();
      EXPECT_LT(limit, want.bytes() + (std::size_t{4} << 20U));
      ++refused;
    }
  }
  EXPECT_GT(met, 0);
  EXPECT_GT(refused, 0);
}

TYPED_TEST(SpGEMMParts, NotEvenARow) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("dense"));
  EXPECT_THROW((void)multiply_in_parts(ctx, a, transposed(a), {.memory_limit = 100}),
               out_of_memory);
}

TYPED_TEST(SpGEMMParts, OutOfCore) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_value_kind([&] {
    for (const char* name : {"power law", "band", "unsorted with duplicates", "9 x 0", "0 x 7",
                             "empty rows at start, middle and end"}) {
      const auto m = battery_matrix(name);
      const auto a = TypeParam::host_csr(m);
      const auto want = expected_sparse(a, a, 0.5, false, true);
      for (const std::size_t limit :
           {std::size_t{0}, std::size_t{2'000'000}, std::size_t{1'000'000}}) {
        SCOPED_TRACE(std::string(name) + " within " + std::to_string(limit));
        const auto c = multiply_out_of_core(ctx, host(), scaled(0.5, a), transposed(a),
                                            {.memory_limit = limit});
        EXPECT_NO_THROW(check(host(), c));
        EXPECT_TRUE(is_product(c, want));
      }
    }
  });
}

TYPED_TEST(SpGEMMParts, Galerkin) {
  const auto& ctx = TypeParam::context();
  const with_values in_use(value_kind::integers); // the same sums however the three are grouped
  const triplets& m = battery_matrix("stencil 40 x 40");
  const auto a = TypeParam::put_csr(m);
  for (const std::int64_t coarse : {1, 200, 1600, 9000}) {
    SCOPED_TRACE(coarse);
    const auto p = TypeParam::host_csr(random_matrix(m.rows, coarse, 1, 2));
    const auto p_on_engine = copy_to(ctx, p);
    const auto c = galerkin(ctx, scaled(2, transposed(p_on_engine)), a, p_on_engine);
    EXPECT_NO_THROW(check(ctx, c));
    const auto ap = multiply(ctx, a, p_on_engine);
    EXPECT_TRUE(is_product(ap, expected_sparse(TypeParam::host_csr(m), p)));
    EXPECT_TRUE(is_product(c, expected_sparse(p, copy_to(host(), ap), 2, true)));
  }
}

/// The bound that verify_product states for a row of alpha A B, as C has it.
double rounding_of_row(const triplets& a, const triplets& b, double alpha, std::int64_t row,
                       std::int64_t entries_of_c, double epsilon) {
  const auto b_lengths = row_lengths(b);
  std::vector<double> b_sums(static_cast<std::size_t>(b.rows));
  for (std::size_t k = 0; k < b.value.size(); ++k)
    b_sums[static_cast<std::size_t>(b.row[k])] += std::abs(b.value[k]);
  double most = 0, entries_of_a = 0;
  for (std::size_t k = 0; k < a.value.size(); ++k)
    if (a.row[k] == row) {
      most += std::abs(a.value[k]) * b_sums[static_cast<std::size_t>(a.col[k])];
      ++entries_of_a;
    }
  const auto longest = static_cast<double>(*std::max_element(b_lengths.begin(), b_lengths.end()));
  const double gamma =
      2 * (2 * entries_of_a + longest + static_cast<double>(entries_of_c) + 8) * epsilon;
  return gamma * std::abs(alpha) * most;
}

TYPED_TEST(SpGEMMParts, VerifyFindsWhatIsWrong) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  int tried = 0;
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto b = random_matrix(m.cols, 300, 2, 3); // no duplicates
    const auto a_on_engine = TypeParam::put_csr(m), b_on_engine = TypeParam::put_csr(b);
    const auto c = multiply(ctx, scaled(-2, a_on_engine), b_on_engine);
    const auto verdict = verify_product(ctx, -2, a_on_engine, b_on_engine, c, 5);
    EXPECT_TRUE(verdict.ok) << verdict.worst << " in row " << verdict.row;
    if (m.name == "NaN and Inf values" || c.size() == 0) return;
    // One entry off by four times what rounding may cause in its row: found by any x above 1/2, so
    // all but certainly in one of 12 rounds.
    auto wrong = copy_to(host(), c);
    const std::int64_t at = wrong.size() / 2;
    std::int64_t row = 0;
    while (wrong.rowptr()[row + 1] <= at) ++row;
    const double by =
        4 * rounding_of_row(m, b, -2, row, wrong.rowptr()[row + 1] - wrong.rowptr()[row],
                            std::numeric_limits<T>::epsilon());
    wrong.values()[at] += static_cast<T>(by);
    const auto caught =
        verify_product(ctx, -2, a_on_engine, b_on_engine, copy_to(ctx, wrong), 5, 12);
    EXPECT_FALSE(caught.ok) << "an entry of row " << row << " is off by " << by;
    EXPECT_EQ(caught.row, row);
    ++tried;
  });
  EXPECT_GE(tried, 25);
}

} // namespace
} // namespace lacuna::test
