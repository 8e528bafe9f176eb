// lacuna-bench paper:001: the tables and figures of Parger et al. (spECK, 2020) beside what this
// machine gives: who is best how often, stages, memory, and what each of their choices is worth.
#pragma once

#include <array>
#include <limits>

#include "bench/matrix_suite.hpp"
#include <lacuna/plan/machine.hpp>

namespace lacuna::bench {

namespace paper_001 {

/// Lacuna with one choice taken away, on a device. The names are those of contestants. Heavy rows,
/// which no table holds, are made by ranges of columns in all of them.
inline constexpr const char *hash_tables = "Lacuna: hash tables", *lanes_32 = "Lacuna: 32 lanes",
                            *every_class = "Lacuna: every class",
                            *two_classes = "Lacuna: two classes";

/// Where the time of one product went; of several the one with the median sum.
struct stages {
  std::string matrix, values;
  spgemm_report report;
};

/// What rows of C need in one pass, and what ours makes of it.
struct need {
  std::int64_t most = 0;         ///< of a row
  double mean = 0;               ///< of all rows
  int classes = 0, launches = 0; ///< classes of tables that rows fall into, and are joined to
  void add(std::int64_t n, std::int64_t rows) {
    most = std::max(most, n);
    mean += static_cast<double>(n) / static_cast<double>(rows);
  }
  [[nodiscard]] double ratio() const { return mean > 0 ? static_cast<double>(most) / mean : 0; }
};
/// Products, which counting looks at, and entries, which filling does.
struct row_needs {
  std::string matrix, values;
  std::int64_t rows = 0;
  need products, entries;
};
struct row_pattern {
  vector_view<const offset_t> rowptr;
  vector_view<const index_t> colind;
};
row_needs look_at_rows(const row_pattern& a, const row_pattern& b,
                       vector_view<const offset_t> c_rowptr, const spgemm_thresholds& machine,
                       int multiprocessors);

/// Everything that print() shows.
struct findings {
  bool device = false;
  spgemm_thresholds thresholds; ///< of a device, this one or one with what is built in
  std::string origin;           ///< of these
  int multiprocessors = 132;    ///< of an H200, unless this is another
  std::vector<stages> timed;
  std::vector<row_needs> rows;
  /// Small products, for figures 6, 7, 14 and 15 alone.
  std::vector<measured_problem> small;
};

template <class T> std::vector<contestant<T, space::device>> variants(const device_context& ctx) {
  std::vector<contestant<T, space::device>> result;
  const auto add = [&](const std::string& name, auto change) {
    spgemm_thresholds t = machine_of(ctx).spgemm;
    t.sorted_products = std::numeric_limits<std::int64_t>::max();
    t.one_pass_products = 0;
    change(t);
    result.push_back(
        spgemm_contestant<T, space::device>(name, role::lacuna_too, ctx, {.thresholds = t}));
  };
  const auto no_merging = [](spgemm_thresholds& t) {
    t.merged_products = t.merged_products_of_few = 0;
    t.twin_products = t.slice_products = t.dense_products =
        std::numeric_limits<std::int64_t>::max();
  };
  add(hash_tables, [&](spgemm_thresholds& t) {
    no_merging(t);
    t.spans = false;
  });
  add(lanes_32, [&](spgemm_thresholds& t) {
    no_merging(t);
    t.lanes = 32;
    t.flat_length = 0; // one row of B at a time
  });
  add(every_class, [](spgemm_thresholds& t) { t.few_rows = t.few_in_all = 0; });
  add(two_classes, [](spgemm_thresholds& t) { t.few_in_all = std::int64_t{1} << 40U; });
  return result;
}

template <class T, space S>
spgemm_report time_stages(const result_stage<T, S>& on, const context<S>& ctx) {
  std::vector<spgemm_report> reports(5);
  for (auto& each : reports) {
    spgemm_options options;
    options.report = &each;
    (void)multiply(ctx, on.a(), on.b(), options);
  }
  const auto middle = reports.begin() + 2;
  std::ranges::nth_element(reports, middle, {}, &spgemm_report::seconds);
  return *middle;
}

/// Specifications of products with 500 to two million products, which a run of minutes can afford.
std::vector<matrix_source> small_products();

/// Prints the tables, and adds "paper" to the JSON object.
void print(const std::vector<measured_problem>& problems, const findings& results,
           nlohmann::ordered_json& out);

} // namespace paper_001

template <space S>
void run_paper_001(const rig<S>& r, const host_context& host, const settings& s,
                   const std::vector<matrix_source>& sources, const peer_lists<S>& peers,
                   report& out) {
  paper_001::findings results;
  results.device = S == space::device;
  results.origin = "built in";
  if constexpr (S == space::device) {
    const auto machine = machine_of(r.ctx);
    results.thresholds = machine.spgemm;
    results.origin = machine.origin;
    results.multiprocessors = machine.workers;
  }
  const auto contestants = [&]<class T>(const stage<T, S>&) {
    auto all = result_contestants<T, S>(r.ctx);
    if constexpr (S == space::device)
      for (auto& each : paper_001::variants<T>(r.ctx)) all.push_back(std::move(each));
    for (auto& each : peers.template contestants<T>()) all.push_back(std::move(each));
    return all;
  };
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    try {
      const result_stage<T, S> products(r, host, on, suite::spgemm);
      out.add(products.measure(s.seed, contestants(on)));
      const measured_problem& m = out.problems().back();
      if (m.best(role::lacuna) == nullptr) return;
      out.progress(m.matrix + ": stages and rows …");
      results.timed.push_back({m.matrix, m.values, paper_001::time_stages(products, r.ctx)});
      const auto c = multiply(r.ctx, products.a(), products.b());
      const array<offset_t> rows_of_c = copy_to(host, c.rowptr());
      const auto& [left, right] = products.on_host();
      auto rows =
          paper_001::look_at_rows({left.rowptr(), left.colind()}, {right.rowptr(), right.colind()},
                                  rows_of_c.view(), results.thresholds, results.multiprocessors);
      rows.matrix = m.matrix;
      rows.values = m.values;
      results.rows.push_back(rows);
    } catch (const unsupported& e) {
      out.skip(on.facts().matrix, e.what());
    }
  });
  if (s.matrices.empty()) {
    const rig<S> brief = r.briefly();
    for_each_matrix(
        brief, host, s, paper_001::small_products(), out, [&]<class T>(const stage<T, S>& on) {
          results.small.push_back(
              result_stage<T, S>(brief, host, on, suite::spgemm).measure(s.seed, contestants(on)));
          out.judge(results.small.back());
        });
  }
  paper_001::print(out.problems(), results, out.figures());
}

} // namespace lacuna::bench
