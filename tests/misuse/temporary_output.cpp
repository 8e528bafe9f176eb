// A result that is gone at the end of the line.
// expect: lacuna: the result must be writable and must outlive the call
#include <lacuna/lacuna.hpp>

#include <vector>

void wrong(const lacuna::csr<double>& a, const std::vector<double>& x) {
  lacuna::multiply(a, x, std::vector<double>(3));
}
