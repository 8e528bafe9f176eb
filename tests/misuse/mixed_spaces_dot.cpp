// A dot product across spaces.
// expect: lacuna: host and device memory are mixed in one operation; use copy_to
#include <lacuna/lacuna.hpp>

double wrong(const lacuna::host_context& ctx, const lacuna::array<double>& x,
             const lacuna::array<double, lacuna::space::device>& y) {
  return lacuna::dot(ctx, x, y);
}
