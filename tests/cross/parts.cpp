// Plans and sparse products in parts on every engine, one to five parts; in one place with what
// would travel between devices copied and not.
#include "support/dense_block.hpp"
#include "support/engine.hpp"
#include "support/oracle.hpp"
#include "support/sparse_product.hpp"
#include <lacuna/op/multiply_on.hpp>
#include <lacuna/plan/parts.hpp>
#include <lacuna/solver/krylov.hpp>

namespace lacuna::test {
namespace {

/// A context of its own for each part, on all devices that there are.
template <class C> auto contexts_of_parts(int n) {
  if constexpr (C::memory_space == space::device) {
    std::vector<int> devices;
    for (int k = 0; k < n; ++k) devices.push_back((C::context().device() + k) % device_count());
    return contexts_on(devices);
  } else {
    return std::vector<host_context>(static_cast<std::size_t>(n), host_context({.threads = 2}));
  }
}

template <class C> class Parts : public engine_test<C> {};
TYPED_TEST_SUITE(Parts, few_configs, config_name);

TYPED_TEST(Parts, PlansMultiplyTheBattery) {
  using value = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const with_values exact(value_kind::integers);
  TypeParam::for_each_matrix([&](const triplets& t) {
    const auto a = TypeParam::put_csr(t);
    const int n = 1 + static_cast<int>((t.rows + t.size()) % 4);
    const auto x = random_vector<value>(t.cols, 3);
    const auto want = expected_product(1, TypeParam::host_csr(t), false, x, 0, {});
    for (const bool copied : {false, true}) {
      SCOPED_TRACE(testing::Message() << n << (copied ? " copied" : ""));
      const auto op = plan_on(ctx, contexts_of_parts<TypeParam>(n), a, {}, {copied});
      ASSERT_EQ(op.count(), n);
      EXPECT_EQ(op.size(), a.size());
      EXPECT_EQ(op.first_row(0), 0);
      std::int64_t rows = 0, entries = 0;
      for (int p = 0; p < n; ++p) {
        EXPECT_EQ(op.first_row(p), rows);
        rows += op.part(p).shape().row;
        entries += op.part(p).size();
      }
      EXPECT_EQ(rows, t.rows);
      EXPECT_EQ(entries, a.size());
      auto y = TypeParam::put(random_vector<value>(t.rows, 4));
      op.multiply(TypeParam::put(x), y);
      EXPECT_TRUE(within(host_vector(y), want));
    }
  });
}

/// Columns side by side, of matrices with gaps between them.
TYPED_TEST(Parts, PlansMultiplyBlocks) {
  using T = typename TypeParam::value;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const triplets t = random_matrix(70, 90, 5, 3);
  const auto a = TypeParam::put_csr(t);
  const auto x = TypeParam::put(random_vector<T>(100 * 3, 1));
  for (const bool copied : {false, true}) {
    auto y = TypeParam::put(random_vector<T>(75 * 3, 2)),
         want = TypeParam::put(random_vector<T>(75 * 3, 2));
    const auto op = plan_on(ctx, contexts_of_parts<TypeParam>(3), a, {.format = "csr"}, {copied});
    op.multiply(dense_view<const T, S>(x.data(), {90, 3}, layout::column_major, 100),
                dense_view<T, S>(y.data(), {70, 3}, layout::column_major, 75));
    for (int j = 0; j < 3; ++j)
      multiply(ctx, a, vector_view<const T, S>(x.data() + j * 100, 90),
               vector_view<T, S>(want.data() + j * 75, 70));
    const auto got = host_vector(y), wanted = host_vector(want);
    for (std::size_t k = 0; k < got.size(); ++k)
      ASSERT_NEAR(got[k], wanted[k], 1e-4) << copied << " " << k;
  }
}

TYPED_TEST(Parts, RangesHaveLikeManyEntries) {
  const auto& ctx = TypeParam::context();
  const triplets t = random_matrix(1000, 400, 7, 5);
  const auto a = TypeParam::put_csr(t);
  const auto op = plan_on(ctx, contexts_of_parts<TypeParam>(4), a);
  for (int p = 0; p < 4; ++p)
    EXPECT_NEAR(static_cast<double>(op.part(p).size() + op.part(p).shape().row),
                static_cast<double>(a.size() + 1000) / 4, 20);
  EXPECT_NE(op.explain().find("part 3: rows "), std::string::npos) << op.explain();
  EXPECT_NE(op.format().find(" in 4 parts"), std::string::npos) << op.format();
}

TYPED_TEST(Parts, PlansTakeNewValues) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const with_values exact(value_kind::integers);
  triplets t = random_matrix(80, 60, 6, 9);
  const auto a = TypeParam::put_csr(t);
  for (double& v : t.value) v = 2 * v + 1;
  const auto changed = TypeParam::put_csr(t);
  const auto x = random_vector<T>(60, 1);
  for (const bool copied : {false, true}) {
    auto op = plan_on(ctx, contexts_of_parts<TypeParam>(3), a, {}, {copied});
    op.update_values(changed);
    auto y = TypeParam::put(random_vector<T>(80, 2));
    op.multiply(TypeParam::put(x), y);
    EXPECT_TRUE(
        within(host_vector(y), expected_product(1, TypeParam::host_csr(t), false, x, 0, {})));
  }
}

/// A row's sum does not depend on the rows around it: in CSR on the host, which planned formats
/// and a device's lanes for a row are not.
TYPED_TEST(Parts, PlansRepeat) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const triplets t = random_matrix(3000, 800, 9, 4);
  const auto a = TypeParam::put_csr(t);
  const auto x = TypeParam::put(random_vector<T>(800, 1));
  std::vector<T> first;
  for (int n = 1; n <= 5; ++n)
    for (int again = 0; again < 2; ++again) {
      const auto op = plan_on(ctx, contexts_of_parts<TypeParam>(n), a, {.format = "csr"});
      auto y = TypeParam::put(random_vector<T>(3000, 2));
      op.multiply(x, y);
      const bool starts = first.empty() || (TypeParam::memory_space == space::device && again == 0);
      if (starts) first = host_vector(y);
      EXPECT_TRUE(same_bits(host_vector(y), first)) << n;
    }
}

TYPED_TEST(Parts, SolvesByCg) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const auto here =
      gen::generate<T, typename TypeParam::index, typename TypeParam::offset>("poisson2d:n=20");
  const auto a = copy_to(ctx, here);
  const auto b = TypeParam::put(random_vector<T>(400, 1));
  auto alone = TypeParam::put(std::vector<T>(400, T{0}));
  const auto want = cg(ctx, a, b, alone);
  ASSERT_TRUE(want.converged);
  for (const bool copied : {false, true}) {
    const auto op = plan_on(ctx, contexts_of_parts<TypeParam>(3), a, {}, {copied});
    auto x = TypeParam::put(std::vector<T>(400, T{0}));
    const auto report = cg(ctx, op, b, x);
    EXPECT_TRUE(report.converged);
    EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(want.iterations), 2);
    EXPECT_EQ(report.storage, op.format());
    const auto got = host_vector(x), wanted = host_vector(alone);
    for (std::size_t k = 0; k < got.size(); ++k)
      ASSERT_NEAR(got[k], wanted[k], sizeof(T) == 4 ? 1e-2 : 1e-5) << k;
  }
}

TYPED_TEST(Parts, ProductsHaveTheBitsOfOne) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& t) {
    if (t.size() > 20'000) return; // what is tested is how parts are put together
    const auto a = TypeParam::put_csr(t);
    const auto b = TypeParam::put_csr(random_matrix(t.cols, 60, 3, 8));
    const auto want = copy_to(host_context(), multiply(ctx, a, b));
    for (int n = 1; n <= 4; ++n) {
      const bool copied = n % 2 == 0;
      const auto c = multiply_on(ctx, contexts_of_parts<TypeParam>(n), a, b, {}, {copied});
      EXPECT_TRUE(same_matrix(c, want)) << n;
      EXPECT_TRUE(same_bits(host_vector(c.values()), host_vector(want.values()))) << n;
    }
  });
}

TYPED_TEST(Parts, ProductsTakeOperands) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(random_matrix(50, 40, 4, 1)),
             b = TypeParam::put_csr(random_matrix(30, 40, 3, 2));
  const auto c = multiply_on(ctx, contexts_of_parts<TypeParam>(3), scaled(2.0, a), transposed(b));
  EXPECT_TRUE(
      same_matrix(c, copy_to(host_context(), multiply(ctx, scaled(2.0, a), transposed(b)))));
}

TYPED_TEST(Parts, RefusesWhatDoesNotFit) {
  using T = typename TypeParam::value;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(random_matrix(50, 40, 4, 1));
  EXPECT_THROW(plan_on(ctx, {}, a), bad_input);
  EXPECT_THROW(multiply_on(ctx, {}, a, a), bad_input);
  EXPECT_THROW(multiply_on(ctx, contexts_of_parts<TypeParam>(2), a, a), size_mismatch);
  const auto op = plan_on(ctx, contexts_of_parts<TypeParam>(2), a);
  auto x = TypeParam::put(random_vector<T>(120, 1)), y = TypeParam::put(random_vector<T>(150, 1));
  EXPECT_THROW(op.multiply(x, y), size_mismatch);
  EXPECT_THROW(
      op.multiply(dense_view<const T, S>(x.data(), {40, 3}), dense_view<T, S>(y.data(), {50, 3})),
      unsupported);
}

} // namespace
} // namespace lacuna::test
