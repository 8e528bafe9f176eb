#include "lacuna/picture.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "common/text.hpp"
#include "lacuna/picture_font.hpp"

namespace lacuna::app {
namespace {

/// "15k": in a unit that all labels of an axis share.
std::string label_of(std::int64_t at, std::int64_t n) {
  const auto in = [&](double unit, const char* letter) {
    return fmt::format("{:g}{}", static_cast<double>(at) / unit, letter);
  };
  if (at == 0 || n < 10'000) return fmt::format("{}", at);
  if (n < 10'000'000) return in(1e3, "k");
  if (n < 10'000'000'000) return in(1e6, "M");
  return in(1e9, "G");
}

std::int64_t widest(const std::vector<tick>& ticks) {
  std::size_t letters = 1;
  for (const tick& t : ticks) letters = std::max(letters, t.label.size());
  return static_cast<std::int64_t>(letters) * letter_width;
}

} // namespace

std::vector<tick> choose_ticks(std::int64_t n, double length, double apart) {
  const double least = static_cast<double>(n) * apart / std::max(length, 1.0);
  std::int64_t step = 1;
  for (int k = 0; static_cast<double>(step) < least; ++k)
    step = k % 3 == 1 ? step / 2 * 5 : step * 2; // 1, 2, 5, 10, ...
  std::vector<tick> ticks;
  for (std::int64_t at = 0; at <= n; at += step) ticks.push_back({at, label_of(at, n)});
  if (ticks.size() == 1 && n > 0) ticks.push_back({n, label_of(n, n)}); // a short axis has its ends
  return ticks;
}

std::size_t picture_layout::letters() const {
  return unit == 0 ? 0 : static_cast<std::size_t>((width - 2 * pad) / (unit * letter_width));
}

picture_layout lay_out(std::int64_t rows, std::int64_t cols, std::int64_t size,
                       std::int64_t most_cells) {
  picture_layout p;
  p.unit = size < 240 ? 0 : static_cast<int>(std::max<std::int64_t>((size + 256) / 512, 1));
  const std::int64_t u = p.unit, line = u * letter_height;
  p.pad = u == 0 ? std::max<std::int64_t>(size / 32, 1) + 1 : 8 * u;
  p.left = p.top = p.pad;
  std::int64_t right = p.pad, bottom = p.pad;
  const auto rows_apart = static_cast<double>(4 * line);
  double columns_apart = 0;
  if (u > 0) {
    // Labels are no longer than these: a shorter axis has fewer of them, of rounder numbers.
    const auto longest_label = [&](std::int64_t n) {
      return u * widest(choose_ticks(n, static_cast<double>(size), rows_apart));
    };
    columns_apart = static_cast<double>(longest_label(cols) + 2 * line);
    p.left += longest_label(rows) + 6 * u; // and the ticks
    right += longest_label(cols) / 2;      // half of the last column's
    p.top += 2 * line + 12 * u;            // two lines of caption
    bottom += 8 * u + 2 * line + 4 * u;    // ticks, labels, the legend
  }
  const std::int64_t most_width = std::max<std::int64_t>(size - p.left - right, 1);
  const std::int64_t most_height = std::max<std::int64_t>(size - p.top - bottom, 1);
  const auto longest = [](std::int64_t n) {
    return static_cast<double>(std::max<std::int64_t>(n, 1));
  };
  const double scale = std::min(static_cast<double>(most_width) / longest(cols),
                                static_cast<double>(most_height) / longest(rows));
  const auto side = [&](std::int64_t n, std::int64_t most) {
    const std::int64_t least = std::min(std::max<std::int64_t>(size / 24, 1), most);
    return std::clamp(static_cast<std::int64_t>(std::llround(longest(n) * scale)), least, most);
  };
  p.plot_width = side(cols, most_width);
  p.plot_height = side(rows, most_height);
  p.width = p.left + p.plot_width + right;
  p.height = p.top + p.plot_height + bottom;
  // A narrow picture is as wide as its caption.
  if (u > 0) p.width = std::max(p.width, std::min(size, 36 * letter_width * u));
  // An empty matrix is drawn as an empty frame.
  p.grid_width = std::clamp<std::int64_t>(cols, 1, std::min(p.plot_width, most_cells));
  p.grid_height = std::clamp<std::int64_t>(rows, 1, std::min(p.plot_height, most_cells));
  if (u > 0) {
    p.rows = choose_ticks(rows, static_cast<double>(p.plot_height), rows_apart);
    p.columns = choose_ticks(cols, static_cast<double>(p.plot_width), columns_apart);
  }
  return p;
}

std::string picture::caption() const { return human_shape(rows, cols, entries); }

std::string picture::legend() const {
  if (entries == 0 || (layout.grid_height == rows && layout.grid_width == cols)) return {};
  const double cell_rows = static_cast<double>(rows) / static_cast<double>(layout.grid_height);
  const double cell_cols = static_cast<double>(cols) / static_cast<double>(layout.grid_width);
  return fmt::format("a cell is {:.3g} rows x {:.3g} columns, the darkest has {} {}", cell_rows,
                     cell_cols, human_count(grid.largest()),
                     grid.largest() == 1 ? "entry" : "entries");
}

std::string shortened(const std::string& text, std::size_t letters) {
  if (text.size() <= letters) return text;
  return letters < 4 ? "" : "..." + text.substr(text.size() - (letters - 3));
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

std::vector<pixel_box> picture::leaf_boxes() const {
  std::vector<pixel_box> boxes;
  const auto scaled = [](std::int64_t at, std::int64_t size, std::int64_t pixels) {
    return static_cast<std::int64_t>(static_cast<double>(at) * static_cast<double>(pixels) /
                                     static_cast<double>(std::max<std::int64_t>(size, 1)));
  };
  for (const leaf_outline& leaf : leaves) {
    const std::int64_t left = scaled(leaf.col, cols, layout.plot_width);
    const std::int64_t top = scaled(leaf.row, rows, layout.plot_height);
    const std::int64_t right = scaled(leaf.col + leaf.cols, cols, layout.plot_width);
    const std::int64_t bottom = scaled(leaf.row + leaf.rows, rows, layout.plot_height);
    if (right - left >= 3 && bottom - top >= 3)
      boxes.push_back({left, top, right - left, bottom - top});
  }
  return boxes;
}

} // namespace lacuna::app
