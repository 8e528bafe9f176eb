// A Poisson matrix times a vector: on the host, and on a GPU if there is one.
#include <cstdio>
#include <vector>

#include <lacuna/lacuna.hpp>

/// The same text for host and device.
template <lacuna::space S> void show(const lacuna::context<S>& ctx, const lacuna::csr<double>& a) {
  const auto matrix = copy_to(ctx, a);
  const auto x = copy_to(ctx, std::vector<double>(a.shape().col, 1.0));
  auto y = lacuna::array<double, S>(ctx, a.shape().row);
  const auto op = plan(ctx, matrix, {.multiplies = 1000});               // once per matrix
  op.multiply(x, y);                                                     // y = A x
  multiply(ctx, scaled(2.0, transposed(matrix)), x, scaled(-1.0, y), y); // y = 2 A^T x - y
  std::printf("|y| = %.6f on the %s; %s", norm2(ctx, y), to_string(S), op.explain().c_str());
}

int main() {
  const auto a = lacuna::gen::generate("poisson3d:n=64");
  show(lacuna::host_context(), a);
  if (lacuna::device_count() > 0) show(lacuna::device_context(), a);
}
