// Formats made for multiplication cannot be added: to_csr first.
// expect: no matching function
#include <lacuna/lacuna.hpp>

auto wrong(const lacuna::ell_csr<double>& a) { return lacuna::add(a, a); }
