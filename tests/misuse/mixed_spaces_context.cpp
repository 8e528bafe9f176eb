// A device context for operands on the host.
// expect: lacuna: host and device memory are mixed in one operation; use copy_to
#include <lacuna/lacuna.hpp>

auto wrong(const lacuna::device_context& ctx, const lacuna::csr<double>& a) {
  return lacuna::transpose(ctx, a);
}
