// Formats made for multiplication cannot be added: to_csr first.
// expect: lacuna: this operation takes csr, csc and dynamic_csr matrices; use to_csr
#include <lacuna/lacuna.hpp>

auto wrong(const lacuna::ell_csr<double>& a) { return lacuna::add(a, a); }
