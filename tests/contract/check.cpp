// check() accepts what keeps the written invariants and names the place of each broken one.
#include <functional>

#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C>
using host_csr_of = csr<typename C::value, typename C::index, typename C::offset>;
template <class C>
using host_coo_of = coo<typename C::value, typename C::index, typename C::offset>;

template <class C> class Check : public engine_test<C> {
protected:
  /// Breaks a host matrix, moves it to the engine and expects bad_input whose message has all of
  /// `parts`.
  template <class A>
  static void expect_broken(A a, const std::function<void(A&)>& damage,
                            const std::vector<std::string>& parts) {
    damage(a);
    const auto copied = copy_to(C::context(), a);
    try {
      check(C::context(), copied);
      ADD_FAILURE() << "nothing was thrown; expected " << parts.front();
    } catch (const bad_input& e) {
      const std::string what = e.what();
      for (const std::string& part : parts)
        EXPECT_NE(what.find(part), std::string::npos) << "no '" << part << "' in: " << what;
    }
  }

  static void csr_broken(const std::function<void(host_csr_of<C>&)>& damage,
                         const std::vector<std::string>& parts) {
    expect_broken<host_csr_of<C>>(C::host_csr(battery_matrix("band")), damage, parts);
  }
  static void coo_broken(const std::function<void(host_coo_of<C>&)>& damage,
                         const std::vector<std::string>& parts) {
    expect_broken<host_coo_of<C>>(
        make_coo<typename C::value, typename C::index, typename C::offset>(battery_matrix("band")),
        damage, parts);
  }
};
TYPED_TEST_SUITE(Check, few_configs, config_name);

template <class C> class CheckBattery : public engine_test<C> {};
TYPED_TEST_SUITE(CheckBattery, all_configs, config_name);

TYPED_TEST(CheckBattery, IsAccepted) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    EXPECT_NO_THROW(check(ctx, TypeParam::put_csr(m)));
    EXPECT_NO_THROW(check(ctx, TypeParam::put_csc(m)));
    EXPECT_NO_THROW(check(ctx, TypeParam::put_coo(m)));
    auto silent = TypeParam::put_csr(m);
    silent.state({});
    EXPECT_NO_THROW(check(ctx, silent));
  });
}

TYPED_TEST(Check, CsrRowptr) {
  using rows_t = host_csr_of<TypeParam>;
  TestFixture::csr_broken([](rows_t& a) { a.rowptr()[0] = 1; }, {"rowptr[0]", "1"});
  TestFixture::csr_broken([](rows_t& a) { a.rowptr()[0] = -1; }, {"rowptr[0]", "-1"});
  TestFixture::csr_broken([](rows_t& a) { a.rowptr()[150] = a.rowptr()[151] + 1; },
                          {"rowptr", "150"});
  TestFixture::csr_broken([](rows_t& a) { a.rowptr()[299] = -5; }, {"rowptr", "298"});
  TestFixture::csr_broken(
      [](rows_t& a) { --a.rowptr()[300]; },
      {"rowptr[300]", std::to_string(TypeParam::host_csr(battery_matrix("band")).size())});
  TestFixture::csr_broken([](rows_t& a) { ++a.rowptr()[300]; }, {"rowptr[300]"});
}

TYPED_TEST(Check, CsrColumns) {
  using rows_t = host_csr_of<TypeParam>;
  TestFixture::csr_broken([](rows_t& a) { a.colind()[700] = -1; }, {"colind[700]", "-1", "row"});
  TestFixture::csr_broken([](rows_t& a) { a.colind()[0] = 300; }, {"colind[0]", "300", "row 0"});
  TestFixture::csr_broken([](rows_t& a) { a.colind()[a.size() - 1] = 5000; }, {"5000", "row 299"});
  // The first of several is the one that is named.
  TestFixture::csr_broken(
      [](rows_t& a) {
        for (const int k : {1234, 77, 2000}) a.colind()[k] = 999;
      },
      {"colind[77]", "999"});
}

TYPED_TEST(Check, CsrFacts) {
  using rows_t = host_csr_of<TypeParam>;
  using I = typename TypeParam::index;
  const auto descend = [](rows_t& a) { std::swap(a.colind()[101], a.colind()[102]); };
  TestFixture::csr_broken(descend, {"sorted", "102"});
  const auto repeat = [](rows_t& a) { a.colind()[102] = a.colind()[101]; };
  TestFixture::csr_broken(repeat, {"unique", "102"});
  // Unsorted with a promise of uniqueness: the repetition need not be beside its like.
  TestFixture::csr_broken(
      [](rows_t& a) {
        a.state({false, true});
        const auto first = static_cast<std::int64_t>(a.rowptr()[20]);
        a.colind()[first + 9] = a.colind()[first + 2];
        std::swap(a.colind()[first], a.colind()[first + 5]);
      },
      {"unique", "row 20"});
  // The last column of a row and the first of the next may be in any order.
  auto a = TypeParam::host_csr(battery_matrix("band"));
  for (std::int64_t i = 0; i < a.shape().row; ++i)
    for (auto k = static_cast<std::int64_t>(a.rowptr()[i]); k < a.rowptr()[i + 1]; ++k)
      a.colind()[k] = static_cast<I>(k - a.rowptr()[i]);
  EXPECT_NO_THROW(check(TypeParam::context(), copy_to(TypeParam::context(), a)));
  // Without promises both are fine.
  for (const auto& damage : {std::function<void(rows_t&)>(descend), {repeat}}) {
    auto b = TypeParam::host_csr(battery_matrix("band"));
    damage(b);
    b.state({});
    EXPECT_NO_THROW(check(TypeParam::context(), copy_to(TypeParam::context(), b)));
  }
}

TYPED_TEST(Check, Csc) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  using columns_t = csc<T, I, O>;
  const auto broken = [](const std::function<void(columns_t&)>& damage,
                         const std::vector<std::string>& parts) {
    TestFixture::template expect_broken<columns_t>(make_csc<T, I, O>(battery_matrix("band")),
                                                   damage, parts);
  };
  broken([](columns_t& a) { a.colptr()[0] = 2; }, {"2"});
  broken([](columns_t& a) { a.colptr()[7] = a.colptr()[8] + 1; }, {"7"});
  broken([](columns_t& a) { a.rowind()[33] = 300; }, {"33", "300"});
  broken([](columns_t& a) { std::swap(a.rowind()[33], a.rowind()[34]); }, {"sorted", "34"});
}

TYPED_TEST(Check, Coo) {
  using triples_t = host_coo_of<TypeParam>;
  TestFixture::coo_broken([](triples_t& a) { a.rowind()[5] = -1; }, {"rowind[5]", "-1"});
  TestFixture::coo_broken([](triples_t& a) { a.rowind()[a.size() - 1] = 300; }, {"300"});
  TestFixture::coo_broken([](triples_t& a) { a.colind()[6] = 301; }, {"colind[6]", "301"});
  TestFixture::coo_broken([](triples_t& a) { a.colind()[0] = -7; }, {"colind[0]", "-7"});
  TestFixture::coo_broken([](triples_t& a) { std::swap(a.colind()[50], a.colind()[51]); },
                          {"sorted", "51"});
  TestFixture::coo_broken([](triples_t& a) { std::swap(a.rowind()[0], a.rowind()[2000]); },
                          {"sorted"});
  TestFixture::coo_broken([](triples_t& a) { a.colind()[51] = a.colind()[50]; }, {"unique", "51"});
  TestFixture::coo_broken(
      [](triples_t& a) {
        a.state({false, true});
        a.rowind()[3000] = a.rowind()[10];
        a.colind()[3000] = a.colind()[10];
      },
      {"unique", "3000"});
}

TYPED_TEST(Check, Dense) {
  using T = typename TypeParam::value;
  constexpr space where = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const array<T, where> memory(ctx, 100);
  EXPECT_NO_THROW(check(ctx, dense_view<const T, where>(memory.data(), {5, 20})));
  EXPECT_NO_THROW(
      check(ctx, dense_view<const T, where>(memory.data(), {5, 3}, layout::column_major, 6)));
  // What is broken cannot be made.
  const auto make = [&](index<std::int64_t> shape, layout l, std::int64_t ld) {
    (void)dense_view<const T, where>(memory.data(), shape, l, ld);
  };
  EXPECT_THROW(make({5, 20}, layout::row_major, 19), size_mismatch);
  EXPECT_THROW(make({5, 20}, layout::column_major, 4), size_mismatch);
  EXPECT_THROW(make({-1, 20}, layout::row_major, 0), bad_input);
}

TYPED_TEST(Check, ReadsBrokenMatricesSafely) {
  // Row pointers that point outside must not be followed.
  using rows_t = host_csr_of<TypeParam>;
  using O = typename TypeParam::offset;
  TestFixture::csr_broken([](rows_t& a) { a.rowptr()[10] = std::numeric_limits<O>::max(); },
                          {"rowptr", "10"});
  TestFixture::csr_broken([](rows_t& a) { a.rowptr()[10] = std::numeric_limits<O>::min(); },
                          {"rowptr", "9"});
}

} // namespace
} // namespace lacuna::test
