// A picture of a matrix's pattern: cells darker where there are more entries.
#pragma once

#include <cstdint>
#include <string>

#include <lacuna/plan/density.hpp>

namespace lacuna::app {

/// How large a picture is: a grid of cells, each some pixels wide and high.
struct picture_size {
  std::int64_t grid_width = 0, grid_height = 0;
  std::int64_t cell_width = 1, cell_height = 1;

  [[nodiscard]] std::int64_t width() const { return grid_width * cell_width; }
  [[nodiscard]] std::int64_t height() const { return grid_height * cell_height; }
  /// Cells are told apart by a line where they are large enough.
  [[nodiscard]] bool has_gaps() const { return cell_width >= 6 && cell_height >= 6; }
};

/// The longer side has about `size` pixels, the other keeps the ratio but is size / 24 at least. A
/// cell is no larger than size / 8, so that tiny matrices make small pictures.
picture_size choose_size(std::int64_t rows, std::int64_t cols, std::int64_t size);

/// What is drawn, and what is written beside it.
struct picture {
  std::string name;
  std::int64_t rows = 0, cols = 0, entries = 0;
  picture_size size;
  density_grid grid; ///< of size.grid_height x size.grid_width; empty if the matrix is
};

struct colour {
  unsigned char red, green, blue;
};
constexpr colour paper{255, 255, 255};
constexpr colour frame_line{176, 184, 196};

/// 1 to 255 for a cell with entries, 0 for one without; logarithmic, so that a single entry can be
/// seen beside a cell with a million.
int shade(std::int64_t count, std::int64_t largest);
/// The ink of a shade from 1 to 255; the lightest still stands out from paper.
colour ink(int shade);

/// The bytes of the file. Throws unsupported in a build without libpng.
std::string as_png(const picture& p);
std::string as_svg(const picture& p);
/// Lines of braille dots in a frame, at most `columns` wide and `lines` high, for a grid that
/// terminal_size() gave.
std::string as_text(const picture& p, bool in_colour);
picture_size terminal_size(std::int64_t rows, std::int64_t cols, int columns, int lines);

} // namespace lacuna::app
