#include "common/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <numeric>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

#include "common/print.hpp"

namespace lacuna::app {
namespace {

/// Three significant digits: 1.23, 12.3, 123.
std::string three_digits(double v) {
  return fmt::format("{:.{}f}", v, v < 9.995 ? 2 : v < 99.95 ? 1 : 0);
}

} // namespace

std::string human_bytes(double bytes) {
  if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6) return three_digits(bytes / 1e3) + " kB";
  if (bytes < 1e9) return three_digits(bytes / 1e6) + " MB";
  if (bytes < 1e12) return three_digits(bytes / 1e9) + " GB";
  return three_digits(bytes / 1e12) + " TB";
}

std::string human_count(std::int64_t count) {
  const auto c = static_cast<double>(count);
  if (c < 1e4) return fmt::format("{}", count);
  if (c < 1e6) return three_digits(c / 1e3) + " k";
  if (c < 1e9) return three_digits(c / 1e6) + " M";
  return three_digits(c / 1e9) + " G";
}

std::string human_seconds(double seconds) {
  if (seconds < 1e-3) return three_digits(seconds * 1e6) + " µs";
  if (seconds < 1) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string bar_of(double share, int width) {
  static constexpr const char* part[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(share * width * 8));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  return text + part[eighths % 8];
}

std::string human_shape(std::int64_t rows, std::int64_t cols, std::int64_t entries) {
  return fmt::format("{} x {}, {} {}", human_count(rows), human_count(cols), human_count(entries),
                     entries == 1 ? "entry" : "entries");
}

bool stderr_can_redraw() {
  const char* const terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

int terminal_width(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* const columns = std::getenv("COLUMNS");
  const int asked = columns == nullptr ? 0 : std::atoi(columns);
  return asked > 0 ? asked : 80;
}

int terminal_height(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

bool stdout_has_colour() {
  const char* const refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && shows_unicode() && (refused == nullptr || *refused == '\0');
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), line(b.size() + 1), next(b.size() + 1);
  std::iota(line.begin(), line.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] =
          std::min({line[j] + 1, next[j - 1] + 1, line[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = line;
    line = next;
  }
  return line.back();
}

} // namespace lacuna::app
