// A matrix of double with a vector of float.
// expect: lacuna: operands differ in value type \(float, double\)
#include <lacuna/lacuna.hpp>

#include <vector>

void wrong(const lacuna::csr<double>& a, const std::vector<float>& x, std::vector<double>& y) {
  lacuna::multiply(a, x, y);
}
