// expect: lacuna: a view of a temporary would dangle; give the temporary a name
#include <lacuna/lacuna.hpp>

auto wrong(const lacuna::host_context& ctx) {
  return transposed(lacuna::gen::generate<double>(ctx, "identity:n=3"));
}
