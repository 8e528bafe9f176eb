// Heavy rows of the numeric pass: spgemm_fill_heavy.cu.
#pragma once

#include "gpu/parts/fork.cuh"
#include "gpu/spgemm_split.cuh"

namespace lacuna::detail::gpu {

template <class I> struct has_more_products {
  const std::uint32_t* products;
  std::int64_t many;
  __device__ bool operator()(I row) const { return products[row] > many; }
};

/// Rows in ranges of so many columns, and the entries of C in each range.
template <class I> struct range_launch {
  row_list<I> rows;
  int range_columns;
  std::int64_t ranges;
  std::int64_t at_once; // rows
  array<std::uint32_t, space::device> counts;
};

/// Fills heavy rows, one block per range of a row's columns. Waits if some are cut finer than
/// others; all memory is allocated at the beginning.
template <class T, class I, class O> class heavy_fill {
public:
  heavy_fill(const device_context& ctx, const spgemm_factors<I, O>& f, row_list<I> heavy,
             const spgemm_totals& totals, const known_rows<I, O>& known);
  [[nodiscard]] int launches() const {
    return (longest_.rows.count > 0 ? 1 : 0) + (others_.rows.count > 0 ? 1 : 0);
  }
  /// Sets `wrong` where a row has another number of entries than was counted.
  void run(const spgemm_values<T>& v, read_offsets rowptr, const fill_target<T, I>& target,
           spgemm_order order, int* wrong, launch_fork& fork);

private:
  const device_context& ctx_;
  spgemm_factors<I, O> f_;
  known_rows<I, O> known_;
  double mean_length_; // of the rows of B that products come from
  spgemm::range_sizes sizes_;
  row_split<I> split_;
  range_launch<I> longest_, others_;
};

} // namespace lacuna::detail::gpu
