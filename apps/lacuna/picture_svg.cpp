#include "lacuna/picture.hpp"

#include <array>
#include <fmt/format.h>
#include <iterator>

#include "common/text.hpp"

namespace lacuna::app {
namespace {

constexpr int levels = 16; // of ink: one path each

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) switch (c) {
    case '&': result += "&amp;"; break;
    case '<': result += "&lt;"; break;
    case '>': result += "&gt;"; break;
    default: result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  return result;
}

/// Lines through the middle of cells of one level. Moves are relative to the end of the line
/// before.
class lines {
public:
  void add(double x, double y, double length) {
    fmt::format_to(std::back_inserter(path_), "m{:g} {:g}h{:g}", x - x_, y - y_, length);
    x_ = x + length;
    y_ = y;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  double x_ = 0, y_ = 0;
  std::string path_;
};

/// Cells of one level that stand side by side share a line, unless there are gaps between them.
std::array<lines, levels> find_lines(const density_grid& grid, double gap) {
  std::array<lines, levels> result;
  const std::int64_t largest = grid.largest();
  const auto level = [&](std::int64_t y, std::int64_t x) {
    const int dark = shade(grid.at(y, x), largest);
    return dark == 0 ? -1 : (dark - 1) * levels / 255;
  };
  for (std::int64_t y = 0; y < grid.height; ++y)
    for (std::int64_t x = 0, end = 0; x < grid.width; x = end) {
      const int here = level(y, x);
      for (end = x + 1; gap == 0 && end < grid.width && level(y, end) == here;) ++end;
      if (here >= 0)
        result[static_cast<std::size_t>(here)].add(static_cast<double>(x) + gap / 2,
                                                   static_cast<double>(y),
                                                   static_cast<double>(end - x) - gap);
    }
  return result;
}

} // namespace

std::string as_svg(const picture& p) {
  constexpr std::int64_t margin = 24, above = 64, below = 40;
  const std::int64_t width = p.size.width(), height = p.size.height();
  // Narrow pictures are as wide as their text.
  const std::int64_t full = std::max<std::int64_t>(width + 2 * margin, 360);
  constexpr std::int64_t left = margin;
  const double gap = p.size.has_gaps() ? 0.06 : 0;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"Helvetica, Arial, sans-serif\">\n"
      "<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      full, height + above + below, escaped(p.name));
  svg += fmt::format("<text x=\"{0}\" y=\"30\" font-size=\"18\" font-weight=\"600\" "
                     "fill=\"#16202e\">{1}</text>\n<text x=\"{0}\" y=\"50\" font-size=\"13\" "
                     "fill=\"#5b6675\">{2}</text>\n",
                     left, escaped(p.name), human_shape(p.rows, p.cols, p.entries));
  svg += fmt::format("<g transform=\"translate({} {}) scale({} {})\" stroke-width=\"{}\" "
                     "fill=\"none\"{}>\n",
                     left, above, p.size.cell_width, p.size.cell_height, 1 - gap,
                     gap > 0 ? "" : " shape-rendering=\"crispEdges\"");
  const auto inked = find_lines(p.grid, gap);
  for (int k = 0; k < levels; ++k) {
    const colour c = ink((k * 255 + 127) / levels + 1);
    if (const std::string& path = inked[static_cast<std::size_t>(k)].path(); !path.empty())
      svg += fmt::format("<path stroke=\"#{:02x}{:02x}{:02x}\" d=\"M0 .5{}\"/>\n", c.red, c.green,
                         c.blue, path);
  }
  svg += fmt::format("</g>\n<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" "
                     "stroke=\"#b0b8c4\"/>\n",
                     left - 0.5, above - 0.5, width + 1, height + 1);
  const double cell_rows = static_cast<double>(p.rows) / static_cast<double>(p.size.grid_height);
  const double cell_cols = static_cast<double>(p.cols) / static_cast<double>(p.size.grid_width);
  if (p.entries > 0)
    svg += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"11\" fill=\"#7a8594\">a cell is {:.3g} "
                       "x {:.3g}, the darkest has {} {}</text>\n",
                       left, above + height + 22, cell_rows, cell_cols,
                       human_count(p.grid.largest()), p.grid.largest() == 1 ? "entry" : "entries");
  return svg + "</svg>\n";
}

} // namespace lacuna::app
