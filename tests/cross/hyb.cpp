// hyb on every engine: made from the whole battery with several widths, it holds the matrix it was
// made from, keeps its invariants, and multiplies as the reference does.
#include <lacuna/op/hyb.hpp>

#include "support/dense_block.hpp"

namespace lacuna::test {
namespace {

template <class C> class Hyb : public engine_test<C> {
protected:
  /// Calls f(host matrix, hyb made from it on the engine): by the rule, with a rest and without.
  template <class F> static void for_each_case(F f) {
    C::for_each_matrix([&](const triplets& m) {
      const auto host = C::host_csr(m);
      const auto a = C::put_csr(m);
      std::int64_t longest = 1;
      for (std::int64_t i = 0; i < host.shape().row; ++i)
        longest = std::max<std::int64_t>(longest, host.rowptr()[i + 1] - host.rowptr()[i]);
      for (const std::int64_t width :
           {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, longest}) {
        SCOPED_TRACE("width " + std::to_string(width));
        f(host, to_hyb(C::context(), a, {width}));
      }
    });
  }
  template <class F> static void for_each_sum(F f) {
    C::for_each_value_kind([&] { for_each_case(f); });
  }
};
TYPED_TEST_SUITE(Hyb, all_configs, config_name);

TYPED_TEST(Hyb, HoldsTheMatrix) {
  TestFixture::for_each_case([&](const auto& host, const auto& h) {
    check(TypeParam::context(), h);
    EXPECT_LE(h.width * host.shape().row, 3 * std::int64_t{host.size()});
    EXPECT_TRUE(same_matrix(to_csr(TypeParam::context(), h), host));
  });
}

TYPED_TEST(Hyb, IsMadeAsByOneThreadOfTheHost) {
  const host_context ctx({1});
  TestFixture::for_each_case([&](const auto& host, const auto& h) {
    const auto here = to_hyb(ctx, host, {h.width}); // 0 is the rule's, or the widest there is
    EXPECT_EQ(here.width, h.width);
    EXPECT_EQ(here.stride, h.stride);
    EXPECT_TRUE(same(host_vector(h.columns), host_vector(here.columns)));
    EXPECT_TRUE(same(host_vector(h.values), host_vector(here.values)));
    EXPECT_TRUE(same_matrix(h.rest, here.rest));
  });
}

TYPED_TEST(Hyb, Multiplies) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_sum([&](const auto& host, const auto& h) {
    const auto x = random_vector<T>(host.shape().col, 1), z = random_vector<T>(host.shape().row, 2);
    const auto x_there = TypeParam::put(x), z_there = TypeParam::put(z);
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(ctx, h, x_there, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
    const auto once = host_vector(y);
    multiply(ctx, h, x_there, y);
    EXPECT_TRUE(same(host_vector(y), once));
    y = TypeParam::put(z);
    multiply(ctx, scaled(-1.5, h), x_there, scaled(0.25, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(-1.5, host, false, x, 0.25, z)));
    const auto in_place = host_vector(y);
    y = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(ctx, scaled(-1.5, h), x_there, scaled(0.25, z_there), y);
    EXPECT_TRUE(same(host_vector(y), in_place));
  });
}

TYPED_TEST(Hyb, SpecialValues) {
  using T = typename TypeParam::value;
  TestFixture::for_each_sum([&](const auto& host, const auto& h) {
    const auto x = special_vector<T>(host.shape().col, 3);
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(TypeParam::context(), h, TypeParam::put(x), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
  });
}

TYPED_TEST(Hyb, SeveralColumns) {
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_sum([&](const auto& host, const auto& h) {
    for (const std::int64_t columns : {1, 5}) {
      const block x({host.shape().col, columns}, 4), z({host.shape().row, columns}, 5);
      const auto want = expected_product(2, host, false, x, -1, &z);
      for (const layout order : {layout::row_major, layout::column_major}) {
        const auto x_there = x.put(ctx, order, 3);
        auto y = z.put(ctx, order, 2);
        multiply(ctx, scaled(2, h), x_there.view(), scaled(-1, y.view()), y.view());
        EXPECT_TRUE(within(y.elements(), want));
        EXPECT_TRUE(y.gaps_untouched());
      }
    }
  });
}

TYPED_TEST(Hyb, CopiesMultiplyAlike) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_case([&](const auto& host, const auto& h) {
    const auto x = TypeParam::put(random_vector<T>(host.shape().col, 6));
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(ctx, h, x, y);
    const auto copy = copy_to(ctx, copy_to(host_context(), h));
    EXPECT_EQ(copy.bytes(), h.bytes());
    auto y_copy = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(ctx, copy, x, y_copy);
    EXPECT_TRUE(same(host_vector(y_copy), host_vector(y)));
  });
}

template <class C> class HybByRule : public engine_test<C> {};
TYPED_TEST_SUITE(HybByRule, few_configs, config_name);

/// Rows enough for the rule, as many of each length from 0 to 8, and one long row.
TYPED_TEST(HybByRule, ChoosesTheSameEverywhere) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  triplets m;
  m.name = "nine lengths";
  m.rows = m.cols = 13'005;
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t k = 0; k < (i == 77 ? 9000 : i % 9); ++k)
      m.add(i, (i + k) % m.cols, 1.0 + static_cast<double>((i + k) % 7));
  const auto host = TypeParam::host_csr(m);
  const auto h = to_hyb(ctx, TypeParam::put_csr(m));
  EXPECT_EQ(h.width, 6); // 6, 7 or 8 entries: a third of the rows, and the long one
  check(ctx, h);
  TypeParam::for_each_value_kind([&] {
    const auto x = random_vector<T>(m.cols, 7);
    auto y = TypeParam::put(all_nan<T>(m.rows));
    multiply(ctx, h, TypeParam::put(x), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
  });
}

template <class C> class HybThreads : public engine_test<C> {};
TYPED_TEST_SUITE(HybThreads, host_value_configs, config_name);

TYPED_TEST(HybThreads, DoNotChangeTheBits) {
  using T = typename TypeParam::value;
  for (const triplets& m : battery()) {
    const auto a = TypeParam::host_csr(m);
    const auto x = random_vector<T>(a.shape().col, 8);
    for (const std::int64_t width : {0, 2, 1000}) {
      std::vector<T> first;
      for (const int threads : {1, 2, 4}) {
        const host_context ctx({threads});
        std::vector<T> y(static_cast<std::size_t>(a.shape().row));
        multiply(ctx, to_hyb(ctx, a, {width}), x, y);
        if (threads == 1) first = y;
        EXPECT_TRUE(same(y, first)) << m.name;
      }
    }
  }
}

} // namespace
} // namespace lacuna::test
