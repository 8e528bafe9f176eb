// Conversions between coo, csr, csc and dense: entry by entry as the reference has it, and there
// and back again without loss.
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

/// Dense copies of the largest would only cost time.
bool fits_dense(const triplets& m) { return m.rows * m.cols <= 400'000; }

template <class C> class Convert : public engine_test<C> {
protected:
  /// The invariants and the stated facts hold.
  template <class A> static void expect_valid(const A& a) {
    EXPECT_NO_THROW(check(C::context(), a));
  }
};
TYPED_TEST_SUITE(Convert, all_configs, config_name);
template <class C> class ConvertFew : public Convert<C> {};
TYPED_TEST_SUITE(ConvertFew, few_configs, config_name);

TYPED_TEST(Convert, CooToCsr) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_coo(m);
    const auto b = to_csr(ctx, a);
    TestFixture::expect_valid(b);
    EXPECT_TRUE(same_entries(entries_of(b), reference::by_row(entries_of(a))));
    EXPECT_TRUE(!a.order().sorted || b.order().sorted);
    EXPECT_EQ(b.order().unique, a.order().unique);
  });
}

TYPED_TEST(Convert, CooToCsc) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_coo(m);
    const auto b = to_csc(ctx, a);
    TestFixture::expect_valid(b);
    EXPECT_TRUE(same_entries(entries_of(b.transpose()), reference::transpose(entries_of(a))));
    EXPECT_EQ(b.order().unique, a.order().unique);
  });
}

TYPED_TEST(Convert, CsrToCoo) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto b = to_coo(ctx, a);
    TestFixture::expect_valid(b);
    EXPECT_TRUE(same_entries(entries_of(b), entries_of(a)));
    EXPECT_EQ(b.order(), a.order());
  });
}

TYPED_TEST(Convert, CsrToCsc) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto b = to_csc(ctx, a);
    TestFixture::expect_valid(b);
    EXPECT_TRUE(b.order().sorted);
    EXPECT_TRUE(same_entries(entries_of(b.transpose()), reference::transpose(entries_of(a))));
  });
}

TYPED_TEST(Convert, CscToCsrAndCoo) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csc(m);
    const auto want = reference::by_row(entries_of(a));
    const auto rows = to_csr(ctx, a);
    TestFixture::expect_valid(rows);
    EXPECT_TRUE(same_entries(entries_of(rows), want));
    const auto triples = to_coo(ctx, a);
    TestFixture::expect_valid(triples);
    EXPECT_TRUE(same_entries(entries_of(triples), want));
  });
}

TYPED_TEST(ConvertFew, ToItselfIsACopy) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto rows = TypeParam::put_csr(m);
    const auto rows_copy = to_csr(ctx, rows);
    EXPECT_TRUE(same_matrix(rows_copy, (make_csr<T, I, O>(m))));
    EXPECT_EQ(rows_copy.order(), rows.order());
    EXPECT_TRUE(m.size() == 0 || rows_copy.values().data() != rows.values().data());
    EXPECT_TRUE(same_matrix(to_csc(ctx, TypeParam::put_csc(m)), (make_csc<T, I, O>(m))));
    EXPECT_TRUE(same_matrix(to_coo(ctx, TypeParam::put_coo(m)), (make_coo<T, I, O>(m))));
  });
}

TYPED_TEST(ConvertFew, RoundTrips) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto want = make_csr<T, I, O>(m);
    EXPECT_TRUE(same_matrix(to_csr(ctx, to_coo(ctx, a)), want)) << "csr -> coo -> csr";
    if (want.order().sorted) {
      EXPECT_TRUE(same_matrix(to_csr(ctx, to_csc(ctx, a)), want)) << "csr -> csc -> csr";
    }
    const auto c = TypeParam::put_coo(m);
    if (c.order().sorted) {
      EXPECT_TRUE(same_matrix(to_coo(ctx, to_csr(ctx, c)), (make_coo<T, I, O>(m))))
          << "coo -> csr -> coo";
    }
  });
}

TYPED_TEST(Convert, ToDense) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    if (!fits_dense(m)) return;
    const auto rows = TypeParam::put_csr(m);
    // Sums of duplicates are formed in T: compare with a bound, the rest exactly.
    const auto entries = entries_of(rows);
    auto magnitude = entries;
    for (double& v : magnitude.value) v = std::abs(v);
    expected want{reference::to_dense(entries), reference::to_dense(magnitude)};
    for (double& bound : want.bound)
      bound *= rows.order().unique || values_in_use() == value_kind::integers
                   ? 0
                   : 4 * double{std::numeric_limits<T>::epsilon()};
    for (const layout l : {layout::row_major, layout::column_major}) {
      const auto expect_dense = [&](const auto& d, const char* from) {
        EXPECT_EQ(d.layout(), l);
        EXPECT_EQ(d.shape(), (index<std::int64_t>{m.rows, m.cols}));
        const auto host = copy_to(default_context<space::host>(), d);
        std::vector<T> elements;
        for (std::int64_t i = 0; i < m.rows; ++i)
          for (std::int64_t j = 0; j < m.cols; ++j) elements.push_back(host(i, j));
        EXPECT_TRUE(within(elements, want)) << "from " << from;
      };
      expect_dense(to_dense(ctx, rows, l), "csr");
      expect_dense(to_dense(ctx, TypeParam::put_csc(m), l), "csc");
      expect_dense(to_dense(ctx, TypeParam::put_coo(m), l), "coo");
    }
  });
}

TYPED_TEST(Convert, FromDense) {
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    if (!fits_dense(m)) return;
    for (const layout l : {layout::row_major, layout::column_major}) {
      const auto d = to_dense(ctx, TypeParam::put_csr(m), l);
      const auto want = entries_of(d);
      const auto rows = to_csr<I, O>(ctx, d);
      TestFixture::expect_valid(rows);
      EXPECT_EQ(rows.order(), (facts{true, true}));
      EXPECT_TRUE(same_entries(entries_of(rows), want));
      const auto columns = to_csc<I, O>(ctx, d);
      TestFixture::expect_valid(columns);
      EXPECT_EQ(columns.order(), (facts{true, true}));
      EXPECT_TRUE(same_entries(entries_of(columns.transpose()), reference::transpose(want)));
      const auto triples = to_coo<I, O>(ctx, d);
      TestFixture::expect_valid(triples);
      EXPECT_TRUE(same_entries(entries_of(triples), want));
    }
  });
}

} // namespace
} // namespace lacuna::test
