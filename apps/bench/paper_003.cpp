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

void print_group(const std::vector<const measured_problem*>& problems, json& out) {
  app::print("  {:<24} {:>43}  {:>17}  {:>17}  {:>25}\n", "", "GFLOP/s", "over csr and HYB",
             "made, in products", "memory beside CSR's");
  app::print(
      "  {:<24} {:>7} {:>7} {:>8} {:>8} {:>8}  {:>8} {:>8}  {:>8} {:>8}  {:>8} {:>8} {:>8}\n", "",
      csr, hyb, "paper's", "packed", "planned", "paper's", "planned", "paper's", "planned",
      "paper's", "packed", "planned");
  way ways[] = {{thresholds, {}, {}, {}}, {packed, {}, {}, {}}, {planned, {}, {}, {}}};
  auto& [paper, narrow, ours] = ways;
  for (const auto* p : problems) {
    const result *const rows = p->find(csr), *const hybrid = p->find(hyb);
    if (rows == nullptr) continue;
    const double best =
        hybrid != nullptr ? std::min(rows->seconds, hybrid->seconds) : rows->seconds;
    for (way& each : ways) each.add(*p, best);
    app::print("  {:<24.24} {:>7} {:>7} {:>8} {:>8} {:>8}  {:>8} {:>8}  {:>8.0f} {:>8.0f}  {:>8} "
               "{:>8} {:>8}\n",
               p->stands_for.empty() ? p->matrix : p->stands_for, cell(*p, csr), cell(*p, hyb),
               cell(*p, thresholds), cell(*p, packed), cell(*p, planned), last(paper.gain, " %"),
               last(ours.gain, " %"), paper.conversion.empty() ? 0 : paper.conversion.back(),
               ours.conversion.empty() ? 0 : ours.conversion.back(), last(paper.storage, " %"),
               last(narrow.storage, " %"), last(ours.storage, " %"));
  }
  app::print("  {:<26} {:>22} {:>10} {:>20} {:>22} {:>10}\n", "mean and most", "over csr and HYB",
             "most", "made, in products", "memory beside CSR's", "most");
  for (const way& each : ways) {
    if (each.gain.empty()) continue;
    app::print("  {:<26} {:>20.0f} % {:>8.0f} % {:>20.0f} {:>20.1f} % {:>8.1f} %\n", each.name,
               mean_of(each.gain), std::ranges::max(each.gain), mean_of(each.conversion),
               mean_of(each.storage), std::ranges::max(each.storage));
    out["ways"].push_back({{"name", each.name},
                           {"mean_gain_percent", mean_of(each.gain)},
                           {"most_gain_percent", std::ranges::max(each.gain)},
                           {"mean_conversion_products", mean_of(each.conversion)},
                           {"mean_storage_percent", mean_of(each.storage)},
                           {"most_storage_percent", std::ranges::max(each.storage)}});
  }
}

} // namespace

void print(const std::vector<measured_problem>& problems, json& out) {
  out["paper"] = json::array();
  for (const auto& group : groups_of(problems)) {
    std::vector<const measured_problem*> members;
    for (const auto& p : problems)
      if (group_of(p) == group) members.push_back(&p);
    app::print("\nBeside the paper, {}\n", group);
    json figures = {{"group", group}, {"ways", json::array()}};
    print_group(members, figures);
    out["paper"].push_back(figures);
  }
  app::print("  {:<26} {:>20} % {:>8} % {:>20} {:>20} % {:>8} %\n", "the paper, on a C1060", 25, 80,
             45, 2, 6);
  app::print("  The paper converts on the CPU and copies to the GPU; our aim is 20 products.\n");
#ifndef LACUNA_BENCH_HYB
  app::print("  HYB is not in this build: gains are over csr alone.\n");
#endif
}

} // namespace lacuna::bench::paper_003
