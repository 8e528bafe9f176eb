// There is no product with a coo matrix: to_csr first.
// expect: no matching function
#include <lacuna/lacuna.hpp>

#include <vector>

void wrong(const lacuna::coo<double>& a, const std::vector<double>& x, std::vector<double>& y) {
  lacuna::multiply(a, x, y);
}
