#include "lacuna/demo_log.hpp"

#include "common/print.hpp"
#include "common/text.hpp"

namespace lacuna::app {

void demo_log::begin_engine(const std::string& name, const std::string& text) {
  engine_ = name;
  if (!quiet_) print("\n{}\n", text);
}

void demo_log::step(const std::string& name, double seconds, double bytes, double error,
                    bool exact) {
  const bool right = error <= 1; // false for NaN
  (right ? passed_ : failed_) += 1;
  nlohmann::ordered_json line = {{"engine", engine_},
                                 {"step", name},
                                 {"seconds", seconds},
                                 {"verify_error", error},
                                 {"passed", right}};
  if (bytes > 0) line["gbytes_per_s"] = bytes / seconds * 1e-9;
  steps_.push_back(line);
  if (quiet_ && right) return;
  const std::string rate = bytes > 0 ? fmt::format("{:.1f} GB/s", bytes / seconds * 1e-9) : "";
  const std::string judged =
      exact ? (right ? "exact" : "NOT THE SAME") : fmt::format("error {:.2g} of its bound", error);
  // With --json stdout belongs to the object.
  print(quiet_ ? stderr : stdout, "  {} {:<34} {:>9} {:>12}   {}\n", right ? "✓" : "✗",
        for_terminal(name), human_seconds(seconds), rate, judged);
}

void demo_log::remark(const std::string& text) {
  if (!quiet_) print("      {}\n", text);
}

} // namespace lacuna::app
