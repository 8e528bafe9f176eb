// A read-only view as the result.
// expect: lacuna: the result must be writable and must outlive the call
#include <lacuna/lacuna.hpp>

void wrong(const lacuna::csr<double>& a, lacuna::vector_view<const double> x,
           lacuna::vector_view<const double> y) {
  lacuna::multiply(a, x, y);
}
