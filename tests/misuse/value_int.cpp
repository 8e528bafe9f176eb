// Values of a type that is not served.
// expect: lacuna: values are float or double
#include <lacuna/lacuna.hpp>

void wrong(int* values, std::int32_t* rowptr, std::int32_t* colind) {
  const lacuna::csr_view<int> a(values, rowptr, colind, {1, 1}, 1);
  (void)a;
}
