// A function of the caller's for values on a device.
// expect: lacuna: functions of values in device memory are those of value_function
#include <lacuna/lacuna.hpp>

auto wrong(const lacuna::csr<double, int, int, lacuna::space::device>& a) {
  return lacuna::map_values(a, [](double v) { return v + 1; });
}
