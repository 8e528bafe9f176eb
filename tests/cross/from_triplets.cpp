// Matrices from entries: every index is looked at, duplicates go by their rule.
#include <tuple>

#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class FromTriplets : public engine_test<C> {};
TYPED_TEST_SUITE(FromTriplets, few_configs, config_name);

TYPED_TEST(FromTriplets, IsTheReferencesMerge) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto entries = make_coo<T, I, O>(m);
    const auto a = from_triplets<I, O>(TypeParam::context(), entries.shape(), m.row, m.col,
                                       entries.values(), duplicates::last);
    EXPECT_NO_THROW(check(TypeParam::context(), a));
    EXPECT_EQ(a.order(), (facts{true, true}));
    EXPECT_TRUE(
        same_entries(entries_of(a), reference::merge(entries_of(entries), duplicates::last)));
  });
}

TYPED_TEST(FromTriplets, OutOfRangeIsNamed) {
  using T = typename TypeParam::value;
  const std::vector<T> values{1, 2, 3};
  const std::vector<int> in{0, 1, 2};
  for (const int bad : {3, 7, 1'000'000'000, -1})
    for (const bool in_rows : {true, false}) {
      std::vector<int> out = in;
      out[1] = bad;
      try {
        (void)from_triplets(TypeParam::context(), {3, 3}, in_rows ? out : in, in_rows ? in : out,
                            values);
        FAIL() << "accepted " << bad;
      } catch (const bad_input& e) {
        EXPECT_NE(std::string(e.what()).find(std::to_string(bad)), std::string::npos) << e.what();
      }
    }
}

TYPED_TEST(FromTriplets, CooWithABadIndexIsNoCsr) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const int bad : {7, 1'000'000'000, -5}) {
    std::vector<T> values{1, 2};
    std::vector<std::int32_t> rows{0, bad}, cols{0, 1};
    const auto host_entries =
        coo_view<const T, std::int32_t>(values.data(), rows.data(), cols.data(), {3, 3}, 2);
    const auto entries = copy_to(ctx, host_entries);
    EXPECT_THROW((void)to_csr(ctx, entries), bad_input);
    EXPECT_THROW((void)to_csc(ctx, entries), bad_input);
    EXPECT_THROW((void)to_dense(ctx, entries), bad_input);
  }
}

TYPED_TEST(FromTriplets, OrderThatIsNotThereIsFound) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  std::vector<T> values{1, 2};
  std::vector<std::int32_t> rows{1, 0}, cols{0, 1};
  const auto entries =
      copy_to(ctx, coo_view<const T, std::int32_t>(values.data(), rows.data(), cols.data(), {3, 3},
                                                   2, facts{true, true}));
  EXPECT_THROW((void)to_csr(ctx, entries), bad_input);
}

TEST(FromTripletsHost, FromARangeOfEntries) {
  struct entry {
    long row;
    unsigned col;
    double value;
  };
  const std::vector<entry> list{{2, 0, 1.5}, {0, 1, 2}, {2, 0, 1}};
  const auto a = from_triplets({3, 2}, list);
  static_assert(std::is_same_v<decltype(a), const csr<double>>);
  EXPECT_EQ(a.size(), 2);
  EXPECT_EQ(a.values()[1], 2.5);
  const std::vector<std::tuple<int, int, float>> tuples{{0, 0, 1.0F}};
  EXPECT_EQ((from_triplets<std::int64_t>({1, 1}, tuples).values()[0]), 1.0F);
  EXPECT_THROW((void)from_triplets({3, 2}, list, duplicates::error), bad_input);
  EXPECT_THROW((void)from_triplets({2, 2}, list), bad_input);
}

TEST(FromTripletsHost, LengthsMustAgree) {
  const std::vector<double> values{1, 2};
  const std::vector<int> two{0, 1}, three{0, 1, 2};
  EXPECT_THROW((void)from_triplets({3, 3}, two, three, values), size_mismatch);
  EXPECT_THROW((void)from_triplets({3, 3}, three, two, values), size_mismatch);
}

template <class C> class Cast : public engine_test<C> {};
TYPED_TEST_SUITE(Cast, few_configs, config_name);

TYPED_TEST(Cast, ThereAndBackIsTheSame) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto wide = cast<double, std::int64_t, std::int64_t>(ctx, a);
    EXPECT_EQ(wide.order(), a.order());
    EXPECT_TRUE(same_matrix(cast<T, I, O>(ctx, wide), TypeParam::host_csr(m)));
    const auto entries = TypeParam::put_coo(m);
    const auto narrow = cast<float, std::int32_t, std::int32_t>(ctx, entries);
    EXPECT_EQ(narrow.size(), entries.size());
    const auto columns = cast<double, std::int64_t, std::int64_t>(ctx, TypeParam::put_csc(m));
    EXPECT_TRUE(same_matrix(cast<T, I, O>(ctx, columns), make_csc<T, I, O>(m)));
    const auto values = cast<double>(ctx, a.values());
    EXPECT_TRUE(same(host_vector(cast<T>(ctx, values)), host_vector(a.values())));
  });
}

TYPED_TEST(Cast, WhatDoesNotFitIsNamed) {
  const auto& ctx = TypeParam::context();
  std::vector<double> values{1, 2};
  std::vector<std::int64_t> rowptr{0, 2}, colind{1, std::int64_t{1} << 40};
  const std::int64_t cols = (std::int64_t{1} << 40) + 1;
  const auto a = copy_to(ctx, csr_view<const double, std::int64_t>(values.data(), rowptr.data(),
                                                                   colind.data(), {1, cols}, 2));
  EXPECT_THROW((void)(cast<double, std::int32_t, std::int32_t>(ctx, a)), bad_input);
}

TYPED_TEST(Cast, WidthsMayDifferInSumsAndProducts) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const host_context host;
  const auto b = copy_to(ctx, gen::generate<T>(host, "uniform:rows=300,cols=300,per_row=4"));
  const auto wide = cast<T, std::int32_t, std::int64_t>(ctx, b);
  const auto widest = cast<T, std::int64_t, std::int64_t>(ctx, b);
  const auto sum = add(ctx, multiply_wide(ctx, b, b), b);
  static_assert(std::is_same_v<typename decltype(sum)::offset_type, std::int64_t>);
  static_assert(std::is_same_v<typename decltype(sum)::index_type, std::int32_t>);
  const auto want = add(ctx, multiply(ctx, b, b), b);
  const auto on_host = copy_to(host, want);
  EXPECT_TRUE(same_matrix(cast<T, std::int32_t, std::int32_t>(ctx, sum), on_host));
  const auto product = add(ctx, multiply(ctx, widest, scaled(1, b)), transposed(wide));
  static_assert(std::is_same_v<typename decltype(product)::index_type, std::int64_t>);
  const auto product_want = copy_to(host, add(ctx, multiply(ctx, b, b), transposed(b)));
  EXPECT_TRUE(same_matrix(cast<T, std::int32_t, std::int32_t>(ctx, product), product_want));
}

} // namespace
} // namespace lacuna::test
