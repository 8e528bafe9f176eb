// Internal: what the numeric pass's two files share.
#pragma once

#include "gpu/spgemm_bins.cuh"

namespace lacuna::gpu {

/// Where entries go. A pattern that is there already is compared instead of written.
template <class T, class I> struct fill_target {
  I* colind;
  T* values;
  bool refill;
  template <class P> __device__ void put_column(P at, I column, int* wrong) const {
    if (!refill)
      colind[at] = column;
    else if (colind[at] != column)
      atomicOr(wrong, 1);
  }
  template <class P> __device__ void put(P at, I column, T value, int* wrong) const {
    put_column(at, column, wrong);
    values[at] = value;
  }
};

/// The rows of C that no table holds; sets *wrong if a row has not the entries that were counted.
template <class T, class I, class O, class OC>
void fill_heavy_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                     const spgemm_values<T, I, O>& v, row_list<I> heavy, const I* first,
                     const I* last, const OC* rowptr, const fill_target<T, I>& target, int* wrong);

} // namespace lacuna::gpu
