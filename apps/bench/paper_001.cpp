#include <fmt/format.h>

#include "bench/paper_001_tables.hpp"
#include "common/print.hpp"

#include <numeric>

#include "common/text.hpp"

namespace lacuna::bench::paper_001 {
namespace {

using app::human_bytes;
using app::human_count;
using app::human_seconds;

double mean_of(const std::vector<double>& v) {
  return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
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
  app::print(
      "\n  Table 3: {} matrices, {} of them (*) with more than 15000 products; best: more, all "
      "others: less\n  is better; t/best: time over the fastest's; 5 x: matrices on which it "
      "took five times that\n",
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
  app::print(
      "\n  Table 4; millions of the paper's own matrices to the right\n  {:<20} {:>7} {:>8} {:>7} "
      "{:>6} {:>8} {:>8} {:>6} {:>22}\n",
      "", "rows", "entries", "longest", "mean", "products", "in C", "compr.",
      "entries products in C");
  for (const auto* p : problems) {
    const double mean =
        static_cast<double>(p->nnz) / static_cast<double>(std::max<std::int64_t>(p->rows, 1));
    const auto like = std::ranges::find_if(common, [&](const common_matrix& m) {
      return p->stands_for == m.name || p->matrix == m.name;
    });
    app::print("  {:<20.20} {:>7} {:>8} {:>7} {:>6.1f} {:>8} {:>8} {:>6.2f} {}\n",
               p->stands_for.empty() ? p->matrix : p->stands_for, human_count(p->rows),
               human_count(p->nnz), human_count(p->longest_row), mean, human_count(p->products),
               human_count(p->entries), p->compression(),
               like == common.end()
                   ? std::string()
                   : fmt::format("{:>7} {:>8} {:>5}", like->entries, like->products, like->in_c));
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
  app::print(
      "\n  Figure 10: peak memory over A + B + C, less is better; last, Lacuna's bytes beside A "
      "and B\n  {:<22}",
      "");
  for (const auto& name : names) app::print(" {:>10.10}", column_name(name));
  app::print(" {:>10}\n", "bytes");
  for (const auto* p : problems) {
    json peaks = json::object();
    app::print("  {:<22.22}", p->matrix);
    for (const auto& name : names) {
      const result* const r = p->find(name);
      const double peak = r == nullptr ? 0 : p->peak(*r);
      app::print(" {:>10}", ratio_text(peak));
      if (peak > 0) peaks[name] = peak;
    }
    const result* const ours = p->best(role::lacuna);
    app::print(" {:>10}\n",
               ours == nullptr ? "-" : human_bytes(static_cast<double>(ours->peak_bytes)));
    out.push_back({{"matrix", p->matrix}, {"peak_ratio", peaks}});
  }
}

void print_stages(const std::vector<stages>& timed, const std::string& values, bool device,
                  json& out) {
  app::print("\n  Figure 11: percent of the time in each stage{}\n  {:<22} {:>8} {:>8} {:>7} {:>6} "
             "{:>8} {:>7} {:>6}{}\n",
             device ? "; they wait for each other here; and rows by how they are filled" : "", "",
             "time", "analysis", "to bins", "count", "allocate", "to bins", "fill",
             device ? "  merged, tables, heavy, twins, diagonals, dense, one pass" : "");
  for (const auto& s : timed) {
    if (s.values != values) continue;
    const spgemm_report& f = s.report;
    const double whole = f.seconds();
    const auto share = [&](double part) { return 100 * part / whole; };
    app::print("  {:<22.22} {:>8} {:>8.1f} {:>7.1f} {:>6.1f} {:>8.1f} {:>7.1f} {:>6.1f}{}\n",
               s.matrix, human_seconds(whole), share(f.analyse), share(f.bin_for_count),
               share(f.count), share(f.allocate), share(f.bin_for_fill), share(f.fill),
               device ? fmt::format("  {}, {}, {}, {}, {}, {}, {}", human_count(f.merged_rows),
                                    human_count(f.table_rows), human_count(f.heavy_rows),
                                    human_count(f.twin_rows), human_count(f.slice_rows),
                                    human_count(f.dense_rows), human_count(f.one_pass_rows))
                      : "");
    out.push_back({{"matrix", s.matrix},
                   {"analyse_seconds", f.analyse},
                   {"bin_for_count_seconds", f.bin_for_count},
                   {"count_seconds", f.count},
                   {"allocate_seconds", f.allocate},
                   {"bin_for_fill_seconds", f.bin_for_fill},
                   {"fill_seconds", f.fill},
                   {"merged_rows", f.merged_rows},
                   {"table_rows", f.table_rows},
                   {"heavy_rows", f.heavy_rows},
                   {"twin_rows", f.twin_rows},
                   {"slice_rows", f.slice_rows},
                   {"dense_rows", f.dense_rows},
                   {"one_pass_rows", f.one_pass_rows}});
  }
  app::print(
      "  the paper: analysis below 10 %, both balancers about as much together, sorting up to "
      "40 %\n");
}

/// A contestant, and its name in a table.
struct way {
  std::string label, name;
};
/// What the lines of a figure are in the order of.
struct key {
  const char* label;
  std::function<double(const measured_problem&)> of;
};
struct choice_figure {
  const char *title, *claim;
  key order;
  std::vector<way> ways; ///< the first is Lacuna as it is
};

std::vector<double> slowdowns_of(const measured_problem& p, const std::vector<way>& ways) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& w : ways)
    if (const result* r = p.find(w.name)) best = std::min(best, r->seconds);
  std::vector<double> result;
  for (const auto& w : ways) {
    const auto* const r = p.find(w.name);
    result.push_back(r == nullptr ? 0 : r->seconds / best);
  }
  return result;
}

/// Times over the fastest of these, one column per contestant. Of `small` only the mean is shown.
void print_slowdowns(const choice_figure& f, members problems, const members& small, json& out) {
  std::ranges::stable_sort(problems, {}, [&](const auto* p) { return f.order.of(*p); });
  app::print("\n  {}: time over the fastest, less is better\n  {:<26} {:>14}", f.title, "",
             f.order.label);
  for (const auto& w : f.ways) app::print(" {:>12}", w.label);
  app::print("\n");
  std::vector<std::vector<double>> of_ways(f.ways.size()), of_small(f.ways.size());
  for (const auto* p : problems) {
    const auto ratios = slowdowns_of(*p, f.ways);
    json slowdowns = json::object();
    app::print("  {:<26.26} {:>14}", p->matrix,
               human_count(static_cast<std::int64_t>(std::lround(f.order.of(*p)))));
    for (std::size_t i = 0; i < f.ways.size(); ++i) {
      app::print(" {:>12}", ratio_text(ratios[i]));
      if (ratios[i] == 0) continue;
      slowdowns[f.ways[i].label] = ratios[i];
      if (p->in_means()) of_ways[i].push_back(ratios[i]);
    }
    app::print("\n");
    out.push_back({{"matrix", p->matrix}, {"slowdown", slowdowns}});
  }
  for (const auto* p : small) {
    const auto ratios = slowdowns_of(*p, f.ways);
    for (std::size_t i = 0; i < f.ways.size(); ++i)
      if (ratios[i] > 0) of_small[i].push_back(ratios[i]);
  }
  const auto line = [&](const std::string& name, const auto& of, auto value) {
    app::print("  {:<41.41}", name);
    for (const auto& ratios : of)
      app::print(" {:>12}", ratio_text(ratios.empty() ? 0 : value(ratios)));
    app::print("\n");
  };
  const auto mean = [](const auto& v) { return geometric_mean(v); };
  line("geometric mean", of_ways, mean);
  line("most", of_ways, [](const auto& v) { return std::ranges::max(v); });
  if (!small.empty())
    line(fmt::format("geometric mean of {} small ones (fig. 6)", small.size()), of_small, mean);
  app::print("  the paper: {}\n", f.claim);
}

const row_needs* rows_of(const findings& results, const measured_problem& p) {
  for (const auto& each : results.rows)
    if (each.matrix == p.matrix && each.values == p.values) return &each;
  return nullptr;
}

/// Figures 12 to 14, in the order of the paper's axes. On a host, where a thread has a row of C and
/// takes whole rows of B, there is one other way of accumulating, and nothing to choose for 13 and
/// 14.
void print_choices(const members& problems, const members& small, const findings& results,
                   json& out) {
  const key longest = {"longest in C", [&](const measured_problem& p) {
                         const row_needs* const rows = rows_of(results, p);
                         return rows == nullptr ? 0 : static_cast<double>(rows->entries.most);
                       }};
  const key mean = {"mean row of C", [](const measured_problem& p) {
                      return static_cast<double>(p.entries) /
                             static_cast<double>(std::max<std::int64_t>(p.rows, 1));
                    }};
  const key products = {"products",
                        [](const measured_problem& p) { return static_cast<double>(p.products); }};
  const char* const dense =
      "choosing gains 60 % over hash maps alone, 40 x beyond the largest of them";
  out["accumulators"] = json::array();
  if (!results.device) {
    print_slowdowns({"Figure 12, chosen by row, or products sorted",
                     dense,
                     longest,
                     {{"chosen", "Lacuna"}, {"sorted", "Lacuna: expand-sort"}}},
                    problems, small, out["accumulators"]);
    app::print("  Figures 13 and 14, threads per row of B and balancing, are a device's alone.\n");
    return;
  }
  out.update({{"lanes", json::array()}, {"balancing", json::array()}});
  print_slowdowns({"Figure 12, accumulators; heavy rows by ranges of columns in both",
                   dense,
                   longest,
                   {{"chosen", "Lacuna"}, {"hash tables", hash_tables}}},
                  problems, small, out["accumulators"]);
  print_slowdowns({"Figure 13, lanes per row of B; heavy rows as always",
                   "dynamic up to 8 x of 32 fixed, least around 300 entries per row of C",
                   mean,
                   {{"chosen", "Lacuna"}, {"32 lanes", lanes_32}}},
                  problems, small, out["lanes"]);
  print_slowdowns(
      {"Figure 14, tables of every class of size, or two (never one, as the paper's)",
       "automatic within 2 % of the best on average, twice as fast on small matrices",
       products,
       {{"chosen", "Lacuna"}, {"every class", every_class}, {"two classes", two_classes}}},
      problems, small, out["balancing"]);
}

/// Those of a group, in both precisions there are.
members in_group(const std::vector<measured_problem>& problems, const std::string& group) {
  members result;
  for (const auto& p : problems)
    if (group_of(p) == group) result.push_back(&p);
  return result;
}

} // namespace

std::vector<matrix_source> small_products() {
  return {{"poisson2d:n=6"}, {"poisson2d:n=24"},   {"poisson2d:n=80"},    {"poisson2d:n=250"},
          {"rgg:scale=6"},   {"rgg:scale=9"},      {"rgg:scale=12"},      {"rmat:scale=5"},
          {"rmat:scale=8"},  {"uniform:rows=100"}, {"uniform:rows=1000"}, {"uniform:rows=10000"}};
}

void print(const std::vector<measured_problem>& problems, const findings& results, json& out) {
  const bool has_times =
      std::ranges::any_of(results.timed, [](const stages& s) { return s.report.seconds() > 0; });
  out["paper"] = json::array();
  for (const auto& group : groups_of(problems)) {
    const members large = in_group(problems, group), small = in_group(results.small, group);
    members all = large;
    all.insert(all.end(), small.begin(), small.end());
    app::print("\nBeside the paper, {}\n", group);
    json figures = {{"group", group},
                    {"statistics", json::array()},
                    {"contestants", json::array()},
                    {"thresholds", json::object()},
                    {"memory", json::array()},
                    {"stages", json::array()}};
    print_thresholds(results.thresholds, results.origin, results.rows, group,
                     figures["thresholds"]);
    print_statistics(large, figures["statistics"]);
    print_standings(large, figures["contestants"]);
    print_trends(all, figures);
    print_memory(large, figures["memory"]);
    if (has_times) print_stages(results.timed, group, results.device, figures["stages"]);
    print_choices(large, small, results, figures);
    out["paper"].push_back(figures);
  }
  if (!has_times) app::print("\n  Figure 11, the stages, is a device's alone.\n");
}

} // namespace lacuna::bench::paper_001
