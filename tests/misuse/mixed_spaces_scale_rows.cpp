// Rows on the device times factors on the host.
// expect: lacuna: host and device memory are mixed in one operation; use copy_to
#include <lacuna/lacuna.hpp>

using lacuna::space;

void wrong(const lacuna::device_context& ctx, lacuna::csr<double, int, int, space::device>& a,
           const lacuna::array<double>& factors) {
  lacuna::scale_rows(ctx, a, factors);
}
