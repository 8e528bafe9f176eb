#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "bench/published.hpp"
#include "bench/report.hpp"
#include "common/print.hpp"

namespace lacuna::bench {
namespace {

constexpr const char* spgemm_source =
    "GFLOP/s of C = A A in double on an H200, taken in an earlier comparison, not measured in this "
    "run";

/// cuSPARSE: its best algorithm. OpSparse is of 2022, MH-SpGEMM of 2025.
struct spgemm_figures {
  const char* matrix;
  double cusparse, speck, opsparse, mh_spgemm;

  [[nodiscard]] double best() const { return std::max({cusparse, speck, opsparse, mh_spgemm}); }
};

constexpr std::array<spgemm_figures, 20> spgemm_table = {{
    {"poisson2d:n=1000", 16, 20, 51, 25},
    {"poisson2d9:n=1024", 23, 38, 29, 44},
    {"poisson3d:n=128", 23, 28, 22, 29},
    {"poisson3d27:n=128", 15, 84, 44, 132},
    {"fem3d:n=40,dof=3", 30, 117, 156, 202},
    {"rgg:scale=20", 21, 71, 77, 83},
    {"uniform:rows=1048576,per_row=8", 16, 26, 32, 21},
    {"debruijn:scale=20", 13, 15, 27, 17},
    {"trace3:n=2145", 16, 14, 40, 20},
    {"web:n=1000000", 10, 3.8, 9, 6.7},
    {"rmat:scale=17,edges=8,a=0.5,b=0.2,c=0.2", 12, 15, 1.9, 7.5},
    {"kron:scale=14", 13, 55, 6.5, 19},
    {"qcd:n=16", 17, 83, 58, 96},
    {"dense:n=2000,m=2000", 10, 309, 524, 575},
    {"email-Enron", 12, 24, 5, 14},
    {"cage10", 4.4, 17, 10, 5.5},
    {"Andrews", 8, 26, 27, 17},
    {"memplus", 8, 14, 4, 11},
    {"bcsstk25", 6.4, 26, 17, 14},
    {"cnr-2000", 10, 38, 24, 39},
}};

} // namespace

void print_published_spgemm(const std::vector<measured_problem>& problems,
                            const std::string& engine, nlohmann::ordered_json& out) {
  if (engine.find("H200") == std::string::npos) return;
  std::vector<double> over_cusparse, over_best;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& p : problems) {
    const auto published = std::ranges::find_if(
        spgemm_table, [&](const spgemm_figures& f) { return p.matrix == f.matrix; });
    const result* const ours = p.best(role::lacuna);
    if (published == spgemm_table.end() || ours == nullptr || p.values != "f64") continue;
    if (rows.empty()) {
      app::print("\n{}\n", wrapped(fmt::format("Published: {}", spgemm_source)));
      app::print("  {:<40} {:>8} {:>9} {:>7} {:>9} {:>10} {:>14} {:>14}\n", "", "Lacuna",
                 "cuSPARSE", "spECK", "OpSparse", "MH-SpGEMM", "over cuSPARSE", "over the best");
    }
    const double gflops = p.gflops(*ours);
    over_cusparse.push_back(gflops / published->cusparse);
    over_best.push_back(gflops / published->best());
    app::print("  {:<40} {:>8.1f} {:>9} {:>7} {:>9} {:>10} {:>12.2f} x {:>12.2f} x\n", p.matrix,
               gflops, published->cusparse, published->speck, published->opsparse,
               published->mh_spgemm, over_cusparse.back(), over_best.back());
    rows.push_back({{"matrix", p.matrix},
                    {"gflops", gflops},
                    {"cusparse", published->cusparse},
                    {"speck", published->speck},
                    {"opsparse", published->opsparse},
                    {"mh_spgemm", published->mh_spgemm},
                    {"ratio_to_cusparse", over_cusparse.back()},
                    {"ratio_to_best", over_best.back()}});
  }
  if (rows.empty()) return;
  const auto least = std::ranges::min_element(over_best);
  app::print(
      "  geometric mean: {:.2f} x cuSPARSE, {:.2f} x the best of the four; least {:.2f} x, on "
      "{}\n",
      geometric_mean(over_cusparse), geometric_mean(over_best), *least,
      rows[static_cast<std::size_t>(least - over_best.begin())]["matrix"].get<std::string>());
  out["published"] = {{"source", spgemm_source},
                      {"matrices", rows},
                      {"ratio_to_cusparse", geometric_mean(over_cusparse)},
                      {"ratio_to_best", geometric_mean(over_best)}};
}

} // namespace lacuna::bench
