// tune(ctx): measures this machine's products on generated matrices and fits what the planner
// predicts them with.
//
//   const tuning t = tune(ctx, {.quick = true});       under a minute on two cores
//   if (t.better) write_machine(machine_file(t.machine.name), t.machine);
//
// It begins with the built-in costs and moves them as far as measurements of several matrices ask
// for. `better` says whether the result chooses better than the built-in costs, each matrix judged
// by a fit that has not seen it: else nothing should be stored.
#pragma once

#include <functional>
#include <string_view>

#include <lacuna/plan/features.hpp>
#include <lacuna/plan/machine.hpp>

namespace lacuna {

/// Bytes of a value, a column index and an offset.
struct type_widths {
  std::int64_t value = 8;
  std::int64_t index = 4;
  std::int64_t offset = 4;
};

struct measured_run {
  plan_candidate what;
  double seconds = 0;         ///< of a product
  double convert_seconds = 0; ///< of making the format
  double scatter = 0;         ///< how much longer the median took than the least, as a share
};
struct measured_matrix {
  std::string name;
  spmv_features features;
  type_widths widths;
  std::vector<measured_run> runs; ///< CSR first
};

/// How well a machine predicts and chooses.
struct plan_judgement {
  struct of_kernel {
    std::int64_t points = 0;
    double error = 0; ///< |predicted - measured| / measured, mean
  };
  struct of_choice {
    std::string matrix;
    plan_candidate chosen, best; ///< best: the fastest run
    double slowdown = 1;         ///< of the chosen against it
  };
  std::map<std::string, of_kernel, std::less<>> kernels;
  std::vector<of_choice> choices;
  /// Share of choices that take at most `slowdown` times the best; 0 if there are none.
  [[nodiscard]] LACUNA_EXPORT double share_within(double slowdown) const;
  /// Geometric mean of the choices' slowdowns; 1 if there are none.
  [[nodiscard]] LACUNA_EXPORT double mean_slowdown() const;
};

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
  plan_judgement judged_before;   ///< of `before`
  plan_judgement judged_built_in; ///< of the built-in costs
  plan_judgement judged;          ///< of fits that have not seen the matrix at hand
  bool better = false; ///< judged choices take 1 % less time than both others', on geometric mean
  /// The median run's. More than a few percent: other work ran on the machine.
  [[nodiscard]] LACUNA_EXPORT double scatter() const;
};

/// Holds one matrix at a time, in all formats. What it generates is f64 with 32-bit indices. Throws
/// bad_input for a spec that is none, out_of_memory, device_error; stores nothing.
LACUNA_EXPORT tuning tune(const host_context& ctx, const tune_options& options = {});
LACUNA_EXPORT tuning tune(const device_context& ctx, const tune_options& options = {});

} // namespace lacuna
