// Reading device memory from the host.
// expect: constraint|no match|no viable
#include <lacuna/lacuna.hpp>

double wrong(lacuna::vector_view<const double, lacuna::space::device> x) { return x[0]; }
