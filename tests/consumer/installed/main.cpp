// y = A x with Lacuna found by find_package.
#include <cstdio>
#include <vector>

#include <lacuna/lacuna.hpp>

int main() {
  // 1 2 0
  // 0 0 3
  const std::vector<double> values{1, 2, 3}, x{1, 10, 100};
  const std::vector<int> rowptr{0, 2, 3}, colind{0, 1, 2};
  std::vector<double> y(2);
  const lacuna::csr_view<const double> a(values, rowptr, colind, {2, 3}, 3);
  lacuna::multiply(a, x, y);
  std::printf("Lacuna %s: y = (%g, %g)\n", LACUNA_VERSION, y[0], y[1]);
  try {
    lacuna::multiply(a, y, y);
    return 1;
  } catch (const lacuna::size_mismatch&) { // exceptions cross the library's border
  }
  return y[0] == 21 && y[1] == 300 ? 0 : 1;
}
