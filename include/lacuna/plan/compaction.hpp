// When it pays to compact a dynamic matrix.
//
//   const auto advice = advise_compaction(ctx, m, 100);   100 products until the next batch
//   if (advice.pays) compact(ctx, m);
//   advice.reason                                         why, in a sentence
#pragma once

#include <lacuna/format/dynamic_csr.hpp>
#include <lacuna/plan/tune.hpp>

namespace lacuna {

/// What a dynamic matrix knows of itself without looking at its rows.
struct dynamic_statistics {
  std::int64_t rows = 0, entries = 0;
  std::int64_t used = 0; ///< places of the pool: entries, free ones, and what rows left behind
  int segments_max = 0;  ///< of the row that has most
  bool compact = false;
};
struct compaction_advice {
  bool pays = false;       ///< within the products that were asked about
  double slowdown = 1;     ///< of a product, against one of the compact matrix
  double repaid_after = 0; ///< products; infinity: never
  std::string reason;
};

/// A pure function. How many segments there are is not known: it is guessed from the places that
/// are taken, as if each began with one entry and its slack were the default. Throws bad_input if
/// `multiplies` is negative.
LACUNA_EXPORT compaction_advice advise_compaction(const spmv_machine& machine,
                                                  const dynamic_statistics& m,
                                                  const type_widths& widths, double multiplies);

/// Of a matrix as it is now. O(1).
template <class T, class I, class O, space S>
compaction_advice advise_compaction(const context<S>& ctx, const dynamic_csr<T, I, O, S>& m,
                                    double multiplies) {
  return advise_compaction(machine_of(ctx),
                           {m.shape().row, m.size(), m.used(), m.segments_max(), m.is_compact()},
                           {sizeof(T), sizeof(I), sizeof(O)}, multiplies);
}

} // namespace lacuna
