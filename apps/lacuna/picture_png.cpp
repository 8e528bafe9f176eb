#include "lacuna/picture.hpp"

#include <algorithm>
#include <vector>

#include <lacuna/core/error.hpp>

#ifdef LACUNA_HAS_PNG
#include <png.h>
#endif

namespace lacuna::app {

#ifdef LACUNA_HAS_PNG
namespace {

constexpr std::int64_t margin = 16; // pixels of paper around the frame
constexpr int frame_shade = 1;      // the palette: 0 paper, 1 frame, 2 to 255 inks

int palette_entry(int shade) { return shade == 0 ? 0 : std::max(shade, frame_shade + 1); }

/// One byte a pixel, row by row.
class canvas {
public:
  canvas(std::int64_t width, std::int64_t height)
      : width_(width), height_(height), pixels_(static_cast<std::size_t>(width * height), 0) {}
  void fill(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height, int entry) {
    for (std::int64_t line = y; line < y + height; ++line)
      std::fill_n(pixels_.begin() + line * width_ + x, width, static_cast<unsigned char>(entry));
  }
  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] std::int64_t height() const { return height_; }
  [[nodiscard]] const unsigned char* pixels() const { return pixels_.data(); }

private:
  std::int64_t width_, height_;
  std::vector<unsigned char> pixels_;
};

/// So few cells of a pixel each that they are easily missed: they are drawn as 3 x 3.
bool is_faint(const picture& p) {
  const auto occupied = std::count_if(p.grid.count.begin(), p.grid.count.end(),
                                      [](std::int64_t count) { return count > 0; });
  return p.size.cell_width == 1 && p.size.cell_height == 1 &&
         occupied < std::min(p.size.grid_width, p.size.grid_height) / 2;
}

canvas draw(const picture& p) {
  const picture_size& s = p.size;
  canvas c(s.width() + 2 * margin, s.height() + 2 * margin);
  const std::int64_t largest = p.grid.largest(), more = is_faint(p) ? 1 : 0;
  const std::int64_t gap =
      s.has_gaps() ? std::max<std::int64_t>(std::min(s.cell_width, s.cell_height) / 16, 1) : 0;
  c.fill(margin - 1 - more, margin - 1 - more, s.width() + 2 + 2 * more, s.height() + 2 + 2 * more,
         frame_shade);
  c.fill(margin - more, margin - more, s.width() + 2 * more, s.height() + 2 * more, 0);
  for (std::int64_t y = 0; y < p.grid.height; ++y)
    for (std::int64_t x = 0; x < p.grid.width; ++x)
      if (const int dark = shade(p.grid.at(y, x), largest); dark > 0)
        c.fill(margin + x * s.cell_width + gap / 2 - more,
               margin + y * s.cell_height + gap / 2 - more, s.cell_width - gap + 2 * more,
               s.cell_height - gap + 2 * more, palette_entry(dark));
  return c;
}

} // namespace

std::string as_png(const picture& p) {
  const canvas c = draw(p);
  std::vector<unsigned char> palette(256UL * 3);
  for (int i = 0; i < 256; ++i) {
    const colour each = i == 0 ? paper : i == frame_shade ? frame_line : ink(i);
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
