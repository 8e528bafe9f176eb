#include "bench/paper_001.hpp"
#include "common/print.hpp"

#include <fmt/format.h>
#include <numeric>

#include "common/text.hpp"

namespace lacuna::bench::paper_001 {
namespace {

using json = nlohmann::ordered_json;
using members = std::vector<const measured_problem*>;
using app::human_bytes;
using app::human_count;
using app::human_seconds;

double mean_of(const std::vector<double>& v) {
  return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}
std::string ratio_text(double ratio) { return ratio > 0 ? fmt::format("{:.2f}", ratio) : "-"; }

bool competes(const result& r) { return r.plays == role::lacuna || r.plays == role::peer; }

/// The fastest of Lacuna and the peers; null: nobody could.
const result* fastest(const measured_problem& p) {
  const result *const ours = p.best(role::lacuna), *const peer = p.best(role::peer);
  if (ours == nullptr || peer == nullptr) return ours != nullptr ? ours : peer;
  return ours->seconds <= peer->seconds ? ours : peer;
}

/// Lacuna and the peers, by name, in the order they took part.
std::vector<std::string> names_in(const members& problems) {
  std::vector<std::string> names;
  for (const auto* p : problems)
    for (const auto& r : p->results)
      if (competes(r) && std::ranges::find(names, r.name) == names.end()) names.push_back(r.name);
  return names;
}

/// A line of Table 3. Of `large` are those with more than 15000 products.
struct standing {
  std::string name;
  std::int64_t best = 0, best_large = 0, failed = 0;
  double mean_seconds = 0; ///< of what all could do that can do anything
  double memory = 0;       ///< peak over ours, mean; 0: unknown
  double slowdown = 0, slowdown_large = 0;
  std::int64_t slow = 0, slow_large = 0; ///< five times the best and more
};

/// From the paper, TITAN V, 2672 matrices, 2263 of them large; AC's first allocation is not
/// counted. MKL's memory, and the times of KokkosKernels, which failed often, are not given.
const std::vector<standing>& published() {
  static const std::vector<standing> lines = {
      {"spECK", 1875, 1777, 0, 2.75e-3, 1.00, 1.48, 1.08, 71, 3},
      {"cuSPARSE", 7, 6, 0, 43.6e-3, 1.01, 12.3, 13.6, 1200, 1100},
      {"AC-SpGEMM", 335, 304, 55, 5.46e-3, 5.57, 2.29, 1.98, 180, 87},
      {"nsparse", 86, 86, 49, 12.6e-3, 1.87, 4.13, 3.26, 387, 204},
      {"RMerge", 10, 10, 56, 10.7e-3, 2.66, 5.03, 4.83, 973, 836},
      {"bhSPARSE", 0, 0, 75, 40.8e-3, 4.36, 13.1, 12.9, 2000, 1800},
      {"KokkosKernels", 3, 3, 815, 0, 0, 46.5, 27.3, 2400, 2000},
      {"MKL, on a CPU", 356, 77, 29, 44.3e-3, 0, 9.16, 10.6, 1600, 1600}};
  return lines;
}

/// Whether all could do this one, but for those that could do none.
bool done_by_all(const measured_problem& p, const std::vector<std::string>& names,
                 const members& problems) {
  return std::ranges::all_of(names, [&](const auto& name) {
    return p.find(name) != nullptr || std::ranges::none_of(problems, [&](const auto* other) {
             return other->find(name) != nullptr;
           });
  });
}

standing standing_of(const std::string& name, const members& problems,
                     const std::vector<std::string>& names) {
  standing s{name};
  std::vector<double> seconds, memory, slowdown, slowdown_large;
  for (const auto* p : problems) {
    const result *const best = fastest(*p), *const r = p->find(name),
                        *const ours = p->best(role::lacuna);
    if (best == nullptr) continue;
    if (r == nullptr) {
      ++s.failed;
      continue;
    }
    const bool large = p->in_means();
    const double ratio = r->seconds / best->seconds;
    s.best += r == best ? 1 : 0;
    s.best_large += r == best && large ? 1 : 0;
    s.slow += ratio > 5 ? 1 : 0;
    s.slow_large += ratio > 5 && large ? 1 : 0;
    slowdown.push_back(ratio);
    if (large) slowdown_large.push_back(ratio);
    if (done_by_all(*p, names, problems)) seconds.push_back(r->seconds);
    if (ours != nullptr && p->peak(*r) > 0 && p->peak(*ours) > 0)
      memory.push_back(static_cast<double>(r->peak_bytes) / static_cast<double>(ours->peak_bytes));
  }
  s.mean_seconds = mean_of(seconds);
  s.memory = mean_of(memory);
  s.slowdown = mean_of(slowdown);
  s.slowdown_large = mean_of(slowdown_large);
  return s;
}

void print_standing(const standing& s) {
  app::print("  {:<20} {:>6} {:>6} {:>7} {:>9} {:>8} {:>8} {:>8} {:>7} {:>7}\n", s.name, s.best,
             s.best_large, s.failed, s.mean_seconds > 0 ? human_seconds(s.mean_seconds) : "-",
             ratio_text(s.memory), ratio_text(s.slowdown), ratio_text(s.slowdown_large), s.slow,
             s.slow_large);
}

void print_standings(const members& problems, json& out) {
  const auto names = names_in(problems);
  const auto large = std::ranges::count_if(problems, [](const auto* p) { return p->in_means(); });
  app::print("\n  Table 3: {} matrices, {} of them (*) with more than 15000 products\n",
             problems.size(), large);
  app::print("  {:<20} {:>6} {:>6} {:>7} {:>9} {:>8} {:>8} {:>8} {:>7} {:>7}\n", "", "best",
             "best*", "failed", "mean", "memory", "t/best", "t/best*", "5 x", "5 x*");
  for (const auto& name : names) {
    const standing s = standing_of(name, problems, names);
    print_standing(s);
    out.push_back({{"name", s.name},
                   {"best", s.best},
                   {"best_large", s.best_large},
                   {"failed", s.failed},
                   {"mean_seconds", s.mean_seconds},
                   {"memory_over_ours", s.memory},
                   {"slowdown", s.slowdown},
                   {"slowdown_large", s.slowdown_large},
                   {"five_times", s.slow},
                   {"five_times_large", s.slow_large}});
  }
  app::print("  the paper, TITAN V, 2672 matrices, 2263 of them large\n");
  for (const auto& line : published()) print_standing(line);
}

/// Table 4, in millions.
struct common_matrix {
  const char* name;
  double entries, products, in_c;
};
constexpr std::array<common_matrix, 11> common = {{{"webbase", 3.1, 69.5, 51.1},
                                                   {"hugebubbles", 63.6, 190.7, 132.7},
                                                   {"mario002", 2.1, 12.8, 6.4},
                                                   {"stat96v2", 2.9, 8.7, 0.4},
                                                   {"email-Enron", 0.4, 51.5, 30.5},
                                                   {"cage13", 7.5, 137.3, 60.6},
                                                   {"144", 2.1, 33.0, 10.4},
                                                   {"poisson3Da", 0.4, 11.8, 3.0},
                                                   {"QCD", 0.1, 4.7, 0.6},
                                                   {"harbor", 2.4, 156.5, 7.9},
                                                   {"TSC_OPF", 2.0, 1352.4, 8.8}}};

void print_statistics(const members& problems, json& out) {
  app::print("\n  Table 4\n  {:<30} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>7}   {}\n", "",
             "rows", "cols", "entries", "longest", "mean", "products", "in C", "compr.",
             "the paper's: entries, products, in C");
  for (const auto* p : problems) {
    const double mean =
        static_cast<double>(p->nnz) / static_cast<double>(std::max<std::int64_t>(p->rows, 1));
    const auto like = std::ranges::find_if(common, [&](const common_matrix& m) {
      return p->stands_for == m.name || p->matrix == m.name;
    });
    app::print("  {:<30.30} {:>8} {:>8} {:>8} {:>8} {:>8.1f} {:>9} {:>9} {:>7.2f}   {}\n",
               p->matrix, human_count(p->rows), human_count(p->cols), human_count(p->nnz),
               human_count(p->longest_row), mean, human_count(p->products), human_count(p->entries),
               p->compression(),
               like == common.end() ? std::string()
                                    : fmt::format("{}: {} M, {} M, {} M", like->name, like->entries,
                                                  like->products, like->in_c));
    out.push_back({{"matrix", p->matrix},
                   {"stands_for", p->stands_for},
                   {"rows", p->rows},
                   {"cols", p->cols},
                   {"nnz", p->nnz},
                   {"longest_row", p->longest_row},
                   {"mean_row", mean},
                   {"products", p->products},
                   {"entries", p->entries},
                   {"compression", p->compression()}});
  }
}

void print_memory(const members& problems, json& out) {
  const auto names = names_in(problems);
  app::print("\n  Figure 10: peak over A + B + C, and Lacuna's bytes beside A and B\n  {:<30}", "");
  for (const auto& name : names) app::print(" {:>15.15}", name);
  app::print(" {:>10}\n", "bytes");
  for (const auto* p : problems) {
    json peaks = json::object();
    app::print("  {:<30.30}", p->matrix);
    for (const auto& name : names) {
      const result* const r = p->find(name);
      const double peak = r == nullptr ? 0 : p->peak(*r);
      app::print(" {:>15}", ratio_text(peak));
      if (peak > 0) peaks[name] = peak;
    }
    const result* const ours = p->best(role::lacuna);
    app::print(" {:>10}\n",
               ours == nullptr ? "-" : human_bytes(static_cast<double>(ours->peak_bytes)));
    out.push_back({{"matrix", p->matrix}, {"peak_ratio", peaks}});
  }
}

void print_stages(const std::vector<stages>& timed, const std::string& values, json& out) {
  app::print("\n  Figure 11: shares of the stages; they wait for each other here\n  {:<30} {:>9} "
             "{:>8} {:>10} {:>7} {:>9} {:>10} {:>7}  {}\n",
             "", "time", "analysis", "bin, count", "count", "allocate", "bin, fill", "fill",
             "rows merged, from tables, heavy");
  for (const auto& s : timed) {
    if (s.values != values) continue;
    const spgemm_report& f = s.report;
    const double whole = f.seconds();
    const auto share = [&](double part) { return 100 * part / whole; };
    app::print(
        "  {:<30.30} {:>9} {:>6.1f} % {:>8.1f} % {:>5.1f} % {:>7.1f} % {:>8.1f} % {:>5.1f} %  "
        "{}, {}, {}\n",
        s.matrix, human_seconds(whole), share(f.analyse), share(f.bin_for_count), share(f.count),
        share(f.allocate), share(f.bin_for_fill), share(f.fill), human_count(f.merged_rows),
        human_count(f.table_rows), human_count(f.heavy_rows));
    out.push_back({{"matrix", s.matrix},
                   {"analyse_seconds", f.analyse},
                   {"bin_for_count_seconds", f.bin_for_count},
                   {"count_seconds", f.count},
                   {"allocate_seconds", f.allocate},
                   {"bin_for_fill_seconds", f.bin_for_fill},
                   {"fill_seconds", f.fill},
                   {"merged_rows", f.merged_rows},
                   {"table_rows", f.table_rows},
                   {"heavy_rows", f.heavy_rows}});
  }
  app::print("  the paper: analysis below 10 %, both balancers about as much together, sorting up "
             "to 40 %, filling the most\n");
}

/// A contestant, and its name in a table.
struct way {
  std::string label, name;
};

/// Times over the fastest of these, one column per contestant; the first is Lacuna as it is.
void print_slowdowns(const char* title, const char* claim, const members& problems,
                     const std::vector<way>& ways, json& out) {
  app::print("\n  {}\n  {:<30}", title, "");
  for (const auto& w : ways) app::print(" {:>12}", w.label);
  app::print("\n");
  std::vector<std::vector<double>> ratios_of_ways(ways.size());
  for (const auto* p : problems) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& w : ways)
      if (const result* r = p->find(w.name)) best = std::min(best, r->seconds);
    json slowdowns = json::object();
    app::print("  {:<30.30}", p->matrix);
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const result* const r = p->find(ways[i].name);
      app::print(" {:>12}", ratio_text(r == nullptr ? 0 : r->seconds / best));
      if (r == nullptr) continue;
      slowdowns[ways[i].label] = r->seconds / best;
      if (p->in_means()) ratios_of_ways[i].push_back(r->seconds / best);
    }
    app::print("\n");
    out.push_back({{"matrix", p->matrix}, {"slowdown", slowdowns}});
  }
  const auto line = [&](const char* name, auto value) {
    app::print("  {:<30}", name);
    for (const auto& ratios : ratios_of_ways)
      app::print(" {:>12}", ratio_text(ratios.empty() ? 0 : value(ratios)));
    app::print("\n");
  };
  line("geometric mean", [](const auto& v) { return geometric_mean(v); });
  line("most", [](const auto& v) { return std::ranges::max(v); });
  app::print("  the paper: {}\n", claim);
}

void print_choices(const members& problems, json& out) {
  out.update(
      {{"accumulators", json::array()}, {"lanes", json::array()}, {"balancing", json::array()}});
  print_slowdowns("Figure 12: accumulators of rows that are not heavy, time over the fastest",
                  "dense accumulation is worth 60 % and more, 40 x beyond the largest table",
                  problems, {{"chosen", "Lacuna"}, {"hash tables", hash_tables}},
                  out["accumulators"]);
  print_slowdowns(
      "Figure 13: lanes per row of B, of rows that are not heavy, time over the fastest",
      "dynamic up to 8 x of 32 fixed, least around 300 entries per row of C", problems,
      {{"chosen", "Lacuna"}, {"32 lanes", lanes_32}}, out["lanes"]);
  print_slowdowns(
      "Figure 14: tables of every class of size, or of two (more only where counting needs 2048 "
      "keys and more), time over the fastest",
      "automatic within 2 % of the best on average, twice as fast on small matrices", problems,
      {{"chosen", "Lacuna"}, {"every class", every_class}, {"two classes", two_classes}},
      out["balancing"]);
}

} // namespace

void print(const std::vector<measured_problem>& problems, const std::vector<stages>& timed,
           bool device, json& out) {
  const bool has_times =
      std::ranges::any_of(timed, [](const stages& s) { return s.report.seconds() > 0; });
  out["paper"] = json::array();
  for (const auto& group : groups_of(problems)) {
    members in_group;
    for (const auto& p : problems)
      if (group_of(p) == group) in_group.push_back(&p);
    app::print("\nBeside the paper, {}\n", group);
    json figures = {{"group", group},
                    {"statistics", json::array()},
                    {"contestants", json::array()},
                    {"memory", json::array()},
                    {"stages", json::array()}};
    print_statistics(in_group, figures["statistics"]);
    print_standings(in_group, figures["contestants"]);
    print_memory(in_group, figures["memory"]);
    if (has_times) print_stages(timed, group, figures["stages"]);
    if (device) print_choices(in_group, figures);
    out["paper"].push_back(figures);
  }
  if (!has_times) app::print("\n  Figure 11, the stages, is a device's alone.\n");
  if (!device)
    app::print("  Figures 12 to 14, accumulators, lanes and balancing, are a device's alone.\n");
}

} // namespace lacuna::bench::paper_001
