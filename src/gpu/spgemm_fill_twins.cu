// The numeric pass over groups of rows of one pattern: one warp per group. It gathers C's columns
// once for all of its rows; then its lanes lie along the rows of B that a run of A's entries needs,
// a column each, so that a search serves all rows of the group and all of the run.
#include <limits>

#include "gpu/spgemm_bins.cuh"
#include "gpu/spgemm_words.cuh"

namespace lacuna::detail::gpu {
namespace {

/// What the numeric pass reads.
template <class T, class I, class O> struct twin_factors {
  spgemm_factors<I, O> f;
  spgemm_values<T> v;
  std::int64_t groups;
  const I* leaders;
  const unsigned char *leads, *b_leads;
};
/// Shared memory of a warp: sums of a group's rows, up to 32 entries of A in each, words.
struct twin_room {
  int least, columns, slots; // for rows of C with more than `least` and up to `columns` entries
  template <class T, class I> LACUNA_BOTH std::size_t bytes(int rows) const {
    const std::size_t bytes =
        column_words<I>::bytes(slots) + sizeof(T) * static_cast<std::size_t>(rows * (columns + 32));
    return (bytes + 15) / 16 * 16;
  }
};

/// Adds the products of a group of `rows` rows, `most` at most, whose first is `leader`.
template <int most, class T, class I, class O>
__device__ void add_twins(const twin_factors<T, I, O>& p, std::int64_t leader, int rows,
                          const column_words<I>& words, int columns, T* sums, T* block) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const begins_run<I> begins{p.f.a_colind, p.b_leads};
  const O a_begin = p.f.a_rowptr[leader], a_length = p.f.a_rowptr[leader + 1] - a_begin;
  for (std::int64_t base = 0; base < a_length; base += 32) {
    const int entries = static_cast<int>(min(std::int64_t{32}, a_length - base));
    O b = 0, length = 0;
    bool leads = false;
    if (lane < entries) {
      const O k = a_begin + static_cast<O>(base) + lane;
      const I j = p.f.a_colind[k];
      leads = lane == 0 || begins(k, a_begin);
      b = p.f.b_rowptr[j];
      length = p.f.b_rowptr[j + 1] - b;
#pragma unroll
      for (int r = 0; r < most; ++r)
        if (r < rows) block[32 * r + lane] = p.v.factor(k + r * a_length);
    }
    const unsigned votes = __ballot_sync(whole_warp, leads);
    // What a lane has first of the next run is on its way before this run is added.
    O at = 0, b_length = 0, left = 0; // left: of the run's columns, from this lane's on
    I column = 0;
    T value[most];
    const auto load = [&](int width) {
      column = __ldg(p.f.b_colind + at);
#pragma unroll
      for (int t = 0; t < most; ++t)
        if (t < width) value[t] = p.v.value(at + t * b_length);
    };
    const auto end_of = [&](int run) {
      const unsigned later = votes & (0xfffffffeu << run);
      return later != 0 ? __ffs(static_cast<int>(later)) - 1 : entries;
    };
    const auto ask = [&](int run, int end) {
      b_length = __shfl_sync(whole_warp, length, run);
      at = __shfl_sync(whole_warp, b, run) + lane;
      left = b_length - lane;
      if (left > 0) load(end - run);
    };
    int end = end_of(0);
    ask(0, end);
    __syncwarp();
    for (int run = 0; run < entries;) {
      const int width = end - run;
      const T* const of_run = block + run;
      T factor[most <= 3 ? most * most : 1];
      if constexpr (most <= 3) {
#pragma unroll
        for (int r = 0; r < most; ++r)
#pragma unroll
          for (int t = 0; t < most; ++t)
            if (r < rows && t < width) factor[r * most + t] = of_run[32 * r + t];
      }
      const auto add = [&](I its_column, const T(&its_value)[most]) {
        T* const sum = sums + words.place(its_column);
        T of_row[most];
#pragma unroll
        for (int r = 0; r < most; ++r)
          if (r < rows) of_row[r] = sum[r * columns];
#pragma unroll
        for (int t = 0; t < most; ++t)
          if (t < width) {
#pragma unroll
            for (int r = 0; r < most; ++r)
              if (r < rows) {
                if constexpr (most <= 3)
                  of_row[r] += rounded_product(factor[r * most + t], its_value[t]);
                else
                  of_row[r] += rounded_product(of_run[32 * r + t], its_value[t]);
              }
          }
#pragma unroll
        for (int r = 0; r < most; ++r)
          if (r < rows) sum[r * columns] = of_row[r];
      };
      for (; left > 32; left -= 32) { // to the last of this lane's columns
        const I now = column;
        T its_value[most];
#pragma unroll
        for (int t = 0; t < most; ++t) its_value[t] = value[t];
        at += 32;
        load(width);
        add(now, its_value);
      }
      __syncwarp();
      const bool some = left > 0;
      const I now = column;
      T its_value[most];
#pragma unroll
      for (int t = 0; t < most; ++t) its_value[t] = value[t];
      const int next = end;
      if (next < entries) {
        end = end_of(next);
        ask(next, end);
      }
      if (some) add(now, its_value);
      run = next;
      __syncwarp(); // the next run finds these sums
    }
  }
}

/// One warp per group of up to `most` rows, of those that have room.
template <int most, class T, class I, class O>
__global__ void __launch_bounds__(128, 6) // 80 registers; without, 1.25 times as long on the H200
    fill_twins_kernel(const twin_factors<T, I, O> p, const twin_room room, read_offsets rowptr,
                      fill_target<T, I> c, int* wrong) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned char* const mine = shared + threadIdx.x / 32 * room.bytes<T, I>(most);
  column_words<I> words(mine, room.slots);
  T* const sums = reinterpret_cast<T*>(mine + column_words<I>::bytes(room.slots));
  T* const block = sums + most * room.columns;
  const begins_run<I> begins{p.f.a_colind, p.b_leads};
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / 32);
  for (std::int64_t group = thread_index() / 32; group < p.groups; group += stride) {
    const std::int64_t leader = p.leaders[group], to = rowptr[leader];
    const std::int64_t expected = rowptr[leader + 1] - to;
    if (expected <= room.least || expected > room.columns) continue;
    const int rows = rows_of_group(p.leads, p.f.rows, leader);
    const O begin = p.f.a_rowptr[leader], end = p.f.a_rowptr[leader + 1];
    const bool fits = words.gather(p.f, begin, end, [&](O k) { return begins(k, begin); });
    const int count = words.count();
    if (!fits || count != expected || rowptr[leader + rows] - to != rows * expected) {
      if (lane == 0) atomicOr(wrong, 1);
      continue;
    }
    words.order();
    if (!p.v.pattern) {
      for (int s = lane; s < count; s += 32)
        for (int r = 0; r < rows; ++r) sums[r * room.columns + s] = no_product<T>();
      __syncwarp();
      add_twins<most>(p, leader, rows, words, room.columns, sums, block);
    }
    for (int r = 0; r < rows; ++r)
      for (int s = lane; s < count; s += 32)
        c.values[to + r * count + s] = p.v.pattern ? T{1} : sums[r * room.columns + s];
    __syncwarp();
    if (c.colind == nullptr) continue;
    I* const columns = reinterpret_cast<I*>(sums); // which are used up
    words.write(columns);
    for (int r = 0; r < rows; ++r)
      for (int s = lane; s < count; s += 32) c.put_column(to + r * count + s, columns[s], wrong);
    __syncwarp();
  }
}

} // namespace

template <class T, class I, class O>
bool fill_twins(const device_context& ctx, const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
                const twin_groups<I, O>& groups, read_offsets rowptr,
                const fill_target<T, I>& target, int* wrong, stage_clock& clock) {
  const twin_totals& totals = groups.totals();
  const twin_factors<T, I, O> p{f,
                                v,
                                static_cast<std::int64_t>(totals.groups),
                                groups.leaders(),
                                groups.leads(),
                                groups.b_leads()};
  const std::size_t shared_bytes = ctx.properties().shared_bytes_per_block;
  const int slots =
      std::max(64, static_cast<int>(std::bit_ceil(static_cast<unsigned>(totals.most_words + 33))));
  const auto launch = [&](auto most, int least, int longest) {
    const twin_room room{least, (std::max(longest, 1) + 31) / 32 * 32, slots};
    const std::size_t each = room.bytes<T, I>(most());
    const int warps = warps_of_twin_block(shared_bytes, each);
    const std::size_t bytes = each * static_cast<std::size_t>(warps);
    auto* const kernel = fill_twins_kernel<most(), T, I, O>;
    allow_shared(kernel, bytes);
    // A block for every few groups: those at work are neighbours then, whose rows of B are the
    // same.
    const auto blocks = static_cast<unsigned>(
        std::min<std::int64_t>((p.groups + warps - 1) / warps, std::numeric_limits<int>::max()));
    kernel<<<blocks, static_cast<unsigned>(32 * warps), bytes, ctx.stream()>>>(p, room, rowptr,
                                                                               target, wrong);
    check_launch("fill_twins_kernel");
  };
  for_each_twin_class(totals, [&](int least, int longest) {
    if (totals.largest_group <= 3)
      launch(std::integral_constant<int, 3>{}, least, longest);
    else
      launch(std::integral_constant<int, most_twins>{}, least, longest);
  });
  int failed = 0;
  read_back(ctx, &failed, wrong, 1);
  clock.lap(&spgemm_report::fill);
  if (spgemm_report* const report = clock.report()) {
    report->merged_rows = report->table_rows = report->heavy_rows = 0;
    report->twin_rows = f.rows;
  }
  return failed == 0;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template bool fill_twins<T, I, O>(const device_context&, const spgemm_factors<I, O>&,            \
                                    const spgemm_values<T>&, const twin_groups<I, O>&,             \
                                    read_offsets, const fill_target<T, I>&, int*, stage_clock&);
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
