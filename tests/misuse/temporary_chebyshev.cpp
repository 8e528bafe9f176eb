// A preconditioner that goes on looking at a matrix that is gone.
// expect: lacuna: a view of a temporary would dangle; give the temporary a name
#include <lacuna/lacuna.hpp>

void wrong(const lacuna::host_context& ctx) {
  const lacuna::chebyshev<double> m(ctx, lacuna::gen::generate("poisson2d:n=9"));
}
