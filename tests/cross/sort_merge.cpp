// sort keeps the order of equal coordinates; merge_duplicates by each of its rules.
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class SortMerge : public engine_test<C> {
protected:
  template <class A> static void expect_sorted(A a) {
    const auto before = entries_of(a);
    const facts stated = a.order();
    a.state({false, stated.unique}); // else there is nothing to do
    sort(C::context(), a);
    EXPECT_NO_THROW(check(C::context(), a));
    EXPECT_EQ(a.order(), (facts{true, stated.unique}));
    EXPECT_TRUE(same_entries(entries_of(a), reference::sort(before)));
  }

  template <class A> static void expect_merged(const A& a, duplicates rule) {
    const auto before = entries_of(a);
    const auto merged = merge_duplicates(C::context(), a, rule);
    EXPECT_NO_THROW(check(C::context(), merged));
    EXPECT_EQ(merged.order(), (facts{true, true}));
    EXPECT_TRUE(same_entries(entries_of(a), before)) << "the input changed";
    const auto got = entries_of(merged), want = reference::merge(before, rule);
    if (rule != duplicates::sum) {
      EXPECT_TRUE(same_entries(got, want));
      return;
    }
    EXPECT_TRUE(same(got.row, want.row));
    EXPECT_TRUE(same(got.col, want.col));
    auto magnitude = before;
    for (double& v : magnitude.value) v = std::abs(v);
    expected sums{want.value, reference::merge(magnitude, duplicates::sum).value};
    for (double& bound : sums.bound)
      bound *= values_in_use() == value_kind::integers
                   ? 0
                   : 4 * double{std::numeric_limits<typename C::value>::epsilon()};
    const std::vector<typename C::value> values(got.value.begin(), got.value.end());
    EXPECT_TRUE(within(values, sums));
  }
};
TYPED_TEST_SUITE(SortMerge, all_configs, config_name);
template <class C> class SortMergeFew : public SortMerge<C> {};
TYPED_TEST_SUITE(SortMergeFew, few_configs, config_name);

TYPED_TEST(SortMerge, SortCsr) {
  TypeParam::for_each_matrix(
      [&](const triplets& m) { TestFixture::expect_sorted(TypeParam::put_csr(m)); });
}

TYPED_TEST(SortMerge, SortCsc) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    auto a = TypeParam::put_csc(m);
    const auto before = entries_of(a.transpose());
    a.state({false, a.order().unique});
    sort(ctx, a);
    EXPECT_NO_THROW(check(ctx, a));
    EXPECT_TRUE(a.order().sorted);
    EXPECT_TRUE(same_entries(entries_of(a.transpose()), reference::sort(before)));
  });
}

TYPED_TEST(SortMerge, SortCoo) {
  TypeParam::for_each_matrix(
      [&](const triplets& m) { TestFixture::expect_sorted(TypeParam::put_coo(m)); });
}

TYPED_TEST(SortMergeFew, StatedOrderIsTrusted) {
  // A matrix that is stated to be sorted is left alone, even where that is untrue.
  const auto& ctx = TypeParam::context();
  const auto host = TypeParam::host_csr(battery_matrix("unsorted"));
  auto a = copy_to(ctx, host);
  a.state({true, true});
  sort(ctx, a);
  EXPECT_TRUE(same_matrix(a, host));
  EXPECT_THROW(check(ctx, a), bad_input);
}

TYPED_TEST(SortMerge, Merge) {
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto rows = TypeParam::put_csr(m);
    const auto triples = TypeParam::put_coo(m);
    for (const duplicates rule : {duplicates::sum, duplicates::first, duplicates::last}) {
      SCOPED_TRACE(rule == duplicates::sum ? "sum" : rule == duplicates::first ? "first" : "last");
      TestFixture::expect_merged(rows, rule);
      TestFixture::expect_merged(triples, rule);
    }
  });
}

TYPED_TEST(SortMerge, MergeCsc) {
  const auto& ctx = TypeParam::context();
  for (const char* name : {"duplicates", "unsorted with duplicates", "0 x 7", "no entries"}) {
    SCOPED_TRACE(name);
    const auto a = TypeParam::put_csc(battery_matrix(name));
    const auto merged = merge_duplicates(ctx, a, duplicates::last);
    EXPECT_NO_THROW(check(ctx, merged));
    EXPECT_EQ(merged.order(), (facts{true, true}));
    EXPECT_EQ(merged.shape(), a.shape());
    EXPECT_TRUE(same_entries(entries_of(merged.transpose()),
                             reference::merge(entries_of(a.transpose()), duplicates::last)));
  }
}

TYPED_TEST(SortMerge, ManyTimesTheSameCoordinate) {
  // One coordinate that fills several tiles of any kernel, between two others.
  const auto& ctx = TypeParam::context();
  triplets m{"one coordinate", 3, 3, {}, {}, {}};
  m.add(0, 0, 1);
  for (int k = 0; k < 10'000; ++k) m.add(1, 1, k % 5); // sums are exact in float
  m.add(2, 2, 3);
  const auto merged = merge_duplicates(ctx, TypeParam::put_coo(m), duplicates::sum);
  const reference::triplets want{{3, 3}, {0, 1, 2}, {0, 1, 2}, {1, 20'000, 3}};
  EXPECT_TRUE(same_entries(entries_of(merged), want));
}

} // namespace
} // namespace lacuna::test
