// Owners are copied by name, with copy_to.
// expect: deleted
#include <lacuna/lacuna.hpp>

lacuna::csr<double> wrong(const lacuna::csr<double>& a) { return a; }
