// expect: deleted
#include <lacuna/lacuna.hpp>

lacuna::vector_view<double> wrong() { return std::vector<double>(3); }
