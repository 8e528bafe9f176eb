#include "lacuna/picture.hpp"

#include <algorithm>
#include <cmath>

namespace lacuna::app {

picture_size choose_size(std::int64_t rows, std::int64_t cols, std::int64_t size) {
  const auto longer = static_cast<double>(std::max<std::int64_t>({rows, cols, 1}));
  const std::int64_t least = std::max<std::int64_t>(size / 24, 1);
  const auto side = [&](std::int64_t n) {
    const auto scaled = std::llround(static_cast<double>(n) / longer * static_cast<double>(size));
    return std::max<std::int64_t>(scaled, least);
  };
  const auto cell = [&](std::int64_t n) {
    return std::clamp<std::int64_t>(n == 0 ? size : side(n) / n, 1,
                                    std::max<std::int64_t>(size / 8, 1));
  };
  picture_size result;
  // An empty matrix is drawn as an empty frame.
  result.grid_width = std::clamp<std::int64_t>(cols, 1, side(cols));
  result.grid_height = std::clamp<std::int64_t>(rows, 1, side(rows));
  result.cell_width = cell(cols);
  result.cell_height = cell(rows);
  return result;
}

int shade(std::int64_t count, std::int64_t largest) {
  if (count <= 0) return 0;
  if (largest == 1) return 190; // nothing to compare with: neither light nor deep
  const double share =
      std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(largest));
  return std::clamp(static_cast<int>(std::lround(share * 255)), 1, 255);
}

colour ink(int shade) {
  // From a light to a deep blue by way of a middle one.
  constexpr double light[] = {148, 184, 230}, middle[] = {47, 107, 189}, deep[] = {8, 22, 66};
  const double t = (shade - 1) / 254.0;
  const auto mix = [&](int k) {
    const double v = t < 0.6 ? light[k] + (middle[k] - light[k]) * t / 0.6
                             : middle[k] + (deep[k] - middle[k]) * (t - 0.6) / 0.4;
    return static_cast<unsigned char>(std::lround(v));
  };
  return {mix(0), mix(1), mix(2)};
}

} // namespace lacuna::app
