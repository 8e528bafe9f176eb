// The transpose of a matrix in a format that is made for products.
// expect: lacuna: this operation takes csr, csc and dynamic_csr matrices; use to_csr
#include <lacuna/lacuna.hpp>

void wrong(const lacuna::host_context& ctx, const lacuna::bsr<double>& m) {
  lacuna::transpose(ctx, m);
}
