// Code that serves more than 2^31 entries, reached on small matrices by lowering the limit.
#include "core/narrow_limit.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

/// Lowers the limit for the life of the object.
class lowered_limit {
public:
  explicit lowered_limit(std::int64_t limit) : before_(lacuna::detail::set_narrow_limit(limit)) {}
  ~lowered_limit() { lacuna::detail::set_narrow_limit(before_); }
  lowered_limit(const lowered_limit&) = delete;
  lowered_limit& operator=(const lowered_limit&) = delete;

private:
  std::int64_t before_;
};

template <class E>
using wide_on = ::testing::Types<
    on<E, float, std::int32_t, std::int64_t>, on<E, float, std::int64_t, std::int64_t>,
    on<E, double, std::int32_t, std::int64_t>, on<E, double, std::int64_t, std::int64_t>>;
template <class E>
using narrow_on = ::testing::Types<
    on<E, float, std::int32_t, std::int32_t>, on<E, float, std::int64_t, std::int32_t>,
    on<E, double, std::int32_t, std::int32_t>, on<E, double, std::int64_t, std::int32_t>>;

/// Matrices whose rows and columns stay below the limit of 500 while their entries do not.
std::vector<const triplets*> above_limit() {
  std::vector<const triplets*> result;
  for (const triplets& m : battery())
    if (m.rows < 500 && m.cols < 500 && m.size() > 500) result.push_back(&m);
  return result;
}
constexpr std::int64_t limit = 500;

template <class C> class WideOffsets : public engine_test<C> {
protected:
  template <class F> static void for_each_matrix(F f) {
    ASSERT_GE(above_limit().size(), 4U);
    for (const triplets* m : above_limit()) {
      SCOPED_TRACE(std::string(C::engine::name) + ": " + m->name);
      const auto host = C::host_csr(*m);
      const auto a = C::put_csr(*m);
      const lowered_limit lowered(limit);
      f(*m, host, a);
    }
  }
};
TYPED_TEST_SUITE(WideOffsets, internal::on_engines<wide_on>, config_name);

TYPED_TEST(WideOffsets, Multiply) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_value_kind([&] {
    TestFixture::for_each_matrix([&](const triplets&, const auto& host, const auto& a) {
      const auto x = random_vector<T>(host.shape().col, 1),
                 u = random_vector<T>(host.shape().row, 2);
      auto y = TypeParam::put(all_nan<T>(host.shape().row));
      multiply(ctx, a, TypeParam::put(x), y);
      EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
      const auto info = multiply_inspect(ctx, a, TypeParam::put(x), y);
      y = TypeParam::put(all_nan<T>(host.shape().row));
      multiply(ctx, info, a, TypeParam::put(x), y);
      EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
      auto v = TypeParam::put(all_nan<T>(host.shape().col));
      multiply(ctx, transposed(a), TypeParam::put(u), v);
      EXPECT_TRUE(within(host_vector(v), expected_product(1, host, true, u)));
    });
  });
}

TYPED_TEST(WideOffsets, Structure) {
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_matrix([&](const triplets& m, const auto& host, const auto& a) {
    const auto entries = entries_of(host);
    EXPECT_TRUE(same_entries(entries_of(transpose(ctx, a)), reference::transpose(entries)));
    EXPECT_TRUE(same_entries(entries_of(to_coo(ctx, a)), entries));
    const auto triples = TypeParam::put_coo(m);
    EXPECT_TRUE(
        same_entries(entries_of(to_csr(ctx, triples)), reference::by_row(entries_of(triples))));
    auto in_order = copy_to(ctx, a);
    in_order.state({});
    sort(ctx, in_order);
    EXPECT_TRUE(same_entries(entries_of(in_order), reference::sort(entries)));
    auto triples_in_order = copy_to(ctx, triples);
    triples_in_order.state({});
    sort(ctx, triples_in_order);
    EXPECT_TRUE(same_entries(entries_of(triples_in_order), reference::sort(entries_of(triples))));
    EXPECT_TRUE(same_entries(entries_of(merge_duplicates(ctx, a, duplicates::first)),
                             reference::merge(entries, duplicates::first)));
    EXPECT_TRUE(same_entries(entries_of(merge_duplicates(ctx, triples, duplicates::last)),
                             reference::merge(entries_of(triples), duplicates::last)));
    const auto d = to_dense(ctx, a);
    EXPECT_TRUE(same_entries(entries_of(to_csr<I, O>(ctx, d)), entries_of(d)));
    EXPECT_NO_THROW(check(ctx, a));
  });
}

template <class C> class NarrowOffsets : public engine_test<C> {};
TYPED_TEST_SUITE(NarrowOffsets, internal::on_engines<narrow_on>, config_name);

TYPED_TEST(NarrowOffsets, FromDenseSaysWhatToUse) {
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  for (const triplets* m : above_limit()) {
    SCOPED_TRACE(std::string(TypeParam::engine::name) + ": " + m->name);
    const auto d = to_dense(ctx, TypeParam::put_csr(*m));
    if (static_cast<std::int64_t>(entries_of(d).value.size()) <= limit) continue;
    const auto in_use = memory(TypeParam::memory_space).in_use;
    const lowered_limit lowered(limit);
    for (int format = 0; format < 3; ++format) {
      try {
        if (format == 0) (void)to_csr<I, O>(ctx, d);
        if (format == 1) (void)to_csc<I, O>(ctx, d);
        if (format == 2) (void)to_coo<I, O>(ctx, d);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const bad_input& e) {
        EXPECT_NE(std::string(e.what()).find("64-bit"), std::string::npos) << e.what();
      }
    }
    EXPECT_EQ(memory(TypeParam::memory_space).in_use, in_use);
  }
}

TYPED_TEST(NarrowOffsets, FromDenseAtTheLimit) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  // 500 entries fit a limit of 500, 501 do not.
  for (const int extra : {0, 1}) {
    dense<T> host(default_context<space::host>(), {30, 30});
    fill(default_context<space::host>(), 0, host.values());
    for (int k = 0; k < limit + extra; ++k) host.values()[k] = 1;
    const auto d = copy_to(ctx, host);
    const lowered_limit lowered(limit);
    if (extra == 0) {
      EXPECT_EQ((to_csr<I, O>(ctx, d).size()), limit);
    } else {
      EXPECT_THROW((void)(to_csr<I, O>(ctx, d)), bad_input);
    }
  }
}

TYPED_TEST(NarrowOffsets, FromDenseColumnsThatDoNotFit) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  dense<T> host(default_context<space::host>(), {2, 600});
  fill(default_context<space::host>(), 0, host.values());
  const auto d = copy_to(ctx, host);
  const lowered_limit lowered(limit);
  if (sizeof(I) == 4) {
    EXPECT_THROW((void)(to_csr<I, O>(ctx, d)), bad_input);
  } else {
    EXPECT_EQ((to_csr<I, O>(ctx, d).size()), 0);
  }
}

} // namespace
} // namespace lacuna::test
