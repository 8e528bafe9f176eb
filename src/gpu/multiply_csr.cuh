// Internal: the multiplication by tiles, shared by one vector and several.
#pragma once

#include "gpu/parts/tiles.cuh"
#include <lacuna/op/multiply.hpp>

namespace lacuna::detail::gpu {

/// The arguments of the kernels: raw pointers and strides, passed by value. Vector j, a
/// column of X, is at x + j x_stride, and so for Z and Y.
template <class T, class I, class O, class Columns = const I*> struct multiply_arguments {
  const O* rowptr;
  Columns colind;
  const T* values;
  const T* x;
  const T* z; // may be y
  T* y;
  std::int64_t rows;
  std::int64_t entries;
  T alpha;
  T beta;
  std::int64_t vectors = 1;
  std::int64_t x_stride = 0;
  std::int64_t z_stride = 0;
  std::int64_t y_stride = 0;
};

template <class T, class I, class O>
multiply_arguments<T, I, O> make_arguments(T alpha, device_csr<T, I, O> a, const T* x, T beta,
                                           const T* z, T* y) {
  return {a.rowptr().data(),
          a.colind().data(),
          a.values().data(),
          x,
          z,
          y,
          a.shape().row,
          a.size(),
          alpha,
          beta};
}

/// alpha sum + beta z, where z is not read if beta is 0.
template <class T> __device__ T finish(T alpha, T sum, T beta, const T* z, std::int64_t i) {
  return beta == T{0} ? alpha * sum : alpha * sum + beta * z[i];
}

/// Products a block of the tiles kernel holds: 10 loads of a column and a value a thread are in
/// flight before the first is used (measured on an H200 against 4, 5, 6 and 8).
constexpr int tile_items_per_thread = 10;
constexpr int tile_capacity = block_threads * tile_items_per_thread;

/// Rows weigh half an entry: less than an entry costs, but a tile of empty rows only must
/// not grow without bound.
constexpr tile_shape split_tiles{tile_capacity, 2, true};
/// For rows of at most `longest` entries, half the capacity or less.
constexpr tile_shape whole_row_tiles(std::int64_t longest) {
  return {tile_capacity - longest + 1, 8, false};
}

/// What a tile may hold: short_rows: whole rows of at most 32 entries; whole_rows: of any length
/// that fits; split: also parts of rows.
enum class tile_kind { short_rows, whole_rows, split };

inline tile_kind kind_of_tiles(const spmv_kernel& kernel, const row_statistics& lengths) {
  if (kernel.method == spmv_method::split_tiles) return tile_kind::split;
  return lengths.longest <= 32 ? tile_kind::short_rows : tile_kind::whole_rows;
}

template <class T, class I, class O>
void multiply_tiles(const device_context& ctx, const multiply_arguments<T, I, O>& p, tile_kind kind,
                    vector_view<const tile_start<I, O>, space::device> starts);

/// Several columns, or vectors whose elements have gaps between them; the device is set.
template <class T, class I, class O>
void multiply_csr_dense(const device_context& ctx, T alpha, device_csr<T, I, O> a,
                        dense_view<const T, space::device> x, T beta,
                        dense_view<const T, space::device> z, dense_view<T, space::device> y);

} // namespace lacuna::detail::gpu
