// New values for matrices that are kept in another order than CSR's. Where an entry goes follows
// from the row pointers and the format's own structure: no map is kept and no column is read.
//
// A warp fills 32 lanes, each of which has its next entries side by side in CSR but stores one a
// step. Read lane by lane, every load would touch 32 lines; so eight entries of each lane are read
// by eight threads, four lanes at a time, and change hands in shared memory.
#include <lacuna/op/update_values.hpp>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/parts/sort.cuh"

namespace lacuna::gpu {
namespace {

constexpr unsigned all_lanes = 0xffffffffu;
constexpr int batch = 8;           // entries of a lane that are read at once
constexpr int pitch = batch + 1;   // odd, so that lanes reading their own do not share banks
constexpr int warps_per_block = 8; // 18 KB of shared memory in double

/// Values by CSR's order, or by a map.
template <class T, class O> struct value_source {
  const T* values;
  const O* from; // may be null
  __device__ T operator()(std::int64_t k) const {
    return __ldg(values + (from == nullptr ? k : static_cast<std::int64_t>(__ldg(from + k))));
  }
};

/// Fills `steps` steps of 32 lanes. The calling lane's entries are at, at + 2^log, … below end;
/// mask(k) tells which lanes have one in step k, and the lane's place in it is to[k * to_stride].
/// Places without an entry get 0. All lanes of a warp call it; `buffer` is the warp's own.
template <class T, class O, class Mask>
__device__ void fill_steps(const value_source<T, O>& value, std::int64_t at, std::int64_t end,
                           int log, std::int64_t steps, const Mask& mask, T* to,
                           std::int64_t to_stride, T* buffer) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (std::int64_t k = 0; k < steps; k += batch) {
    // Bit u: this lane has an entry in step k + u.
    unsigned mine = 0;
#pragma unroll
    for (int u = 0; u < batch; ++u)
      if (k + u < steps) mine |= (mask(k + u) >> lane & 1u) << u;
    const std::int64_t left = at < end ? ((end - at - 1) >> log) + 1 : 0;
    const int count = static_cast<int>(min(static_cast<std::int64_t>(__popc(mine)), left));
    if (log < 3) {
#pragma unroll
      for (int j = 0; j < batch; ++j) {
        const int of = j * (32 / batch) + lane / batch, entry = lane % batch;
        const std::int64_t first = __shfl_sync(all_lanes, at, of);
        const int entries = __shfl_sync(all_lanes, count, of);
        if (entry < entries)
          buffer[of * pitch + entry] = value(first + (static_cast<std::int64_t>(entry) << log));
      }
      __syncwarp();
    }
    int taken = 0;
#pragma unroll
    for (int u = 0; u < batch; ++u) {
      if (k + u >= steps) break;
      T v{0};
      if ((mine >> u & 1u) != 0 && taken < count) {
        // Eight lanes and more of a row already read side by side.
        v = log < 3 ? buffer[lane * pitch + taken]
                    : value(at + (static_cast<std::int64_t>(taken) << log));
        ++taken;
      }
      to[(k + u) * to_stride] = v;
    }
    at += static_cast<std::int64_t>(taken) << log;
    __syncwarp(); // the buffer has been read
  }
}

template <class T, class I, class O>
__global__ void __launch_bounds__(32 * warps_per_block)
    fill_ell_csr_kernel(const ell_csr_view<T, I, space::device> to, const O* rowptr,
                        const value_source<T, O> value) {
  __shared__ T buffers[warps_per_block][32 * pitch];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t slice = thread_index() / 32;
  if (slice >= to.slice_count()) return;
  const ell_slice* const slices = to.slices().data();
  const ell_slice here = slices[slice];
  const std::int64_t steps = slices[slice + 1].step - here.step;
  const std::int64_t pieces = to.pieces().size();
  std::int64_t at = 0, end = 0;
  int log = 0;
  if (slice < pieces) {
    // Pieces before this one are full, so the first tells how long they are.
    const row_piece<I> p = to.pieces().data()[slice];
    const std::int64_t length = (slices[p.first + 1].step - slices[p.first].step) * slice_lanes;
    at = rowptr[p.row] + (slice - p.first) * length + lane;
    end = rowptr[p.row + 1];
    log = 5;
  } else {
    log = __ffs(here.row_lanes()) - 1;
    std::int64_t row = (slice - pieces) * slice_lanes + (lane >> log);
    if (!to.rows().empty())
      row = to.rows().data()[row];
    else if (row >= to.shape().row)
      row = -1;
    if (row >= 0) {
      at = rowptr[row] + lane % (1 << log);
      end = rowptr[row + 1];
    }
  }
  const ell_step<I>* const heads = to.steps().data() + here.step;
  fill_steps(
      value, at, end, log, steps,
      [heads](std::int64_t k) { return static_cast<unsigned>(__ldg(&heads[k].mask)); },
      to.values().data() + here.step * slice_lanes + lane, slice_lanes, buffers[threadIdx.x / 32]);
}

template <class T, class I, class O>
__global__ void __launch_bounds__(32 * warps_per_block)
    fill_hyb_kernel(const csr_view<const T, I, O, space::device> a,
                    const hyb_view<T, I, O, space::device> to) {
  __shared__ T buffers[warps_per_block][32 * pitch];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t row = thread_index(); // the stride is a multiple of 32: warps are whole
  if (row >= to.stride()) return;
  std::int64_t first = 0, end = 0;
  if (row < a.shape().row) {
    first = a.rowptr().data()[row];
    end = a.rowptr().data()[row + 1];
  }
  const std::int64_t length = end - first;
  fill_steps(
      value_source<T, O>{a.values().data(), nullptr}, first, end, 0, to.width(),
      [length, lane](std::int64_t k) { return static_cast<unsigned>(k < length) << lane; },
      to.values().data() + row, to.stride(), buffers[threadIdx.x / 32]);
}

/// Blocks that give every one of `warps` a warp.
unsigned blocks_of_warps(std::int64_t warps) {
  return static_cast<unsigned>((warps + warps_per_block - 1) / warps_per_block);
}

} // namespace

template <class T, class O>
void place_values(const device_context& ctx, const O* from,
                  vector_view<const T, space::device> values, vector_view<T, space::device> to) {
  const device_guard guard(ctx.device());
  if (to.empty()) return;
  if (from == nullptr) {
    check(cudaMemcpyAsync(to.data(), values.data(), static_cast<std::size_t>(to.size()) * sizeof(T),
                          cudaMemcpyDeviceToDevice, ctx.stream()),
          "update_values");
    return;
  }
  for_each(ctx, to.size(), "update_values",
           [from, values = values.data(), to = to.data()] __device__(std::int64_t k) {
             to[k] = __ldg(values + load_once(from + k));
           });
}

template <class T, class I, class O>
void place_in_ell_csr(const device_context& ctx, vector_view<const O, space::device> rowptr,
                      const O* from, vector_view<const T, space::device> values,
                      ell_csr_view<T, I, space::device> to) {
  const device_guard guard(ctx.device());
  if (to.slice_count() == 0) return;
  fill_ell_csr_kernel<T, I, O>
      <<<blocks_of_warps(to.slice_count()), 32 * warps_per_block, 0, ctx.stream()>>>(
          to, rowptr.data(), {values.data(), from});
  check_launch("fill_ell_csr_kernel");
}

template <class T, class I, class O>
void place_in_hyb(const device_context& ctx, csr_view<const T, I, O, space::device> a,
                  hyb_view<T, I, O, space::device> to) {
  const device_guard guard(ctx.device());
  if (to.width() > 0 && to.stride() > 0) {
    fill_hyb_kernel<T, I, O>
        <<<blocks_of_warps(to.stride() / 32), 32 * warps_per_block, 0, ctx.stream()>>>(a, to);
    check_launch("fill_hyb_kernel");
  }
  const auto rest = to.rest();
  const std::int64_t rows = a.shape().row, width = to.width();
  for_each(ctx, rest.size(), "update_values: the rest",
           [rows, width, rowptr = a.rowptr().data(), values = a.values().data(),
            starts = rest.rowptr().data(), to = rest.values().data()] __device__(std::int64_t k) {
             const std::int64_t i = row_of(starts, rows, k);
             const std::int64_t at = rowptr[i] + width + (k - starts[i]);
             to[k] = at < rowptr[i + 1] ? load_once(values + at) : T{0};
           });
}

void number_entries(const device_context& ctx, vector_view<double, space::device> numbers) {
  const device_guard guard(ctx.device());
  for_each(ctx, numbers.size(), "number_entries",
           [to = numbers.data()] __device__(std::int64_t k) { to[k] = static_cast<double>(k); });
}
template <class O>
void as_offsets(const device_context& ctx, vector_view<const double, space::device> numbers,
                vector_view<O, space::device> offsets) {
  const device_guard guard(ctx.device());
  for_each(ctx, numbers.size(), "as_offsets",
           [from = numbers.data(), to = offsets.data()] __device__(std::int64_t k) {
             to[k] = static_cast<O>(from[k]);
           });
}
template void as_offsets<std::int32_t>(const device_context&,
                                       vector_view<const double, space::device>,
                                       vector_view<std::int32_t, space::device>);
template void as_offsets<std::int64_t>(const device_context&,
                                       vector_view<const double, space::device>,
                                       vector_view<std::int64_t, space::device>);

#define LACUNA_INSTANTIATE(T, O)                                                                   \
  template void place_values<T, O>(const device_context&, const O*,                                \
                                   vector_view<const T, space::device>,                            \
                                   vector_view<T, space::device>);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void place_in_ell_csr<T, I, O>(                                                         \
      const device_context&, vector_view<const O, space::device>, const O*,                        \
      vector_view<const T, space::device>, ell_csr_view<T, I, space::device>);                     \
  template void place_in_hyb<T, I, O>(const device_context&,                                       \
                                      csr_view<const T, I, O, space::device>,                      \
                                      hyb_view<T, I, O, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::gpu
