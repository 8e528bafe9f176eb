// A list of rows whose numbers are wider than the matrix's.
// expect: lacuna: a list of rows or columns has the matrix's index type
#include <lacuna/lacuna.hpp>

#include <cstdint>
#include <vector>

void wrong(const lacuna::csr<double>& a, const std::vector<std::int64_t>& rows) {
  lacuna::submatrix(a, rows, {});
}
