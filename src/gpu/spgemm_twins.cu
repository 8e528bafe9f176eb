#include "gpu/spgemm_twins.cuh"

#include "gpu/parts/load.cuh"
#include "gpu/parts/scan.cuh"
#include "gpu/spgemm_bins.cuh"
#include "gpu/spgemm_split.cuh"

namespace lacuna::detail::gpu {
namespace {

/// unlike[row] = 0 if the row has the pattern of the one before, else 1. One warp per row.
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    compare_rows_kernel(const O* rowptr, const I* colind, std::int64_t rows,
                        unsigned char* unlike) {
  const std::int64_t row = thread_index() / 32;
  if (row >= rows) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const O before = row > 0 ? rowptr[row - 1] : O{0}, begin = rowptr[row], end = rowptr[row + 1];
  bool same = row > 0 && begin - before == end - begin;
  for (std::int64_t k = begin; same && k < end; k += 32) // an O might pass its largest value
    same = __all_sync(whole_warp,
                      k + lane >= end || colind[k + lane] == colind[k + lane - (begin - before)]);
  if (lane == 0) unlike[row] = same ? 0 : 1;
}

/// Cuts runs of like rows into groups: every most_twins-th row of a run leads one, too. Of a long
/// run the beginning is not looked for: there rows lead whose number divides.
struct cut_groups {
  const unsigned char* unlike;
  unsigned char* leads;
  __device__ void operator()(std::int64_t row) const {
    constexpr int looked_at = 8 * most_twins;
    int place = 0;
    while (place <= looked_at && unlike[row - place] == 0) ++place;
    leads[row] =
        place < looked_at ? place % most_twins == 0 : place == looked_at || row % most_twins == 0;
  }
};

/// group_of[row + 1] is one more than its group: leaders count.
template <class I> struct note_leader {
  const unsigned char* leads;
  const std::int64_t* group_of;
  I* leaders;
  std::int64_t rows, groups;
  __device__ void operator()(std::int64_t row) const {
    if (row == rows)
      leaders[groups] = static_cast<I>(rows);
    else if (leads[row] != 0)
      leaders[group_of[row]] = static_cast<I>(row);
  }
};

/// The entries of a group's row of A, cut where they leave a group of B's rows: whether entry k is
/// the first of a run.
template <class I, class O> struct entry_runs {
  const O* rowptr;
  const I* colind;
  const unsigned char* b_leads;
  __device__ bool begins(std::int64_t k, std::int64_t row_begin) const {
    return k == row_begin || colind[k] != colind[k - 1] + 1 || b_leads[colind[k]] != 0;
  }
};
/// One warp per group.
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    count_runs_kernel(const entry_runs<I, O> runs, std::int64_t groups, const I* leaders,
                      int* counts) {
  const std::int64_t group = thread_index() / 32;
  if (group >= groups) return;
  const std::int64_t begin = runs.rowptr[leaders[group]], end = runs.rowptr[leaders[group] + 1];
  int count = 0;
  for (std::int64_t k = begin + threadIdx.x % 32; k < end; k += 32)
    count += runs.begins(k, begin) ? 1 : 0;
  __syncwarp();
  count = warp_sum(count);
  if (threadIdx.x % 32 == 0) counts[group] = count;
}
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    list_runs_kernel(const entry_runs<I, O> runs, std::int64_t groups, const I* leaders,
                     const O* rowptr, I* colind, I* at) {
  const std::int64_t group = thread_index() / 32;
  if (group >= groups) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t begin = runs.rowptr[leaders[group]], end = runs.rowptr[leaders[group] + 1];
  O to = rowptr[group];
  for (std::int64_t base = begin; base < end; base += 32) {
    const std::int64_t k = base + lane;
    const bool is_first = k < end && runs.begins(k, begin);
    const unsigned votes = __ballot_sync(whole_warp, is_first);
    if (is_first) {
      const O place = to + static_cast<O>(__popc(votes & ((1u << lane) - 1)));
      colind[place] = runs.colind[k];
      at[place] = static_cast<I>(k - begin);
    }
    to += static_cast<O>(__popc(votes));
  }
}

struct note_sizes {
  const std::int64_t *group_of, *counts;
  std::int64_t* sizes;
  __device__ void operator()(std::int64_t row) const { sizes[row] = counts[group_of[row + 1] - 1]; }
};

template <class I> struct note_lengths {
  const std::int64_t* counts;
  const I* leaders;
  twin_lengths* lengths;
  __device__ void operator()(std::int64_t group) const {
    const auto count = static_cast<int>(min(counts[group], std::int64_t{1} << 30));
    if (count > lengths->longest) atomicMax(&lengths->longest, count);
    const auto rows = static_cast<int>(leaders[group + 1] - leaders[group]);
    if (rows > lengths->largest_group) atomicMax(&lengths->largest_group, rows);
    int c = 0;
    while (c < twin_lengths::classes && twin_lengths::most_of(c) < count) ++c;
    if (c < twin_lengths::classes) atomicAdd(lengths->groups_of + c, 1u);
  }
};

/// What the numeric pass reads.
template <class T, class I, class O> struct twin_factors {
  spgemm_factors<I, O> f;
  spgemm_values<T> v;
  std::int64_t groups;
  const I* leaders;
  const O* rowptr;
  const I *colind, *at;
  const std::int64_t* starts; // of C's columns, one row per group
  const I* columns;
};

/// The place of a column among `count` sorted ones, 1 at least, which have it.
template <class I> __device__ int place_among(const I* columns, int count, I column) {
  int low = 0;
  for (int left = count; left > 1;) {
    const int half = left / 2;
    if (columns[low + half] <= column) low += half;
    left -= half;
  }
  return low;
}

/// Shared memory of a warp: sums of `rows` rows, columns, and a block of A.
template <class T, class I> constexpr std::size_t warp_bytes(int rows, int slots) {
  const std::size_t bytes = sizeof(T) * static_cast<std::size_t>(rows * slots) +
                            sizeof(T) * static_cast<std::size_t>(rows * most_twins) +
                            sizeof(I) * static_cast<std::size_t>(slots);
  return (bytes + 15) / 16 * 16;
}

/// One warp per group of up to `most` rows, of those with more than `least` and at most `slots`
/// columns. Lanes lie along the rows of B, a column each.
template <int most, class T, class I, class O>
__global__ void __launch_bounds__(128)
    fill_twins_kernel(const twin_factors<T, I, O> p, int least, int slots, read_offsets rowptr,
                      I* colind, T* values) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  T* const sums = reinterpret_cast<T*>(shared + warp * warp_bytes<T, I>(most, slots));
  T* const block = sums + most * slots; // of A: its rows one after the other
  I* const columns = reinterpret_cast<I*>(block + most * most_twins);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / 32);
  for (std::int64_t group = thread_index() / 32; group < p.groups; group += stride) {
    const std::int64_t start = p.starts[group];
    const auto count = static_cast<int>(p.starts[group + 1] - start);
    if (count <= least || count > slots) continue;
    const std::int64_t leader = p.leaders[group];
    const auto rows = static_cast<int>(p.leaders[group + 1] - leader);
    for (int s = lane; s < count; s += 32) {
      columns[s] = p.columns[start + s];
      for (int r = 0; r < rows; ++r) sums[r * slots + s] = no_product<T>();
    }
    const O a_begin = p.f.a_rowptr[leader], a_length = p.f.a_rowptr[leader + 1] - a_begin;
    const O last = p.rowptr[group + 1];
    for (O run = p.rowptr[group]; run < last; ++run) {
      const O at = p.at[run];
      const auto width = static_cast<int>((run + 1 < last ? O{p.at[run + 1]} : a_length) - at);
      for (int e = lane; e < rows * width; e += 32)
        block[e] = p.v.factor(a_begin + (e / width) * a_length + at + e % width);
      __syncwarp(); // also: the last run's sums are there
      const I j = p.colind[run];
      const O b = p.f.b_rowptr[j], b_length = p.f.b_rowptr[j + 1] - b;
      for (O k = lane; k < b_length; k += 32) {
        T* const sum = sums + place_among(columns, count, p.f.b_colind[b + k]);
        T of_row[most];
#pragma unroll
        for (int r = 0; r < most; ++r)
          if (r < rows) of_row[r] = sum[r * slots];
        for (int t = 0; t < width; ++t) {
          const T value = p.v.value(b + t * b_length + k);
#pragma unroll
          for (int r = 0; r < most; ++r)
            if (r < rows) of_row[r] += rounded_product(block[r * width + t], value);
        }
#pragma unroll
        for (int r = 0; r < most; ++r)
          if (r < rows) sum[r * slots] = of_row[r];
      }
      __syncwarp(); // before the block is the next one's
    }
    __syncwarp();
    for (int r = 0; r < rows; ++r) {
      const std::int64_t to = rowptr[leader + r];
      for (int s = lane; s < count; s += 32) {
        colind[to + s] = columns[s];
        values[to + s] = sums[r * slots + s];
      }
    }
    __syncwarp();
  }
}

} // namespace

template <class T, class I, class O>
twin_product<T, I, O>::twin_product(const device_context& ctx, const spgemm_factors<I, O>& f,
                                    std::int64_t b_rows, const spgemm_thresholds& thresholds,
                                    const spgemm_totals& totals, stage_clock& clock)
    : ctx_(ctx), f_(f) {
  if (f.rows == 0 || b_rows == 0) return;
  find_groups(b_rows);
  const spgemm_totals analysed = analyse_rows(ctx, reduced(), runs_, thresholds, facts_);
  clock.lap(&spgemm_report::analyse);
  if (totals.products < static_cast<unsigned long long>(thresholds.twin_share) * analysed.products)
    return;
  array<std::int64_t, space::device> counts(ctx, groups_);
  totals_ = count_rows(ctx, reduced(), facts_, analysed, counts.data(), clock);
  sizes_ = array<std::int64_t, space::device>(ctx, f.rows);
  for_each(ctx, f.rows, "twin_product",
           note_sizes{group_of_.data(), std::as_const(counts).data(), sizes_.data()});
  starts_ = array<std::int64_t, space::device>(ctx, groups_ + 1);
  exclusive_sums(ctx, groups_, std::as_const(counts).data(), starts_.data());
  array<twin_lengths, space::device> found(ctx, 1);
  check(cudaMemsetAsync(found.data(), 0, sizeof(twin_lengths), ctx.stream()), "twin_product");
  for_each(ctx, groups_, "twin_product",
           note_lengths<I>{counts.data(), leaders_.data(), found.data()});
  array<std::int64_t, space::device> all(ctx, f.rows + 1);
  exclusive_sums(ctx, f.rows, std::as_const(sizes_).data(), all.data());
  read_back(ctx, &lengths_, std::as_const(found).data(), 1);
  read_back(ctx, &entries_, std::as_const(all).data() + f.rows, 1);
  clock.lap(&spgemm_report::count);
  pays_ = lengths_.longest <= twin_lengths::most_of(twin_lengths::classes - 1);
}

template <class T, class I, class O>
array<unsigned char, space::device>
twin_product<T, I, O>::find_leaders(const O* rowptr, const I* colind, std::int64_t rows) const {
  array<unsigned char, space::device> unlike(ctx_, rows), leads(ctx_, rows);
  compare_rows_kernel<<<blocks_for(32 * rows), block_threads, 0, ctx_.stream()>>>(
      rowptr, colind, rows, unlike.data());
  check_launch("compare_rows_kernel");
  for_each(ctx_, rows, "twin_product", cut_groups{unlike.data(), leads.data()});
  return leads;
}

template <class T, class I, class O> void twin_product<T, I, O>::find_groups(std::int64_t b_rows) {
  const auto leads = find_leaders(f_.a_rowptr, f_.a_colind, f_.rows);
  group_of_ = array<std::int64_t, space::device>(ctx_, f_.rows + 1);
  exclusive_sums(ctx_, f_.rows, leads.data(), group_of_.data());
  read_back(ctx_, &groups_, std::as_const(group_of_).data() + f_.rows, 1);
  leaders_ = array<I, space::device>(ctx_, groups_ + 1);
  for_each(ctx_, f_.rows + 1, "twin_product",
           note_leader<I>{leads.data(), group_of_.data(), leaders_.data(), f_.rows, groups_});
  // A may be a view of B's first rows.
  const bool is_square =
      f_.a_rowptr == f_.b_rowptr && f_.a_colind == f_.b_colind && f_.rows == b_rows;
  if (is_square)
    find_runs(leads);
  else
    find_runs(find_leaders(f_.b_rowptr, f_.b_colind, b_rows));
}

template <class T, class I, class O>
void twin_product<T, I, O>::find_runs(const array<unsigned char, space::device>& b_leads) {
  const entry_runs<I, O> runs{f_.a_rowptr, f_.a_colind, b_leads.data()};
  array<int, space::device> counts(ctx_, groups_);
  const unsigned blocks = blocks_for(32 * groups_);
  count_runs_kernel<<<blocks, block_threads, 0, ctx_.stream()>>>(
      runs, groups_, std::as_const(leaders_).data(), counts.data());
  check_launch("count_runs_kernel");
  rowptr_ = array<O, space::device>(ctx_, groups_ + 1);
  exclusive_sums(ctx_, groups_, std::as_const(counts).data(), rowptr_.data());
  O all = 0;
  read_back(ctx_, &all, std::as_const(rowptr_).data() + groups_, 1);
  runs_ = all;
  colind_ = array<I, space::device>(ctx_, runs_);
  at_ = array<I, space::device>(ctx_, runs_);
  list_runs_kernel<<<blocks, block_threads, 0, ctx_.stream()>>>(
      runs, groups_, std::as_const(leaders_).data(), std::as_const(rowptr_).data(), colind_.data(),
      at_.data());
  check_launch("list_runs_kernel");
}

template <class T, class I, class O>
bool twin_product<T, I, O>::fill(const spgemm_values<T>& v, read_offsets rowptr, I* colind,
                                 T* values, stage_clock& clock) {
  const std::int64_t all = static_cast<std::int64_t>(totals_.entries);
  array<I, space::device> columns(ctx_, all);
  {
    array<float, space::device> unused(ctx_, all); // a pattern's values are all 1
    spgemm_counters* const counters = facts_.counters.data();
    const read_offsets starts(std::as_const(starts_).data());
    const fill_bins<I> bins = bin_to_fill<I, O>(ctx_, reduced(), facts_.view(), totals_, starts,
                                                counters->binned_to_fill);
    clock.lap(&spgemm_report::bin_for_fill);
    if (!fill_rows<float, I, O>(ctx_, reduced(), {1, nullptr, nullptr, true}, facts_.view(),
                                totals_, bins, starts, {columns.data(), unused.data(), false},
                                spgemm_order::of_a, &counters->wrong, clock))
      return false;
  }
  const twin_factors<T, I, O> p{f_,
                                v,
                                groups_,
                                leaders_.data(),
                                rowptr_.data(),
                                colind_.data(),
                                at_.data(),
                                starts_.data(),
                                columns.data()};
  const auto launch = [&](auto most, int c) {
    const int least = c == 0 ? 0 : twin_lengths::most_of(c - 1);
    const int slots = std::min(twin_lengths::most_of(c), (lengths_.longest + 31) / 32 * 32);
    const std::size_t each = warp_bytes<T, I>(most(), slots);
    int warps = 4;
    while (warps > 1 &&
           each * static_cast<std::size_t>(warps) > ctx_.properties().shared_bytes_per_block / 4)
      warps /= 2;
    const std::size_t bytes = each * static_cast<std::size_t>(warps);
    auto* const kernel = fill_twins_kernel<most(), T, I, O>;
    allow_shared(kernel, bytes);
    const std::int64_t held = static_cast<std::int64_t>(ctx_.properties().shared_bytes_per_block) /
                              static_cast<std::int64_t>(bytes + 1024);
    const std::int64_t wanted = (groups_ + warps - 1) / warps;
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(
        wanted, 4 * std::clamp<std::int64_t>(held, 1, 16) * ctx_.properties().multiprocessors));
    kernel<<<blocks, static_cast<unsigned>(32 * warps), bytes, ctx_.stream()>>>(
        p, least, slots, rowptr, colind, values);
    check_launch("fill_twins_kernel");
  };
  for (int c = twin_lengths::classes - 1; c >= 0; --c) {
    if (lengths_.groups_of[c] == 0) continue;
    if (lengths_.largest_group <= 3)
      launch(std::integral_constant<int, 3>{}, c);
    else
      launch(std::integral_constant<int, most_twins>{}, c);
  }
  clock.lap(&spgemm_report::fill);
  if (spgemm_report* const report = clock.report()) {
    report->merged_rows = report->table_rows = report->heavy_rows = 0;
    report->twin_rows = f_.rows;
  }
  return true;
}

#define LACUNA_INSTANTIATE(T, I, O) template class twin_product<T, I, O>;
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
