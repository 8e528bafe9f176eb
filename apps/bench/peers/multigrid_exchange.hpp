// What lacuna-bench gives to programs beside it that solve a system, and what they answer. Files
// hold bare numbers: PATH.rowptr, .colind (32 bits), .values, .b, .near (doubles; near-null vectors
// one after another). The answer is a line for each configuration, "name;set-up;solve;iterations;
// complexity" (seconds; complexity 0: unknown), and its solution in PATH.x0, PATH.x1, …
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace lacuna::bench {

/// The arguments of such a program: path, rows, tolerance, unknowns per node, near-null vectors.
struct multigrid_task {
  std::string path;
  long rows = 0;
  double tolerance = 1e-8;
  int unknowns = 1, vectors = 0, rounds = 3;

  multigrid_task(int count, char** words) {
    if (count < 7)
      throw std::runtime_error("usage: " + std::string(count > 0 ? words[0] : "") +
                               " path rows tolerance unknowns vectors rounds");
    path = words[1];
    rows = std::atol(words[2]);
    tolerance = std::atof(words[3]);
    unknowns = std::atoi(words[4]);
    vectors = std::atoi(words[5]);
    rounds = std::max(1, std::atoi(words[6]));
  }
  /// `count` numbers from the file, from number `first` on; negative: all.
  template <class T> std::vector<T> read(const char* end, long first = 0, long count = -1) const {
    std::ifstream file(path + end, std::ios::binary | std::ios::ate);
    if (!file) throw std::runtime_error("cannot read " + path + end);
    if (count < 0) count = static_cast<long>(file.tellg()) / static_cast<long>(sizeof(T)) - first;
    std::vector<T> to(static_cast<std::size_t>(count));
    file.seekg(first * static_cast<long>(sizeof(T)));
    if (!file.read(reinterpret_cast<char*>(to.data()), count * static_cast<long>(sizeof(T))))
      throw std::runtime_error(path + end + " is too short");
    return to;
  }
  void answer(int number, const std::string& name, double set_up, double solve, int iterations,
              double complexity, const double* x) const {
    std::ofstream file(path + ".x" + std::to_string(number), std::ios::binary);
    file.write(reinterpret_cast<const char*>(x), rows * static_cast<long>(sizeof(double)));
    std::printf("%s;%.9g;%.9g;%d;%.6g\n", name.c_str(), set_up, solve, iterations, complexity);
    std::fflush(stdout);
  }
};

inline double median_of(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

} // namespace lacuna::bench
