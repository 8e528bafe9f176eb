// The rows of a dynamic CSR on the device as a whole: where they lie, compaction, scaling.
#include "gpu/dynamic_csr.cuh"

#include "gpu/parts/scan.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Lanes that gather a row.
constexpr int gather_lanes = 8;

/// Rows from starts[i] on, columns ascending; parts of long ones are left to blocks.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    gather_short(dynamic_rows<T, I, O> m, const O* starts, I* colind, T* values, row_part* list,
                 batch_state* state) {
  const std::int64_t row = thread_index() / gather_lanes;
  const int lane = static_cast<int>(threadIdx.x) % gather_lanes;
  if (row >= m.rows) return;
  const std::int64_t size = m.sizes[row], to = starts[row];
  if (size > part_entries / 8) {
    if (lane != 0) return;
    const auto count = static_cast<unsigned>((size + part_entries - 1) / part_entries);
    const unsigned at = atomicAdd(&state->parts, count);
    for (unsigned part = 0; part < count; ++part)
      list[at + part] = {static_cast<unsigned>(row), part};
  } else if (m.counts[row] == 1) {
    const std::int64_t from = m.first(0, row);
    for (std::int64_t e = lane; e < size; e += gather_lanes) {
      colind[to + e] = m.colind[from + e];
      values[to + e] = m.values[from + e];
    }
  } else {
    merge_entries<T, I, O>(m, row, 0, size, nullptr, nullptr, 0, colind + to, values + to, lane,
                           gather_lanes);
  }
}
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    gather_long(dynamic_rows<T, I, O> m, const O* starts, I* colind, T* values,
                const row_part* list, const batch_state* state) {
  for (unsigned work = blockIdx.x; work < state->parts; work += gridDim.x) {
    const std::int64_t row = list[work].row, to = starts[row];
    const std::int64_t begin = list[work].part * part_entries;
    const std::int64_t end = min(begin + part_entries, std::int64_t{m.sizes[row]});
    merge_entries<T, I, O>(m, row, begin, end, nullptr, nullptr, 0, colind + to, values + to,
                           static_cast<int>(threadIdx.x), block_threads);
  }
}

} // namespace

template <class T, class I, class O>
void scale_rows(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                vector_view<const T, space::device> factors) {
  const device_guard guard(ctx.device());
  const T* const factor = factors.data();
  for_each(ctx, m.rows * gather_lanes, "scale_rows", [=] __device__(std::int64_t i) {
    const std::int64_t row = i / gather_lanes;
    for (int s = 0; s < m.counts[row]; ++s)
      for (std::int64_t k = m.first(s, row) + i % gather_lanes; k < m.last(s, row);
           k += gather_lanes)
        m.values[k] *= factor[row];
  });
}

template <class O>
std::int64_t place_rows(const device_context& ctx, const O* sizes, std::int64_t rows, O* starts) {
  const device_guard guard(ctx.device());
  exclusive_sums<O, O>(ctx, rows, sizes, starts);
  O total = 0;
  read_back(ctx, &total, starts + rows, 1);
  return total;
}

template <class T, class I, class O>
void set_rows(const device_context& ctx, const dynamic_rows<T, I, O>& m, const O* starts,
              const O* sizes) {
  const device_guard guard(ctx.device());
  for_each(ctx, m.rows + 1, "set_rows", [=] __device__(std::int64_t row) {
    const O start = starts[row];
    m.first(0, row) = start;
    if (row == m.rows) return;
    const O next = starts[row + 1], size = sizes == nullptr ? next - start : sizes[row];
    m.last(0, row) = start + size;
    m.sizes[row] = size;
    m.room[row] = next - start - size;
    m.counts[row] = next > start ? 1 : 0;
  });
}

template <class T, class I, class O>
void gather_rows(const device_context& ctx, const dynamic_rows<T, I, O>& from, const O* starts,
                 I* colind, T* values, std::int64_t entries) {
  if (from.rows == 0) return;
  const device_guard guard(ctx.device());
  // A row that is left to blocks has more than an eighth of a part.
  array<row_part, space::device> parts(ctx, entries / (part_entries / 8) + 1);
  auto state = new_state(ctx);
  gather_short<<<blocks_for(from.rows * gather_lanes), block_threads, 0, ctx.stream()>>>(
      from, starts, colind, values, parts.data(), state.data());
  check_launch("gather_short");
  gather_long<<<part_blocks, block_threads, 0, ctx.stream()>>>(from, starts, colind, values,
                                                               parts.data(), state.data());
  check_launch("gather_long");
}

template <class I, class O>
std::int64_t find_long_rows(const device_context& ctx, const O* sizes, std::int64_t rows,
                            I* long_rows, std::int64_t capacity, std::int64_t* counter) {
  const device_guard guard(ctx.device());
  check(cudaMemsetAsync(counter, 0, sizeof *counter, ctx.stream()), "find_long_rows");
  for_each(ctx, rows, "find_long_rows", [=] __device__(std::int64_t row) {
    if (sizes[row] <= long_row) return;
    const auto at =
        static_cast<std::int64_t>(atomicAdd(reinterpret_cast<unsigned long long*>(counter), 1ull));
    if (at < capacity) long_rows[at] = static_cast<I>(row);
  });
  std::int64_t count = 0;
  read_back(ctx, &count, counter, 1);
  return count;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void scale_rows<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&,           \
                                    vector_view<const T, space::device>);                          \
  template void set_rows<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&, const O*,   \
                                  const O*);                                                       \
  template void gather_rows<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&,          \
                                     const O*, I*, T*, std::int64_t);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#define LACUNA_INSTANTIATE_INDEX(I, O)                                                             \
  template std::int64_t find_long_rows<I, O>(const device_context&, const O*, std::int64_t, I*,    \
                                             std::int64_t, std::int64_t*);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE_INDEX)
template std::int64_t place_rows(const device_context&, const std::int32_t*, std::int64_t,
                                 std::int32_t*);
template std::int64_t place_rows(const device_context&, const std::int64_t*, std::int64_t,
                                 std::int64_t*);

} // namespace lacuna::detail::gpu
