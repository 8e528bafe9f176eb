// Names that the examples in the pages use without introducing them.
#include <iostream>
#include <vector>

#include <lacuna/lacuna.hpp>

using namespace lacuna;

extern const host_context ctx, host;
extern const device_context device;
extern csr<double> a, b, r, p, rows;
extern const csr<double> a2, b2;
extern std::vector<double> x, y, z, px, py;
