#include "gpu/spgemm_slices.cuh"

#include <optional>

#include "gpu/parts/load.cuh"
#include "gpu/spgemm_bins.cuh"

namespace lacuna::detail::gpu {
namespace {

/// One thread per row, of which a warp has a slice's. Rows that lack something, as those at the
/// ends of a grid's lines, are listed and then counted side by side.
__global__ void __launch_bounds__(block_threads)
    count_slices_kernel(const sliced_pattern p, const std::int64_t* a_diagonals,
                        const diagonal_counts counts, unsigned* full, int* sizes,
                        unsigned long long* entries) {
  __shared__ unsigned long long of_block;
  __shared__ int others, lacking[block_threads];
  if (threadIdx.x == 0) {
    of_block = 0;
    others = 0;
  }
  __syncthreads();
  const std::int64_t row = thread_index();
  const unsigned long long mask = row < p.rows ? p.a[row] : 0;
  const unsigned long long all_of_b = ~0ull >> (most_diagonals - counts.b);
  bool is_full = mask == ~0ull >> (most_diagonals - counts.a);
  for (int k = 0; is_full && k < counts.a; ++k) is_full = p.b[row + a_diagonals[k]] == all_of_b;
  __syncwarp();
  const unsigned are_full = __ballot_sync(whole_warp, is_full);
  if (is_full)
    sizes[row] = counts.c;
  else if (row < p.rows)
    lacking[atomicAdd(&others, 1)] = static_cast<int>(threadIdx.x);
  if (threadIdx.x % diagonal_slice_rows == 0 && row < p.rows) {
    full[row / diagonal_slice_rows] = are_full;
    atomicAdd(&of_block, static_cast<unsigned long long>(counts.c) * __popc(are_full));
  }
  __syncthreads();
  int size = 0;
  if (static_cast<int>(threadIdx.x) < others) {
    const std::int64_t its = row - threadIdx.x + lacking[threadIdx.x];
    const unsigned long long its_mask = p.a[its];
    for (int w = 0, step = 0; w < p.window_count; ++w) {
      const int end = p.windows[w].end;
      unsigned made = 0;
      for (; step < end; ++step) {
        const slice_step s = load_whole(p.steps + step);
        if ((its_mask >> s.a() & 1) != 0)
          made |= static_cast<unsigned>(p.b[its + s.diagonal] >> s.b()) << s.first() & s.sums();
      }
      size += __popc(made);
    }
    sizes[its] = size;
  }
  __syncwarp();
  const auto of_warp = warp_sum(static_cast<unsigned long long>(size));
  if (threadIdx.x % 32 == 0 && of_warp != 0) atomicAdd(&of_block, of_warp);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(entries, of_block);
}

constexpr int sampled_shifts = 4096;
/// Rows of a matrix whose diagonals are looked for in a sixteenth of them.
constexpr std::int64_t least_sampled = std::int64_t{1} << 17;
/// A sample takes some 15 us with its wait: a few hundredths of what so many products take.
constexpr double least_expected = 16e6;

/// Rows all over A, a thread each, one of each stretch of rows.
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    sample_shifts_kernel(const spgemm_factors<I, O> f, unsigned* shifted) {
  const std::int64_t stretch = f.rows / sampled_shifts;
  const std::int64_t row = thread_index() * stretch + scattered(thread_index()) % stretch;
  const bool holds = looks_shifted(f, row, f.a_rowptr[row], f.a_rowptr[row + 1]);
  const unsigned votes = __ballot_sync(whole_warp, holds);
  if (threadIdx.x % 32 == 0 && votes != 0) atomicAdd(shifted, static_cast<unsigned>(__popc(votes)));
}

/// Blocks of kernels that look at patterns: all are at work at a time.
unsigned pattern_blocks(const device_context& ctx, std::int64_t rows) {
  return static_cast<unsigned>(
      std::min<std::int64_t>((rows + pattern_threads - 1) / pattern_threads,
                             std::int64_t{12} * ctx.properties().multiprocessors));
}

unsigned blocks_of_slices(std::int64_t rows, int warps) {
  const std::int64_t of_block = std::int64_t{diagonal_slice_rows} * warps;
  return static_cast<unsigned>((rows + of_block - 1) / of_block);
}

std::vector<std::int64_t> sorted_diagonals(const found_diagonals& found) {
  std::vector<std::int64_t> sorted(found.of, found.of + found.count);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

} // namespace

template <class I, class O>
bool looks_sliced(const device_context& ctx, const spgemm_factors<I, O>& f,
                  const spgemm::factor_sizes& sizes, const spgemm_thresholds& thresholds) {
  const double expected = static_cast<double>(sizes.a_entries) *
                          static_cast<double>(sizes.b_entries) /
                          static_cast<double>(std::max<std::int64_t>(sizes.b_rows, 1));
  if (f.rows < sampled_shifts ||
      expected < std::max(least_expected, 1e3 * static_cast<double>(thresholds.slice_products)))
    return false;
  // Not in the stream's scratch, as any_of has it.
  array<unsigned, space::device> counted(ctx, 1);
  check(cudaMemsetAsync(counted.data(), 0, counted.bytes(), ctx.stream()), "looks_sliced");
  sample_shifts_kernel<<<sampled_shifts / block_threads, block_threads, 0, ctx.stream()>>>(
      f, counted.data());
  check_launch("sample_shifts_kernel");
  unsigned shifted = 0;
  read_back(ctx, &shifted, std::as_const(counted).data(), 1);
  return 2 * shifted >= sampled_shifts;
}

template <class I, class O>
slice_product<I, O>::slice_product(const device_context& ctx, const spgemm_factors<I, O>& f,
                                   const spgemm::factor_sizes& sizes,
                                   const spgemm_thresholds& thresholds, bool by_sample)
    : rows_(f.rows), b_rows_(sizes.b_rows) {
  if (sizes.a_entries == 0 || sizes.b_entries == 0) return;
  // A may be a view of B's first rows.
  is_square_ = f.a_rowptr == f.b_rowptr && f.a_colind == f.b_colind && sizes.a_rows == sizes.b_rows;
  scratch_ = array<slice_scratch, space::device>(ctx, 1);
  slice_scratch* const scratch = scratch_.data();
  check(cudaMemsetAsync(scratch, 0, sizeof(slice_scratch), ctx.stream()), "slice_product");
  slice_findings* const found = &scratch->found;
  find_diagonals(ctx, f.a_rowptr, f.a_colind, rows_, by_sample, scratch->a_keys, &found->a);
  if (!is_square_)
    find_diagonals(ctx, f.b_rowptr, f.b_colind, b_rows_, by_sample, scratch->b_keys, &found->b);
  std::optional<read_ahead<slice_findings>> arriving(std::in_place, ctx.stream(), found);
  a_masks_ = mask_rows(ctx, f.a_rowptr, f.a_colind, rows_, &found->a);
  if (!is_square_) b_masks_ = mask_rows(ctx, f.b_rowptr, f.b_colind, b_rows_, &found->b);
  const slice_findings there = arriving->get();
  arriving.reset(); // a thread has one at a time
  const auto is_full_enough = [&](unsigned diagonals, std::int64_t rows, std::int64_t entries) {
    return diagonals > 0 && diagonals <= most_diagonals && // none: the sample had no entry
           diagonals * rows <= std::min<std::int64_t>(thresholds.slice_places, 1 << 20) * entries;
  };
  if (!is_full_enough(there.a.count, rows_, sizes.a_entries)) return;
  if (!is_square_ && !is_full_enough(there.b.count, b_rows_, sizes.b_entries)) return;
  a_ = sorted_diagonals(there.a);
  b_ = is_square_ ? a_ : sorted_diagonals(there.b);
  plan_ = plan_slices(a_, b_);
  if (plan_.c.size() > most_diagonals_of_c) return;
  count(ctx);
  pays_ = true;
}

template <class I, class O>
void slice_product<I, O>::find_diagonals(const device_context& ctx, const O* rowptr,
                                         const I* colind, std::int64_t rows, bool by_sample,
                                         unsigned long long* keys, found_diagonals* found) const {
  const unsigned every = by_sample && rows >= least_sampled ? 16 : 1;
  find_diagonals_kernel<<<pattern_blocks(ctx, rows / every), pattern_threads, 0, ctx.stream()>>>(
      rowptr, colind, rows, every, keys, found);
  check_launch("find_diagonals_kernel");
}

template <class I, class O>
array<unsigned long long, space::device>
slice_product<I, O>::mask_rows(const device_context& ctx, const O* rowptr, const I* colind,
                               std::int64_t rows, found_diagonals* found) const {
  array<unsigned long long, space::device> masks(ctx, rows);
  mask_rows_kernel<<<pattern_blocks(ctx, rows), pattern_threads, 0, ctx.stream()>>>(
      rowptr, colind, rows, found, masks.data());
  check_launch("mask_rows_kernel");
  return masks;
}

template <class I, class O> void slice_product<I, O>::count(const device_context& ctx) {
  const std::size_t steps = plan_.steps.size() * sizeof(slice_step),
                    windows = plan_.windows.size() * sizeof(slice_window),
                    of_c = plan_.c.size() * sizeof(std::int64_t),
                    diagonals = a_.size() * sizeof(std::int64_t);
  uploaded_.resize(steps + windows + of_c + diagonals);
  std::memcpy(uploaded_.data(), plan_.steps.data(), steps);
  std::memcpy(uploaded_.data() + steps, plan_.windows.data(), windows);
  std::memcpy(uploaded_.data() + steps + windows, plan_.c.data(), of_c);
  std::memcpy(uploaded_.data() + steps + windows + of_c, a_.data(), diagonals);
  program_ = array<unsigned char, space::device>(ctx, static_cast<std::int64_t>(uploaded_.size()));
  copy_bytes(ctx, program_.data(), uploaded_.data(), uploaded_.size(), space::host);
  sizes_ = array<int, space::device>(ctx, rows_);
  full_ =
      array<unsigned, space::device>(ctx, (rows_ + diagonal_slice_rows - 1) / diagonal_slice_rows);
  const diagonal_counts counts{static_cast<int>(a_.size()), static_cast<int>(b_.size()),
                               static_cast<int>(plan_.c.size())};
  count_slices_kernel<<<blocks_for(rows_), block_threads, 0, ctx.stream()>>>(
      pattern(), reinterpret_cast<const std::int64_t*>(program_.data() + steps + windows + of_c),
      counts, full_.data(), sizes_.data(), &scratch_.data()->found.entries);
  check_launch("count_slices_kernel");
  counted_ = std::make_unique<read_ahead<slice_findings>>(ctx.stream(), &scratch_.data()->found);
}

template <class I, class O> sliced_pattern slice_product<I, O>::pattern() const {
  const auto* const steps = reinterpret_cast<const slice_step*>(program_.data());
  const auto* const windows = reinterpret_cast<const slice_window*>(steps + plan_.steps.size());
  return {steps,
          windows,
          reinterpret_cast<const std::int64_t*>(windows + plan_.windows.size()),
          static_cast<int>(plan_.windows.size()),
          rows_,
          a_masks_.data(),
          is_square_ ? a_masks_.data() : b_masks_.data(),
          full_.data()};
}

template <class I, class O> bool slice_product<I, O>::is_counted() {
  const slice_findings there = counted_->get();
  counted_.reset();
  scratch_ = {};
  uploaded_ = {};
  entries_ = static_cast<std::int64_t>(there.entries);
  is_incomplete_ = there.a.is_incomplete != 0 || there.b.is_incomplete != 0;
  return there.a.is_unsorted == 0 && !is_incomplete_;
}

template <class I, class O>
template <class T>
array<T, space::device>
slice_product<I, O>::place_one(const device_context& ctx, const O* rowptr, const T* values,
                               const array<unsigned long long, space::device>& masks,
                               std::size_t diagonals) const {
  const std::int64_t rows = masks.size(), places = rows + diagonal_slice_rows - 1;
  const auto count = static_cast<int>(diagonals);
  array<T, space::device> placed(ctx, places / diagonal_slice_rows * diagonal_slice_rows * count);
  const std::size_t each = diagonal_slice_rows * diagonals * sizeof(T);
  constexpr int warps = 4;
  auto* const kernel = slice_values_kernel<T, O>;
  allow_shared(kernel, warps * each);
  kernel<<<blocks_of_slices(rows, warps), 32 * warps, warps * each, ctx.stream()>>>(
      rowptr, masks.data(), rows, count, values, placed.data());
  check_launch("slice_values_kernel");
  return placed;
}

template <class I, class O>
template <class T>
placed_values<T> slice_product<I, O>::place(const device_context& ctx,
                                            const spgemm_factors<I, O>& f,
                                            const spgemm_values<T>& v) const {
  placed_values<T> placed;
  if (v.pattern) return placed;
  placed.a = place_one(ctx, f.a_rowptr, v.a, a_masks_, a_.size());
  if (!is_square_ || v.a != v.b)
    placed.b = place_one(ctx, f.b_rowptr, v.b, is_square_ ? a_masks_ : b_masks_, b_.size());
  return placed;
}

template <class I, class O>
template <class T>
void slice_product<I, O>::fill(const device_context& ctx, const placed_values<T>& placed,
                               const spgemm_values<T>& v, read_offsets rowptr,
                               const fill_target<T, I>& target, int* wrong) const {
  const sliced_values<T> values{placed.a.data(),
                                placed.b.empty() ? placed.a.data() : placed.b.data(),
                                v.alpha,
                                v.pattern,
                                static_cast<int>(a_.size()),
                                static_cast<int>(b_.size())};
  const int staged = plan_.staged | 1; // odd: lanes side by side meet in no bank
  constexpr int warps = 4;             // of a block that fills
  const auto launch = [&](auto width, auto columns) {
    const std::size_t bytes = (sizeof(T) + (columns() ? sizeof(slice_code) : 0)) *
                              static_cast<std::size_t>(warps * diagonal_slice_rows * staged);
    auto* const kernel = fill_slices_kernel<width(), columns(), T, I>;
    allow_shared(kernel, bytes);
    kernel<<<blocks_of_slices(rows_, warps), 32 * warps, bytes, ctx.stream()>>>(
        pattern(), values, staged, plan_.at_once, rowptr, target, wrong);
    check_launch("fill_slices_kernel");
  };
  const auto launch_width = [&](auto columns) {
    if (plan_.width == narrow_window)
      launch(std::integral_constant<int, narrow_window>{}, columns);
    else
      launch(std::integral_constant<int, wide_window>{}, columns);
  };
  if (target.colind != nullptr)
    launch_width(std::true_type{});
  else
    launch_width(std::false_type{});
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template bool looks_sliced<I, O>(const device_context&, const spgemm_factors<I, O>&,             \
                                   const spgemm::factor_sizes&, const spgemm_thresholds&);         \
  template class slice_product<I, O>;
LACUNA_FOR_EACH_KERNEL_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template placed_values<T> slice_product<I, O>::place<T>(                                         \
      const device_context&, const spgemm_factors<I, O>&, const spgemm_values<T>&) const;          \
  template void slice_product<I, O>::fill<T>(const device_context&, const placed_values<T>&,       \
                                             const spgemm_values<T>&, read_offsets,                \
                                             const fill_target<T, I>&, int*) const;
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
