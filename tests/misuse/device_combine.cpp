// An operation that the host alone has.
// expect: lacuna: this operation is for matrices in host memory as yet; use copy_to
#include <lacuna/lacuna.hpp>

auto wrong(const lacuna::csr<double, int, int, lacuna::space::device>& a) {
  return lacuna::multiply_elements(a, a);
}
