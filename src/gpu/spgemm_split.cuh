// Lists of rows, split in two.
#pragma once

#include "gpu/parts/offsets.cuh"
#include "gpu/parts/scan.cuh"
#include "gpu/spgemm_bins.cuh"

namespace lacuna::detail::gpu {

template <class I, class Condition> struct flag_rows {
  row_list<I> rows;
  Condition holds;
  I* listed;
  char* flags;
  __device__ void operator()(std::int64_t i) const {
    const auto row = static_cast<I>(rows[i]);
    listed[i] = row;
    flags[i] = holds(row) ? 1 : 0;
  }
};

/// The rows of a list for which a condition holds, and the others. Waits, unless it is known that
/// there are none and `look` is false.
template <class I> class row_split {
public:
  template <class Condition>
  row_split(const device_context& ctx, row_list<I> rows, bool look, const Condition& holds)
      : matching{nullptr, 0}, others(rows) {
    if (rows.count == 0 || !look) return;
    list_ = array<I, space::device>(ctx, rows.count);
    array<I, space::device> listed(ctx, rows.count);
    array<char, space::device> flags(ctx, rows.count);
    for_each(ctx, rows.count, "row_split",
             flag_rows<I, Condition>{rows, holds, listed.data(), flags.data()});
    matching.count = partition(ctx, rows.count, std::as_const(listed).data(),
                               std::as_const(flags).data(), list_.data());
    matching.rows = list_.data();
    others = {list_.data(), rows.count - matching.count, matching.count};
  }
  row_list<I> matching, others;
  [[nodiscard]] std::size_t bytes() const { return list_.bytes(); }

private:
  array<I, space::device> list_;
};

/// Heavy rows whose products are so few beside their columns that ranges of columns would mostly be
/// empty.
template <class I, class O> struct is_broad_row {
  known_rows<I, O> known;
  std::int64_t broad_span;
  __device__ bool operator()(I row) const { return spgemm::is_broad(known.work(row), broad_span); }
};

/// Rows by how they are filled, as long as patterns stay: each class, and the broad ones among
/// those that are not light.
template <class I> struct fill_bins {
  row_bins<I> bins;
  row_split<I> split;
  [[nodiscard]] std::size_t bytes() const { return bins.bytes() + split.bytes(); }
};

/// For a C whose rowptr is known. `totals` are those of count_rows; `binned` are zeros. Waits where
/// some rows may be broad.
template <class I, class O>
fill_bins<I> bin_to_fill(const device_context& ctx, const spgemm_factors<I, O>& f,
                         const known_rows<I, O>& known, const spgemm_totals& totals,
                         read_offsets rowptr, unsigned long long* binned);

/// Fills rows that one thread per row merges (spgemm_fill_merged.cu). Sets `wrong` where a row has
/// another number of entries than was counted.
template <class T, class I, class O>
void fill_merged_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                      const spgemm_values<T>& v, row_list<I> rows, const spgemm_totals& totals,
                      read_offsets rowptr, const fill_target<T, I>& target, int* wrong,
                      cudaStream_t stream);

/// Columns and values of C, whose rowptr is known. Waits to know whether every row had the entries
/// that were counted; false if not. `wrong`, on the device, is 0.
template <class T, class I, class O>
bool fill_rows(const device_context& ctx, const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
               const known_rows<I, O>& known, const spgemm_totals& totals, const fill_bins<I>& rows,
               read_offsets rowptr, const fill_target<T, I>& target, spgemm_order order, int* wrong,
               stage_clock& clock);

} // namespace lacuna::detail::gpu
