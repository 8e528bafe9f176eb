// The voltages of a resistor network with amplifiers: nodal analysis (Kirchhoff). Controlled
// sources make the matrix unsymmetric, so solve() takes another method than for resistors alone.
// What it says when a system has no solution is shown, too.
#include <cstdio>
#include <vector>

#include <lacuna/lacuna.hpp>

int main() {
  constexpr int nodes = 2000;
  std::vector<int> row, col;
  std::vector<double> value;
  const auto add = [&](int i, int j, double v) {
    if (i >= 0 && j >= 0) row.push_back(i), col.push_back(j), value.push_back(v);
  };
  const auto resistor = [&](int p, int q, double conductance) { // -1 is ground
    add(p, p, conductance), add(q, q, conductance);
    add(p, q, -conductance), add(q, p, -conductance);
  };
  for (int k = 0; k < nodes; ++k) {
    resistor(k, k + 1 < nodes ? k + 1 : -1, 1.0);
    resistor(k, (k * 37 + 11) % nodes == k ? -1 : (k * 37 + 11) % nodes, 0.2);
    if (k % 10 == 0) resistor(k, -1, 0.05);
    if (k % 25 == 3) add(k, (k + 500) % nodes, 0.1); // a current that a voltage elsewhere controls
  }
  const auto a = lacuna::from_triplets({nodes, nodes}, row, col, value); // duplicates add up
  std::vector<double> current(nodes, 0.0), voltage(nodes, 0.0);
  current[0] = 1;

  const lacuna::host_context ctx;
  const auto report = solve(ctx, a, current, voltage);
  std::printf("%svoltage at the source: %.6f\n\n", report.text().c_str(), voltage[0]);

  // Two nodes that nothing connects to ground: a current between them has nowhere to go.
  const auto loop = lacuna::from_triplets({2, 2}, std::vector{0, 0, 1, 1}, std::vector{0, 1, 0, 1},
                                          std::vector{1.0, -1.0, -1.0, 1.0});
  try {
    (void)solve(ctx, loop, std::vector{1.0, 0.0});
  } catch (const lacuna::not_solved& e) {
    std::printf("%s\nreason: %s\n", e.what(), name_of(e.report().reason));
  }
}
