// A sum into a vector that is gone at the end of the line.
// expect: mutable_view
#include <lacuna/lacuna.hpp>

#include <vector>

void wrong(const std::vector<double>& x) { lacuna::axpby(1, x, 0, std::vector<double>(3)); }
