// The choice between formats: a pure function of a matrix's features, a machine and hints.
#pragma once

#include <vector>

#include <lacuna/op/csr_k.hpp>
#include <lacuna/op/ell_csr.hpp>
#include <lacuna/plan/features.hpp>
#include <lacuna/plan/machine.hpp>

namespace lacuna {

enum class spmv_format { csr, packed_csr, ell_csr, csr_k };
LACUNA_EXPORT const char* name_of(spmv_format f);

/// What the caller knows and the matrix does not say.
struct plan_hints {
  double multiplies = 1000;         ///< products that will be asked for
  double transposed_multiplies = 0; ///< and products with the transposed matrix
  std::size_t memory_limit = 0;     ///< bytes the chosen format may take; 0: twice those of CSR
  bool may_reorder = false;         ///< rows and columns may be renumbered inside the plan (host)
  bool will_change = false;         ///< without update_values being called: only CSR follows
  /// Only this format, whatever is predicted; it may still be refused.
  std::optional<spmv_format> format = {};
  double value_updates = 0;    ///< calls of update_values: what they need is made with the plan
  bool by_environment = false; ///< format is LACUNA_FORCE_FORMAT's; with_environment() says so
};
/// Hints without a format ask for that of LACUNA_FORCE_FORMAT (csr, packed_csr, ell_csr, csr_k), if
/// it is set and not empty: what plan() does with every hints it is given. Throws bad_input for
/// another name.
LACUNA_EXPORT plan_hints with_environment(plan_hints hints);

/// Bytes of a value, a column index and an offset.
struct type_widths {
  std::int64_t value = 8;
  std::int64_t index = 4;
  std::int64_t offset = 4;
};

/// One way to multiply, and what is predicted of it.
struct plan_candidate {
  spmv_format format = spmv_format::csr;
  spmv_class kernel = spmv_class::csr_rows;
  ell_csr_options ell;        ///< of ell_csr
  csr_k_options csr_k;        ///< of csr_k
  bool reordered = false;     ///< csr_k in the order of Band-k
  double bytes = 0;           ///< of the matrix in this format
  double seconds = 0;         ///< of one product
  double convert_seconds = 0; ///< once
  double total_seconds = 0;   ///< of all products and the conversion
  std::string refused;        ///< why it is out of the question; empty: it is not
};

struct plan_decision {
  std::vector<plan_candidate> candidates; ///< the chosen one first, refused ones last
  std::vector<std::string> reasons;       ///< in sentences
  [[nodiscard]] const plan_candidate& chosen() const { return candidates.front(); }
};

LACUNA_EXPORT plan_decision choose_plan(const spmv_features& found, const type_widths& widths,
                                        const spmv_machine& machine, const plan_hints& hints);

/// How ell_csr would be made of such a matrix: rows in order, or by length with long rows apart.
struct ell_csr_choice {
  ell_csr_options in_order;
  ell_csr_options by_length;
  bool may_be_in_order = false; ///< no row is long and padding is bearable
};
LACUNA_EXPORT ell_csr_choice choose_ell_csr(const spmv_features& found,
                                            const spmv_machine& machine);

/// The work of one product in each class of kernels. Tuning fits costs to these.
LACUNA_EXPORT spmv_work work_of(const spmv_features& found, const type_widths& widths,
                                spmv_class kernel);

} // namespace lacuna
