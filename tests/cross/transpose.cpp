// A^T as a new matrix and into memory of the caller's, exactly as the reference has it.
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class Transpose : public engine_test<C> {};
TYPED_TEST_SUITE(Transpose, all_configs, config_name);
template <class C> class TransposeFew : public Transpose<C> {};
TYPED_TEST_SUITE(TransposeFew, few_configs, config_name);

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

TYPED_TEST(TransposeFew, TwiceIsSorted) {
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
    const auto info = transpose_inspect(ctx, a, b);
    EXPECT_EQ(info.shape(), (index<std::int64_t>{host.shape().col, host.shape().row}));
    EXPECT_EQ(info.result_nnz(), host.size());
    const auto want = reference::transpose(entries_of(host));
    transpose(ctx, info, a, b.view());
    EXPECT_NO_THROW(check(ctx, b));
    EXPECT_TRUE(same_entries(entries_of(b), want));
    csr<T, I, O, TypeParam::memory_space> c(ctx, b.shape(), b.size());
    transpose(ctx, a, c);
    EXPECT_TRUE(same_entries(entries_of(c), want));
    transpose(ctx, operation_info_t(), a, c); // nothing is known
    EXPECT_TRUE(same_entries(entries_of(c), want));
  });
}

TYPED_TEST(Transpose, OtherValuesThroughTheKeptMap) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    csr<T, I, O, TypeParam::memory_space> b(ctx, {a.shape().col, a.shape().row}, a.size());
    const auto info = transpose_inspect(ctx, a, b);
    EXPECT_EQ(info.bytes(), b.rowptr().size() * sizeof(O) + a.size() * (sizeof(I) + sizeof(O)));
    transpose(ctx, info, a, b);
    triplets other = m;
    for (int times = 1; times <= 2; ++times) {
      random_source random(static_cast<std::uint64_t>(times));
      for (double& v : other.value) v = random.value();
      const auto a2 = TypeParam::put_csr(other); // another place, the same pattern
      const auto want = copy_to(default_context<space::host>(), transpose(ctx, a2));
      transpose_refill(ctx, info, a2, b);
      EXPECT_TRUE(same_matrix(b, want));
      fill(ctx, 4, b.values());
      transpose(ctx, info, a2, b);
      EXPECT_TRUE(same_matrix(b, want));
    }
  });
}

TYPED_TEST(TransposeFew, IntoAViewWithSpareRoom) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("wide"));
  const index<I> shape{a.shape().col, a.shape().row};
  array<O, S> rowptr(ctx, std::int64_t{shape.row} + 1);
  array<I, S> colind(ctx, a.size() + 2);
  array<T, S> values(ctx, a.size() + 2);
  csr_view<T, I, O, S> b;
  b.update(values.view(), rowptr.view(), colind.view(), shape, 0);
  transpose(ctx, a, b);
  EXPECT_EQ(b.size(), a.size());
  EXPECT_EQ(b.capacity(), a.size() + 2);
  const auto want = copy_to(default_context<space::host>(), transpose(ctx, a));
  EXPECT_TRUE(same_matrix(copy_to(ctx, b), want));
  csr_view<T, I, O, S> small(values.data(), rowptr.data(), colind.data(), shape, a.size() - 1);
  EXPECT_THROW(transpose(ctx, a, small), size_mismatch);
}

TYPED_TEST(TransposeFew, ByColumns) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csc(battery_matrix("wide"));
  const auto want = transpose(ctx, a);
  EXPECT_EQ(want.shape(), (index<I>{a.shape().col, a.shape().row}));
  EXPECT_TRUE(
      same_entries(entries_of(to_csr(ctx, want)),
                   reference::transpose(entries_of(TypeParam::host_csr(battery_matrix("wide"))))));
  csc<T, I, O, TypeParam::memory_space> b(ctx, want.shape(), a.size());
  const auto info = transpose_inspect(ctx, a, b);
  transpose(ctx, info, a, b);
  EXPECT_TRUE(
      same_matrix(b.transpose(), copy_to(default_context<space::host>(), want.transpose())));
}

TYPED_TEST(TransposeFew, InfosOfOtherSizesAreRefused) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("tridiagonal"));
  auto b = copy_to(ctx, a);
  triplets fewer = battery_matrix("tridiagonal");
  fewer.row.pop_back();
  fewer.col.pop_back();
  fewer.value.pop_back();
  const auto smaller = TypeParam::put_csr(fewer);
  const auto info = transpose_inspect(ctx, smaller, b);
  EXPECT_THROW(transpose(ctx, info, a, b), size_mismatch);
  EXPECT_THROW(transpose_refill(ctx, info, a, b), size_mismatch);
  EXPECT_THROW(transpose_refill(ctx, operation_info_t(), a, b), bad_input);
  EXPECT_THROW(transpose(ctx, add_inspect(ctx, a, a), a, b), bad_input);
  EXPECT_TRUE(same_matrix(b, copy_to(default_context<space::host>(), a)));
}

TYPED_TEST(TransposeFew, IntoAnOwnerStatesItsOrder) {
  // What the owner stated about its old entries is no longer true.
  const auto& ctx = TypeParam::context();
  for (const char* name : {"duplicates", "unsorted"}) {
    SCOPED_TRACE(std::string(TypeParam::engine::name) + ": " + name);
    const auto a = TypeParam::put_csr(battery_matrix(name));
    auto b = TypeParam::put_csr(exchanged(battery_matrix(name)));
    b.state({true, true});
    transpose(ctx, transpose_inspect(ctx, a, b), a, b);
    EXPECT_NO_THROW(check(ctx, b));
    EXPECT_EQ(b.order(), (facts{true, a.order().unique}));
  }
}

TYPED_TEST(TransposeFew, RefusesResultsOfOtherSizes) {
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
    EXPECT_THROW(transpose(ctx, transpose_inspect(ctx, a, *b), a, *b), size_mismatch);
}

} // namespace
} // namespace lacuna::test
