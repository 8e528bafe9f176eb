// Heat on an L-shaped plate: its edge is kept at 0, one side of the notch at 1; what is the
// temperature inside? The finite-difference equations are symmetric and positive definite, so
// solve() takes conjugate gradients.
#include <cstdio>
#include <vector>

#include <lacuna/lacuna.hpp>

int main() {
  constexpr int n = 96; // points along a side; the upper right quarter is cut out
  const auto inside = [](int x, int y) {
    return x >= 0 && y >= 0 && x < n && y < n && !(x >= n / 2 && y >= n / 2);
  };
  std::vector<int> number(n * n, -1);
  int unknowns = 0;
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x)
      if (inside(x, y)) number[y * n + x] = unknowns++;

  // 4 u - (its four neighbours) = what the boundary holds.
  std::vector<int> row, col;
  std::vector<double> value, b(unknowns, 0.0);
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) {
      if (!inside(x, y)) continue;
      const int i = number[y * n + x];
      row.push_back(i), col.push_back(i), value.push_back(4);
      const int next[4][2] = {{x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}};
      for (const auto& [p, q] : next) {
        if (inside(p, q))
          row.push_back(i), col.push_back(number[q * n + p]), value.push_back(-1);
        else if (p >= n / 2 && q == n / 2 && p < n)
          b[i] += 1; // the hot side of the notch
      }
    }
  const auto a = lacuna::from_triplets({unknowns, unknowns}, row, col, value);

  const lacuna::host_context ctx;
  const auto [u, report] = solve(ctx, a, b, {.stop = {.relative = 1e-10}});
  std::printf("%s\n", report.text().c_str());
  for (int y = n - 1; y >= 0; y -= n / 16) { // a picture, 0 to 9
    for (int x = 0; x < n; x += n / 32)
      std::putchar(inside(x, y) ? '0' + static_cast<int>(u[number[y * n + x]] * 9.999) : ' ');
    std::putchar('\n');
  }
}
