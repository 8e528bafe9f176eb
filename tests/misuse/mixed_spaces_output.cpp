// A result on the device for operands on the host.
// expect: lacuna: host and device memory are mixed in one operation; use copy_to
#include <lacuna/lacuna.hpp>

void wrong(const lacuna::csr<double>& a, const lacuna::array<double>& x,
           lacuna::array<double, lacuna::space::device>& y) {
  lacuna::multiply(a, x, y);
}
