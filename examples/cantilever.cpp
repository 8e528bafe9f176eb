// A cantilever of elastic cubes, clamped at one end and pulled down at the other: three unknowns
// per node. Several loads are solved together: one product serves all of them.
#include <cstdio>
#include <vector>

#include <lacuna/lacuna.hpp>

int main() {
  const lacuna::host_context ctx;
  const auto a = lacuna::gen::generate("elasticity3d:n=10"); // stiffness, one face clamped
  const std::int64_t n = a.shape().row, loads = 3;
  // Load k pulls the last nodes along axis k.
  lacuna::dense<double> b(ctx, {n, loads}, lacuna::layout::column_major);
  lacuna::dense<double> x(ctx, {n, loads}, lacuna::layout::column_major);
  lacuna::fill(ctx, 0, b.values());
  lacuna::fill(ctx, 0, x.values());
  for (std::int64_t k = 0; k < loads; ++k)
    for (std::int64_t i = n - 3 * 10; i < n; i += 3) b(i + k, k) = 1e-3;

  const auto report = solve(ctx, a, b, x, {.preconditioner = "jacobi"});
  std::printf("%s", report.text().c_str());
  for (std::int64_t k = 0; k < loads; ++k)
    std::printf("load %d: %d iterations, the tip moves by (%+.4f, %+.4f, %+.4f)\n",
                static_cast<int>(k), static_cast<int>(report.columns[k].iterations), x(n - 3, k),
                x(n - 2, k), x(n - 1, k));
}
