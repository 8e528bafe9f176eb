// Y = alpha A X + beta Z on the device, A packed: the kernels of CSR, which load columns another
// way. Bytes that must move, 2 a column: nnz (sizeof T + 2 + 1/8) + rows (sizeof O + sizeof T) +
// cols sizeof T.
#include "gpu/multiply_csr_kernels.cuh"
#include "gpu/packed_columns.cuh"
#include <lacuna/format/packed_csr.hpp>

namespace lacuna::detail::gpu {
namespace {

template <class T, class I, class O>
using packed_multiply_arguments = multiply_arguments<T, I, O, packed_columns<I, O>>;

template <class T, class I, class O>
packed_multiply_arguments<T, I, O> make_packed_arguments(T alpha, device_packed_csr<T, I, O> a,
                                                         const T* x, T beta, const T* z, T* y) {
  return {a.rowptr().data(),
          columns_of(a),
          a.values().data(),
          x,
          z,
          y,
          a.shape().row,
          a.size(),
          alpha,
          beta};
}

/// What csr_to_packed_csr found; null for a view without it.
template <class T, class I, class O>
const multiply_inspection<T, I, O, space::device>* schedule_of(device_packed_csr<T, I, O> a) {
  return static_cast<const multiply_inspection<T, I, O, space::device>*>(a.schedule());
}

/// By the tiles that were found when the matrix was made; by new ones, split, if there are none.
template <class T, class I, class O>
void multiply_packed_tiles(const device_context& ctx, const packed_multiply_arguments<T, I, O>& p,
                           const multiply_inspection<T, I, O, space::device>* schedule) {
  if (schedule != nullptr && !schedule->tiles.empty())
    return run_tiles(ctx, p, kind_of_tiles(schedule->kernel, schedule->statistics),
                     schedule->tiles.view());
  const auto tiles = find_tiles<I>(ctx, p.rowptr, p.rows, p.entries, split_tiles);
  run_tiles(ctx, p, tile_kind::split, tiles.view());
}

template <class T>
void copy_elements(const device_context& ctx, dense_view<const T, space::device> from,
                   dense_view<T, space::device> to) {
  const auto [rows, columns] = from.shape();
  for_each(ctx, rows * columns, "packed_csr: copy",
           [from, to, rows = rows] __device__(std::int64_t i) {
             const std::int64_t row = i % rows, column = i / rows;
             to.data()[row * to.row_stride() + column * to.col_stride()] =
                 from.data()[row * from.row_stride() + column * from.col_stride()];
           });
}

/// A dense matrix by columns: as it is, or where it is not stored so, in scratch.
template <class T> class by_columns {
public:
  by_columns(const device_context& ctx, dense_view<T, space::device> a) : given_(a), used_(a) {
    if (a.row_stride() == 1) return;
    scratch_ = dense<std::remove_const_t<T>, space::device>(ctx, a.shape(), layout::column_major);
    used_ = scratch_.view();
  }
  dense_view<T, space::device> view() const { return used_; }
  void fill(const device_context& ctx) {
    if (used_.data() != given_.data()) copy_elements<std::remove_const_t<T>>(ctx, given_, scratch_);
  }
  void give_back(const device_context& ctx) {
    if (used_.data() != given_.data()) copy_elements<T>(ctx, scratch_, given_);
  }

private:
  dense_view<T, space::device> given_, used_;
  dense<std::remove_const_t<T>, space::device> scratch_;
};

} // namespace

template <class T, class I, class O>
void multiply_format(const device_context& ctx, T alpha, device_packed_csr<T, I, O> a,
                     dense_view<const T, space::device> x, T beta,
                     dense_view<const T, space::device> z, dense_view<T, space::device> y) {
  const auto [rows, vectors] = y.shape();
  if (rows == 0 || vectors == 0) return;
  const device_guard guard(ctx.device());
  const auto* const schedule = schedule_of<T, I, O>(a);
  if (are_vectors(x, beta, z, y)) {
    const auto p = make_packed_arguments(alpha, a, x.data(), beta, z.data(), y.data());
    if (schedule != nullptr && schedule->kernel.method == spmv_method::rows)
      return run_rows(ctx, p, schedule->kernel.lanes);
    return multiply_packed_tiles(ctx, p, schedule);
  }
  if (beta == T{0}) z = {};
  by_columns<const T> x_used(ctx, x), z_used(ctx, z);
  by_columns<T> y_used(ctx, y);
  x_used.fill(ctx);
  z_used.fill(ctx);
  auto p = make_packed_arguments(alpha, a, x_used.view().data(), beta, z_used.view().data(),
                                 y_used.view().data());
  p.vectors = vectors;
  p.x_stride = x_used.view().col_stride();
  p.z_stride = z_used.view().col_stride();
  p.y_stride = y_used.view().col_stride();
  multiply_packed_tiles(ctx, p, schedule);
  y_used.give_back(ctx);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_format<T, I, O>(                                                          \
      const device_context&, T, device_packed_csr<T, I, O>, dense_view<const T, space::device>, T, \
      dense_view<const T, space::device>, dense_view<T, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
