// Internal: what tuning does with measurements; pure functions of recorded ones.
#pragma once

#include "plan/csr_k.hpp"
#include "plan/format.hpp"

namespace lacuna {

/// One product of one kernel.
struct measured_point {
  spmv_work work;
  double seconds = 0;
  double convert = 0; ///< making the format, in products of CSR
};
/// The line through the points whose squared relative errors add up to the least, all of its
/// coefficients 0 or more, held near `start`: leaving a coefficient of it by its own size costs as
/// much as `trust` points that are wrong by all they take. `convert` is the points' median. No
/// points: `start`.
LACUNA_EXPORT spmv_cost fit_cost(const spmv_cost& start, const std::vector<measured_point>& points,
                                 double trust);

/// The fastest sizes of a sweep over one matrix.
struct csr_k_point {
  double mean = 0; ///< entries in a row
  csr_k_sizes best;
};
/// The paper's regression, size = a - b ln(mean), of both sizes on their own and before the model's
/// factors; b is at least 0. For k = 2 the paper's constant: the geometric mean of the best. No
/// points: the model as it was.
LACUNA_EXPORT csr_k_model fit_csr_k(csr_k_model model, const std::vector<csr_k_point>& points);

/// The run with a candidate's format and options, or with options that the format takes for as
/// good. Null if there is none.
LACUNA_EXPORT const measured_run* find_run(const measured_matrix& matrix,
                                           const plan_candidate& what);

/// The thresholds of all formats by line search: of each in turn the value with the least
/// geometric-mean time of its format, until none is better by 1 %; four times at most.
LACUNA_EXPORT spmv_machine search_thresholds(spmv_machine start,
                                             const std::vector<measured_matrix>& matrices);
/// Thresholds, what formats fit themselves, then the costs, refined until choices are good. Kernels
/// that were not measured keep the start's; those with fewer than 5 points keep its line, scaled.
/// No coefficient leaves the start's by more than a factor of 3: what a byte or a row costs is the
/// machine's, and a fit that says otherwise has followed noise.
LACUNA_EXPORT spmv_machine fit_machine(const spmv_machine& start,
                                       const std::vector<measured_matrix>& matrices);

/// Judges one machine by all matrices; or each matrix by the machine fitted without it.
LACUNA_EXPORT plan_judgement judge(const spmv_machine& machine,
                                   const std::vector<measured_matrix>& matrices);
LACUNA_EXPORT plan_judgement cross_validate(const spmv_machine& start,
                                            const std::vector<measured_matrix>& matrices);

/// Specs for a host or a device; none takes more than `most_bytes` as CSR.
LACUNA_EXPORT std::vector<std::string> training_matrices(bool device, bool quick,
                                                         std::size_t most_bytes);
/// Every candidate for the matrix that is not too large, each with all options that the searches
/// may ask for; CSR first.
LACUNA_EXPORT std::vector<plan_candidate> candidates_to_measure(const spmv_features& features,
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
double seconds_of(const std::function<void()>& run);

} // namespace lacuna
