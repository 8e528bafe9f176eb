// A^T as a new matrix and into memory of the caller's, exactly as the reference has it.
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class Transpose : public engine_test<C> {};
TYPED_TEST_SUITE(Transpose, all_configs, config_name);

TYPED_TEST(Transpose, NewOwner) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto b = transpose(ctx, a);
    EXPECT_NO_THROW(check(ctx, b));
    EXPECT_TRUE(b.order().sorted);
    EXPECT_EQ(b.order().unique, host.order().unique);
    EXPECT_TRUE(same_entries(entries_of(b), reference::transpose(entries_of(host))));
    EXPECT_TRUE(same_matrix(a, host));
  });
}

TYPED_TEST(Transpose, TwiceIsSorted) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto b = transpose(ctx, transpose(ctx, a));
    EXPECT_TRUE(same_entries(entries_of(b), reference::sort(entries_of(host))));
    if (host.order().sorted) {
      EXPECT_TRUE(same_matrix(b, host));
    }
  });
}

TYPED_TEST(Transpose, IntoMemoryOfTheCaller) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    csr<T, I, O, TypeParam::memory_space> b(ctx, {host.shape().col, host.shape().row}, host.size());
    const auto info = transpose_inspect(a, b);
    EXPECT_EQ(info.shape(), (index<std::int64_t>{host.shape().col, host.shape().row}));
    transpose(ctx, info, a, b.view());
    EXPECT_NO_THROW(check(ctx, b));
    EXPECT_TRUE(same_entries(entries_of(b), reference::transpose(entries_of(host))));
  });
}

TYPED_TEST(Transpose, IntoAnOwnerStatesItsOrder) {
  // What the owner stated about its old entries is no longer true.
  const auto& ctx = TypeParam::context();
  for (const char* name : {"duplicates", "unsorted"}) {
    SCOPED_TRACE(std::string(TypeParam::engine::name) + ": " + name);
    const auto a = TypeParam::put_csr(battery_matrix(name));
    auto b = TypeParam::put_csr(exchanged(battery_matrix(name)));
    b.state({true, true});
    transpose(ctx, transpose_inspect(a, b), a, b);
    EXPECT_NO_THROW(check(ctx, b));
    EXPECT_EQ(b.order(), (facts{true, a.order().unique}));
  }
}

TYPED_TEST(Transpose, RefusesResultsOfOtherSizes) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("wide"));
  using owner = csr<T, I, O, TypeParam::memory_space>;
  const auto [rows, cols] = a.shape();
  owner wider(ctx, {cols, static_cast<I>(rows + 1)}, a.size());
  owner shorter(ctx, {static_cast<I>(cols - 1), rows}, a.size());
  owner fuller(ctx, {cols, rows}, static_cast<O>(a.size() + 1));
  for (owner* b : {&wider, &shorter, &fuller})
    EXPECT_THROW(transpose(ctx, transpose_inspect(a, *b), a, *b), size_mismatch);
}

} // namespace
} // namespace lacuna::test
