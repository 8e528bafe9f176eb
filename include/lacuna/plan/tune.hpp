// tune(ctx): measures this machine's products on generated matrices and fits what the planner
// predicts them with. Its pieces are pure functions of recorded measurements.
//
//   const tuning t = tune(ctx, {.quick = true});       under a minute on two cores
//   write_machine(machine_file(t.machine.name), t.machine);
#pragma once

#include <functional>
#include <string_view>

#include <lacuna/gen/generate.hpp>
#include <lacuna/plan/plan.hpp>
#include <lacuna/plan/tune_spgemm.hpp>

namespace lacuna {

/// One product of one class of kernels.
struct measured_point {
  spmv_work work;
  double seconds = 0;
  double convert = 0; ///< making the format, in products of CSR
};
/// The line through the points whose squared relative errors add up to the least, all of its
/// coefficients 0 or more; `convert` is the points' median. No points: all 0.
LACUNA_EXPORT spmv_cost fit_cost(const std::vector<measured_point>& points);

/// The fastest sizes of a sweep over one matrix.
struct csr_k_point {
  double mean = 0; ///< entries in a row
  csr_k_sizes best;
};
/// The paper's regression, size = a - b ln(mean), of both sizes on their own and before the model's
/// factors; b is at least 0. For k = 2 the paper's constant: the geometric mean of the best. No
/// points: the model as it was.
LACUNA_EXPORT csr_k_model fit_csr_k(csr_k_model model, const std::vector<csr_k_point>& points);

struct measured_run {
  plan_candidate what;
  double seconds = 0;         ///< of a product
  double convert_seconds = 0; ///< of making the format
  double scatter = 0;         ///< how much longer the median took than the least, as a share
};
struct measured_matrix {
  std::string name;
  spmv_features found;
  type_widths widths;
  double transpose_seconds = 0;
  std::vector<measured_run> runs; ///< what candidates_to_measure() said
};
/// The run with a candidate's format and options: those of ell_csr must do the same to this matrix,
/// those of csr_k be the nearest. Null if there is none.
LACUNA_EXPORT const measured_run* find_run(const measured_matrix& matrix,
                                           const plan_candidate& what);

/// Piece, few_rows, lane_entries and padding by line search: of each in turn the candidate with the
/// least geometric-mean time of ell_csr, until none is better by 1 %; four times at most.
LACUNA_EXPORT spmv_machine search_thresholds(spmv_machine start,
                                             const std::vector<measured_matrix>& matrices);
/// Thresholds, the sizes of CSR-k, then the costs, refined until choices are good. Classes that
/// were not measured keep the start's; those with fewer than 5 points keep its line, scaled.
LACUNA_EXPORT spmv_machine fit_machine(const spmv_machine& start,
                                       const std::vector<measured_matrix>& matrices);

/// How well a machine predicts and chooses.
struct plan_judgement {
  struct of_class {
    std::int64_t points = 0;
    double error = 0; ///< |predicted - measured| / measured, mean
  };
  struct of_choice {
    std::string matrix;
    plan_candidate chosen, best; ///< best: the fastest run
    double slowdown = 1;         ///< of the chosen against it
  };
  std::array<of_class, spmv_class_count> classes{};
  std::vector<of_choice> choices;
  /// Share of choices that take at most `slowdown` times the best; 0 if there are none.
  [[nodiscard]] LACUNA_EXPORT double share_within(double slowdown) const;
};
/// Judges one machine by all matrices; or each matrix by the machine fitted without it.
LACUNA_EXPORT plan_judgement judge(const spmv_machine& machine,
                                   const std::vector<measured_matrix>& matrices);
LACUNA_EXPORT plan_judgement cross_validate(const spmv_machine& start,
                                            const std::vector<measured_matrix>& matrices);

struct tune_options {
  bool quick = false;            ///< fewer and smaller matrices, fewer repetitions
  std::vector<std::string> only; ///< specs for gen::generate, instead of the usual ones
  /// Called before each matrix with its spec and the share that is done.
  std::function<void(std::string_view what, double done)> progress;
};
struct tuning {
  spmv_machine before;  ///< what plans used until now
  spmv_machine machine; ///< fitted, from what is built in
  std::vector<measured_matrix> matrices;
  plan_judgement judged_before, judged; ///< judged: by cross-validation
  /// The median run's. More than a few percent: other work ran on the machine.
  [[nodiscard]] LACUNA_EXPORT double scatter() const;
};

namespace detail {
/// Specs for a host or a device; none takes more than `most_bytes` as CSR.
LACUNA_EXPORT std::vector<std::string> training_matrices(bool device, bool quick,
                                                         std::size_t most_bytes);
/// Every candidate for the matrix that is not too large, each with all options that the searches
/// may ask for; CSR first.
LACUNA_EXPORT std::vector<plan_candidate> candidates_to_measure(const spmv_features& found,
                                                                const type_widths& widths,
                                                                const spmv_machine& machine,
                                                                bool quick);
struct timed_run {
  double seconds = 0; ///< the lower quartile: other work on the machine only ever adds
  double scatter = 0;
};
/// Times the runs in rounds of a sample each. A sample is `queue` runs and a wait; 0: as many runs
/// as take a millisecond. The rounds take about `budget` seconds; they are 7 at least, or 3 if they
/// take twice as long.
LACUNA_EXPORT std::vector<timed_run> time_in_turn(const std::vector<std::function<void()>>& runs,
                                                  const std::function<void()>& wait, int queue,
                                                  double budget);
LACUNA_EXPORT double seconds_of(const std::function<void()>& run);

/// A sixteenth of the memory, so that a matrix in all its formats fits; on a host at most 160 MB.
LACUNA_EXPORT std::size_t largest_training_bytes(const host_context& ctx);
inline std::size_t largest_training_bytes(const device_context& ctx) {
  return ctx.properties().memory_bytes / 16;
}

/// Makes the matrix in every format and multiplies with each.
template <space S>
measured_matrix measure_matrix(const context<S>& ctx, const std::string& spec,
                               const spmv_machine& machine, bool quick) {
  using I = std::int32_t;
  using storage = planned_storage<double, I, I, S>;
  const csr<double, I, I, S> a = [&] {
    if constexpr (S == space::host)
      return gen::generate<double, I, I>(ctx, spec);
    else
      return copy_to(ctx, gen::generate<double, I, I>(host_context(), spec));
  }();
  const csr_view<const double, I, I, S> view = a.view();
  array<double> ones(host_context(), view.shape().col);
  std::fill(ones.begin(), ones.end(), 1.0);
  const array<double, S> x = copy_to(ctx, ones);
  array<double, S> y(ctx, view.shape().row);
  const auto from = as_columns(x.view());
  const auto to = as_columns(y.view());
  const auto wait = [&] { ctx.synchronize(); };
  const auto timed = [&](auto work) {
    wait();
    return seconds_of([&] {
      work();
      wait();
    });
  };

  measured_matrix m{spec, find_features(ctx, view), {}, 0, {}};
  m.transpose_seconds = timed([&] { (void)transpose(ctx, a); });
  std::vector<std::function<void()>> runs;
  double csr_k_seconds = 0; // to make the first; other sizes only group its rows anew
  for (const plan_candidate& c : candidates_to_measure(m.found, m.widths, machine, quick)) {
    if (c.format == spmv_format::csr_k && csr_k_seconds > 0) {
      const auto g = std::make_shared<const csr_k_groups<I, I, S>>(
          group_rows<I, I>(ctx, view.rowptr(), c.csr_k));
      m.runs.push_back({c, 0, csr_k_seconds, 0});
      runs.emplace_back([&ctx, view, from, to, g] {
        const csr_k_view<const double, I, I, S> k(view, g->grouping, g->super_rows.view(),
                                                  g->super_super_rows.view(), g->long_rows.view(),
                                                  g->pieces.view());
        multiply_format(ctx, 1.0, k, from, 0.0, from, to);
      });
      continue;
    }
    std::shared_ptr<const storage> made;
    const double seconds =
        timed([&] { made = std::make_shared<const storage>(store(ctx, c, view)); });
    if (c.format == spmv_format::csr_k) csr_k_seconds = seconds;
    m.runs.push_back({c, 0, seconds, 0});
    runs.emplace_back([&ctx, from, to, made] {
      multiply_stored<double, I, I, S>(ctx, *made, 1, from, 0, from, to);
    });
  }
  // On a device a queue of 30, so that launches and the wait hardly count.
  const std::vector<timed_run> found =
      time_in_turn(runs, wait, S == space::host ? 0 : 30, quick ? 1 : 3);
  for (std::size_t i = 0; i < found.size(); ++i) {
    m.runs[i].seconds = found[i].seconds;
    m.runs[i].scatter = found[i].scatter;
  }
  return m;
}
} // namespace detail

/// Holds one matrix at a time, in all formats. What it generates is f64 with 32-bit indices. Throws
/// bad_input for a spec that is none, out_of_memory, device_error; stores nothing.
template <space S> tuning tune(const context<S>& ctx, const tune_options& options = {}) {
  const spmv_machine built_in = built_in_machine(ctx);
  tuning result;
  result.before = machine_of(ctx);
  std::vector<std::string> specs = options.only;
  if (specs.empty())
    specs = detail::training_matrices(S == space::device, options.quick,
                                      detail::largest_training_bytes(ctx));
  for (const std::string& spec : specs) (void)gen::expected_size(spec);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (options.progress)
      options.progress(specs[i], static_cast<double>(i) / static_cast<double>(specs.size()));
    result.matrices.push_back(detail::measure_matrix(ctx, specs[i], built_in, options.quick));
  }
  result.machine = fit_machine(built_in, result.matrices);
  if constexpr (S == space::device) {
    if (options.progress) options.progress("sparse products", 1);
    result.machine.spgemm = tune_spgemm(ctx, built_in.spgemm, options.quick, options.only);
  }
  result.machine.name = machine_name(ctx);
  result.machine.origin = "measured now";
  result.machine.remarks.clear();
  result.judged_before = judge(result.before, result.matrices);
  result.judged = cross_validate(built_in, result.matrices);
  return result;
}

} // namespace lacuna
