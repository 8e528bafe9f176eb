// Internal: a CSR matrix cut into ranges of rows for several contexts.
#pragma once

#include <vector>

#include <lacuna/core/array.hpp>

namespace lacuna::detail {

/// Rows [first, last), entries [begin, end), columns of which are in [low, high).
struct row_range {
  std::int64_t first = 0, last = 0, begin = 0, end = 0, low = 0, high = 0;
};

/// What is cut: offsets and columns of A, and where B's rows begin if A's are weighed by their
/// products with B; null: by their entries.
template <class I, class O> struct rows_to_cut {
  const O* rowptr;
  const I* colind;
  const O* b_rowptr;
  std::int64_t rows, entries;
};

/// The first row in [0, rows] before which the weight is at least `wanted`: a row counts as one
/// entry, or product, more than it has. `before` has the weights of entries, or is null: 1 each.
template <class O>
constexpr std::int64_t row_of_weight(const O* rowptr, const std::int64_t* before, std::int64_t rows,
                                     std::int64_t wanted) {
  std::int64_t low = 0, high = rows;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    const std::int64_t at = rowptr[middle];
    if ((before == nullptr ? at : before[at]) + middle < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

namespace cpu {
/// n ranges of like weight, one after the other; some may be empty. On a device: waits.
template <class I, class O>
std::vector<row_range> cut_rows(const host_context& ctx, const rows_to_cut<I, O>& a, int n);
/// to[i] = from[i] + by.
template <class O>
void shift_offsets(const host_context& ctx, const O* from, std::int64_t size, O by, O* to);
} // namespace cpu
namespace gpu {
template <class I, class O>
LACUNA_GPU_EXPORT std::vector<row_range> cut_rows(const device_context& ctx,
                                                  const rows_to_cut<I, O>& a, int n);
template <class O>
LACUNA_GPU_EXPORT void shift_offsets(const device_context& ctx, const O* from, std::int64_t size,
                                     O by, O* to);
} // namespace gpu

template <class I, class O, space S>
std::vector<row_range> cut_rows(const context<S>& ctx, const rows_to_cut<I, O>& a, int n) {
  if constexpr (S == space::host)
    return cpu::cut_rows<I, O>(ctx, a, n);
  else
    return gpu::cut_rows<I, O>(ctx, a, n);
}
template <class O, space S>
void shift_offsets(const context<S>& ctx, const O* from, std::int64_t size, O by, O* to) {
  if constexpr (S == space::host)
    cpu::shift_offsets<O>(ctx, from, size, by, to);
  else
    gpu::shift_offsets<O>(ctx, from, size, by, to);
}

} // namespace lacuna::detail
