// 16-bit columns.
// expect: lacuna: indices are int32 or int64
#include <lacuna/lacuna.hpp>

void wrong(double* values, short* rowptr, short* colind) {
  const lacuna::csr_view<double, short> a(values, rowptr, colind, {1, 1}, 1);
  (void)a;
}
