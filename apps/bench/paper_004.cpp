#include "bench/paper_004.hpp"
#include "common/print.hpp"

#include <fmt/format.h>
#include <map>
#include <span>

namespace lacuna::bench::paper_004 {
namespace {

using json = nlohmann::ordered_json;

double ratio(const result* slower, const result* faster) {
  return slower == nullptr || faster == nullptr ? 0 : slower->seconds / faster->seconds;
}
std::string mean_text(const std::vector<double>& ratios) {
  return ratios.empty() ? "-" : fmt::format("{:.2f} x", geometric_mean(ratios));
}
/// The fastest peer in that order; null: none.
const result* best_peer(const measured_problem& p, std::string_view order) {
  const result* best = nullptr;
  for (const auto& r : p.results)
    if (r.plays == role::peer_too && r.name.ends_with(order) && r.seconds > 0 &&
        (best == nullptr || r.seconds < best->seconds))
      best = &r;
  return best;
}
std::string ours(bool device, const char* order = "") {
  return std::string(device ? k3 : k2) + order;
}

/// Figure 6, on a device figure 7: a line per matrix, a column per format and order.
void print_contest(const std::vector<const measured_problem*>& problems, bool device) {
  app::print(
      "\n  Figure {}: GFLOP/s, more is better; k: csr_k, paper: with the paper's sizes, peer: "
      "the fastest\n",
      device ? 7 : 6);
  app::print("  {:<26} {:>23} | {:>20} | {:>30}\n", "", "as it is numbered", "in RCM's order",
             "in Band-k's order");
  app::print("  {:<22} {:<3} {:>5} {:>5} {:>5} {:>5} | {:>6} {:>6} {:>6} | {:>5} {:>5} {:>5} {:>5} "
             "{:>6}\n",
             "", "", "csr", "k = 2", "k = 3", "peer", "csr", device ? "k = 3" : "k = 2", "peer",
             "csr", "k = 2", "k = 3", "paper", "peer");
  for (const auto* p : problems) {
    const auto cell = [&](const result* r) {
      const double gflops = r == nullptr ? 0 : p->gflops(*r);
      return r == nullptr ? std::string("-") : fmt::format("{:.{}f}", gflops, gflops < 100 ? 2 : 0);
    };
    const auto of = [&](const std::string& name) { return cell(p->find(name)); };
    app::print("  {:<22.22} {:<3} {:>5} {:>5} {:>5} {:>5} | {:>6} {:>6} {:>6} | {:>5} {:>5} {:>5} "
               "{:>5} {:>6}\n",
               p->matrix, p->regular() ? "reg" : "irr", of(csr), of(k2), of(k3),
               cell(p->best(role::peer)), of(std::string(csr) + in_rcm), of(ours(device, in_rcm)),
               cell(best_peer(*p, in_rcm)), of(std::string(csr) + in_band),
               of(std::string(k2) + in_band), of(std::string(k3) + in_band), of(by_paper),
               cell(best_peer(*p, in_band)));
  }
}

/// Our CSR-k, k = 3 on a device and 2 on the host, over our CSR and the best peer.
void print_class(const std::vector<const measured_problem*>& problems, bool device, bool regular,
                 json& out) {
  std::vector<double> over_csr, over_peer, in_order, over_paper;
  const measured_problem* worst = nullptr;
  double least = 0;
  for (const auto* p : problems) {
    if (p->regular() != regular) continue;
    const result *const mine = p->find(ours(device)), *const banded =
                                                          p->find(ours(device, in_band));
    if (const double r = ratio(p->find(csr), mine); r > 0) {
      over_csr.push_back(r);
      if (worst == nullptr || r < least) worst = p, least = r;
    }
    if (const double r = ratio(p->best(role::peer), mine); r > 0) over_peer.push_back(r);
    if (const double r = ratio(best_peer(*p, in_rcm), banded); r > 0) in_order.push_back(r);
    if (const double r = ratio(p->find(by_paper), banded); r > 0) over_paper.push_back(r);
  }
  if (worst == nullptr) return;
  app::print("  {}, geometric means of {}, above 1 is faster\n"
             "    csr_k over csr {}, least {:.2f} x on {}{}; over the best peer {}\n",
             regular ? "regular" : "irregular", over_csr.size(), mean_text(over_csr), least,
             worst->matrix, least < 0.9 ? ", BELOW 0.90 x" : "", mean_text(over_peer));
  app::print(
      "    csr_k in Band-k's order over the best peer in RCM's {}, over the paper's sizes {}\n",
      mean_text(in_order), mean_text(over_paper));
  out[regular ? "regular" : "irregular"] = {{"count", over_csr.size()},
                                            {"ratio_to_csr", geometric_mean(over_csr)},
                                            {"least_ratio_to_csr", least},
                                            {"least_matrix", worst->matrix},
                                            {"ratio_to_best_peer", geometric_mean(over_peer)},
                                            {"band_k_to_peer_in_rcm", geometric_mean(in_order)},
                                            {"band_k_to_paper_sizes", geometric_mean(over_paper)}};
}

/// The dashed lines of the paper's figures 6 and 7: arithmetic means. 0: not given.
struct published_mean {
  const char* name;
  double regular, irregular;
};
std::span<const published_mean> published(bool device) {
  static constexpr std::array<published_mean, 5> on_host = {
      {{"Ice Lake, 40 cores: CSR-2", 44.1, 32.2},
       {"  CSR-3", 38.5, 0},
       {"  CSR5", 35.3, 28.8},
       {"Rome, 64 cores: CSR-2", 73.1, 36.5},
       {"  CSR5", 37.2, 22.1}}};
  static constexpr std::array<published_mean, 6> on_device = {{{"V100: CSR-3", 98.4, 47.9},
                                                               {"  CSR5", 93.0, 88.15},
                                                               {"  cuSPARSE, RCM", 0, 98.2},
                                                               {"A100: CSR-3", 187.3, 76.1},
                                                               {"  CSR5", 169.5, 168.8},
                                                               {"  cuSPARSE, RCM", 153.3, 169.9}}};
  return device ? std::span<const published_mean>(on_device) : on_host;
}

/// Every line's mean over the matrices that all lines of the group could do.
void print_means_of_lines(const std::vector<const measured_problem*>& problems, bool device,
                          json& out) {
  std::vector<std::string> names;
  for (const auto* p : problems)
    for (const auto& r : p->results)
      if (std::ranges::find(names, r.name) == names.end()) names.push_back(r.name);
  const auto done_by_all = [&](const measured_problem& p) {
    return std::ranges::all_of(names, [&](const auto& name) { return p.find(name) != nullptr; });
  };
  std::int64_t counts[2] = {};
  for (const auto* p : problems)
    if (done_by_all(*p)) ++counts[p->regular() ? 0 : 1];
  const auto cell = [](double gflops) {
    return gflops > 0 ? fmt::format("{:.2f}", gflops) : std::string("-");
  };
  app::print("\n  Figure {}, its dashed lines: GFLOP/s, arithmetic mean of {} regular and {} "
             "irregular matrices\n",
             device ? 7 : 6, counts[0], counts[1]);
  app::print("  {:<28} {:>9} {:>9}      {:<28} {:>9} {:>9}\n", "here", "regular", "irregular",
             "the paper", "regular", "irregular");
  const auto theirs = published(device);
  for (std::size_t i = 0; i < std::max(names.size(), theirs.size()); ++i) {
    std::string left(50, ' ');
    if (i < names.size()) {
      double sums[2] = {};
      for (const auto* p : problems)
        if (done_by_all(*p)) sums[p->regular() ? 0 : 1] += p->gflops(*p->find(names[i]));
      const double regular = counts[0] > 0 ? sums[0] / static_cast<double>(counts[0]) : 0,
                   irregular = counts[1] > 0 ? sums[1] / static_cast<double>(counts[1]) : 0;
      left = fmt::format("  {:<28.28} {:>9} {:>9}", names[i], cell(regular), cell(irregular));
      out.push_back({{"name", names[i]},
                     {"regular_gflops", regular},
                     {"irregular_gflops", irregular},
                     {"regular_count", counts[0]},
                     {"irregular_count", counts[1]}});
    }
    app::print("{}{}\n", left,
               i < theirs.size() ? fmt::format("      {:<28} {:>9} {:>9}", theirs[i].name,
                                               cell(theirs[i].regular), cell(theirs[i].irregular))
                                 : "");
  }
}

void print_claims(bool device) {
  if (device)
    app::print(
        "  the paper, A100, regular: CSR-3 10.5 % over CSR5, 22.2 % over cuSPARSE; irregular: "
        "0.45 x cuSPARSE\n");
  else
    app::print("  the paper: CSR-2 24.9 % over CSR5 and 14.5 % over CSR-3 on Ice Lake, 95.7 % over "
               "CSR5 on Rome,\n    regular; irregular: 11.8 and 65.1 % over CSR5\n");
}

void print_costs(const std::vector<costs>& costs_of_matrices, json& out) {
  app::print("\nPre-processing, in products with csr, fewer is better; orderings are the host's\n"
             "  {:<30} {:>4} {:>10} {:>10} {:>7} {:>9} {:>9} {:>9}\n",
             "", "", "to csr_k 2", "to csr_k 3", "RCM", "Band-k, 2", "Band-k, 3", "permuting");
  for (const costs& c : costs_of_matrices) {
    const auto products = [&](double seconds) {
      return seconds > 0 && c.csr_product > 0 ? fmt::format("{:.1f}", seconds / c.csr_product)
                                              : std::string("-");
    };
    app::print("  {:<30.30} {:>4} {:>10} {:>10} {:>7} {:>9} {:>9} {:>9}\n", c.matrix, c.values,
               products(c.convert_2), products(c.convert_3), products(c.rcm), products(c.band_2),
               products(c.band_3), products(c.permute));
    out.push_back({{"matrix", c.matrix},
                   {"precision", c.values},
                   {"csr_seconds", c.csr_product},
                   {"convert_2_seconds", c.convert_2},
                   {"convert_3_seconds", c.convert_3},
                   {"rcm_seconds", c.rcm},
                   {"band_k_seconds", c.band_2},
                   {"band_k_3_seconds", c.band_3},
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
  constexpr std::size_t most_across = 12; // columns that a terminal shows
  for (std::size_t first = 0; first < across.size(); first += most_across) {
    const auto some =
        std::span(across).subspan(first, std::min(most_across, across.size() - first));
    app::print("    {:>10}", "rows");
    for (const auto size : some) app::print(" {:>6}", size);
    for (const auto ssr : down) {
      app::print("\n    {:>10}", ssr == 0 ? "k = 2" : fmt::format("of {}", ssr));
      for (const auto size : some) app::print(" {:>6.2f}", value(name_of({size, ssr})));
    }
    app::print("\n");
  }
  const double model = value("model"), constant = value("96");
  app::print("    the model's {}: {:.2f}, {:.0f} % of the best; k = 2 with 96 rows: {:.2f}, {:.0f} "
             "%\n",
             name_of(s.model), model, 100 * model / best, constant, 100 * constant / best);
  out.push_back({{"matrix", s.m.matrix},
                 {"precision", s.m.values},
                 {"regular", s.m.regular()},
                 {"grid", points},
                 {"model", {{"sizes", name_of(s.model)}, {"gflops", model}}},
                 {"constant_96_gflops", constant}});
}

/// One line per contestant, one column per number of threads: how much faster than MKL on one, or
/// where there is no MKL than our csr, both in RCM's order; geometric means over the matrices.
void print_scaling(const std::vector<scaling>& all, const std::string& group, json& out) {
  std::vector<int> threads;
  std::vector<std::string> names;
  const std::string mkl = std::string("MKL") + in_rcm, rows = std::string(csr) + in_rcm;
  std::map<std::string, const measured_problem*> alone; // on one thread, by matrix
  for (const scaling& s : all) {
    if (group_of(s.m) != group) continue;
    if (std::ranges::find(threads, s.threads) == threads.end()) threads.push_back(s.threads);
    if (s.threads == 1) alone[s.m.matrix] = &s.m;
    for (const auto& r : s.m.results)
      if (std::ranges::find(names, r.name) == names.end() && r.seconds > 0 &&
          (r.name.ends_with(in_rcm) || r.name.ends_with(in_band) || r.name == by_paper))
        names.push_back(r.name);
  }
  if (alone.empty() || threads.size() < 2) return;
  const bool has_mkl = std::ranges::find(names, mkl) != names.end();
  const std::string& base = has_mkl ? mkl : rows;
  app::print("\nFigure 5, {}: time of {} on one thread over each one's, more is better; geometric "
             "means of {}\n  {:<30} threads",
             group, base, alone.size(), "");
  for (const int count : threads) app::print(" {:>8}", count);
  app::print("\n");
  for (const auto& name : names) {
    app::print("  {:<38}", name);
    for (const int count : threads) {
      std::vector<double> speedups;
      for (const scaling& s : all)
        if (group_of(s.m) == group && s.threads == count && alone.contains(s.m.matrix))
          if (const double r = ratio(alone[s.m.matrix]->find(base), s.m.find(name)); r > 0)
            speedups.push_back(r);
      app::print(" {:>8}", mean_text(speedups));
      out.push_back({{"group", group},
                     {"name", name},
                     {"threads", count},
                     {"over", base},
                     {"speedup", geometric_mean(speedups)},
                     {"count", speedups.size()}});
    }
    app::print("\n");
  }
  app::print("  the paper: all alike with 4 cores, 8 to 12 x with 16; beyond, CSR-2 leads, and MKL "
             "falls behind on Rome\n");
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
    json classes = {{"group", group}, {"lines", json::array()}};
    for (const bool regular : {true, false}) print_class(members, device, regular, classes);
    print_means_of_lines(members, device, classes["lines"]);
    paper["classes"].push_back(classes);
  }
  print_claims(device);
  print_costs(results.cost, paper["costs"]);
  app::print("\nSizes of super-rows, GFLOP/s, more is better\n");
  for (const auto& s : results.sweeps) print_sweep(s, paper["sweeps"]);
  for (const auto& group : groups_of(problems))
    print_scaling(results.scalings, group, paper["scaling"]);
}

} // namespace lacuna::bench::paper_004
