#include "common/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

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
  return three_digits(bytes / 1e9) + " GB";
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

bool stderr_is_terminal() { return isatty(STDERR_FILENO) != 0; }

} // namespace lacuna::app
