// Names that the examples in the pages use without introducing them.
#include <iostream>
#include <vector>

#include <lacuna/lacuna.hpp>

using namespace lacuna;

extern const host_context ctx, host;
extern csr<double> a, b, r, p, symmetric;
extern const csr<double> a2, b2;
extern std::vector<double> x, y, z;
extern dense<double> X, Y;
