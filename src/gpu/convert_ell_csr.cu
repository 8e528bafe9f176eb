// CSR to ell_csr on the device: rows are dealt out to slices, a warp looks at each slice once to
// find its steps and packing, and once more to fill it. Twice over the columns, once over the
// values, once over the result: about 10 products.
#include <cub/device/device_scan.cuh>

#include "plan/ell_csr_layout.hpp"
#include "gpu/ell_csr_rows.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/parts/reduce.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Over a full warp, where columns have 32 bits by one instruction.
template <class I> __device__ I least_of_warp(I column) {
  if constexpr (sizeof(I) == 4) {
    return __reduce_min_sync(whole_warp, column);
  } else {
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
      column = min(column, __shfl_xor_sync(whole_warp, column, step));
    return column;
  }
}
template <class I> __device__ I largest_of_warp(I column) {
  return static_cast<I>(~least_of_warp(static_cast<I>(~column)));
}

template <class T, class I, class O> struct walk_arguments {
  const O* rowptr;
  const I* colind;
  const T* values;
  std::int64_t row_count;
  const row_piece<I>* pieces;
  const I* rows; // may be null
  const unsigned char* logs;
  std::int64_t slice_count, piece_count, piece;
  bool packed;
};

/// What the calling lane still has to read: entries at, at + stride, … below end.
struct lane_walk {
  std::int64_t at = 0, end = 0;
  int log = 0;

  template <class T, class I, class O>
  __device__ lane_walk(const walk_arguments<T, I, O>& p, std::int64_t slice, int lane) {
    if (slice < p.piece_count) {
      const row_piece<I> piece = p.pieces[slice];
      const std::int64_t begin = p.rowptr[piece.row], last = p.rowptr[piece.row + 1];
      const std::int64_t length = detail::piece_length(last - begin, p.piece);
      const std::int64_t from = begin + (slice - piece.first) * length;
      at = from + lane;
      end = min(from + length, last);
      log = 5;
      return;
    }
    slice -= p.piece_count;
    log = p.logs == nullptr ? 0 : p.logs[slice];
    std::int64_t row = slice * slice_lanes + (lane >> log);
    if (p.rows != nullptr)
      row = p.rows[row];
    else if (row >= p.row_count)
      row = -1;
    if (row < 0) return;
    at = p.rowptr[row] + lane % (1 << log);
    end = p.rowptr[row + 1];
  }
  __device__ bool has() const { return at < end; }
};

/// A slice's steps and packing, in the place of its offsets; and what evenness is decided by.
struct measured_slice {
  ell_slice slice;
  detail::slice_widths widths;
};

template <class T, class I, class O>
__global__ void measure_slices_kernel(const walk_arguments<T, I, O> p, measured_slice* measured) {
  constexpr I none = std::numeric_limits<I>::max();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t slice = thread_index() / 32;
  if (slice >= p.slice_count) return;
  const lane_walk whole(p, slice, lane);
  const int stride = 1 << whole.log;

  detail::slice_widths widths;
  I spread = 0; // of one lane's steps from the base; their maximum is taken at the end
  for (lane_walk walk = whole; __any_sync(whole_warp, walk.has()); walk.at += stride) {
    const I column = walk.has() ? p.colind[walk.at] : none;
    const I base = least_of_warp(column);
    if (walk.has()) spread = max(spread, column - base);
    ++widths.plain_steps;
  }
  const packing kind = detail::packing_for(largest_of_warp(spread));
  widths.plain_kind = static_cast<std::int64_t>(kind);
  const auto bytes = [](packing k) { return detail::step_bytes(k, sizeof(T), sizeof(I)); };
  const std::int64_t most = widths.plain_steps * bytes(kind);
  bool done = most == 0;
  if (whole.log == 0) {
    lane_walk walk = whole;
    I next = walk.has() ? p.colind[walk.at] : none; // the next column, minus the lane
    if (walk.has()) next -= lane;
    while (!done && widths.diagonals * bytes(packing::diagonal) < most) {
      done = !__any_sync(whole_warp, walk.has());
      if (done) break;
      if (next == least_of_warp(next) && walk.has()) {
        ++walk.at;
        next = walk.has() ? p.colind[walk.at] - lane : none;
      }
      ++widths.diagonals;
    }
  }
  if (!done) widths.diagonals = detail::slice_widths::too_many;
  if (lane != 0) return;
  ell_slice chosen{widths.plain_steps, widths.plain_kind};
  if (!p.packed)
    chosen.columns = static_cast<std::int64_t>(packing::full);
  else if (done)
    chosen = {widths.diagonals, static_cast<std::int64_t>(packing::diagonal)};
  chosen.columns += 4 * whole.log;
  measured[slice] = {chosen, widths};
}

template <class T, class I, class O>
__global__ void fill_slices_kernel(const walk_arguments<T, I, O> p, const ell_slice* slices,
                                   ell_step<I>* steps, unsigned char* columns, T* values) {
  using Distance = std::make_unsigned_t<I>;
  constexpr I none = std::numeric_limits<I>::max();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t slice = thread_index() / 32;
  if (slice >= p.slice_count) return;
  const ell_slice header = slices[slice];
  const std::int64_t end = slices[slice + 1].step;
  const packing kind = header.kind();
  const bool diagonal = kind == packing::diagonal;
  unsigned char* to = columns + header.first_byte();
  lane_walk walk(p, slice, lane);
  for (std::int64_t k = header.step; k < end; ++k) {
    const I next = walk.has() ? p.colind[walk.at] - (diagonal ? lane : 0) : none;
    const I base = least_of_warp(next);
    const bool on = walk.has() && (!diagonal || next == base);
    const unsigned mask = __ballot_sync(whole_warp, on);
    // Without an entry it is a step that was added to make slices even.
    if (lane == 0) steps[k] = {mask == 0 ? I{0} : base, mask};
    values[slice_lanes * k + lane] = on ? load_once(p.values + walk.at) : T{0};
    const Distance distance = on ? static_cast<Distance>(next - base) : Distance{0};
    if (kind == packing::bits8)
      to[lane] = static_cast<std::uint8_t>(distance);
    else if (kind == packing::bits16)
      reinterpret_cast<std::uint16_t*>(to)[lane] = static_cast<std::uint16_t>(distance);
    else if (kind == packing::full)
      reinterpret_cast<Distance*>(to)[lane] = distance;
    to += detail::step_column_bytes(kind, sizeof(I));
    if (on) walk.at += 1 << walk.log;
  }
}

/// Steps, bytes and column bytes of slices, and the largest widths among them.
struct slice_totals {
  std::int64_t steps, bytes, column_bytes;
  detail::slice_widths largest;
};
struct add_slice_totals {
  __device__ slice_totals operator()(const slice_totals& a, const slice_totals& b) const {
    return {a.steps + b.steps,
            a.bytes + b.bytes,
            a.column_bytes + b.column_bytes,
            {max(a.largest.plain_steps, b.largest.plain_steps),
             max(a.largest.plain_kind, b.largest.plain_kind),
             max(a.largest.diagonals, b.largest.diagonals)}};
  }
};
template <class T, class I> struct totals_of_slice {
  const measured_slice* measured;
  __device__ slice_totals operator()(std::int64_t s) const {
    const ell_slice slice = measured[s].slice;
    return {slice.step, slice.step * detail::step_bytes(slice.kind(), sizeof(T), sizeof(I)),
            slice.step * detail::step_column_bytes(slice.kind(), sizeof(I)), measured[s].widths};
  }
};

/// Offsets of a slice, as a sum over those before it.
template <class I> struct extent_of_slice {
  const measured_slice* measured;
  __device__ ell_slice operator()(std::int64_t s) const {
    const ell_slice slice = measured[s].slice;
    return {slice.step, slice.step * detail::step_column_bytes(slice.kind(), sizeof(I))};
  }
};
struct add_extents {
  __device__ ell_slice operator()(const ell_slice& a, const ell_slice& b) const {
    return {a.step + b.step, a.columns + b.columns};
  }
};

template <class I>
void place_slices(const device_context& ctx, const measured_slice* measured, std::int64_t count,
                  const even_slices& even, ell_slice* slices) {
  if (even.width > 0) {
    const std::int64_t bytes = even.width * detail::step_column_bytes(even.kind, sizeof(I));
    for_each(ctx, count + 1, "place slices", [=] __device__(std::int64_t s) {
      slices[s] = {s * even.width,
                   s * bytes + (s < count ? static_cast<std::int64_t>(even.kind) : 0)};
    });
    return;
  }
  check(cudaMemsetAsync(slices, 0, sizeof(ell_slice), ctx.stream()), "place slices");
  const auto extents = thrust::make_transform_iterator(
      thrust::make_counting_iterator(std::int64_t{0}), extent_of_slice<I>{measured});
  run_cub(ctx, "place slices", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(scratch, bytes, extents, slices + 1, add_extents{}, count,
                                          ctx.stream());
  });
  for_each(ctx, count, "place slices",
           [=] __device__(std::int64_t s) { slices[s].columns += measured[s].slice.columns; });
}

} // namespace

template <class T, class I, class O>
ell_csr<T, I, space::device> csr_to_ell_csr(const device_context& ctx,
                                            csr_view<const T, I, O, space::device> a,
                                            const ell_csr_options& options) {
  const device_guard guard(ctx.device());
  slice_rows<I> of = arrange_rows<I, O>(ctx, a.rowptr().data(), a.shape().row, options);
  const walk_arguments<T, I, O> p{a.rowptr().data(), a.colind().data(), a.values().data(),
                                  a.shape().row,     of.pieces.data(),  of.rows.data(),
                                  of.logs.data(),    of.slices,         of.pieces.size(),
                                  options.piece,     options.packed};
  ell_csr<T, I, space::device> result;
  result.extent = a.shape();
  result.nnz = a.size();
  result.slices = array<ell_slice, space::device>(ctx, of.slices + 1);
  array<measured_slice, space::device> measured(ctx, of.slices);
  slice_totals totals{};
  if (of.slices > 0) {
    measure_slices_kernel<<<blocks_for(of.slices * 32), block_threads, 0, ctx.stream()>>>(
        p, measured.data());
    check_launch("measure_slices_kernel");
    totals =
        reduce(ctx, of.slices, totals_of_slice<T, I>{measured.data()}, add_slice_totals{}, totals);
  }
  if (of.rows.empty() && of.pieces.empty() && options.packed)
    result.even =
        detail::choose_even(of.slices, totals.bytes, totals.largest, sizeof(T), sizeof(I));
  std::int64_t steps = totals.steps, bytes = totals.column_bytes;
  if (result.even.width > 0) {
    steps = of.slices * result.even.width;
    bytes = steps * detail::step_column_bytes(result.even.kind, sizeof(I));
  }
  place_slices<I>(ctx, measured.data(), of.slices, result.even, result.slices.data());
  result.steps = array<ell_step<I>, space::device>(ctx, steps);
  result.columns = array<unsigned char, space::device>(ctx, bytes);
  result.values = array<T, space::device>(ctx, checked_mul(steps, slice_lanes));
  if (of.slices > 0) {
    fill_slices_kernel<<<blocks_for(of.slices * 32), block_threads, 0, ctx.stream()>>>(
        p, result.slices.data(), result.steps.data(), result.columns.data(), result.values.data());
    check_launch("fill_slices_kernel");
  }
  result.rows = std::move(of.rows);
  result.pieces = std::move(of.pieces);
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template ell_csr<T, I, space::device> csr_to_ell_csr<T, I, O>(                                   \
      const device_context&, csr_view<const T, I, O, space::device>, const ell_csr_options&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
