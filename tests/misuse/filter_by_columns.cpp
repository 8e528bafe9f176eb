// Entries are selected from a matrix that is stored by rows.
// expect: lacuna: this operation takes a csr; use to_csr
#include <lacuna/lacuna.hpp>

void wrong(const lacuna::host_context& ctx, const lacuna::csc<double>& a) {
  lacuna::filter(ctx, a, lacuna::keep_nonzero);
}
