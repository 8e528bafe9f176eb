// Sorting a matrix that may not be written.
// expect: sort
// expect: const
#include <lacuna/lacuna.hpp>

void wrong(const lacuna::host_context& ctx, const lacuna::csr<double>& a) { lacuna::sort(ctx, a); }
