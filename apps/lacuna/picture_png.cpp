#include "lacuna/picture.hpp"

#include <algorithm>
#include <vector>

#include "common/print.hpp"
#include "lacuna/picture_font.hpp"
#include <lacuna/core/error.hpp>

#ifdef LACUNA_HAS_PNG
#include <png.h>
#endif

namespace lacuna::app {

#ifdef LACUNA_HAS_PNG
namespace {

/// The palette: these, then inks.
enum entry : int { on_paper, of_frame, of_dark_text, of_light_text, first_ink };

int palette_entry(int shade) { return shade == 0 ? on_paper : std::max<int>(shade, first_ink); }

/// One byte a pixel, row by row.
class canvas {
public:
  canvas(std::int64_t width, std::int64_t height)
      : width_(width), height_(height), pixels_(static_cast<std::size_t>(width * height), 0) {}
  /// What is outside is cut off.
  void fill(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height, int entry) {
    const std::int64_t to_x = std::min(x + width, width_), to_y = std::min(y + height, height_);
    x = std::max<std::int64_t>(x, 0);
    for (y = std::max<std::int64_t>(y, 0); y < to_y && x < to_x; ++y)
      std::fill_n(pixels_.begin() + y * width_ + x, to_x - x, static_cast<unsigned char>(entry));
  }
  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] std::int64_t height() const { return height_; }
  [[nodiscard]] const unsigned char* pixels() const { return pixels_.data(); }

private:
  std::int64_t width_, height_;
  std::vector<unsigned char> pixels_;
};

/// Text whose upper left corner is at (x, y); what is outside is cut off.
void write(canvas& c, std::int64_t x, std::int64_t y, const std::string& text, int unit,
           int entry) {
  for (const char letter : text) {
    for (int dy = 0; dy < letter_height; ++dy)
      for (int dx = 0; dx < letter_width; ++dx)
        if (letter_has_dot(letter, dx, dy)) c.fill(x + dx * unit, y + dy * unit, unit, unit, entry);
    x += letter_width * unit;
  }
}

/// Cells of one pixel each, so few that they are easily missed: they are drawn as 3 x 3.
bool is_faint(const picture& p) {
  const auto occupied = std::count_if(p.grid.count.begin(), p.grid.count.end(),
                                      [](std::int64_t count) { return count > 0; });
  const picture_layout& l = p.layout;
  return l.plot_width == l.grid_width && l.plot_height == l.grid_height &&
         occupied < std::min(l.grid_width, l.grid_height) / 2;
}

void draw_cells(canvas& c, const picture& p) {
  const picture_layout& l = p.layout;
  const std::int64_t largest = p.grid.largest(), more = is_faint(p) ? 1 : 0;
  const auto edge = [](std::int64_t k, std::int64_t cells, std::int64_t pixels) {
    return k * pixels / cells;
  };
  const std::int64_t smaller = std::min(l.plot_width / l.grid_width, l.plot_height / l.grid_height);
  const std::int64_t gap = l.has_gaps() ? std::max<std::int64_t>(smaller / 16, 1) : 0;
  for (std::int64_t y = 0; y < p.grid.height; ++y)
    for (std::int64_t x = 0; x < p.grid.width; ++x)
      if (const int dark = shade(p.grid.at(y, x), largest); dark > 0) {
        const std::int64_t from_x = edge(x, l.grid_width, l.plot_width);
        const std::int64_t from_y = edge(y, l.grid_height, l.plot_height);
        c.fill(l.left + from_x + gap / 2 - more, l.top + from_y + gap / 2 - more,
               edge(x + 1, l.grid_width, l.plot_width) - from_x - gap + 2 * more,
               edge(y + 1, l.grid_height, l.plot_height) - from_y - gap + 2 * more,
               palette_entry(dark));
      }
}

/// Leaves of the block tree, as boxes that cells are drawn over.
void draw_leaves(canvas& c, const picture& p) {
  const picture_layout& l = p.layout;
  for (const pixel_box& b : p.leaf_boxes()) {
    c.fill(l.left + b.left, l.top + b.top, b.width + 1, b.height + 1, of_frame);
    c.fill(l.left + b.left + 1, l.top + b.top + 1, b.width - 1, b.height - 1, on_paper);
  }
}

void draw_text(canvas& c, const picture& p) {
  const picture_layout& l = p.layout;
  const int u = l.unit;
  const std::int64_t line = letter_height * u, below = l.top + l.plot_height + 1;
  const std::string name = shortened(printable_ascii(p.name), l.letters());
  for (const int bold : {0, 1})
    write(c, l.pad + bold * ((u + 1) / 2), l.pad, name, u, of_dark_text);
  write(c, l.pad, l.pad + line + 4 * u, p.caption(), u, of_light_text);
  const auto width = [&](const tick& t) {
    return static_cast<std::int64_t>(t.label.size()) * letter_width * u - u;
  };
  for (const tick& t : l.columns) {
    const std::int64_t x = l.left + t.at * (l.plot_width - 1) / std::max<std::int64_t>(p.cols, 1);
    c.fill(x - (u - 1) / 2, below, u, 4 * u, of_frame);
    write(c, x - width(t) / 2, below + 6 * u, t.label, u, of_light_text);
  }
  for (const tick& t : l.rows) {
    const std::int64_t y = l.top + t.at * (l.plot_height - 1) / std::max<std::int64_t>(p.rows, 1);
    c.fill(l.left - 1 - 4 * u, y - (u - 1) / 2, 4 * u, u, of_frame);
    write(c, l.left - 1 - 6 * u - width(t), y - 7 * u / 2, t.label, u, of_light_text);
  }
  if (const std::string legend = p.legend(); legend.size() <= l.letters())
    write(c, l.pad, l.height - l.pad - line, legend, u, of_light_text);
}

canvas draw(const picture& p) {
  const picture_layout& l = p.layout;
  canvas c(l.width, l.height);
  c.fill(l.left - 1, l.top - 1, l.plot_width + 2, l.plot_height + 2, of_frame);
  c.fill(l.left, l.top, l.plot_width, l.plot_height, on_paper);
  draw_leaves(c, p);
  draw_cells(c, p);
  if (l.unit > 0) draw_text(c, p);
  return c;
}

colour palette_colour(int i) {
  switch (i) {
  case on_paper: return paper;
  case of_frame: return frame_line;
  case of_dark_text: return dark_text;
  case of_light_text: return light_text;
  default: return ink(i);
  }
}

} // namespace

std::string as_png(const picture& p) {
  const canvas c = draw(p);
  std::vector<unsigned char> palette(256UL * 3);
  for (int i = 0; i < 256; ++i) {
    const colour each = palette_colour(i);
    palette[3 * static_cast<std::size_t>(i)] = each.red;
    palette[3 * static_cast<std::size_t>(i) + 1] = each.green;
    palette[3 * static_cast<std::size_t>(i) + 2] = each.blue;
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(c.width());
  image.height = static_cast<png_uint_32>(c.height());
  image.format = PNG_FORMAT_RGB_COLORMAP;
  image.colormap_entries = 256;
  png_alloc_size_t size = 0;
  std::string bytes;
  const auto encode = [&](void* to) {
    if (png_image_write_to_memory(&image, to, &size, 0, c.pixels(), 0, palette.data()) == 0)
      throw failed(std::string("cannot make a PNG: ") + image.message);
  };
  encode(nullptr); // only asks for the size
  bytes.resize(size);
  encode(bytes.data());
  bytes.resize(size);
  return bytes;
}

#else

std::string as_png(const picture&) {
  throw unsupported("this build cannot write PNG: it needs libpng (Debian: libpng-dev); "
                    "an .svg needs nothing");
}

#endif

} // namespace lacuna::app
