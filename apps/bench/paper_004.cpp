#include "bench/paper_004.hpp"
#include "common/print.hpp"

#include <fmt/format.h>

namespace lacuna::bench::paper_004 {
namespace {

using json = nlohmann::ordered_json;

std::string gflops_of(const measured_problem& p, const result* r) {
  return r == nullptr ? "-" : fmt::format("{:.2f}", p.gflops(*r));
}
double ratio(const result* slower, const result* faster) {
  return slower == nullptr || faster == nullptr ? 0 : slower->seconds / faster->seconds;
}
std::string mean_text(const std::vector<double>& ratios) {
  return ratios.empty() ? "-" : fmt::format("{:.2f} x", geometric_mean(ratios));
}

void print_contest(const std::vector<const measured_problem*>& problems, bool device) {
  app::print("  {:<30} {:>9} {:>8} {:>8} {:>8}", "GFLOP/s", "", csr, k2, k3);
  if (!device) app::print(" {:>9} {:>13} {:>8} {:>8}", csr_rcm, k2_rcm, "2,Band-k", "3,Band-k");
  app::print(" {:>9}{}\n", "best peer", device ? "" : "  its, RCM");
  for (const auto* p : problems) {
    const auto cell = [&](const char* name) { return gflops_of(*p, p->find(name)); };
    app::print("  {:<30.30} {:>9} {:>8} {:>8} {:>8}", p->matrix,
               p->regular() ? "regular" : "irregular", cell(csr), cell(k2), cell(k3));
    if (!device)
      app::print(" {:>9} {:>13} {:>8} {:>8}", cell(csr_rcm), cell(k2_rcm), cell(k2_band),
                 cell(k3_band));
    app::print(" {:>9}", gflops_of(*p, p->best(role::peer)));
    if (!device) app::print(" {:>10}", gflops_of(*p, p->best(role::peer_too)));
    app::print("\n");
  }
}

/// Our CSR-k, k = 3 on a device and 2 on the host, over our CSR and the best peer.
void print_class(const std::vector<const measured_problem*>& problems, bool device, bool regular,
                 json& out) {
  std::vector<double> over_csr, over_peer, in_order;
  const measured_problem* worst = nullptr;
  double least = 0;
  for (const auto* p : problems) {
    if (p->regular() != regular) continue;
    const result* const ours = p->find(device ? k3 : k2);
    if (const double r = ratio(p->find(csr), ours); r > 0) {
      over_csr.push_back(r);
      if (worst == nullptr || r < least) worst = p, least = r;
    }
    if (const double r = ratio(p->best(role::peer), ours); r > 0) over_peer.push_back(r);
    if (const double r = ratio(p->best(role::peer_too), p->find(k2_band)); r > 0)
      in_order.push_back(r);
  }
  if (worst == nullptr) return;
  app::print(
      "  {}: csr_k over csr {} on geometric mean of {}, least {:.2f} x on {}{}; over the best "
      "peer {}\n",
      regular ? "regular" : "irregular", mean_text(over_csr), over_csr.size(), least, worst->matrix,
      least < 0.9 ? ", BELOW 0.90 x" : "", mean_text(over_peer));
  if (!device)
    app::print("    csr_k 2 in Band-k's order over the best peer in RCM's: {}\n",
               mean_text(in_order));
  out[regular ? "regular" : "irregular"] = {{"count", over_csr.size()},
                                            {"ratio_to_csr", geometric_mean(over_csr)},
                                            {"least_ratio_to_csr", least},
                                            {"least_matrix", worst->matrix},
                                            {"ratio_to_best_peer", geometric_mean(over_peer)},
                                            {"band_k_to_peer_in_rcm", geometric_mean(in_order)}};
}

void print_claims(bool device) {
  if (device)
    app::print(
        "  the paper: A100, regular: CSR-3 10.5 % over CSR5, 22.2 % over cuSPARSE; irregular: "
        "0.45 x cuSPARSE. Ours must not fall below 0.90 x csr\n");
  else
    app::print("  the paper: regular: CSR-2 24.9 % over CSR5 and 14.5 % over CSR-3 on Ice Lake, "
               "95.7 % over CSR5 on Rome; irregular: 11.8 and 65.1 %\n");
}

void print_costs(const std::vector<costs>& costs_of_matrices, bool device, json& out) {
  app::print("\nPre-processing, in products with csr\n  {:<30} {:>5} {:>10} {:>10}", "", "",
             "to csr_k 2", "to csr_k 3");
  if (!device) app::print(" {:>10} {:>10} {:>10}", "RCM", "Band-k, 2", "permuting");
  app::print("\n");
  for (const costs& c : costs_of_matrices) {
    const auto products = [&](double seconds) {
      return seconds > 0 && c.csr_product > 0 ? fmt::format("{:.1f}", seconds / c.csr_product)
                                              : std::string("-");
    };
    app::print("  {:<30.30} {:>5} {:>10} {:>10}", c.matrix, c.values, products(c.convert_2),
               products(c.convert_3));
    if (!device)
      app::print(" {:>10} {:>10} {:>10}", products(c.rcm), products(c.band_k), products(c.permute));
    app::print("\n");
    out.push_back({{"matrix", c.matrix},
                   {"precision", c.values},
                   {"csr_seconds", c.csr_product},
                   {"convert_2_seconds", c.convert_2},
                   {"convert_3_seconds", c.convert_3},
                   {"rcm_seconds", c.rcm},
                   {"band_k_seconds", c.band_k},
                   {"permute_seconds", c.permute}});
  }
}

/// Rows of a super-row to the right; for k = 3 super-rows of a super-super-row downwards.
void print_sweep(const sweep& s, json& out) {
  const auto value = [&](const std::string& name) {
    const result* const r = s.m.find(name);
    return r == nullptr ? 0 : s.m.gflops(*r);
  };
  app::print("  {}, {}, {}\n", s.m.matrix, s.m.values, s.m.regular() ? "regular" : "irregular");
  std::vector<std::int64_t> across, down;
  double best = 0;
  json points = json::array();
  for (const csr_k_sizes& at : s.grid) {
    if (std::ranges::find(across, at.super_row) == across.end()) across.push_back(at.super_row);
    if (std::ranges::find(down, at.super_super_row) == down.end())
      down.push_back(at.super_super_row);
    const double gflops = value(name_of(at));
    best = std::max(best, gflops);
    points.push_back(
        {{"super_row", at.super_row}, {"super_super_row", at.super_super_row}, {"gflops", gflops}});
  }
  app::print("    {:>10}", "rows");
  for (const auto size : across) app::print(" {:>6}", size);
  for (const auto ssr : down) {
    app::print("\n    {:>10}", ssr == 0 ? "k = 2" : fmt::format("of {}", ssr));
    for (const auto size : across) app::print(" {:>6.2f}", value(name_of({size, ssr})));
  }
  const double model = value("model"), constant = value("96");
  app::print(
      "\n    the model's {}: {:.2f}, {:.0f} % of the best; k = 2 with 96 rows: {:.2f}, {:.0f} "
      "%\n",
      name_of(s.model), model, 100 * model / best, constant, 100 * constant / best);
  out.push_back({{"matrix", s.m.matrix},
                 {"precision", s.m.values},
                 {"regular", s.m.regular()},
                 {"grid", points},
                 {"model", {{"sizes", name_of(s.model)}, {"gflops", model}}},
                 {"constant_96_gflops", constant}});
}

/// One line for each of csr and csr_k, one column per number of threads, and what it gained.
void print_scaling(const scaling& s, json& out) {
  const measured_problem& one = s.m.front();
  app::print("  {:<30.30} {:>8}", one.matrix, "threads");
  for (const int threads : s.threads) app::print(" {:>17}", threads);
  for (const char* name : {csr, k2}) {
    app::print("\n  {:<30} {:>8}", "", name);
    for (const auto& m : s.m)
      app::print(" {:>8} ({:>4.2f} x)", gflops_of(m, m.find(name)),
                 ratio(one.find(name), m.find(name)));
  }
  app::print("\n");
  for (std::size_t i = 0; i < s.m.size(); ++i)
    out.push_back({{"matrix", one.matrix},
                   {"precision", one.values},
                   {"threads", s.threads[i]},
                   {"csr_speedup", ratio(one.find(csr), s.m[i].find(csr))},
                   {"csr_k_speedup", ratio(one.find(k2), s.m[i].find(k2))}});
}

} // namespace

bool findings::wants(const measured_problem& facts) const {
  return std::ranges::none_of(sweeps, [&](const sweep& s) {
    return s.m.regular() == facts.regular() && s.m.values == facts.values;
  });
}

std::string name_of(const csr_k_sizes& sizes) {
  const std::string rows = std::to_string(sizes.super_row);
  return sizes.super_super_row == 0 ? rows : rows + " x " + std::to_string(sizes.super_super_row);
}

std::vector<csr_k_sizes> grid_for(int k, bool full) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = k == 2 ? 8 : 4; size <= (k == 2 ? 2048 : 32); size *= 2) {
    sizes.push_back(size);
    if (full) sizes.push_back(size + size / 2);
  }
  std::vector<csr_k_sizes> result;
  for (const auto ssr : k == 2 ? std::vector<std::int64_t>{0} : sizes)
    for (const auto sr : sizes) result.push_back({sr, ssr});
  return result;
}

void print(const std::vector<measured_problem>& problems, const findings& results, bool device,
           json& out) {
  out["paper"] = {{"classes", json::array()},
                  {"costs", json::array()},
                  {"sweeps", json::array()},
                  {"scaling", json::array()}};
  json& paper = out["paper"];
  for (const auto& group : groups_of(problems)) {
    std::vector<const measured_problem*> members;
    for (const auto& p : problems)
      if (group_of(p) == group) members.push_back(&p);
    app::print("\nBeside the paper, {}\n", group);
    print_contest(members, device);
    json classes = {{"group", group}};
    for (const bool regular : {true, false}) print_class(members, device, regular, classes);
    paper["classes"].push_back(classes);
  }
  print_claims(device);
  print_costs(results.cost, device, paper["costs"]);
  app::print("\nSizes of super-rows, GFLOP/s\n");
  for (const auto& s : results.sweeps) print_sweep(s, paper["sweeps"]);
  if (device) return;
  app::print("\nThreads, GFLOP/s\n");
  for (const auto& s : results.scalings) print_scaling(s, paper["scaling"]);
}

} // namespace lacuna::bench::paper_004
