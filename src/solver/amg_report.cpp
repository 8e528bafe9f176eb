// A hierarchy in words and as JSON.
#include <fmt/format.h>

#include "solver/amg_hierarchy.hpp"

namespace lacuna::detail {
namespace {

struct stage {
  const char* name;
  double amg_seconds::*seconds;
};
constexpr stage stages[] = {{"strength", &amg_seconds::strength},
                            {"aggregation", &amg_seconds::aggregation},
                            {"prolongator", &amg_seconds::prolongator},
                            {"transposition", &amg_seconds::transposition},
                            {"galerkin", &amg_seconds::galerkin},
                            {"spectral_radius", &amg_seconds::spectral_radius},
                            {"plans", &amg_seconds::plans},
                            {"coarse_solve", &amg_seconds::coarse_solve},
                            {"total", &amg_seconds::total}};

} // namespace

std::string explain_amg(const std::string& name, const amg_report& r) {
  std::string text =
      fmt::format("{}: {} levels, operator complexity {:.3f}, grid complexity {:.3f}, {:.1f} MB\n"
                  "  level       rows      entries  per row  spectral radius  format\n",
                  name, r.levels.size(), r.operator_complexity, r.grid_complexity,
                  static_cast<double>(r.bytes) / 1e6);
  for (std::size_t k = 0; k < r.levels.size(); ++k) {
    const amg_level_report& l = r.levels[k];
    text += fmt::format(
        "  {:>5} {:>10} {:>12} {:>8.1f} {:>16.3f}  {}{}\n", k, l.rows, l.entries,
        l.rows == 0 ? 0.0 : static_cast<double>(l.entries) / static_cast<double>(l.rows),
        l.spectral_radius, l.format, l.colours > 0 ? fmt::format(", {} colours", l.colours) : "");
  }
  text += "  set-up";
  for (const stage& s : stages)
    text += fmt::format("{} {} {:.2f} ms", s.name == stages[0].name ? ":" : ",", s.name,
                        1e3 * r.seconds.*s.seconds);
  text += "\n";
  if (r.update_seconds > 0)
    text += fmt::format("  last update of values: {:.2f} ms\n", 1e3 * r.update_seconds);
  return text;
}

std::string amg_as_json(const std::string& name, const amg_report& r) {
  std::string text = fmt::format(
      R"({{"preconditioner":"{}","operator_complexity":{},"grid_complexity":{},"bytes":{},"levels":[)",
      name, r.operator_complexity, r.grid_complexity, r.bytes);
  for (std::size_t k = 0; k < r.levels.size(); ++k) {
    const amg_level_report& l = r.levels[k];
    text += fmt::format(
        R"({}{{"rows":{},"entries":{},"prolongator_entries":{},"format":"{}","bytes":{},"spectral_radius":{},"colours":{}}})",
        k == 0 ? "" : ",", l.rows, l.entries, l.prolongator_entries, l.format, l.bytes,
        l.spectral_radius, l.colours);
  }
  text += R"(],"seconds":{)";
  for (const stage& s : stages)
    text += fmt::format(R"({}"{}":{})", s.name == stages[0].name ? "" : ",", s.name,
                        r.seconds.*s.seconds);
  return text + fmt::format(R"(}},"update_seconds":{}}})", r.update_seconds);
}

} // namespace lacuna::detail
