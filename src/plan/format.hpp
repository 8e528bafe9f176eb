// Internal: what a format says of itself, in one struct in src/plan/formats; the list of them is
// src/plan/table.hpp. The planner, tuning, the command line, the benchmarks and the tests walk that
// list: nothing else names a format.
//
// A format F has
//   name, kernels, numbers          its name, its kernels with their costs, its thresholds
//   offer(to, candidates)           adds the ways in which it would hold a matrix, the best first
//   looks_at_features               whether its options depend on more than the matrix's size
//   only_by_name                    whether it is none of those that compete: tuning leaves it out
//   matrix<T, I, O, S>              what it holds
//   make(ctx, a, options)           from a csr_view
//   multiply(ctx, m, …)             only where multiply_format(ctx, …, m.view(), …) does not do
// and, where the base's do not fit, what csr_ordered_format has.
#pragma once

#include <cmath>
#include <span>
#include <stdexcept>
#include <string_view>

#include <lacuna/op/multiply.hpp>
#include <lacuna/op/update_values.hpp>
#include <lacuna/plan/tune.hpp>

namespace lacuna::planning {

/// A kernel, and what its products cost on the machines that are built in: an H200, and a thread
/// pair of an EPYC (Zen 4, AVX-512). fixed, stream, gather, row, entry, convert.
struct kernel_costs {
  std::string_view name;
  spmv_cost h200, x86;
};
/// A threshold of a format, and what tuning tries for it, in the order of the search.
struct tuned_number {
  std::string_view name;
  double least;
  double h200, x86;
  std::span<const double> tried = {};
};

/// Whom candidates are offered to.
struct offer_to {
  const spmv_features& f;
  const type_widths& w;
  const spmv_machine& machine;
  const plan_hints& hints;
  std::string_view csr_kernel; ///< what CSR would run
  double csr_seconds = 0;      ///< of a product in it

  [[nodiscard]] bool asks_for(std::string_view format) const { return hints.format == format; }
  /// With what is predicted of it.
  [[nodiscard]] plan_candidate candidate(std::string_view format, std::string_view kernel,
                                         double bytes, const spmv_work& work,
                                         std::string why) const;
};

inline std::int64_t option(const plan_options& options, std::string_view name) {
  for (const plan_option& o : options)
    if (o.name == name) return o.value;
  throw std::out_of_range("lacuna: no option " + std::string(name));
}

/// Values for storage that is kept: entry k of the stored matrix is a[from[k]], or a[k] where from
/// is null.
template <class T, class I, class O, space S> struct value_source {
  csr_view<const T, I, O, S> a;
  const O* from = nullptr;
  vector_view<const O, S> rowptr; ///< of the stored matrix, where updates_by asks for it
  const I* colind = nullptr;
  facts order; ///< of its rows
};

/// What of the stored matrix's pattern an update of its values goes by.
enum class value_order { entries, rows, pattern };

/// Thrown by a format's make where the matrix is not what its sample promised: the plan takes the
/// next best.
struct made_in_vain : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What formats share whose entries are those of CSR, in the same order.
struct csr_ordered_format {
  static constexpr std::span<const tuned_number> numbers = {};
  static constexpr bool looks_at_features = true;
  static constexpr bool only_by_name = false;
  static constexpr value_order updates_by = value_order::entries;

  template <class T, class I, class O, space S, class M>
  static void update(const context<S>& ctx, M& m, const value_source<T, I, O, S>& v) {
    detail::place_values<T, O, S>(ctx, v.from, v.a.values(), m.values());
  }
  /// The kernel that runs, where making the format decides.
  template <class M> static std::string_view kernel_of(const M&) { return {}; }
  /// How far two ways of making it are apart; infinite: another measurement is none of this.
  static double distance(const plan_options& a, const plan_options& b) {
    return a == b ? 0 : HUGE_VAL;
  }
  /// Ways to make it that tuning measures; none: those that are offered with any threshold.
  static std::vector<plan_candidate> variants(const offer_to&, bool) { return {}; }
  /// Sets thresholds that are not searched one by one.
  static void fit(spmv_machine&, const std::vector<measured_matrix>&) {}
};

/// The same as a row of a table, for code that does not know types.
struct format_row {
  std::string_view name;
  std::span<const kernel_costs> kernels;
  std::span<const tuned_number> numbers;
  bool looks_at_features, only_by_name;
  void (*offer)(const offer_to&, std::vector<plan_candidate>&);
  double (*distance)(const plan_options&, const plan_options&);
  std::vector<plan_candidate> (*variants)(const offer_to&, bool quick);
  void (*fit)(spmv_machine&, const std::vector<measured_matrix>&);
};
template <class F> format_row row_of() {
  return {F::name,     F::kernels,  F::numbers, F::looks_at_features, F::only_by_name, F::offer,
          F::distance, F::variants, F::fit};
}
/// All of them, CSR first.
LACUNA_EXPORT const std::vector<format_row>& format_table();
/// Throws bad_input with all names if there is none.
const format_row& format_named(std::string_view name);

} // namespace lacuna::planning
