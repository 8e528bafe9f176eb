// A sum of float and double vectors.
// expect: lacuna: operands differ in value type \(float, double\)
#include <lacuna/lacuna.hpp>

#include <vector>

void wrong(const std::vector<float>& x, std::vector<double>& y) { lacuna::axpby(1, x, 2, y); }
