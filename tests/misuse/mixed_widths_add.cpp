// The sum of matrices with 32-bit and 64-bit columns.
// expect: lacuna: A and B differ in the width of their indices or offsets
#include <lacuna/lacuna.hpp>

auto wrong(const lacuna::csr<double, int>& a, const lacuna::csr<double, std::int64_t>& b) {
  return lacuna::add(a, b);
}
