// A x, A X, A^T x, A B and A + B.
#include "matrix.hpp"
#include <lacuna/op/add.hpp>
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/spgemm.hpp>

namespace lacuna::python {
namespace {

nb::object multiply_dense(nb::handle left, nb::handle x, bool transpose_it, nb::handle out) {
  const matrix a(left);
  return a.anywhere([&](const auto& ctx, auto view) {
    using T = typename decltype(view)::scalar_type;
    return dense_product<T>(ctx, x, transpose_it ? a.cols() : a.rows(), out,
                            [&](auto from, auto to) {
                              if (transpose_it)
                                multiply(ctx, transposed(view), from, to);
                              else
                                multiply(ctx, view, from, to);
                            });
  });
}

/// f(a, b); where the result has more entries than 32-bit offsets number, of operands with 64-bit
/// ones.
template <space S, class V, class F>
nb::object sparse_result(const context<S>& ctx, V a, V b, F f) {
  using T = typename V::scalar_type;
  if constexpr (std::is_same_v<typename V::index_type, std::int64_t>) {
    return to_python(ctx, without_gil([&] { return f(a, b); }));
  } else {
    try {
      return to_python(ctx, without_gil([&] { return f(a, b); }));
    } catch (const unsupported&) {
      return to_python(ctx, without_gil([&] {
                         const auto wide_a = cast<T, std::int64_t, std::int64_t>(ctx, a);
                         const auto wide_b = cast<T, std::int64_t, std::int64_t>(ctx, b);
                         return f(wide_a.view(), wide_b.view());
                       }));
    }
  }
}

nb::object multiply_sparse(nb::handle left, nb::handle right) {
  return matrix(left).anywhere_with(matrix(right), [](const auto& ctx, auto a, auto b) {
    return sparse_result(ctx, a, b, [&](auto x, auto y) { return multiply(ctx, x, y); });
  });
}

nb::object add_sparse(nb::handle left, nb::handle right, double alpha, double beta) {
  return matrix(left).anywhere_with(matrix(right), [&](const auto& ctx, auto a, auto b) {
    return sparse_result(
        ctx, a, b, [&](auto x, auto y) { return add(ctx, scaled(alpha, x), scaled(beta, y)); });
  });
}

} // namespace

void bind_products(nb::module_& m) {
  m.def("multiply_dense", &multiply_dense, nb::arg("a"), nb::arg("x"),
        nb::arg("transposed") = false, nb::arg("out").none() = nb::none());
  m.def("multiply_sparse", &multiply_sparse);
  m.def("add", &add_sparse);
}

} // namespace lacuna::python
