// HYB that takes batches, to be compared with: the rival of King et al. (2016). Entries go to free
// places of their row in ELL, without looking for ones that are there; what finds none is appended
// to the rest, which is then sorted by row again. As in theirs, counters are atomic, so the order
// of a row's entries may differ from run to run.
#pragma once

#include "bench/hyb/hyb.hpp"
#include <lacuna/format/coo.hpp>

namespace lacuna::bench {

template <class T, space S> struct dynamic_hyb {
  hyb<T, S> parts;             ///< the rest as CSR, for products
  array<index_t, S> filled;    ///< entries of each row in ELL
  array<index_t, S> rest_rows; ///< of the rest, ascending
  /// As ELL and coordinates.
  [[nodiscard]] std::size_t bytes() const {
    return parts.columns.bytes() + parts.values.bytes() + filled.bytes() +
           static_cast<std::size_t>(parts.rest.size()) * (2 * sizeof(index_t) + sizeof(T));
  }
};

/// width: of the ELL part.
template <class T>
dynamic_hyb<T, space::host> to_dynamic_hyb(const host_context& ctx, csr_view<const T> a,
                                           std::int64_t width);
template <class T>
dynamic_hyb<T, space::device> to_dynamic_hyb(const device_context& ctx,
                                             csr_view<const T, index_t, offset_t, space::device> a,
                                             std::int64_t width);

/// All of the batch, the rest being sorted after it. Entries must lie inside. Waits.
template <class T>
void insert_batch(const host_context& ctx, dynamic_hyb<T, space::host>& m,
                  coo_view<const T, index_t, offset_t> batch);
template <class T>
void insert_batch(const device_context& ctx, dynamic_hyb<T, space::device>& m,
                  coo_view<const T, index_t, offset_t, space::device> batch);

/// Sorts the rest, as a batch does that adds to it: the time of that alone.
template <class T> void sort_rest(const host_context& ctx, dynamic_hyb<T, space::host>& m);
template <class T> void sort_rest(const device_context& ctx, dynamic_hyb<T, space::device>& m);

/// Columns ascending, entries of the same place added up.
template <class T, space S>
csr<T> to_host_csr(const host_context& host, const dynamic_hyb<T, S>& m) {
  const auto columns = copy_to(host, m.parts.columns);
  const auto values = copy_to(host, m.parts.values);
  const auto rest = copy_to(host, m.parts.rest);
  std::int64_t entries = rest.size();
  for (const index_t column : columns.view()) entries += column >= 0 ? 1 : 0;
  csr<T> result(host, m.parts.shape, static_cast<offset_t>(entries));
  offset_t next = 0;
  for (std::int64_t i = 0; i < m.parts.shape.row; ++i) {
    result.rowptr()[i] = next;
    for (std::int64_t k = i; k < columns.size() && columns[k] >= 0; k += m.parts.stride) {
      result.colind()[next] = columns[k];
      result.values()[next++] = values[k];
    }
    for (offset_t k = rest.rowptr()[i]; k < rest.rowptr()[i + 1]; ++k) {
      result.colind()[next] = rest.colind()[k];
      result.values()[next++] = rest.values()[k];
    }
  }
  result.rowptr()[m.parts.shape.row] = next;
  sort(host, result);
  return merge_duplicates(host, result, duplicates::sum);
}

} // namespace lacuna::bench
