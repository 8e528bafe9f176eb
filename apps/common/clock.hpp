// Wall-clock time, and the median that stands for several measurements.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace lacuna::app {

class stopwatch {
public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(clock::now() - begin_).count();
  }

private:
  using clock = std::chrono::steady_clock;
  clock::time_point begin_ = clock::now();
};

inline double median(std::vector<double> v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  if (v.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(v.begin(), middle)) / 2;
}

} // namespace lacuna::app
