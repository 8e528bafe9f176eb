// A result that may not be written.
// expect: mutable_view
#include <lacuna/lacuna.hpp>

#include <vector>

void wrong(const lacuna::csr<double>& a, const std::vector<double>& x,
           const std::vector<double>& y) {
  lacuna::multiply(a, x, y);
}
