// A read-only view as the result.
// expect: no matching function|read-only
#include <lacuna/lacuna.hpp>

void wrong(const lacuna::csr<double>& a, lacuna::vector_view<const double> x,
           lacuna::vector_view<const double> y) {
  lacuna::multiply(a, x, y);
}
