// How near are two vertices of a graph, if every edge is a wire? The effective resistance, by a
// system with the graph's Laplacian. It is singular (constants), but a current that goes in and
// out again is consistent, and conjugate gradients do not mind. Shows a callback and a planned
// operator that serves several solves.
#include <cstdio>
#include <vector>

#include <lacuna/lacuna.hpp>

int main() {
  const lacuna::host_context ctx;
  // A grid with n x n vertices and some long edges.
  constexpr int n = 60, vertices = n * n;
  std::vector<int> row, col;
  std::vector<double> value;
  const auto edge = [&](int p, int q) {
    for (const auto& [i, j, v] : {std::tuple{p, p, 1.0}, {q, q, 1.0}, {p, q, -1.0}, {q, p, -1.0}})
      row.push_back(i), col.push_back(j), value.push_back(v);
  };
  for (int k = 0; k < vertices; ++k) {
    if (k % n + 1 < n) edge(k, k + 1);
    if (k + n < vertices) edge(k, k + n);
    if (k % 97 == 0 && k != vertices - 1 - k) edge(k, vertices - 1 - k);
  }
  const auto laplacian = lacuna::from_triplets({vertices, vertices}, row, col, value);
  const auto op = plan(ctx, laplacian, {.multiplies = 1000});

  for (const int to : {1, n / 2, vertices / 2, vertices - 1}) {
    std::vector<double> b(vertices, 0.0), x(vertices, 0.0);
    b[0] = 1, b[to] = -1;
    int shown = 0;
    const auto report = cg(
        ctx, op, b, x, {.stop = {.relative = 1e-9}, .watch = [&](const lacuna::solve_progress& p) {
                          shown = static_cast<int>(p.iteration);
                          return true; // false would cancel
                        }});
    std::printf("vertex 0 to %4d: resistance %.5f ohm, %d iterations, %s\n", to, x[0] - x[to],
                shown, name_of(report.reason));
  }
}
