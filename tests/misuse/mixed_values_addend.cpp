// An addend in float for operands in double.
// expect: lacuna: operands differ in value type \(float, double\)
#include <lacuna/lacuna.hpp>

#include <vector>

void wrong(const lacuna::csr<double>& a, const std::vector<double>& x, const std::vector<float>& z,
           std::vector<double>& y) {
  lacuna::multiply(a, x, z, y);
}
