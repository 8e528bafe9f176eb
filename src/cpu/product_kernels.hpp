// Internal: products of the entries that rows of two matrices have in common, found with vectors,
// compiled for several instruction sets by Highway; the best this machine has is picked at first
// use.
#pragma once

#include <cstdint>

namespace lacuna::detail::cpu {

/// alpha times a CSR matrix; columns ascend in each row.
template <class T, class I, class O> struct factor {
  T alpha;
  const O* rowptr;
  const I* col;
  const T* value;
  std::int64_t entries;
};

template <class T, class I, class O> struct product_kernels {
  /// Products of entries [i, i_end) of A's and [j, j_end) of B's, all of one row; returns their
  /// number. keep_zeros: those that are 0, too.
  std::int64_t (*piece)(const factor<T, I, O>& a, std::int64_t i, std::int64_t i_end,
                        const factor<T, I, O>& b, std::int64_t j, std::int64_t j_end,
                        bool keep_zeros, I* col, T* value);
  /// Those of rows [row, row_end), written from `at` on, and where each of these rows ends;
  /// returns where the last does.
  std::int64_t (*rows)(const factor<T, I, O>& a, const factor<T, I, O>& b, std::int64_t row,
                       std::int64_t row_end, bool keep_zeros, std::int64_t at, O* rowptr, I* col,
                       T* value);
};

template <class T, class I, class O> const product_kernels<T, I, O>& best_product_kernels();

} // namespace lacuna::detail::cpu
