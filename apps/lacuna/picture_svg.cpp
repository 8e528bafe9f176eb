#include "lacuna/picture.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>

#include "common/html.hpp"
#include "common/print.hpp"
#include "lacuna/picture_font.hpp"
#include <lacuna/core/printable.hpp>

namespace lacuna::app {
namespace {

constexpr int levels = 16; // of ink: one path each

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
      const int shade = level(y, x);
      for (end = x + 1; gap == 0 && end < grid.width && level(y, end) == shade;) ++end;
      if (shade >= 0)
        result[static_cast<std::size_t>(shade)].add(static_cast<double>(x) + gap / 2,
                                                    static_cast<double>(y),
                                                    static_cast<double>(end - x) - gap);
    }
  return result;
}

double as_double(std::int64_t n) { return static_cast<double>(n); }

std::string hex(colour c) { return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }

/// Caption, axes and legend.
std::string text_of(const picture& p, const std::string& name) {
  const picture_layout& l = p.layout;
  const int u = l.unit, line = letter_height * u;
  const std::int64_t below = l.top + l.plot_height;
  std::string svg = fmt::format(
      "<text x=\"{0}\" y=\"{1}\" font-size=\"{2}\" font-weight=\"600\" fill=\"{3}\">{4}</text>\n"
      "<text x=\"{0}\" y=\"{5}\" font-size=\"{6}\" fill=\"{7}\">{8}</text>\n",
      l.pad, l.pad + line, 11 * u, hex(dark_text), for_xml(shortened(name, l.letters())),
      l.pad + 2 * line + 4 * u, 9 * u, hex(light_text), p.caption());
  svg += fmt::format("<g font-size=\"{}\" fill=\"{}\" stroke=\"none\">\n", 8 * u, hex(light_text));
  std::string marks;
  for (const tick& t : l.columns) {
    const double x = as_double(l.left) +
                     as_double(t.at) * as_double(l.plot_width) / std::max(as_double(p.cols), 1.0);
    fmt::format_to(std::back_inserter(marks), "M{:.7g} {}v{}", x, below + 1, 4 * u);
    svg += fmt::format("<text x=\"{:.7g}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x,
                       below + 14 * u, t.label);
  }
  for (const tick& t : l.rows) {
    const double y = as_double(l.top) +
                     as_double(t.at) * as_double(l.plot_height) / std::max(as_double(p.rows), 1.0);
    fmt::format_to(std::back_inserter(marks), "M{} {:.7g}h-{}", l.left - 1, y, 4 * u);
    svg += fmt::format("<text x=\"{}\" y=\"{:.7g}\" text-anchor=\"end\">{}</text>\n",
                       l.left - 7 * u, y + 2.8 * u, t.label);
  }
  svg += fmt::format("</g>\n<path d=\"{}\" stroke=\"{}\" stroke-width=\"{}\"/>\n", marks,
                     hex(frame_line), u);
  if (const std::string legend = p.legend(); legend.size() <= l.letters())
    svg += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\">{}</text>\n", l.pad,
                       l.height - l.pad, 8 * u, hex(light_text), legend);
  return svg;
}

} // namespace

std::string as_svg(const picture& p) {
  const picture_layout& l = p.layout;
  const double gap = l.has_gaps() ? 0.06 : 0;
  const auto scale = [](std::int64_t pixels, std::int64_t cells) {
    return static_cast<double>(pixels) / static_cast<double>(cells);
  };
  const std::string name = printable(p.name);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"Helvetica, Arial, sans-serif\">\n"
      "<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      l.width, l.height, for_xml(name));
  if (const auto boxes = p.leaf_boxes(); !boxes.empty()) {
    svg += fmt::format("<path class=\"leaves\" fill=\"none\" stroke=\"{}\" d=\"", hex(frame_line));
    for (const pixel_box& b : boxes)
      fmt::format_to(std::back_inserter(svg), "M{:g} {:g}h{}v{}h-{}z",
                     as_double(l.left + b.left) - 0.5, as_double(l.top + b.top) - 0.5, b.width,
                     b.height, b.width);
    svg += "\"/>\n";
  }
  svg += fmt::format("<g transform=\"translate({} {}) scale({:.9g} {:.9g})\" stroke-width=\"{}\" "
                     "fill=\"none\"{}>\n",
                     l.left, l.top, scale(l.plot_width, l.grid_width),
                     scale(l.plot_height, l.grid_height), 1 - gap,
                     gap > 0 ? "" : " shape-rendering=\"crispEdges\"");
  const auto inked = find_lines(p.grid, gap);
  for (int k = 0; k < levels; ++k)
    if (const std::string& path = inked[static_cast<std::size_t>(k)].path(); !path.empty())
      svg += fmt::format("<path stroke=\"{}\" d=\"M0 .5{}\"/>\n",
                         hex(ink((k * 255 + 127) / levels + 1)), path);
  svg += fmt::format("</g>\n<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" "
                     "stroke=\"{}\"/>\n",
                     as_double(l.left) - 0.5, as_double(l.top) - 0.5, l.plot_width + 1,
                     l.plot_height + 1, hex(frame_line));
  return svg + (l.unit > 0 ? text_of(p, name) : "") + "</svg>\n";
}

} // namespace lacuna::app
