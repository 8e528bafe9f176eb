// Groups of rows of one pattern, and the symbolic pass over them: one warp per group. Nothing is
// waited for until C's rows are counted.
#include "gpu/spgemm_twins.cuh"

#include "gpu/spgemm_bins.cuh"
#include "gpu/spgemm_words.cuh"

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
/// run the beginning is not looked for: there rows lead whose number divides. Leaders are listed
/// if there is a list, those of a warp side by side.
template <class I>
__global__ void __launch_bounds__(block_threads)
    cut_groups_kernel(const unsigned char* unlike, std::int64_t rows, unsigned char* leads,
                      I* leaders, twin_totals* totals) {
  constexpr int looked_at = 8 * most_twins;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t row = thread_index();
  bool is_leader = false;
  int size = 0; // of its group up to this row
  if (row < rows) {
    int place = 0;
    while (place <= looked_at && unlike[row - place] == 0) ++place;
    const int at = place < looked_at    ? place % most_twins
                   : place == looked_at ? 0
                                        : static_cast<int>(row % most_twins);
    is_leader = at == 0;
    size = at + 1;
    leads[row] = is_leader ? 1 : 0;
  }
  const unsigned votes = __ballot_sync(whole_warp, is_leader);
  size = warp_max(size);
  unsigned to = 0;
  if (lane == 0) {
    if (size > totals->largest_group) atomicMax(&totals->largest_group, size);
    if (leaders != nullptr) to = atomicAdd(&totals->groups, static_cast<unsigned>(__popc(votes)));
  }
  if (leaders == nullptr) return;
  to = __shfl_sync(whole_warp, to, 0);
  if (is_leader) leaders[to + __popc(votes & ((1u << lane) - 1))] = static_cast<I>(row);
}

/// Words of a row of C at most: all but one slot of a table.
constexpr int counting_slots = 512;
constexpr int counting_threads = 128;

template <class I, class O>
__global__ void __launch_bounds__(counting_threads)
    count_twins_kernel(const spgemm_factors<I, O> f, const I* leaders, const unsigned char* leads,
                       const begins_run<I> begins, std::int64_t* counts, twin_totals* totals) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  column_words<I> words(shared + threadIdx.x / 32 * column_words<I>::bytes(counting_slots),
                        counting_slots);
  const std::int64_t groups = totals->groups;
  unsigned long long entries = 0, searches = 0; // entries: the same in all lanes
  int longest = 0, most_words = 0;
  unsigned of_class = 0; // in lane c that of class c
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / 32);
  for (std::int64_t group = thread_index() / 32; group < groups; group += stride) {
    if (__any_sync(whole_warp, *static_cast<volatile unsigned*>(&totals->overflowed) != 0)) break;
    const std::int64_t leader = leaders[group];
    const int rows = rows_of_group(leads, f.rows, leader);
    const O begin = f.a_rowptr[leader], end = f.a_rowptr[leader + 1];
    const bool fits = words.gather(f, begin, end, [&](O k) {
      if (!begins(k, begin)) return false;
      const I j = f.a_colind[k];
      searches += static_cast<unsigned long long>(f.b_rowptr[j + 1] - f.b_rowptr[j]);
      return true;
    });
    if (!fits) {
      if (lane == 0) totals->overflowed = 1;
      break;
    }
    const int count = words.count();
    if (lane < rows) counts[leader + lane] = count;
    entries += static_cast<unsigned long long>(rows) * static_cast<unsigned>(count);
    longest = max(longest, count);
    most_words = max(most_words, words.words);
    int c = 0;
    while (c < twin_totals::classes && twin_totals::most_of(c) < count) ++c;
    if (lane == c) ++of_class;
    __syncwarp();
  }
  __syncwarp();
  searches = warp_sum(searches);
  if (lane < twin_totals::classes && of_class != 0) atomicAdd(totals->groups_of + lane, of_class);
  if (lane != 0) return;
  atomicAdd(&totals->entries, entries);
  atomicAdd(&totals->searches, searches);
  atomicMax(&totals->longest, longest);
  atomicMax(&totals->most_words, most_words);
}

/// Finds who leads; lists them if `leaders` is not null.
template <class I, class O>
array<unsigned char, space::device> find_leaders(const device_context& ctx, const O* rowptr,
                                                 const I* colind, std::int64_t rows, I* leaders,
                                                 twin_totals* totals) {
  array<unsigned char, space::device> unlike(ctx, rows), leads(ctx, rows);
  compare_rows_kernel<<<blocks_for(32 * rows), block_threads, 0, ctx.stream()>>>(
      rowptr, colind, rows, unlike.data());
  check_launch("compare_rows_kernel");
  cut_groups_kernel<<<blocks_for(rows), block_threads, 0, ctx.stream()>>>(
      unlike.data(), rows, leads.data(), leaders, totals);
  check_launch("cut_groups_kernel");
  return leads;
}

} // namespace

template <class I, class O>
twin_groups<I, O>::twin_groups(const device_context& ctx, const spgemm_factors<I, O>& f,
                               std::int64_t b_rows, const spgemm_thresholds& thresholds,
                               const spgemm_totals& totals, std::int64_t* counts) {
  if (f.rows == 0 || b_rows == 0) return;
  array<twin_totals, space::device> found(ctx, 1);
  check(cudaMemsetAsync(found.data(), 0, sizeof(twin_totals), ctx.stream()), "twin_groups");
  leaders_ = array<I, space::device>(ctx, f.rows);
  leads_ = find_leaders(ctx, f.a_rowptr, f.a_colind, f.rows, leaders_.data(), found.data());
  // A may be a view of B's first rows.
  is_square_ = f.a_rowptr == f.b_rowptr && f.a_colind == f.b_colind && f.rows == b_rows;
  if (!is_square_)
    b_leads_ = find_leaders<I, O>(ctx, f.b_rowptr, f.b_colind, b_rows, nullptr, found.data());
  constexpr int warps = counting_threads / 32;
  constexpr std::size_t bytes = warps * column_words<I>::bytes(counting_slots);
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(
      (f.rows + warps - 1) / warps, std::int64_t{32} * ctx.properties().multiprocessors));
  count_twins_kernel<<<blocks, counting_threads, bytes, ctx.stream()>>>(
      f, std::as_const(leaders_).data(), std::as_const(leads_).data(),
      begins_run<I>{f.a_colind, b_leads()}, counts, found.data());
  check_launch("count_twins_kernel");
  read_back(ctx, &totals_, std::as_const(found).data(), 1);
  pay_ =
      totals_.overflowed == 0 &&
      totals_.longest <= twin_totals::most_of(twin_totals::classes - 1) &&
      totals.products >= static_cast<unsigned long long>(thresholds.twin_share) * totals_.searches;
}

#define LACUNA_INSTANTIATE(I, O) template class twin_groups<I, O>;
LACUNA_FOR_EACH_KERNEL_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
