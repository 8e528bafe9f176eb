// The matrix is gone before the product is formed.
// expect: lacuna: a view of a temporary would dangle; give the temporary a name
#include <lacuna/lacuna.hpp>

auto wrong(const lacuna::host_context& ctx, const lacuna::csr<double>& a) {
  return lacuna::scaled(2.0, transpose(ctx, a));
}
