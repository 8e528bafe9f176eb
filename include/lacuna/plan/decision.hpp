// What a plan is asked for, and what it was chosen from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lacuna/core/export.hpp>

namespace lacuna {

/// What the caller knows and the matrix does not say.
struct plan_hints {
  double multiplies = 1000;         ///< products that will be asked for
  double transposed_multiplies = 0; ///< and products with the transposed matrix
  std::size_t memory_limit = 0;     ///< bytes the chosen format may take; 0: twice those of CSR
  bool may_reorder = false;         ///< rows and columns may be renumbered inside the plan (host)
  bool will_change = false;         ///< without update_values being called: only CSR follows
  /// Only this format ("ell_csr"), whatever is predicted; it may still be refused. Empty: the one
  /// that the environment variable LACUNA_FORCE_FORMAT names, else the fastest.
  std::string format = {};
  double value_updates = 0; ///< calls of update_values: what they need is made with the plan
  /// Batches that will insert or erase entries: dynamic_csr, which takes them (see dynamic()).
  double updates = 0;
};

/// The formats that plans choose from, in the order of their table: "csr" first.
LACUNA_EXPORT std::vector<std::string> planned_formats();
/// The same in a sentence: "csr, packed_csr or bsr".
LACUNA_EXPORT std::string planned_formats_in_words();

/// A number that says how a format is made of a matrix: "long_row" 65.
struct plan_option {
  std::string name;
  std::int64_t value = 0;
  friend bool operator==(const plan_option&, const plan_option&) = default;
};
using plan_options = std::vector<plan_option>;

/// What one product has to do.
struct spmv_work {
  double stream = 0;  ///< bytes that are read or written once: the matrix, x, y
  double gather = 0;  ///< bytes of x in sectors of 32 that are read anew for every 32 lanes
  double rows = 0;    ///< rows
  double entries = 0; ///< entries, padding included
};

/// One way to multiply, and what is predicted of it.
struct plan_candidate {
  std::string format;         ///< "ell_csr"
  std::string kernel;         ///< "ell_even": formats may have several
  plan_options options;       ///< of the format
  std::string why;            ///< what about the matrix speaks for it, a sentence
  spmv_work work;             ///< of one product
  double bytes = 0;           ///< of the matrix in this format
  double seconds = 0;         ///< of one product; 0: not predicted, as the format was given
  double convert_seconds = 0; ///< once
  double total_seconds = 0;   ///< of all products and the conversion
  std::string refused;        ///< why it is out of the question; empty: it is not
};

struct plan_decision {
  std::vector<plan_candidate> candidates; ///< the chosen one first, refused ones last
  std::vector<std::string> reasons;       ///< in sentences
  [[nodiscard]] const plan_candidate& chosen() const { return candidates.front(); }
};

} // namespace lacuna
