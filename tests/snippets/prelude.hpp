// Names that the examples in the pages use without introducing them.
#include <iostream>
#include <vector>

#include <lacuna/lacuna.hpp>

using namespace lacuna;

extern const host_context ctx, host;
extern const device_context device;
extern csr<double> a, b, rows;
extern csr<double, std::int32_t, std::int32_t, space::device> a_there, b_there;
extern std::vector<double> x, y, z, px, py;
