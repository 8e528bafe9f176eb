// expect: lacuna: a view of a temporary would dangle; give the temporary a name
#include <lacuna/lacuna.hpp>

auto wrong(std::vector<int>& rowptr, std::vector<int>& colind) {
  return lacuna::csr_view(std::vector<double>(3), rowptr, colind, lacuna::index{2, 2}, 3);
}
