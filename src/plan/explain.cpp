// Plans in sentences and as JSON.
#include <fmt/format.h>

#include "plan/choose.hpp"

namespace lacuna {
namespace {

std::string seconds_text(double s) {
  if (s == 0) return "unknown";
  if (s < 1e-3) return fmt::format("{:.3g} us", s * 1e6);
  return s < 1 ? fmt::format("{:.3g} ms", s * 1e3) : fmt::format("{:.3g} s", s);
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      result += c;
  }
  return result + '"';
}

} // namespace

std::string explain_plan(const plan_decision& decision, const spmv_machine& machine,
                         const std::string& kernel) {
  const plan_candidate& best = decision.chosen();
  std::string text =
      fmt::format("{}, kernel {}, on {} ({})\n", best.format, kernel, machine.name, machine.origin);
  for (const std::string& reason : decision.reasons) text += fmt::format("- {}\n", reason);
  for (const std::string& remark : machine.remarks) text += fmt::format("note: {}\n", remark);
  text += "candidates:\n";
  for (const plan_candidate& c : decision.candidates)
    text += fmt::format("  {:<10} {:<12} {:>10} each, {:>10} in all{}{}\n", c.format, c.kernel,
                        seconds_text(c.seconds), seconds_text(c.total_seconds),
                        c.refused.empty() ? "" : "; refused: ", c.refused);
  return text;
}

std::string plan_as_json(const plan_decision& decision, const spmv_machine& machine,
                         const std::string& kernel, std::size_t bytes) {
  const plan_candidate& best = decision.chosen();
  std::string text =
      fmt::format("{{\"format\": \"{}\", \"kernel\": \"{}\", \"device\": {}, \"bytes\": {}, "
                  "\"reasons\": [",
                  best.format, kernel, quoted(machine.name), bytes);
  for (std::size_t i = 0; i < decision.reasons.size(); ++i)
    text += (i == 0 ? "" : ", ") + quoted(decision.reasons[i]);
  text += "], \"candidates\": [";
  for (std::size_t i = 0; i < decision.candidates.size(); ++i) {
    const plan_candidate& c = decision.candidates[i];
    text +=
        fmt::format("{}{{\"format\": \"{}\", \"kernel\": \"{}\", \"bytes\": {:.0f}, "
                    "\"predicted_seconds\": {:.6g}, \"conversion_seconds\": {:.6g}, "
                    "\"total_seconds\": {:.6g}, \"refused\": {}}}",
                    i == 0 ? "" : ", ", c.format, c.kernel, c.bytes, c.seconds, c.convert_seconds,
                    c.total_seconds, c.refused.empty() ? "null" : quoted(c.refused));
  }
  return text + "]}";
}

} // namespace lacuna
