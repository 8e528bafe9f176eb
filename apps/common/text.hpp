// Numbers as people read them, and what the terminal can show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lacuna::app {

std::string human_bytes(double bytes);       ///< "176 MB", powers of 1000
std::string human_count(std::int64_t count); ///< "14.6 M"
std::string human_seconds(double seconds);   ///< "12.3 ms"
/// "1.05 M x 1.05 M, 5.24 M entries"
std::string human_shape(std::int64_t rows, std::int64_t cols, std::int64_t entries);

/// A horizontal bar of at most `width` characters, in eighths of one.
std::string bar_of(double share, int width);

/// Whether stderr is a terminal on which a line can be drawn again: progress goes there only then.
bool stderr_can_redraw();
/// Columns of the terminal behind the descriptor, else COLUMNS, else 80.
int terminal_width(int descriptor);
/// Lines of the terminal behind the descriptor; 0 if it is none.
int terminal_height(int descriptor);
/// Whether stdout is a terminal that shows more than ASCII, and the user has not asked for none
/// with NO_COLOR.
bool stdout_has_colour();

/// Letters to insert, delete, replace or swap to get from one word to the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name that is most like `word`, or empty if none is close.
template <class Names> std::string closest(std::string_view word, const Names& names) {
  std::string best;
  std::size_t least = word.size() / 3 + 2; // further away is another word, not a slip
  for (const auto& name : names)
    if (const std::size_t d = edit_distance(word, name); d < least) {
      least = d;
      best = name;
    }
  return best;
}

} // namespace lacuna::app
