// Some rows of a matrix, and the entries of these one after another: for kernels that look at each.
#pragma once

#include <lacuna/format/csr.hpp>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/offsets.cuh"
#include "gpu/parts/scan.cuh"

namespace lacuna::detail::gpu {

/// One element. Waits.
template <class V> V value_at(const device_context& ctx, const V* p) {
  V value{};
  read_back(ctx, &value, p, 1);
  return value;
}

/// Rows that follow one another, their entries numbered as they are stored, or listed rows, their
/// entries numbered one after another.
template <class I> struct looked_at {
  read_offsets rowptr;
  const I* list; ///< null: rows from `first` on
  std::int64_t first, count;
  read_offsets starts; ///< of the rows in this numbering; count + 1 of them
  std::int64_t begin, end;

  struct place {
    std::int64_t row, entry;
  };
  /// Where entry k of the row-th of the rows is stored.
  __device__ place stored(std::int64_t row, std::int64_t k) const {
    if (list == nullptr) return {first + row, k};
    const std::int64_t from = list[row];
    return {from, rowptr[from] + (k - starts[row])};
  }
};

/// Where the entries of each listed row begin, and their number.
template <class I>
array<std::int64_t, space::device> number_listed(const device_context& ctx,
                                                 const looked_at<I>& rows) {
  array<std::int64_t, space::device> lengths(ctx, rows.count), starts(ctx, rows.count + 1);
  for_each(ctx, rows.count, "listed rows",
           [rowptr = rows.rowptr, list = rows.list,
            lengths = lengths.data()] __device__(std::int64_t i) {
             const std::int64_t row = list[i];
             lengths[i] = rowptr[row + 1] - rowptr[row];
           });
  exclusive_sums(ctx, rows.count, lengths.data(), starts.data());
  return starts;
}

/// `count` rows, one at least: those of a list, or from `first` on. Waits for the number of their
/// entries unless all rows are looked at.
template <class I> class chosen_rows {
public:
  template <class T, class O>
  chosen_rows(const device_context& ctx, csr_view<const T, I, O, space::device> a, const I* list,
              std::int64_t first, std::int64_t count)
      : rows_{a.rowptr().data(), list, first, count, a.rowptr().data() + first, 0, a.size()} {
    const O* const rowptr = a.rowptr().data();
    if (list != nullptr) {
      starts_ = number_listed(ctx, rows_);
      rows_.starts = std::as_const(starts_).data();
      rows_.end = value_at(ctx, starts_.data() + count);
    } else if (count != a.shape().row) {
      const read_ahead<O> begin(ctx.stream(), rowptr + first); // one wait for both
      rows_.end = value_at(ctx, rowptr + first + count);
      rows_.begin = begin.get();
    }
  }
  [[nodiscard]] const looked_at<I>& rows() const { return rows_; }

private:
  array<std::int64_t, space::device> starts_; // of listed rows
  looked_at<I> rows_;
};

/// A matrix without rows.
template <class T, class I, class O>
csr<T, I, O, space::device> without_rows(const device_context& ctx, index<I> shape, facts order) {
  csr<T, I, O, space::device> none(ctx, shape, 0, order);
  check(cudaMemsetAsync(none.rowptr().data(), 0, sizeof(O), ctx.stream()), "without_rows");
  return none;
}

} // namespace lacuna::detail::gpu
