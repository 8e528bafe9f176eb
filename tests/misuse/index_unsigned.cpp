// Unsigned columns.
// expect: constraint
#include <lacuna/lacuna.hpp>

void wrong(double* values, unsigned* rowptr, unsigned* colind) {
  const lacuna::csr_view<double, unsigned> a(values, rowptr, colind, {1, 1}, 1);
  (void)a;
}
