// A sum into a vector that is gone at the end of the line.
// expect: lacuna: the result must be writable and must outlive the call
#include <lacuna/lacuna.hpp>

#include <vector>

void wrong(const std::vector<double>& x) { lacuna::axpby(1, x, 0, std::vector<double>(3)); }
