// Products in phases, refilled, in parts and out of core; and the check of a product.
#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

template <class C> class SpGEMMPhases : public engine_test<C> {};
TYPED_TEST_SUITE(SpGEMMPhases, all_configs, config_name);
template <class C> class SpGEMMParts : public engine_test<C> {};
TYPED_TEST_SUITE(SpGEMMParts, few_configs, config_name);

const host_context& host() { return default_context<space::host>(); }

triplets with_other_values(triplets m) {
  random_source random(77);
  for (double& v : m.value) v = random.value();
  return m;
}

TYPED_TEST(SpGEMMPhases, ComputeFillAndFillAgain) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto b = random_matrix(m.cols, 400, 2, 1);
    if (product_count(m, b) > 400'000) return;
    const auto a_there = TypeParam::put_csr(m), b_there = TypeParam::put_csr(b);
    const auto want = copy_to(host(), multiply(ctx, scaled(2, a_there), b_there));
    auto info = multiply_compute(ctx, a_there, b_there);
    EXPECT_EQ(info.shape(), want.shape());
    EXPECT_EQ(info.nnz(), want.size());
    EXPECT_EQ(info.result_nnz(), want.size());
    csr<T, I, O, S> c(ctx, info.shape(), info.nnz());
    EXPECT_FALSE(info.filled(c.view()));
    multiply_fill(ctx, info, scaled(2, a_there), b_there, c);
    EXPECT_TRUE(same_matrix(c, want));
    EXPECT_EQ(c.order(), (facts{true, true}));
    EXPECT_TRUE(info.filled(c.view()));

    // Other values, same patterns: bit by bit what a new product has.
    const auto a2 = TypeParam::put_csr(with_other_values(m)),
               b2 = TypeParam::put_csr(with_other_values(b));
    const auto* const columns = c.colind().data();
    multiply_fill(ctx, info, a2, scaled(-1, b2), c);
    EXPECT_EQ(c.colind().data(), columns);
    EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply(ctx, a2, scaled(-1, b2)))));

    csr<T, I, O, S> d(ctx, info.shape(), info.nnz()); // another place: everything again
    multiply_fill(ctx, info, scaled(2, a_there), b_there, d.view());
    EXPECT_TRUE(same_matrix(d, want));

    csr<T, I, std::int64_t, S> wide(ctx, info.shape(), 0);
    auto wide_info = multiply_compute(ctx, a_there, b_there, wide);
    wide = csr<T, I, std::int64_t, S>(ctx, wide_info.shape(), wide_info.nnz());
    multiply_fill(ctx, wide_info, scaled(2, a_there), b_there, wide);
    EXPECT_TRUE(
        same_matrix(wide, copy_to(host(), multiply_wide(ctx, scaled(2, a_there), b_there))));
  });
}

TYPED_TEST(SpGEMMPhases, TransposedOperands) {
  using matrix = csr<typename TypeParam::value, typename TypeParam::index,
                     typename TypeParam::offset, TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("unsorted with duplicates"));
  auto info = multiply_compute(ctx, transposed(a), a);
  matrix c(ctx, info.shape(), info.nnz());
  const auto want = copy_to(host(), multiply(ctx, transposed(a), a));
  for (int times = 0; times < 2; ++times) {
    multiply_fill(ctx, info, transposed(a), a, c);
    EXPECT_TRUE(same_matrix(c, want));
  }
}

TYPED_TEST(SpGEMMPhases, SaysWhatDoesNotFit) {
  using T = typename TypeParam::value;
  using matrix =
      csr<T, typename TypeParam::index, typename TypeParam::offset, TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("tridiagonal"));
  auto info = multiply_compute(ctx, a, a);
  matrix c(ctx, info.shape(), info.nnz());
  matrix small(ctx, info.shape(), info.nnz() - 1);
  EXPECT_THROW(multiply_fill(ctx, info, a, a, small), size_mismatch);
  const auto other = TypeParam::put_csr(battery_matrix("identity"));
  EXPECT_THROW(multiply_fill(ctx, info, other, other, c), size_mismatch);

  // As many entries elsewhere.
  triplets moved = battery_matrix("tridiagonal");
  for (std::size_t k = 0; k < moved.value.size(); ++k)
    if (moved.row[k] == 250) moved.col[k] = 100 + 7 * (moved.col[k] - 249);
  const auto b = TypeParam::put_csr(moved);
  try {
    multiply_fill(ctx, info, b, b, c);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const error& e) {
    EXPECT_NE(std::string(e.what()).find("row 2"), std::string::npos) << e.what();
  }
  multiply_fill(ctx, info, a, a, c);
  EXPECT_THROW(multiply_fill(ctx, info, b, b, c), bad_input);
  multiply_fill(ctx, info, a, a, c);
  EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply(ctx, a, a))));
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
    const auto p_there = copy_to(ctx, p);
    const auto c = galerkin(ctx, scaled(2, transposed(p_there)), a, p_there);
    EXPECT_NO_THROW(check(ctx, c));
    const auto ap = multiply(ctx, a, p_there);
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
    const auto a_there = TypeParam::put_csr(m), b_there = TypeParam::put_csr(b);
    const auto c = multiply(ctx, scaled(-2, a_there), b_there);
    const auto found = verify_product(ctx, -2, a_there, b_there, c, 5);
    EXPECT_TRUE(found.ok) << found.worst << " in row " << found.row;
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
    const auto caught = verify_product(ctx, -2, a_there, b_there, copy_to(ctx, wrong), 5, 12);
    EXPECT_FALSE(caught.ok) << "an entry of row " << row << " is off by " << by;
    EXPECT_EQ(caught.row, row);
    ++tried;
  });
  EXPECT_GE(tried, 25);
}

} // namespace
} // namespace lacuna::test
