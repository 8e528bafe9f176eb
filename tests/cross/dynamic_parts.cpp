// Dynamic CSR in parts on every engine, one to four of them in one place: the same entries and
// products as one dynamic matrix has, through batches, growth and compaction.
#include "support/engine.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

/// A context of its own for each part: another stream of the same device.
template <class C> auto part_contexts(int n) {
  if constexpr (C::memory_space == space::device) {
    return contexts_on(std::vector<int>(static_cast<std::size_t>(n), C::context().device()));
  } else {
    return std::vector<host_context>(static_cast<std::size_t>(n), host_context({.threads = 2}));
  }
}

template <class C> class DynamicParts : public engine_test<C> {
protected:
  using T = typename C::value;
  using I = typename C::index;
  using O = typename C::offset;
  static constexpr space S = C::memory_space;
  using matrix = dynamic_csr_parts<T, I, O, S>;

  static void expect_same(const matrix& m, const dynamic_csr<T, I, O, S>& one) {
    const auto& ctx = C::context();
    check(ctx, m);
    ASSERT_EQ(m.shape(), one.shape());
    ASSERT_EQ(m.size(), one.size());
    EXPECT_TRUE(same_matrix(to_csr(ctx, m), copy_to(host_context(), to_csr(ctx, one))));
    const auto x = C::put(random_vector<T>(one.shape().col, 1));
    array<T, S> y(ctx, one.shape().row), want(ctx, one.shape().row);
    multiply(ctx, m, x, y);
    multiply(ctx, one, x, want);
    EXPECT_TRUE(same_bits(host_vector(y), host_vector(want)));
  }
  static triplets random_entries(random_source& random, std::int64_t rows, std::int64_t cols,
                                 std::int64_t size) {
    triplets t{"batch", rows, cols, {}, {}, {}};
    for (std::int64_t k = 0; k < size; ++k)
      t.add(random.below(4) == 0 ? rows / 2 : random.below(rows), random.below(cols),
            static_cast<double>(1 + random.below(5)));
    return t;
  }
};
TYPED_TEST_SUITE(DynamicParts, few_configs, config_name);

TYPED_TEST(DynamicParts, HoldsTheBattery) {
  using value = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const with_values exact(value_kind::integers);
  TypeParam::for_each_matrix([&](const triplets& t) {
    const auto a = TypeParam::put_csr(t);
    const auto one = to_dynamic_csr(ctx, a);
    const int n = 1 + static_cast<int>((t.rows + t.size()) % 4);
    SCOPED_TRACE(n);
    const auto m = to_dynamic_csr_parts(ctx, a, part_contexts<TypeParam>(n));
    TestFixture::expect_same(m, one);
    const auto x = random_vector<value>(t.cols, 3);
    auto y = TypeParam::put(random_vector<value>(t.rows, 4));
    multiply(ctx, m, TypeParam::put(x), y);
    EXPECT_TRUE(
        within(host_vector(y), expected_product(1, TypeParam::host_csr(t), false, x, 0, {})));
    // Longest rows first, one part after the other.
    std::int64_t least = 0, most = 0;
    for (int p = 0; p < n; ++p) {
      least = p == 0 ? m.part(p).size() : std::min(least, m.part(p).size());
      most = std::max(most, m.part(p).size());
    }
    const auto lengths = row_lengths(t);
    const std::int64_t longest =
        lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
    EXPECT_LE(most - least, longest);
  });
}

TYPED_TEST(DynamicParts, ChangesLikeOne) {
  const auto& ctx = TypeParam::context();
  const with_values exact(value_kind::integers);
  for (int n = 1; n <= 4; ++n) {
    SCOPED_TRACE(n);
    random_source random(static_cast<std::uint64_t>(n));
    std::int64_t rows = 37, cols = 300;
    typename TestFixture::matrix m(ctx, {37, 300}, part_contexts<TypeParam>(n), {.segments = 2});
    dynamic_csr<typename TypeParam::value, typename TypeParam::index, typename TypeParam::offset,
                TypeParam::memory_space>
        one(ctx, {37, 300}, {.segments = 2});
    for (int step = 0; step < 12; ++step) {
      SCOPED_TRACE(step);
      if (step % 4 == 3) rows += 5, cols += 40;
      const insert_options options{step % 5 == 4   ? existing::append
                                   : step % 3 == 2 ? existing::replace
                                                   : existing::add,
                                   outside::grow};
      const auto batch =
          TypeParam::put_coo(TestFixture::random_entries(random, rows, cols, step == 7 ? 0 : 150));
      const update_counts in = insert(ctx, m, batch.view(), options);
      const update_counts wanted = insert(ctx, one, batch.view(), options);
      EXPECT_EQ(in.inserted, wanted.inserted);
      EXPECT_EQ(in.changed, wanted.changed);
      const auto out = TypeParam::put_coo(TestFixture::random_entries(random, rows, cols, 60));
      EXPECT_EQ(erase(ctx, m, out.view()).erased, erase(ctx, one, out.view()).erased);
      if (step % 6 == 5) compact(ctx, m, {.merge = true}), compact(ctx, one, {.merge = true});
      TestFixture::expect_same(m, one);
    }
    // Dealt out again.
    const auto again = to_dynamic_csr_parts(ctx, to_csr(ctx, m), part_contexts<TypeParam>(n));
    TestFixture::expect_same(again, one);
  }
}

TYPED_TEST(DynamicParts, RefusesAndChangesNothing) {
  using parts = typename TestFixture::matrix;
  const auto& ctx = TypeParam::context();
  EXPECT_THROW(parts(ctx, {3, 3}, {}), bad_input);
  EXPECT_THROW(contexts_on({}), bad_input);
  EXPECT_THROW(contexts_on({0, 1000}), error); // not there, or a build without CUDA
  parts m(ctx, {3, 3}, part_contexts<TypeParam>(2));
  const auto good = TypeParam::put_coo({"good", 3, 3, {0, 1, 2}, {0, 1, 2}, {1, 2, 3}});
  insert(ctx, m, good.view());
  const auto bad = TypeParam::put_coo({"bad", 5, 3, {0, 4, 1}, {1, 0, 0}, {1, 2, 3}});
  EXPECT_THROW(insert(ctx, m, bad.view()), bad_input);
  EXPECT_THROW(erase(ctx, m, bad.view()), bad_input);
  EXPECT_EQ(m.size(), 3);
  EXPECT_EQ(m.shape().row, 3);
  check(ctx, m);
  const auto x = TypeParam::put(random_vector<typename TypeParam::value>(4, 1));
  auto y = TypeParam::put(random_vector<typename TypeParam::value>(3, 1));
  EXPECT_THROW(multiply(ctx, m, x, y), size_mismatch);
  parts none;
  EXPECT_THROW(insert(ctx, none, good.view()), bad_input);
}

} // namespace
} // namespace lacuna::test
