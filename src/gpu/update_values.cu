// New values for matrices that are kept in another order than CSR's. Where an entry goes follows
// from the row pointers and the format's own structure: no map is kept and no column is read.
//
// A warp fills 32 lanes, each of which has its next entries side by side in CSR but stores one per
// step. Read lane by lane, every load would touch 32 lines. Where the rows of a slice follow one
// another in CSR and are short, the warp reads them in one go; elsewhere a batch of 8 or 16 entries
// of each lane is read by as many threads, four lanes or two at a time, while the batch before it
// is stored. Either way they change hands in shared memory.
#include <lacuna/format/ell_csr.hpp>

#include "plan/value_map.hpp"
#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/parts/sort.cuh"

namespace lacuna::detail::gpu {
namespace {

constexpr int fill_warps = 8; // of a block: 34 KB of shared memory in double
constexpr int whole = 512;    // entries of a slice that is read in one go, 16 loads in flight

/// Where entry k of a slice is in shared memory: lanes whose entries are 8 or 16 apart do not share
/// banks.
__device__ constexpr int padded(int k) { return k + (k >> 4); }
constexpr int buffer_size = whole + (whole >> 4);
/// Where a lane's batch begins: odd, so that lanes reading their own do not share banks.
constexpr int pitch_of(int batch) { return batch + 1; }
/// A batch of 16 wants steps enough: longer reads, but fewer warps at a time.
constexpr std::int64_t steps_for_16 = 24; // of a slice; H200: 0.85 of the time on rows of 80
static_assert(buffer_size >= 32 * pitch_of(16));

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
template <int batch, class T, class O, class Mask>
__device__ void fill_steps(const value_source<T, O>& value, std::int64_t at, std::int64_t end,
                           int log, std::int64_t steps, const Mask& mask, T* to,
                           std::int64_t to_stride, T* buffer) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  constexpr int pitch = pitch_of(batch), log_batch = batch == 8 ? 3 : 4;
  T read[batch] = {}; // entries of the next batch: 32 / batch lanes' in each
  unsigned mine = 0;  // bit u: this lane has an entry in step u of the batch
  int count = 0;      // entries of this lane in the batch
  const auto look_ahead = [&](std::int64_t k) {
    mine = 0;
#pragma unroll
    for (int u = 0; u < batch; ++u)
      if (k + u < steps) mine |= (mask(k + u) >> lane & 1u) << u;
    const std::int64_t left = at < end ? ((end - at - 1) >> log) + 1 : 0;
    count = static_cast<int>(min(static_cast<std::int64_t>(__popc(mine)), left));
    if (log >= log_batch) { // so many lanes of a row already read side by side
#pragma unroll
      for (int u = 0; u < batch; ++u)
        if (u < count) read[u] = value(at + (static_cast<std::int64_t>(u) << log));
      return;
    }
#pragma unroll
    for (int j = 0; j < batch; ++j) {
      const int of = j * (32 / batch) + lane / batch, entry = lane % batch;
      const std::int64_t first = __shfl_sync(whole_warp, at, of);
      const int entries = __shfl_sync(whole_warp, count, of);
      if (entry < entries) read[j] = value(first + (static_cast<std::int64_t>(entry) << log));
    }
  };
  look_ahead(0);
  for (std::int64_t k = 0; k < steps; k += batch) {
    const unsigned present = mine;
    const int entries = count;
#pragma unroll
    for (int j = 0; j < batch; ++j)
      buffer[log >= log_batch ? lane * pitch + j
                              : (j * (32 / batch) + lane / batch) * pitch + lane % batch] = read[j];
    __syncwarp();
    at += static_cast<std::int64_t>(entries) << log;
    if (k + batch < steps) look_ahead(k + batch);
    int taken = 0;
#pragma unroll
    for (int u = 0; u < batch; ++u) {
      if (k + u >= steps) break;
      const bool has = (present >> u & 1u) != 0 && taken < entries;
      to[(k + u) * to_stride] = has ? buffer[lane * pitch + taken] : T{0};
      taken += has ? 1 : 0;
    }
    __syncwarp(); // the buffer has been read
  }
}

/// The same where the lanes' entries follow one another: those of lane 0 begin at `base`, and there
/// are at most `whole` of them.
template <class T, class O, class Mask>
__device__ void fill_short_steps(const value_source<T, O>& value, std::int64_t base, int total,
                                 std::int64_t at, std::int64_t end, std::int64_t steps,
                                 const Mask& mask, T* to, T* buffer) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    T read[whole / 64];
#pragma unroll
    for (int j = 0; j < whole / 64; ++j) {
      const int k = half * (whole / 2) + j * 32 + lane;
      if (k < total) read[j] = value(base + k);
    }
#pragma unroll
    for (int j = 0; j < whole / 64; ++j) {
      const int k = half * (whole / 2) + j * 32 + lane;
      if (k < total) buffer[padded(k)] = read[j];
    }
    if (total <= whole / 2) break;
  }
  __syncwarp();
  int next = static_cast<int>(at - base);
  const int stop = static_cast<int>(end - base);
#pragma unroll 8
  for (std::int64_t k = 0; k < steps; ++k) {
    const bool has = (mask(k) >> lane & 1u) != 0 && next < stop;
    to[k * slice_lanes] = has ? buffer[padded(next)] : T{0};
    next += has ? 1 : 0;
  }
}

template <int batch, class T, class I, class O>
__global__ void __launch_bounds__(32 * fill_warps)
    fill_ell_csr_kernel(const ell_csr_view<T, I, space::device> to, const O* rowptr,
                        const value_source<T, O> value) {
  __shared__ T buffers[fill_warps][buffer_size];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t slice = thread_index() / 32;
  if (slice >= to.slice_count()) return;
  const ell_slice* const slices = to.slices().data();
  const ell_slice head = slices[slice];
  const std::int64_t steps = slices[slice + 1].step - head.step;
  const std::int64_t pieces = to.pieces().size();
  T* const buffer = buffers[threadIdx.x / 32];
  T* const first = to.values().data() + head.step * slice_lanes + lane;
  const ell_step<I>* const heads = to.steps().data() + head.step;
  const auto mask = [heads](std::int64_t k) {
    return static_cast<unsigned>(__ldg(&heads[k].mask));
  };
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
    log = __ffs(head.row_lanes()) - 1;
    std::int64_t row = (slice - pieces) * slice_lanes + (lane >> log);
    if (!to.rows().empty())
      row = to.rows().data()[row];
    else if (row >= to.shape().row)
      row = -1;
    if (row >= 0) {
      at = rowptr[row] + lane % (1 << log);
      end = rowptr[row + 1];
    }
    if (log == 0 && to.rows().empty()) {
      const std::int64_t base = __shfl_sync(whole_warp, at, 0);
      const unsigned used = __ballot_sync(whole_warp, row >= 0);
      const std::int64_t total = __shfl_sync(whole_warp, end, 31 - __clz(used)) - base;
      if (total <= whole)
        return fill_short_steps(value, base, static_cast<int>(total), at, end, steps, mask, first,
                                buffer);
    }
  }
  fill_steps<batch>(value, at, end, log, steps, mask, first, slice_lanes, buffer);
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
  auto* const kernel = to.steps().size() < steps_for_16 * to.slice_count()
                           ? fill_ell_csr_kernel<8, T, I, O>
                           : fill_ell_csr_kernel<16, T, I, O>;
  const auto blocks = static_cast<unsigned>((to.slice_count() + fill_warps - 1) / fill_warps);
  kernel<<<blocks, 32 * fill_warps, 0, ctx.stream()>>>(to, rowptr.data(), {values.data(), from});
  check_launch("fill_ell_csr_kernel");
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
      vector_view<const T, space::device>, ell_csr_view<T, I, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
