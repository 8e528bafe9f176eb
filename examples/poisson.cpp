// A Poisson matrix times a vector: on the host, and on a GPU if there is one.
#include <cstdio>
#include <vector>

#include <lacuna/gen/generate.hpp>
#include <lacuna/lacuna.hpp>

int main() {
  const lacuna::host_context host;
  const auto a = lacuna::gen::generate<double, int, int>(host, "poisson3d:n=64");
  std::vector<double> x(a.shape().col, 1.0), y(a.shape().row);
  multiply(a, x, y);                                                   // y = A x
  multiply(scaled(2.0, transposed(a)), x, lacuna::scaled(-1.0, y), y); // y = 2 A^T x - y
  std::printf("|y| = %.6f on the host\n", lacuna::norm2(y));

  if constexpr (lacuna::has_cuda) {
    if (lacuna::device_count() == 0) return 0;
    const lacuna::device_context gpu;
    const auto there = copy_to(gpu, a);
    const auto dx = copy_to(gpu, x);
    auto dy = copy_to(gpu, y);
    const auto info = multiply_inspect(gpu, there, dx, dy); // once a matrix
    multiply(gpu, info, there, dx, dy);                     // as often as you like
    std::printf("|A x| = %.6f on the GPU: %s\n", norm2(gpu, dy), info.explain().c_str());
  }
}
