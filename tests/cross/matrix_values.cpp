// Norms and scaling of matrices, and copies between spaces, on the whole battery.
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class MatrixValues : public engine_test<C> {};
TYPED_TEST_SUITE(MatrixValues, all_configs, config_name);
template <class C> class MatrixValuesFew : public MatrixValues<C> {};
TYPED_TEST_SUITE(MatrixValuesFew, few_configs, config_name);

TYPED_TEST(MatrixValues, InfNorm) {
  using T = typename TypeParam::value;
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto want =
        reference::matrix_inf_norm<T, typename TypeParam::index, typename TypeParam::offset>(
            host.view());
    EXPECT_TRUE(within<T>(matrix_inf_norm(TypeParam::context(), a),
                          exact_for_integers(want, largest(host.values()) *
                                                       static_cast<double>(longest_line(host)))));
  });
}

TYPED_TEST(MatrixValues, FrobeniusNorm) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto want = norm2_for_integers<T>(reference::norm2<T>(host.values()));
    EXPECT_TRUE(within<T>(matrix_frob_norm(ctx, a), want));
    EXPECT_TRUE(within<T>(matrix_frob_norm(ctx, to_coo(ctx, a)), want));
    EXPECT_TRUE(within<T>(matrix_frob_norm(ctx, to_csc(ctx, a)), want));
  });
}

TYPED_TEST(MatrixValues, Scale) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    auto b = copy_to(ctx, a);
    scale(ctx, -3, b);
    EXPECT_TRUE(
        within(host_vector(b.values()), reference::axpby<T>(-3, host.values(), 0, host.values())));
    EXPECT_TRUE(same(host_vector(b.rowptr()), host_vector(host.rowptr())));
    EXPECT_TRUE(same(host_vector(b.colind()), host_vector(host.colind())));
    EXPECT_EQ(b.order(), a.order());
  });
}

TYPED_TEST(MatrixValues, CopyTo) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    EXPECT_TRUE(same_matrix(a, host)); // host to engine
    EXPECT_EQ(a.order(), host.order());
    const auto again = copy_to(ctx, a); // engine to engine
    EXPECT_TRUE(same_matrix(again, host));
    EXPECT_TRUE(m.size() == 0 || again.values().data() != a.values().data());
    const auto back = copy_to(default_context<space::host>(), again); // engine to host
    EXPECT_TRUE(same_matrix(back, host));
    EXPECT_EQ(back.order(), host.order());

    const auto columns = make_csc<T, I, O>(m);
    const auto columns_on_engine = copy_to(ctx, columns.view());
    EXPECT_TRUE(same_matrix(columns_on_engine, columns));
    EXPECT_EQ(columns_on_engine.order(), columns.order());
    EXPECT_EQ(columns_on_engine.shape(), columns.shape());
    const auto triples = make_coo<T, I, O>(m);
    const auto triples_on_engine = copy_to(ctx, triples.view());
    EXPECT_TRUE(same_matrix(triples_on_engine, triples));
    EXPECT_EQ(triples_on_engine.order(), triples.order());
  });
}

TYPED_TEST(MatrixValuesFew, CopyDense) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const layout l : {layout::row_major, layout::column_major}) {
    dense<T> d(default_context<space::host>(), {17, 5}, l);
    for (std::int64_t k = 0; k < d.values().size(); ++k) d.values()[k] = static_cast<T>(k);
    const auto copied = copy_to(ctx, d);
    EXPECT_EQ(copied.layout(), l);
    const auto back = copy_to(default_context<space::host>(), copied);
    EXPECT_EQ(back.shape(), d.shape());
    EXPECT_TRUE(same(host_vector(back.values()), host_vector(d.values())));
  }
}

} // namespace
} // namespace lacuna::test
