// Adding to a matrix that may not be written.
// expect: const
#include <lacuna/lacuna.hpp>

void wrong(const lacuna::csr<double>& a, const lacuna::csr<double>& c) { lacuna::add_to(a, c); }
