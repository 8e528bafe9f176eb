// A picture of a matrix's pattern: cells darker where there are more entries, with axes and a
// caption.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lacuna/plan/density.hpp>

namespace lacuna::app {

/// A number beside an axis: the line between rows (or columns) `at` and `at + 1`, counted from 1.
struct tick {
  std::int64_t at = 0;
  std::string label; ///< "15k"
};
/// At round numbers of 0 to n, on an axis of `length`, no two closer than `apart`.
std::vector<tick> choose_ticks(std::int64_t n, double length, double apart);

/// Where things are in the file, in pixels from its upper left corner.
struct picture_layout {
  std::int64_t width = 0, height = 0; ///< of the file
  std::int64_t left = 0, top = 0;     ///< of the frame's inside
  std::int64_t plot_width = 0, plot_height = 0;
  std::int64_t grid_width = 0, grid_height = 0; ///< cells
  int unit = 0;         ///< pixels of a dot of the letters; 0: too small for text
  std::int64_t pad = 0; ///< between text and the picture's sides
  std::vector<tick> columns, rows;

  /// Cells are told apart by a line where they are large enough.
  [[nodiscard]] bool has_gaps() const {
    return plot_width >= 6 * grid_width && plot_height >= 6 * grid_height;
  }
  /// Letters that fit between the sides.
  [[nodiscard]] std::size_t letters() const;
};

/// The longer side of the file is `size`. The frame has the matrix's ratio, but its shorter side is
/// size / 24 at least. Up to `most_cells` a side are told apart. Below 240 pixels there is no text.
picture_layout lay_out(std::int64_t rows, std::int64_t cols, std::int64_t size,
                       std::int64_t most_cells);

/// A leaf of the matrix's block tree: its first row and column, how far it reaches.
struct leaf_outline {
  std::int64_t row = 0, col = 0, rows = 0, cols = 0;
};
/// In pixels from the frame's inside; too small to be told from its neighbours: nothing.
struct pixel_box {
  std::int64_t left = 0, top = 0, width = 0, height = 0;
};

/// What is drawn, and what is written beside it.
struct picture {
  std::string name;
  std::int64_t rows = 0, cols = 0, entries = 0;
  picture_layout layout;            ///< in the terminal only its grid counts
  density_grid grid;                ///< of the layout's grid; empty if the matrix is
  std::vector<leaf_outline> leaves; ///< drawn below the cells; none: not asked for

  [[nodiscard]] std::string caption() const; ///< "3 x 3, 5 entries"
  [[nodiscard]] std::string legend() const;  ///< what a cell is; empty if it is one entry
  /// Where leaves are drawn that are 3 pixels wide and high at least.
  [[nodiscard]] std::vector<pixel_box> leaf_boxes() const;
};

struct colour {
  unsigned char red, green, blue;
};
constexpr colour paper{255, 255, 255};
constexpr colour frame_line{176, 184, 196};
constexpr colour dark_text{22, 32, 46};
constexpr colour light_text{91, 102, 117};

/// 1 to 255 for a cell with entries, 0 for one without; logarithmic, so that a single entry can be
/// seen beside a cell with a million.
int shade(std::int64_t count, std::int64_t largest);
/// The ink of a shade from 1 to 255; the lightest still stands out from paper.
colour ink(int shade);

/// The text, or its end behind "...", so that it has at most so many letters.
std::string shortened(const std::string& text, std::size_t letters);

/// The bytes of the file. Throws unsupported in a build without libpng.
std::string as_png(const picture& p);
std::string as_svg(const picture& p);
/// Lines of braille dots, or of ASCII's, in a frame, for a grid that lay_out_text() gave.
std::string as_text(const picture& p, bool in_colour);
/// At most `letters` wide and `lines` high, with the frame.
picture_layout lay_out_text(std::int64_t rows, std::int64_t cols, int letters, int lines);

} // namespace lacuna::app
