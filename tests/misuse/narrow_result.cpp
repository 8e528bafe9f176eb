// A product whose offsets are narrower than those of its operands.
// expect: lacuna: C's offsets are narrower than those of A and B
#include <lacuna/lacuna.hpp>

void wrong(const lacuna::csr<double, int, std::int64_t>& a, lacuna::csr<double, int, int>& c) {
  lacuna::multiply(a, a, c);
}
