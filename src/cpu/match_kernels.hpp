// Internal: columns that rows of two matrices have in common, counted with vectors, compiled for
// several instruction sets by Highway; the best this machine has is picked at first use.
#pragma once

#include <cstdint>

namespace lacuna::detail::cpu {

template <class I, class O> struct match_kernels {
  /// How many columns rows [row, row_end) of A and B have in common; columns ascend in each row.
  /// A has a_entries in all.
  std::int64_t (*count)(const O* a_rowptr, const I* a_col, std::int64_t a_entries,
                        const O* b_rowptr, const I* b_col, std::int64_t row, std::int64_t row_end);
};

template <class I, class O> const match_kernels<I, O>& best_match_kernels();

} // namespace lacuna::detail::cpu
