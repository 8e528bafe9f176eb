// The sum of a matrix of double and one of float.
// expect: lacuna: operands differ in value type \(float, double\)
#include <lacuna/lacuna.hpp>

auto wrong(const lacuna::csr<double>& a, const lacuna::csr<float>& b) { return lacuna::add(a, b); }
