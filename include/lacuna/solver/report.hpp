// When a solver stops, and what it says then.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <lacuna/op/scalars.hpp>

namespace lacuna {

/// A method ends with the first of these. Residual: |b - A x|, the Euclidean length.
struct stopping_rule {
  double relative = -1;        ///< to |b|; negative: 1e-8, 1e-5 for float
  double absolute = 0;         ///< or less than this
  std::int64_t iterations = 0; ///< at most; 0: ten times the rows, 1000 to 50,000
  double seconds = 0;          ///< at most; 0: any. Looked at between iterations
  /// Iterations in which the least residual did not fall by 1 %. 0: a tenth of `iterations`, 1000
  /// at least, for minres, whose residual never grows; any for the others, whose residuals may rise
  /// for long while the error falls.
  std::int64_t stagnation = 0;
};

/// "converged", "iteration_limit", …: the enumerator's name.
LACUNA_EXPORT const char* name_of(stop_reason reason);
/// A clause: "no progress in 1000 iterations".
LACUNA_EXPORT const char* in_words(stop_reason reason);

/// What a callback sees, once per iteration and in order; on a device some iterations late.
struct solve_progress {
  std::int64_t iteration = 0;
  double relative_residual = 0; ///< by the recurrence; the largest of all columns
  double seconds = 0;
};
/// Returns false to cancel.
using solve_watch = std::function<bool(const solve_progress&)>;

/// One right-hand side's.
struct solved_column {
  bool converged = false;
  stop_reason reason = stop_reason::none;
  std::int64_t iterations = 0;
  double residual = 0;          ///< |b - A x|, computed anew at the end
  double relative_residual = 0; ///< to |b|; 0 if b is 0
};

struct solve_report {
  std::string method, preconditioner = "none", storage;
  bool converged = false;
  stop_reason reason = stop_reason::none; ///< of the worst column
  std::int64_t iterations = 0;            ///< the most of any column
  std::int64_t restarts =
      0; ///< because the recurrence had drifted from the true residual, or broke
  double residual = 0, relative_residual = 0; ///< true ones, the worst
  double tolerance = 0;                       ///< what relative_residual was to be
  std::vector<double> history; ///< relative residuals by the recurrence, from the start's on
  std::vector<solved_column> columns;
  double setup_seconds = 0, solve_seconds = 0;
  std::vector<std::string> choice; ///< why this method and this preconditioner
  /// Of a multilevel preconditioner, finest first.
  struct level {
    std::int64_t rows = 0, entries = 0;
  };
  std::vector<level> levels;
  double operator_complexity = 0; ///< 0: no levels

  /// A few lines for people.
  [[nodiscard]] LACUNA_EXPORT std::string text() const;
  /// {"method": …, "preconditioner": …, "converged": …, "reason": …, "iterations": …, …}
  [[nodiscard]] LACUNA_EXPORT std::string json() const;
};
LACUNA_EXPORT std::ostream& operator<<(std::ostream& out, const solve_report& report);

/// What solve() throws where it must not return a wrong answer: the report comes with it, and x is
/// as far as the method came.
class LACUNA_EXPORT not_solved : public not_converged {
public:
  explicit not_solved(solve_report r);
  [[nodiscard]] const solve_report& report() const noexcept { return report_; }

private:
  solve_report report_;
};

} // namespace lacuna
