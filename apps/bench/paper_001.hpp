// lacuna-bench paper:001: the tables and figures of Parger et al. (spECK, 2020) beside what this
// machine gives: who is best how often, stages, memory, and what each of their choices is worth.
#pragma once

#include <array>

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

template <class T> std::vector<contestant<T, space::device>> variants(const device_context& ctx) {
  std::vector<contestant<T, space::device>> result;
  const auto add = [&](const std::string& name, auto change) {
    spgemm_thresholds t = machine_of(ctx).spgemm;
    change(t);
    result.push_back(
        spgemm_contestant<T, space::device>(name, role::lacuna_too, ctx, {.thresholds = t}));
  };
  const auto no_merging = [](spgemm_thresholds& t) {
    t.merged_products = t.merged_products_of_few = 0;
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

/// Prints the tables, and adds "paper" to the JSON object.
void print(const std::vector<measured_problem>& problems, const std::vector<stages>& timed,
           bool device, nlohmann::ordered_json& out);

} // namespace paper_001

template <space S>
void run_paper_001(const rig<S>& r, const host_context& host, const settings& s,
                   const std::vector<matrix_source>& sources, const peer_lists<S>& peers,
                   report& out) {
  std::vector<paper_001::stages> stages;
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    auto contestants = result_contestants<T, S>(r.ctx);
    if constexpr (S == space::device)
      for (auto& each : paper_001::variants<T>(r.ctx)) contestants.push_back(std::move(each));
    for (auto& each : peers.template contestants<T>()) contestants.push_back(std::move(each));
    try {
      const result_stage<T, S> products(r, host, on, suite::spgemm);
      out.add(products.measure(s.seed, contestants));
      if (out.problems().back().best(role::lacuna) != nullptr)
        stages.push_back(
            {on.facts().matrix, on.facts().values, paper_001::time_stages(products, r.ctx)});
    } catch (const unsupported& e) {
      out.skip(on.facts().matrix, e.what());
    }
  });
  paper_001::print(out.problems(), stages, S == space::device, out.figures());
}

} // namespace lacuna::bench
