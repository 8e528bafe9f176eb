// Paper 001's Table 2 and figures 6, 7 and 15.
#include "bench/paper_001_tables.hpp"
#include "common/print.hpp"
#include "common/text.hpp"
#include "plan/spgemm.hpp"

#include <fmt/format.h>

namespace lacuna::bench::paper_001 {
namespace {

/// Table 2: balance where the longest row over the mean one, and the rows, are above these; or, if
/// the longest row needs one of the largest kernels, above those of `large`.
struct balancing_rule {
  double ratio, rows, large_ratio, large_rows;
  double large_row; ///< entries beyond which a row needs one of them
};
/// Six kernels of 3 to 96 KB hold 768 to 24576 keys, the two largest more than 6144. Of the numeric
/// pass they are the three largest, where rows begin that are accumulated densely, at 702 entries.
/// So says section 5; the table's caption has three and two.
constexpr balancing_rule symbolic = {39.2, 28000, 6.0, 5431, 6144};
constexpr balancing_rule numeric = {10.5, 23006, 1.3, 1238, 702};

bool balances(const balancing_rule& rule, const need& n, std::int64_t rows) {
  const auto count = static_cast<double>(rows);
  return (n.ratio() > rule.ratio && count > rule.rows) ||
         (static_cast<double>(n.most) > rule.large_row && n.ratio() > rule.large_ratio &&
          count > rule.large_rows);
}

/// Classes of tables that rows fall into, and how many launches they are joined into.
template <class Class>
void count_classes_of(const spgemm_thresholds& t, int classes, const Class& class_of,
                      std::int64_t rows, need& to) {
  std::array<std::int64_t, spgemm::count_classes + 1> rows_of{};
  for (std::int64_t i = 0; i < rows; ++i) ++rows_of[static_cast<std::size_t>(class_of(i))];
  const auto joined = spgemm::join_classes(
      t, [&](int c) { return rows_of[static_cast<std::size_t>(c)]; }, classes);
  std::vector<int> launched;
  for (int c = 1; c < classes; ++c) {
    if (rows_of[static_cast<std::size_t>(c)] == 0) continue;
    ++to.classes;
    if (joined.of[c] < classes && std::ranges::find(launched, joined.of[c]) == launched.end())
      launched.push_back(joined.of[c]);
  }
  to.launches = static_cast<int>(launched.size());
}

} // namespace

row_needs look_at_rows(const row_pattern& a, const row_pattern& b,
                       vector_view<const offset_t> c_rowptr, const spgemm_thresholds& machine,
                       int multiprocessors) {
  const std::int64_t rows = a.rowptr.size() - 1, b_rows = b.rowptr.size() - 1;
  std::vector<index_t> low(static_cast<std::size_t>(b_rows)), high(low.size());
  for (std::int64_t i = 0; i < b_rows; ++i) {
    const auto [least, most] =
        std::minmax_element(b.colind.data() + b.rowptr[i], b.colind.data() + b.rowptr[i + 1]);
    const bool empty = b.rowptr[i] == b.rowptr[i + 1];
    low[static_cast<std::size_t>(i)] = empty ? std::numeric_limits<index_t>::max() : *least;
    high[static_cast<std::size_t>(i)] = empty ? -1 : *most;
  }
  row_needs result;
  result.rows = rows;
  std::vector<spgemm::row_work> work;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t products = 0, least = std::numeric_limits<index_t>::max(), most = -1;
    for (std::int64_t k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const auto j = static_cast<std::size_t>(a.colind[k]);
      products += b.rowptr[a.colind[k] + 1] - b.rowptr[a.colind[k]];
      least = std::min<std::int64_t>(least, low[j]);
      most = std::max<std::int64_t>(most, high[j]);
    }
    work.push_back(
        {a.rowptr[i + 1] - a.rowptr[i], products, std::max<std::int64_t>(most - least + 1, 0)});
    const std::int64_t entries = c_rowptr[i + 1] - c_rowptr[i];
    result.products.add(products, rows);
    result.entries.add(entries, rows);
  }
  const spgemm_thresholds t =
      spgemm::fit_to(machine, {rows, a.colind.size(), b_rows, b.colind.size()}, multiprocessors);
  const auto at = [&](std::int64_t i) { return work[static_cast<std::size_t>(i)]; };
  count_classes_of(
      t, spgemm::count_classes, [&](std::int64_t i) { return spgemm::count_class(t, at(i)); }, rows,
      result.products);
  count_classes_of(
      t, spgemm::fill_classes,
      [&](std::int64_t i) { return spgemm::fill_class(t, at(i), c_rowptr[i + 1] - c_rowptr[i]); },
      rows, result.entries);
  return result;
}

void print_thresholds(const spgemm_thresholds& ours, const std::string& origin,
                      const std::vector<row_needs>& rows, const std::string& values, json& out) {
  app::print("\n  Table 2: when rows are sorted by size for kernels of several sizes\n"
             "  the paper: longest row over the mean one, and rows, above  {:>8} {:>6}, or* {:>4} "
             "{:>5} symbolic\n  {:>67} {:>6}, or* {:>4} {:>5} numeric\n"
             "  * where the longest needs one of the largest of its six kernels\n",
             symbolic.ratio, symbolic.rows, symbolic.large_ratio, symbolic.large_rows,
             numeric.ratio, numeric.rows, numeric.large_ratio, numeric.large_rows);
  struct line {
    const char* name;
    std::int64_t value;
    const char* what;
  };
  const line lines[] = {
      {"merged_entries", ours.merged_entries, "a thread merges rows of up to so many entries"},
      {"merged_products", ours.merged_products, "… and products"},
      {"merged_products_of_few", ours.merged_products_of_few, "… where rows are few"},
      {"light_products", ours.light_products, "rows with more go by ranges of columns"},
      {"few_rows", ours.few_rows, "so do high classes, if fewer rows are in them"},
      {"few_in_all", ours.few_in_all, "fewer rows with tables: two classes, not every one"},
      {"flat_length", ours.flat_length, "B's rows that are shorter: several at a time"},
      {"tile_length", ours.tile_length, "the same within a range of columns"},
      {"twin_products", ours.twin_products, "thousand products: rows of one pattern go together"},
      {"twin_share", ours.twin_share, "… if a search serves so many products"},
      {"slice_products", ours.slice_products, "thousand products: few diagonals are multiplied"},
      {"slice_places", ours.slice_places, "… if they have so few places an entry"},
      {"dense_products", ours.dense_products, "thousand products: none is missing, tiles serve"},
      {"one_pass_products", ours.one_pass_products,
       "thousand products at most: one pass, one wait"},
      {"sorted_products", ours.sorted_products, "thousand products: sorted if few coincide"}};
  app::print(
      "  ours, of a device ({}): no ratio; rows are always in classes, which few rows join\n",
      origin);
  json thresholds = json::object();
  for (const line& each : lines) {
    app::print("    {:<24} {:>6}   {}\n", each.name, each.value, each.what);
    thresholds[each.name] = each.value;
  }
  app::print(
      "\n  What they decide, symbolic and numeric; ours: launches of so many classes of tables"
      "\n  {:<26} {:>8} | {:>13} {:>6} {:>7} | {:>13} {:>6} {:>7}\n",
      "", "rows", "longest/mean", "paper", "ours", "longest/mean", "paper", "ours");
  json decided = json::array();
  for (const row_needs& each : rows) {
    if (each.values != values) continue;
    app::print("  {:<26.26} {:>8}", each.matrix, app::human_count(each.rows));
    json one = {{"matrix", each.matrix}, {"rows", each.rows}};
    const auto part = [&](const char* key, const balancing_rule& rule, const need& n) {
      const bool yes = balances(rule, n, each.rows);
      app::print(" | {:>13.1f} {:>6} {:>7}", n.ratio(), yes ? "yes" : "no",
                 fmt::format("{} of {}", n.launches, n.classes));
      one[key] = {{"longest_over_mean", n.ratio()},
                  {"paper_balances", yes},
                  {"launches", n.launches},
                  {"classes", n.classes}};
    };
    part("symbolic", symbolic, each.products);
    part("numeric", numeric, each.entries);
    app::print("\n");
    decided.push_back(one);
  }
  out = {{"origin", origin}, {"thresholds", thresholds}, {"decided", decided}};
}

namespace {

/// GFLOP/s; of one who failed those of the slowest who did not, as the paper has it.
double gflops_or_slowest(const measured_problem& p, const std::string& name) {
  if (const result* r = p.find(name)) return p.gflops(*r);
  double least = 0;
  for (const auto& r : p.results)
    if (competes(r) && r.seconds > 0 && (least == 0 || p.gflops(r) < least)) least = p.gflops(r);
  return least;
}

void print_names(const std::vector<std::string>& names) {
  for (const auto& name : names) app::print(" {:>10.10}", column_name(name));
  app::print("\n");
}

void print_by_products(const members& ordered, const std::vector<std::string>& names, json& out) {
  app::print(
      "\n  Figure 6: GFLOP/s over the number of products, more is better; geometric means; one "
      "who failed\n  counts as the slowest who did not\n  {:<22} {:>8}",
      "products", "matrices");
  print_names(names);
  for (std::size_t first = 0; first < ordered.size();) {
    const auto decade = [](const measured_problem& p) {
      return static_cast<int>(
          std::log10(static_cast<double>(std::max<std::int64_t>(p.products, 1))));
    };
    const int power = decade(*ordered[first]);
    std::size_t last = first;
    while (last < ordered.size() && decade(*ordered[last]) == power) ++last;
    app::print("  {:<22} {:>8}", fmt::format("10^{} to 10^{}", power, power + 1), last - first);
    json speeds = json::object();
    for (const auto& name : names) {
      std::vector<double> gflops;
      for (std::size_t i = first; i < last; ++i)
        if (const double g = gflops_or_slowest(*ordered[i], name); g > 0) gflops.push_back(g);
      app::print(" {:>10}", ratio_text(geometric_mean(gflops)));
      speeds[name] = geometric_mean(gflops);
    }
    app::print("\n");
    out.push_back({{"least_products", std::pow(10.0, power)},
                   {"matrices", last - first},
                   {"gflops", speeds}});
    first = last;
  }
  app::print(
      "  the paper: spECK leads at every size; a CPU's MKL is faster below 15000 products\n");
}

void print_profile(const members& ordered, const std::vector<std::string>& names, json& out) {
  members large;
  for (const auto* p : ordered)
    if (p->in_means() && fastest(*p) != nullptr) large.push_back(p);
  if (large.empty()) return;
  app::print(
      "\n  Figure 7: percent of {} matrices with more than 15000 products on which one takes "
      "at most\n  so many times the fastest's time, more is better\n  {:<31}",
      large.size(), "");
  print_names(names);
  for (const double most : {1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0}) {
    app::print("  {:<31}", most == 1 ? "the fastest" : fmt::format("{} x", most));
    json shares = json::object();
    for (const auto& name : names) {
      const auto within = std::ranges::count_if(large, [&](const auto* p) {
        const result* const r = p->find(name);
        return r != nullptr && r->seconds <= most * fastest(*p)->seconds;
      });
      const double share = static_cast<double>(within) / static_cast<double>(large.size());
      app::print(" {:>8.0f} %", 100 * share);
      shares[name] = share;
    }
    app::print("\n");
    out.push_back({{"times_fastest", most}, {"share", shares}});
  }
  app::print(
      "  the paper: within 5 x are spECK 99.9, AC-SpGEMM 96.2, nsparse 91.0, RMerge 63.1, "
      "cuSPARSE 49.9,\n  bhSPARSE 22.4, KokkosKernels 10.7 %; the fastest is spECK on 79 %\n");
}

void print_all_speeds(const members& ordered, const std::vector<std::string>& names, json& out) {
  app::print(
      "\n  Figure 15: GFLOP/s on every matrix by number of products, more is better\n  {:<22} "
      "{:>8}",
      "", "products");
  print_names(names);
  for (const auto* p : ordered) {
    app::print("  {:<22.22} {:>8}", p->matrix, app::human_count(p->products));
    json speeds = json::object();
    for (const auto& name : names) {
      const result* const r = p->find(name);
      app::print(" {:>10}", r == nullptr ? "-" : fmt::format("{:.2f}", p->gflops(*r)));
      if (r != nullptr) speeds[name] = p->gflops(*r);
    }
    app::print("\n");
    out.push_back({{"matrix", p->matrix}, {"products", p->products}, {"gflops", speeds}});
  }
}

} // namespace

void print_trends(const members& problems, json& out) {
  members ordered = problems;
  std::ranges::stable_sort(ordered, {}, &measured_problem::products);
  const auto names = names_in(ordered);
  for (const char* key : {"figure_6", "figure_7", "figure_15"}) out[key] = json::array();
  print_by_products(ordered, names, out["figure_6"]);
  print_profile(ordered, names, out["figure_7"]);
  print_all_speeds(ordered, names, out["figure_15"]);
}

} // namespace lacuna::bench::paper_001
