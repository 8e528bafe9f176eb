#include "bench/cg/suite.hpp"
#include "common/print.hpp"
#include "common/text.hpp"

namespace lacuna::bench {

void print_cg(const measured_problem& p, const std::vector<cg_solution>& solutions,
              double tolerance, nlohmann::ordered_json& out) {
  const double vectors = p.bytes - p.matrix_bytes;
  nlohmann::ordered_json figures = {{"matrix", p.matrix}, {"values", p.values}};
  for (const result& r : p.results) {
    if (r.seconds == 0) continue;
    const double own = static_cast<double>(r.format_bytes) + vectors;
    app::print("  {:<26} {:>9.0f} iterations/s", r.name, 1 / r.seconds);
    figures["rates"][r.name] = {{"iterations_per_s", 1 / r.seconds},
                                {"share_of_limit", p.limit_seconds() / r.seconds}};
    if (r.format_bytes > 0) {
      const double share = own / r.seconds / p.limits.front().bytes_per_second;
      app::print(", {:.0f} % of the {} counted in its own bytes, {} an iteration", 100 * share,
                 p.limits.front().name, app::human_bytes(own));
      figures["rates"][r.name]["own_share_of_limit"] = share;
    }
    app::print("\n");
  }
  for (const cg_solution& s : solutions) {
    app::print("  {:<26} to {:.0e} with {}: {} iterations, {}{}\n", s.name, tolerance, s.with,
               s.iterations, app::human_seconds(s.seconds), s.right ? "" : " WRONG");
    figures["solutions"].push_back({{"name", s.name},
                                    {"preconditioner", s.with},
                                    {"iterations", s.iterations},
                                    {"seconds", s.seconds},
                                    {"right", s.right}});
  }
  out["cg"].push_back(figures);
}

} // namespace lacuna::bench
