#include "lacuna/picture.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "common/print.hpp"

namespace lacuna::app {
namespace {

/// Dots of a character: of braille, or of one of " ' . :".
struct dots_of_a_character {
  std::int64_t x, y;
};
dots_of_a_character dots() {
  return shows_unicode() ? dots_of_a_character{2, 4} : dots_of_a_character{1, 2};
}

/// UTF-8 of U+2800 + dots.
std::string braille(unsigned dots) {
  return {static_cast<char>(0xe2), static_cast<char>(0xa0 | dots >> 6),
          static_cast<char>(0x80 | (dots & 0x3f))};
}

/// The dots of one character, and the largest count among them.
struct character {
  unsigned dots = 0;
  std::int64_t largest = 0;

  [[nodiscard]] std::string text() const {
    if (shows_unicode()) return braille(dots);
    return dots == 1 ? "'" : dots == 2 ? "." : ":"; // above, below, both
  }
};

character character_at(const density_grid& grid, std::int64_t line, std::int64_t column) {
  static constexpr unsigned bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  const auto [dots_x, dots_y] = dots();
  character c;
  for (std::int64_t y = 0; y < dots_y; ++y)
    for (std::int64_t x = 0; x < dots_x; ++x) {
      const std::int64_t row = line * dots_y + y, col = column * dots_x + x;
      if (row >= grid.height || col >= grid.width || grid.at(row, col) == 0) continue;
      c.dots |= bit[y][x];
      c.largest = std::max(c.largest, grid.at(row, col));
    }
  return c;
}

/// From the 256 colours: legible on light and on dark terminals.
int terminal_colour(int shade) {
  static constexpr int few_to_many[] = {67, 33, 37, 71, 172, 160};
  return few_to_many[std::min(shade * 6 / 256, 5)];
}

} // namespace

picture_layout lay_out_text(std::int64_t rows, std::int64_t cols, int letters, int lines) {
  const auto [dots_x, dots_y] = dots();
  const double width = static_cast<double>(std::max(letters - 2, 4) * dots_x);
  const double height = static_cast<double>(std::max(lines, 2) * dots_y);
  const double scale = std::min(width / std::max(1.0, static_cast<double>(cols)),
                                height / std::max(1.0, static_cast<double>(rows)));
  const auto side = [&](std::int64_t n, std::int64_t least) {
    const auto scaled = static_cast<std::int64_t>(std::ceil(static_cast<double>(n) * scale));
    return std::max(std::min(n, scaled), std::min(n, least));
  };
  picture_layout result;
  result.grid_width = side(cols, dots_x);
  result.grid_height = side(rows, dots_y);
  return result;
}

std::string as_text(const picture& p, bool in_colour) {
  const auto [dots_x, dots_y] = dots();
  const std::int64_t columns =
      std::max<std::int64_t>((p.layout.grid_width + dots_x - 1) / dots_x, 1);
  const std::int64_t lines =
      std::max<std::int64_t>((p.layout.grid_height + dots_y - 1) / dots_y, 1);
  const std::int64_t largest = p.grid.largest();
  const bool plain = !shows_unicode();
  std::string bar;
  for (std::int64_t i = 0; i < columns; ++i) bar += plain ? "-" : "─";
  const std::string side = plain ? "|" : "│";
  std::string text = plain ? "+" + bar + "+\n" : "┌" + bar + "┐\n";
  for (std::int64_t line = 0; line < lines; ++line) {
    text += side;
    int colour_now = -1;
    for (std::int64_t column = 0; column < columns; ++column) {
      const character c = character_at(p.grid, line, column);
      if (c.dots == 0) {
        text += ' ';
        continue;
      }
      const int wanted = terminal_colour(shade(c.largest, largest));
      if (in_colour && wanted != colour_now) text += fmt::format("\033[38;5;{}m", wanted);
      colour_now = wanted;
      text += c.text();
    }
    text += (in_colour && colour_now >= 0 ? "\033[0m" : "") + side + "\n";
  }
  return text + (plain ? "+" + bar + "+\n" : "└" + bar + "┘\n");
}

} // namespace lacuna::app
