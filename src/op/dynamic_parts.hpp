// Internal: what the engines do for a dynamic CSR in parts: rows dealt out, batches split, results
// gathered.
#pragma once

#include <vector>

#include <lacuna/format/dynamic_csr_parts.hpp>

#include "op/part_contexts.hpp"

namespace lacuna::detail {

/// Rows of part p when `rows` are dealt out to n parts, and where they begin when parts stand one
/// after the other.
constexpr std::int64_t rows_of_part(std::int64_t rows, std::int64_t n, std::int64_t p) {
  return (rows + n - 1 - p) / n;
}
constexpr std::int64_t begin_of_part(std::int64_t rows, std::int64_t n, std::int64_t p) {
  return rows / n * p + (p < rows % n ? p : rows % n);
}
/// The place of a row when parts stand one after the other.
constexpr std::int64_t place_of_slot(std::int64_t slot, std::int64_t rows, std::int64_t n) {
  return begin_of_part(rows, n, slot % n) + slot / n;
}

/// Entries of a batch, and the places of rows, as they are where the batch is.
template <class T, class I> struct batch_to_split {
  const I *rowind, *colind;
  const T* values; ///< null: there are none
  std::int64_t size;
  const I* slots;
  std::int64_t dealt; ///< rows that have a slot; of later ones it is their number
  std::int64_t rows, cols, parts;

  constexpr bool is_outside(std::int64_t k) const {
    return rowind[k] < 0 || rowind[k] >= rows || colind[k] < 0 || colind[k] >= cols;
  }
  constexpr I slot(std::int64_t k) const {
    return rowind[k] < dealt ? slots[rowind[k]] : rowind[k];
  }
  /// What entries are sorted by: their part, or their row where parts stand one after the other.
  constexpr I key(std::int64_t k, bool by_row) const {
    const std::int64_t s = slot(k);
    return static_cast<I>(by_row ? place_of_slot(s, rows, parts) : s % parts);
  }
  [[nodiscard]] constexpr std::int64_t keys(bool by_row) const { return by_row ? rows : parts; }
  /// The first key of a part; of one more, the end.
  [[nodiscard]] constexpr std::int64_t first_key(std::int64_t part, bool by_row) const {
    return by_row ? begin_of_part(rows, parts, part) : part;
  }
};
/// Entries of part p: places [starts[p], starts[p + 1]). Rows are the part's own.
template <class T, class I, space S> struct split_batch {
  array<I, S> rowind, colind;
  array<T, S> values; ///< empty where the batch has none
  std::vector<std::int64_t> starts;
  std::int64_t outside = -1; ///< the first entry outside of the matrix: then the rest means nothing
};

namespace cpu {
/// slots[i]: the place of row i in the order of length, longest first; like ones by number.
template <class I, class O>
void deal_rows(const host_context& ctx, const O* rowptr, std::int64_t rows, I* slots);
/// to[slots[i]] = i for i in [0, rows). slots null: they are i.
template <class I>
void invert_slots(const host_context& ctx, const I* slots, std::int64_t rows, I* to);
/// By part, entries of one part in their order; by_row: in the order of the part's rows. Device:
/// waits.
template <class T, class I>
split_batch<T, I, space::host> split_by_part(const host_context& ctx,
                                             const batch_to_split<T, I>& batch, bool by_row);
/// rowind[k], a row of part p out of n, becomes the matrix's row.
template <class I>
void number_rows(const host_context& ctx, const I* row_of_slot, std::int64_t n, std::int64_t p,
                 I* rowind, std::int64_t size);
/// y by row from results of all parts, one after the other.
template <class T, class I>
void gather_parts(const host_context& ctx, const T* results, const I* slots, std::int64_t rows,
                  std::int64_t n, T* y);
} // namespace cpu
namespace gpu {
template <class I, class O>
LACUNA_GPU_EXPORT void deal_rows(const device_context& ctx, const O* rowptr, std::int64_t rows,
                                 I* slots);
template <class I>
LACUNA_GPU_EXPORT void invert_slots(const device_context& ctx, const I* slots, std::int64_t rows,
                                    I* to);
template <class T, class I>
LACUNA_GPU_EXPORT split_batch<T, I, space::device>
split_by_part(const device_context& ctx, const batch_to_split<T, I>& batch, bool by_row);
template <class I>
LACUNA_GPU_EXPORT void number_rows(const device_context& ctx, const I* row_of_slot, std::int64_t n,
                                   std::int64_t p, I* rowind, std::int64_t size);
template <class T, class I>
LACUNA_GPU_EXPORT void gather_parts(const device_context& ctx, const T* results, const I* slots,
                                    std::int64_t rows, std::int64_t n, T* y);
} // namespace gpu

} // namespace lacuna::detail
