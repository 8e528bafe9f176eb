// One line on stderr that shows how far a long task is.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "common/clock.hpp"

namespace lacuna::app {

/// Appears after 0.3 s, or as many as LACUNA_PROGRESS_AFTER in the environment says, and is erased
/// when the object dies; nothing at all unless `show`. It is drawn by a thread of its own, so that
/// work which reports nothing still shows its time.
class progress_bar {
public:
  enum class unit { bytes, entries, parts };
  progress_bar(const std::string& label, unit counted, bool show);
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;
  ~progress_bar();

  /// For the library to call with what is done and what there is in all (0: unknown); empty if
  /// nothing is shown. Not to be called after the bar's end.
  std::function<void(std::int64_t done, std::int64_t total)> callback();
  void relabel(const std::string& label);

private:
  void draw_until_stopped();
  [[nodiscard]] std::string line() const;

  std::string label_;
  unit counted_;
  stopwatch watch_;
  std::atomic<std::int64_t> done_{0}, total_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

/// Erases the line if there is one. Async-signal-safe.
void erase_progress_line() noexcept;

} // namespace lacuna::app
