// Internal: how host kernels walk over the rows of a dynamic CSR.
#pragma once

#include <lacuna/format/dynamic_csr.hpp>

namespace lacuna::detail::cpu {

/// Rows by which a row is asked for ahead of its turn: those of one segment follow each other in
/// the pool, others' further segments lie anywhere, and would be waited for one by one.
inline constexpr std::int64_t rows_ahead = 8;

/// Segments from the first-th on.
template <class T, class I, class O>
void ask_for_segments(const dynamic_csr_view<const T, I, O>& a, std::int64_t row, int first) {
  if (row >= a.extent.row) return;
  for (int s = first; s < a.segment_count(row); ++s) {
    const std::int64_t begin = a.segment_begin(row, s);
    __builtin_prefetch(a.colind + begin);
    __builtin_prefetch(a.values + begin);
  }
}

} // namespace lacuna::detail::cpu
