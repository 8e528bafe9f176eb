// An owner of values of a type that is not served.
// expect: lacuna: values are float or double
#include <lacuna/lacuna.hpp>

auto wrong(lacuna::coo<int>& a) { return a.view(); }
