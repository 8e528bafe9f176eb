#include "lacuna/convergence.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace lacuna::app {

std::string convergence_plot(const std::vector<double>& history, int width) {
  constexpr int most_lines = 7, margin = 10;
  std::vector<double> decades; // of each column: the last residual that it stands for
  const auto points = static_cast<int>(history.size());
  const int columns = std::min(points, std::clamp(width - margin - 2, 10, 64));
  if (points < 3) return {};
  for (int c = 0; c < columns; ++c) {
    const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(c) * (points - 1) /
                                             std::max(columns - 1, 1));
    const double v = history[at];
    decades.push_back(std::isfinite(v) && v > 0 ? std::log10(v) : NAN);
  }
  double high = -400, low = 400;
  for (const double d : decades)
    if (!std::isnan(d)) high = std::max(high, d), low = std::min(low, d);
  if (high < low) return {};
  high = std::ceil(high);
  const double per_line = std::max(1.0, std::ceil((high - std::floor(low)) / most_lines));
  const int lines = std::max(1, static_cast<int>(std::ceil((high - low) / per_line)));
  std::string text;
  for (int line = 0; line < lines; ++line) {
    const double top = high - line * per_line;
    std::string row;
    for (const double d : decades) {
      const int at =
          std::isnan(d) ? -1 : std::min(static_cast<int>((high - d) / per_line), lines - 1);
      // The upper or the lower half of its line.
      const bool upper = (high - d) / per_line - at < 0.5;
      row += at != line ? ' ' : upper ? '\'' : '.';
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += fmt::format("  {:>6} |{}\n", fmt::format("1e{:+03.0f}", top), row);
  }
  text += fmt::format("         +{}\n", std::string(static_cast<std::size_t>(columns), '-'));
  const std::string last = fmt::format("{} iterations", points - 1);
  text += fmt::format("          0{:>{}}\n", last,
                      std::max<int>(columns - 1, static_cast<int>(last.size()) + 1));
  return text;
}

} // namespace lacuna::app
