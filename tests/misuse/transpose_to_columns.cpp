// The transpose of a csr as a csc is the matrix itself, in other arrays.
// expect: lacuna: transpose makes csr from csr and csc from csc
#include <lacuna/lacuna.hpp>

void wrong(const lacuna::csr<double>& a, lacuna::csc<double>& b) { lacuna::transpose(a, b); }
