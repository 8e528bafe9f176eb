// A sum of matrices in a format that is made for products.
// expect: lacuna: this operation takes csr and csc matrices; use to_csr
#include <lacuna/lacuna.hpp>

auto wrong(const lacuna::host_context& ctx, const lacuna::ell_csr<double>& e,
           const lacuna::csr<double>& a) {
  return lacuna::add(ctx, a, lacuna::transposed(e));
}
