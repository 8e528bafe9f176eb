// y = A x, and files of every kind, with an installed Lacuna.
#include <cstdio>
#include <vector>

#include <lacuna/io/read.hpp>
#include <lacuna/io/write.hpp>
#include <lacuna/lacuna.hpp>

int main() {
  // 1 2 0
  // 0 0 3
  const std::vector<double> values{1, 2, 3}, x{1, 10, 100};
  const std::vector<int> rowptr{0, 2, 3}, colind{0, 1, 2};
  std::vector<double> y(2);
  const lacuna::csr_view<const double> a(values, rowptr, colind, {2, 3}, 3);
  lacuna::multiply(a, x, y);
  std::printf("Lacuna %s: y = (%g, %g), %d devices\n", LACUNA_VERSION, y[0], y[1],
              lacuna::device_count());
  if (y[0] != 21 || y[1] != 300) return 1;
  try {
    lacuna::multiply(a, y, y);
    return 1;
  } catch (const lacuna::size_mismatch&) { // exceptions cross the library's border
  }
  const lacuna::host_context host;
  for (const char* file : {"a.mtx", "a.mtx.gz", "a.mtx.zst", "a.npz", "a.mat", "a.bsp.h5"}) try {
      lacuna::io::write(host, file, a);
      const auto b = lacuna::io::read_csr<double>(host, file);
      if (b.size() != 3 || b.values()[2] != 3) return 1;
      std::printf("%s comes back\n", file);
    } catch (const lacuna::unsupported& e) { // a build without a library
      std::printf("%s: %s\n", file, e.what());
    }
}
