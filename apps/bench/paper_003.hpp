// lacuna-bench paper:003: the figures of Matam and Kothapalli (2011), who keep short rows in ELL
// and long ones in CSR, beside what this machine gives.
#pragma once

#include <array>

#include "bench/hyb/hyb.hpp"
#include "bench/suite.hpp"
#include <lacuna/format/ell_csr.hpp>
#include <lacuna/plan/features.hpp>

namespace lacuna::bench {

namespace paper_003 {
inline constexpr const char *csr = "csr", *hyb = "HYB", *thresholds = "ell_csr, paper's",
                            *packed = "ell_csr, paper's, packed", *planned = "ell_csr, planned";

/// The paper's T, M and L, and its order: all rows by length.
inline ell_csr_options options_for(const spmv_features& f, bool packed_columns) {
  std::int64_t rows = 0, entries = 0;
  for (std::size_t k = 0; k <= 8; ++k) { // rows of less than 256 entries
    rows += f.length_histogram[k];
    entries += f.entries_by_length[k];
  }
  ell_csr_options options = paper_thresholds(rows, entries);
  options.window = ell_csr_options::none;
  options.packed = packed_columns;
  return options;
}

template <class T, space S> class hyb_product : public prepared {
public:
  hyb_product(const context<S>& ctx, const problem<T, S>& p, bench::hyb<T, S> a)
      : ctx_(ctx), p_(p), a_(std::move(a)) {}
  void run() override {
    multiply_hyb<T, S>(ctx_, a_, {p_.x.data(), p_.x.shape().row}, {p_.y.data(), p_.y.shape().row});
  }
  [[nodiscard]] std::size_t extra_bytes() const override { return a_.bytes(); }
  [[nodiscard]] std::size_t format_bytes() const override { return a_.bytes(); }

private:
  context<S> ctx_;
  problem<T, S> p_;
  bench::hyb<T, S> a_;
};

template <class T, space S> std::vector<contestant<T, S>> contestants(const context<S>& ctx) {
  using M = problem_matrix<T, S>;
  const auto by_paper = [&](const char* name, bool packed_columns) {
    return format_contestant<T, S>(
        name, role::lacuna_too, ctx, [packed_columns](const context<S>& c, M a) {
          return to_ell_csr(c, a, options_for(find_features(c, a), packed_columns));
        });
  };
  std::vector<contestant<T, S>> result = {
      csr_contestant<T, S>(csr, role::lacuna_too, {suite::spmv}, ctx, S == space::device)};
  result.push_back({hyb, role::lacuna_too, {suite::spmv}, [ctx](const problem<T, S>& p) {
                      return std::make_unique<hyb_product<T, S>>(ctx, p, to_hyb<T, S>(ctx, p.a));
                    }});
  result.push_back(by_paper(thresholds, false));
  result.push_back(by_paper(packed, true));
  result.push_back(planned_contestant<T, S>(planned, role::lacuna, {suite::spmv}, ctx, "ell_csr"));
  return result;
}

/// Figure 2's matrices: shares of the rows whose lengths lie in the first and in the last quarter
/// of the longest; the others lie between.
struct density {
  double first, last;
};
inline constexpr std::array<density, 3> densities = {{{0.60, 0.10}, {0.38, 0.32}, {0.15, 0.55}}};
/// Square; lengths and columns at random.
lacuna::csr<double> synthetic_rows(const host_context& ctx, std::int64_t rows, std::int64_t longest,
                                   const density& d, std::uint64_t seed);

inline constexpr const char *ell = "ELL", *ell_shared = "ell_csr, ELL alone";

/// Figure 2: all rows in ELL, one thread per row in their order, or as many as M asks for, by
/// length.
template <class T, space S>
std::vector<contestant<T, S>> ell_contestants(const context<S>& ctx, std::int64_t longest) {
  std::vector<contestant<T, S>> result = {
      csr_contestant<T, S>(csr, role::lacuna_too, {suite::spmv}, ctx, S == space::device)};
  result.push_back({ell, role::lacuna_too, {suite::spmv}, [=](const problem<T, S>& p) {
                      return std::make_unique<hyb_product<T, S>>(
                          ctx, p, to_hyb<T, S>(ctx, p.a, longest, longest));
                    }});
  result.push_back(format_contestant<T, S>(
      ell_shared, role::lacuna_too, ctx, [](const context<S>& c, problem_matrix<T, S> a) {
        ell_csr_options options = options_for(find_features(c, a), false);
        options.long_row = ell_csr_options::none;
        return to_ell_csr(c, a, options);
      }));
  return result;
}

struct synthetic_result {
  std::int64_t longest;
  std::size_t density;
  measured_problem m;
};

/// A threshold that is swept while the others are the rule's, over values that the paper tried.
struct axis {
  const char* name;
  std::int64_t ell_csr_options::*field;
  std::int64_t first, step, last;
  std::vector<std::int64_t> few; ///< of them, unless all are asked for
  [[nodiscard]] std::vector<std::int64_t> values(bool all) const;
};
const std::array<axis, 3>& axes();
std::string name_of(const axis& a, std::int64_t value);
inline constexpr const char* by_rule = "rule";

/// GFLOP/s along each axis; each has a line "rule".
struct sweep {
  ell_csr_options rule;
  std::array<measured_problem, 3> along;
};

template <class T, space S>
sweep sweep_thresholds(const context<S>& ctx, const settings& s, const stage<T, S>& on) {
  sweep result{options_for(find_features(ctx, on.matrix()), false), {}};
  const auto entry = [&](const std::string& name, const ell_csr_options& options) {
    return format_contestant<T, S>(name, role::lacuna_too, ctx,
                                   [options](const context<S>& c, problem_matrix<T, S> a) {
                                     return to_ell_csr(c, a, options);
                                   });
  };
  for (std::size_t i = 0; i < axes().size(); ++i) {
    std::vector<contestant<T, S>> lines = {entry(by_rule, result.rule)};
    for (const std::int64_t value : axes()[i].values(s.full)) {
      ell_csr_options options = result.rule;
      options.*axes()[i].field = value;
      lines.push_back(entry(name_of(axes()[i], value), options));
    }
    result.along[i] = on.measure({}, s.seed, lines);
  }
  return result;
}

struct findings {
  std::vector<synthetic_result> synthetic;
  std::vector<sweep> sweeps;
};

/// Table I, figure 2 and the sweep of one group of problems.
void print_bytes_per_operation(const std::vector<const measured_problem*>& problems,
                               nlohmann::ordered_json& out);
void print_synthetic(const std::vector<synthetic_result>& all, const std::string& group,
                     nlohmann::ordered_json& out);
void print_sweeps(const std::vector<sweep>& all, const std::string& group,
                  nlohmann::ordered_json& out);
/// Prints all tables but figure 8, and adds "paper" to the JSON object.
void print(const std::vector<measured_problem>& problems, const findings& results,
           nlohmann::ordered_json& out);
} // namespace paper_003

/// Figure 2 on 32 k rows and multiples of that, as many as keep a C1060 busy.
template <space S>
void run_figure_2(const rig<S>& r, const host_context& host, const settings& s, report& out,
                  std::vector<paper_003::synthetic_result>& to) {
  using namespace paper_003;
  std::vector<std::int64_t> sizes = {32};
  if (s.size != size_class::small) sizes.push_back(128);
  if (S == space::device) sizes.push_back(512);
  for (const std::int64_t size : sizes)
    for (const std::int64_t longest : {64, 96, 128})
      for (std::size_t d = 0; d < densities.size(); ++d) {
        const std::string name = std::to_string(size) + " k rows of up to " +
                                 std::to_string(longest) + ", F" + std::to_string(d + 1);
        out.progress("figure 2: " + name + " …");
        const auto a = synthetic_rows(host, 1024 * size, longest, densities[d], s.seed);
        auto run = [&]<class T>(const stage<T, S>& on) {
          to.push_back({longest, d, on.measure({}, s.seed, ell_contestants<T, S>(r.ctx, longest))});
          out.judge(to.back().m);
        };
        on_stages(r, host, s, {name}, a, run);
      }
}

template <space S>
void run_paper_003(const rig<S>& r, const host_context& host, const settings& s,
                   const std::vector<matrix_source>& sources, const peer_lists<S>& peers,
                   report& out) {
  paper_003::findings results;
  const rig<S> brief = r.briefly();
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    auto contestants = paper_003::contestants<T, S>(r.ctx);
    for (auto& each : peers.template contestants<T>())
      if (each.plays == role::peer) contestants.push_back(std::move(each));
    out.add(on.measure({}, s.seed, contestants));
    out.progress(on.facts().matrix + ": T, M and L …");
    const stage<T, S> again(brief, host, {on.facts().matrix, {}, false, on.facts().stands_for},
                            on.on_host());
    results.sweeps.push_back(paper_003::sweep_thresholds<T, S>(r.ctx, s, again));
    for (const auto& m : results.sweeps.back().along) out.judge(m);
  });
  if (s.matrices.empty() || s.full) run_figure_2(brief, host, s, out, results.synthetic);
  paper_003::print(out.problems(), results, out.figures());
}

} // namespace lacuna::bench
