// A result that may not be written.
// expect: lacuna: the result must be writable and must outlive the call
#include <lacuna/lacuna.hpp>

#include <vector>

void wrong(const lacuna::csr<double>& a, const std::vector<double>& x,
           const std::vector<double>& y) {
  lacuna::multiply(a, x, y);
}
