#include "common/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

#include "common/print.hpp"
#include "common/text.hpp"

namespace lacuna::app {
namespace {

std::atomic<bool> line_shown{false};
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers use it");

/// Seconds: LACUNA_PROGRESS_AFTER, else 0.3.
std::chrono::duration<double> appears_after() {
  constexpr double usual = 0.3, most = 1e6;
  const char* const asked = std::getenv("LACUNA_PROGRESS_AFTER");
  if (asked == nullptr) return std::chrono::duration<double>(usual);
  char* end = nullptr;
  const double seconds = std::strtod(asked, &end);
  const bool is_number = end != asked && *end == '\0' && seconds >= 0;
  return std::chrono::duration<double>(is_number ? std::min(seconds, most) : usual);
}
constexpr std::chrono::milliseconds redrawn_every{100};
constexpr int bar_width = 24;

void write_to_terminal(std::string_view text) noexcept {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return; // nobody can be told
}

/// Filled up with blanks: what follows stays where it is.
std::string padded_bar(double share) {
  const std::string text = bar_of(share, bar_width);
  return fmt::format("{:<{}}", text, bar_width);
}

} // namespace

progress_bar::progress_bar(const std::string& label, unit counted, bool show)
    : label_(shown(label)), counted_(counted) {
  if (show) thread_ = std::thread([this] { draw_until_stopped(); });
}

progress_bar::~progress_bar() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
  erase_progress_line();
}

std::function<void(std::int64_t, std::int64_t)> progress_bar::callback() {
  if (!thread_.joinable()) return {};
  return [this](std::int64_t done, std::int64_t total) {
    done_ = done;
    total_ = total;
  };
}

void progress_bar::relabel(const std::string& label) {
  const std::lock_guard lock(mutex_);
  label_ = shown(label);
}

void progress_bar::draw_until_stopped() {
  const auto stopped = [this] { return stop_; };
  std::unique_lock lock(mutex_);
  if (wake_.wait_for(lock, appears_after(), stopped)) return;
  do {
    line_shown = true;
    write_to_terminal(fmt::format("\r{}\033[K", for_terminal(line())));
  } while (!wake_.wait_for(lock, redrawn_every, stopped));
}

std::string progress_bar::line() const {
  const double seconds = watch_.seconds();
  const std::int64_t done = done_, total = total_;
  const double rate = static_cast<double>(done) / seconds;
  const std::string speed = counted_ == unit::parts ? ""
                            : counted_ == unit::bytes
                                ? fmt::format("  {:.0f} MB/s", rate * 1e-6)
                                : fmt::format("  {:.1f} M entries/s", rate * 1e-6);
  const auto room = static_cast<std::size_t>(std::max(terminal_width(STDERR_FILENO) - 56, 12));
  const std::string name =
      label_.size() <= room ? label_ : "…" + label_.substr(label_.size() - room + 1);
  if (done == 0) return fmt::format("{}  {:.1f} s", name, seconds);
  if (total <= 0) return fmt::format("{}  {:.1f} s{}", name, seconds, speed);
  const double share = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  return fmt::format("{} {} {:3.0f} %{}", name, padded_bar(share), 100 * share, speed);
}

void erase_progress_line() noexcept {
  if (line_shown.exchange(false)) write_to_terminal("\r\033[K");
}

} // namespace lacuna::app
