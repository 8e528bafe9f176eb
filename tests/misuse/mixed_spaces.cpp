// A host matrix with a vector on the device.
// expect: lacuna: host and device memory are mixed in one operation; use copy_to
#include <lacuna/lacuna.hpp>

void wrong(const lacuna::host_context& ctx, const lacuna::csr<double>& a,
           const lacuna::array<double, lacuna::space::device>& x, lacuna::array<double>& y) {
  lacuna::multiply(ctx, a, x, y);
}
