// Entries whose rows ascend are CSR but for the row pointers.
#pragma once

#include <atomic>

#include <lacuna/core/array.hpp>

#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {

template <class I> bool ascends(const host_context& ctx, vector_view<const I> v) {
  std::atomic<bool> result{true};
  for_each_range(ctx, v.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t last = std::min(end + 1, v.size());
    if (!std::is_sorted(v.begin() + begin, v.begin() + last))
      result.store(false, std::memory_order_relaxed);
  });
  return result.load();
}

/// rowptr of entries whose rows ascend: entry k opens the rows after that of entry k - 1.
template <class I, class O>
void find_row_starts(const host_context& ctx, vector_view<const I> rowind, std::int64_t rows,
                     O* rowptr) {
  const std::int64_t nnz = rowind.size();
  for_each_range(ctx, nnz, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t after = k == 0 ? 0 : std::int64_t{rowind[k - 1]} + 1;
      for (std::int64_t i = after; i <= rowind[k]; ++i) rowptr[i] = static_cast<O>(k);
    }
  });
  const std::int64_t rest = nnz == 0 ? 0 : std::int64_t{rowind[nnz - 1]} + 1;
  std::fill(rowptr + rest, rowptr + rows + 1, static_cast<O>(nnz));
}

} // namespace lacuna::detail::cpu
