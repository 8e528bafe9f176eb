// What the tour's steps found, one line and one JSON object each.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "lacuna/options.hpp"

namespace lacuna::app {

class demo_log {
public:
  explicit demo_log(const options& o) : quiet_(o.quiet || o.json) {}

  /// Steps from here on belong to this engine.
  void begin_engine(const std::string& name, const std::string& text);
  /// bytes: moved by one run, 0 if that says nothing. error: in units of its bound, at most 1 is
  /// right; exact steps have 0 or infinity.
  void step(const std::string& name, double seconds, double bytes, double error, bool exact);
  /// A remark below the step before.
  void remark(const std::string& text);

  [[nodiscard]] int passed() const { return passed_; }
  [[nodiscard]] int failed() const { return failed_; }
  [[nodiscard]] const nlohmann::ordered_json& steps() const { return steps_; }

private:
  bool quiet_;
  int passed_ = 0, failed_ = 0;
  std::string engine_;
  nlohmann::ordered_json steps_ = nlohmann::ordered_json::array();
};

} // namespace lacuna::app
