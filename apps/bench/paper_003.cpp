#include "bench/paper_003.hpp"
#include "common/print.hpp"

#include <fmt/format.h>
#include <numeric>

namespace lacuna::bench::paper_003 {
namespace {

using json = nlohmann::ordered_json;

double mean_of(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

/// One of our ways on all matrices: percent over the better of csr and HYB, products that the
/// conversion costs, percent of memory beside CSR's.
struct way {
  const char* name;
  std::vector<double> gain, conversion, storage;

  void add(const measured_problem& p, double best_seconds) {
    const result* const r = p.find(name);
    if (r == nullptr) return;
    gain.push_back(100 * (best_seconds / r->seconds - 1));
    conversion.push_back(r->prepare_products());
    storage.push_back(100 * (p.memory(*r) - 1));
  }
};

std::string cell(const measured_problem& p, const char* name) {
  const result* const r = p.find(name);
  return r == nullptr ? "-" : fmt::format("{:.2f}", p.gflops(*r));
}
std::string last(const std::vector<double>& v, const char* unit) {
  return v.empty() ? "-" : fmt::format("{:+.0f}{}", v.back(), unit);
}

/// Figures 4 to 7.
void print_group(const std::vector<const measured_problem*>& problems, json& out) {
  app::print("\n  Figures 4 to 7: GFLOP/s, more is better; over the better of csr and HYB, more is "
             "better;\n  products of its own that the conversion takes, and memory beside CSR's: "
             "fewer is better\n");
  app::print("  {:<16} {:>6} {:>6} {:>7} {:>7} {:>7} | {:>7} {:>7} | {:>5} {:>5} | {:>5} {:>5}\n",
             "", csr, hyb, "paper's", "packed", "planned", "paper's", "planned", "pap.", "plan",
             "pap.", "plan");
  way ways[] = {{thresholds, {}, {}, {}}, {packed, {}, {}, {}}, {planned, {}, {}, {}}};
  auto& [paper, narrow, ours] = ways;
  for (const auto* p : problems) {
    const result *const rows = p->find(csr), *const hybrid = p->find(hyb);
    if (rows == nullptr) continue;
    const double best =
        hybrid != nullptr ? std::min(rows->seconds, hybrid->seconds) : rows->seconds;
    for (way& each : ways) each.add(*p, best);
    app::print(
        "  {:<16.16} {:>6} {:>6} {:>7} {:>7} {:>7} | {:>7} {:>7} | {:>5.0f} {:>5.0f} | {:>5} "
        "{:>5}\n",
        p->stands_for.empty() ? p->matrix : p->stands_for, cell(*p, csr), cell(*p, hyb),
        cell(*p, thresholds), cell(*p, packed), cell(*p, planned), last(paper.gain, " %"),
        last(ours.gain, " %"), paper.conversion.empty() ? 0 : paper.conversion.back(),
        ours.conversion.empty() ? 0 : ours.conversion.back(), last(paper.storage, "%"),
        last(ours.storage, "%"));
  }
  app::print("  {:<26} {:>18} {:>8} {:>18} {:>14} {:>8}\n", "means and most", "over csr and HYB",
             "most", "made, in products", "memory", "most");
  for (const way& each : ways) {
    if (each.gain.empty()) continue;
    app::print("  {:<26} {:>16.0f} % {:>6.0f} % {:>18.0f} {:>12.1f} % {:>6.1f} %\n", each.name,
               mean_of(each.gain), std::ranges::max(each.gain), mean_of(each.conversion),
               mean_of(each.storage), std::ranges::max(each.storage));
    out["ways"].push_back({{"name", each.name},
                           {"mean_gain_percent", mean_of(each.gain)},
                           {"most_gain_percent", std::ranges::max(each.gain)},
                           {"mean_conversion_products", mean_of(each.conversion)},
                           {"mean_storage_percent", mean_of(each.storage)},
                           {"most_storage_percent", std::ranges::max(each.storage)}});
  }
  app::print("  {:<26} {:>16} % {:>6} % {:>18} {:>12} % {:>6} %\n", "the paper, on a C1060", 25, 80,
             45, 2, 6);
  app::print("  The paper converts on the CPU and copies to the GPU; our aim is 20 products.\n");
}

} // namespace

void print(const std::vector<measured_problem>& problems, const findings& results, json& out) {
  out["paper"] = json::array();
  for (const auto& group : groups_of(problems)) {
    std::vector<const measured_problem*> members;
    for (const auto& p : problems)
      if (group_of(p) == group) members.push_back(&p);
    app::print("\nBeside the paper, {}\n", group);
    json figures = {{"group", group},
                    {"bytes_per_operation", json::array()},
                    {"figure_2", json::array()},
                    {"ways", json::array()},
                    {"sweeps", json::array()},
                    {"sweep_means", json::array()}};
    print_bytes_per_operation(members, figures["bytes_per_operation"]);
    print_synthetic(results.synthetic, group, figures["figure_2"]);
    print_group(members, figures);
    print_sweeps(results.sweeps, group, figures);
    out["paper"].push_back(figures);
  }
}

} // namespace lacuna::bench::paper_003
