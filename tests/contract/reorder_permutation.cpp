// Permutations of vectors and matrices, against the plain renaming of entries.
#include <numeric>

#include <lacuna/op/reorder.hpp>

#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

const auto& ctx = host_engine::context();

template <class I> permutation<I> from_vector(const std::vector<I>& order) {
  return permutation<I>(ctx, copy_to(ctx, order));
}
template <class I> permutation<I> random_permutation(std::int64_t size, std::uint64_t seed) {
  std::vector<I> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), I{0});
  random_source random(seed);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  return from_vector(order);
}

template <class C> class Permute : public engine_test<C> {};
TYPED_TEST_SUITE(Permute, internal::all_on<host_engine>, config_name);

TYPED_TEST(Permute, PermutesVectorsBothWays) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  for (const std::int64_t n : {0, 1, 2, 1000, 100'000}) {
    const auto p = random_permutation<I>(n, 3);
    check(ctx, p);
    const auto x = random_vector<T>(n, 1);
    std::vector<T> y(x.size()), back(x.size());
    permute(ctx, p, x, y);
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], x[static_cast<std::size_t>(p.new_to_old()[static_cast<std::int64_t>(i)])]);
    permute_back(ctx, p, y, back);
    EXPECT_TRUE(same(back, x));
    permute(ctx, inverse(ctx, p), y, back);
    EXPECT_TRUE(same(back, x));
  }
}

TYPED_TEST(Permute, PermutesMatrices) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::host_csr(m);
    const auto rows = random_permutation<I>(m.rows, 1), cols = random_permutation<I>(m.cols, 2);
    const auto b = permute(ctx, a, rows, cols);
    check(ctx, b);
    EXPECT_TRUE(b.order().sorted);
    auto renamed = entries_of(a);
    for (auto& i : renamed.row) i = rows.old_to_new()[i];
    for (auto& j : renamed.col) j = cols.old_to_new()[j];
    EXPECT_TRUE(same_entries(entries_of(b), reference::sort(renamed)));
    // (P A Q^T)(Q x) = P (A x)
    const auto x = random_vector<T>(m.cols, 3);
    std::vector<T> qx(x.size()), y(static_cast<std::size_t>(m.rows)), back(y.size());
    permute(ctx, cols, x, qx);
    multiply(ctx, b, qx, y);
    permute_back(ctx, rows, y, back);
    EXPECT_TRUE(within(back, expected_product(1, a, false, x)));
    // and back again
    const auto again = permute(ctx, b, inverse(ctx, rows), inverse(ctx, cols));
    EXPECT_TRUE(same_entries(entries_of(again), reference::sort(entries_of(a))));
  });
}

TEST(Permutation, Composes) {
  const auto p = random_permutation<int>(500, 1), q = random_permutation<int>(500, 2);
  const auto x = random_vector<double>(500, 3);
  std::vector<double> px(500), qpx(500), both(500);
  permute(ctx, p, x, px);
  permute(ctx, q, px, qpx);
  permute(ctx, compose(ctx, p, q), x, both);
  EXPECT_TRUE(same(both, qpx));
  const auto nothing = compose(ctx, p, inverse(ctx, p));
  for (int i = 0; i < 500; ++i) EXPECT_EQ(nothing.new_to_old()[i], i);
  const auto forth = host_vector(p.new_to_old());
  auto moved = random_permutation<int>(500, 1);
  EXPECT_TRUE(same(host_vector(std::move(moved).inverse().old_to_new()), forth));
}

TEST(Permutation, MustBeOneToOne) {
  const auto message = [](const std::vector<int>& order) -> std::string {
    try {
      from_vector(order);
    } catch (const bad_input& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message({2, 0, 1}), "");
  EXPECT_EQ(message({0, 3, 1}), "permutation: [1] = 3 is not in 0 .. 2");
  EXPECT_EQ(message({0, -1, 1}), "permutation: [1] = -1 is not in 0 .. 2");
  EXPECT_TRUE(message({0, 2, 0}).starts_with("permutation: 0 stands at two places"));
}

TEST(Permutation, SizesMustFit) {
  const auto p = random_permutation<int>(5, 1), q = random_permutation<int>(6, 1);
  std::vector<double> five(5), six(6);
  EXPECT_THROW(compose(ctx, p, q), size_mismatch);
  EXPECT_THROW(permute(ctx, p, five, six), size_mismatch);
  EXPECT_THROW(permute_back(ctx, p, six, five), size_mismatch);
  EXPECT_THROW(permute(ctx, p, five, five), bad_input); // overlap
  EXPECT_THROW(permute(ctx, csr<double>(), q), size_mismatch);
}

} // namespace
} // namespace lacuna::test
