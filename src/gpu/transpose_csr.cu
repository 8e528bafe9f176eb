// B = A^T. Entries of one column keep the order of A's rows.
//
// A square matrix with sorted, unique rows is first taken to have a symmetric pattern: B has A's
// columns then, and values are found by searches that begin where stencils or bands would have
// them. The first entry without a mirror ends that. Otherwise A's columns are sorted by a stable
// radix sort, together with the entries' numbers, by which rows and values are then fetched.
// Splitting the entries themselves in two stable passes moved fewer bytes and took 1.4 to 2.4 times
// as long.
//
// Bytes per entry, 4-byte indices and 8-byte values: symmetric 28; sorted 20 and 16 for every 8
// bits of the columns, and what is fetched: 12, or whole sectors of 64. Scratch 16. The least
// is 24. For a single product y = A^T x products are sorted in the place of numbers: 24 for every 8
// bits, and nothing is fetched.
#include <bit>

#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>

#include "core/kernel_offsets.hpp"
#include "gpu/parts/sort.cuh"
#include <lacuna/op/kept_pattern.hpp>
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/transpose.hpp>
#include <lacuna/op/vector.hpp>

namespace lacuna::detail::gpu {
namespace {

template <class T, class I, class O> using device_view = csr_view<const T, I, O, space::device>;
template <class T, class I, class O> using device_result = csr_view<T, I, O, space::device>;

/// Entries that a thread, and a block, take at a time.
constexpr int entries_of_thread = 8;
constexpr int tile_entries = block_threads * entries_of_thread;

/// rows[t]: the row of the first entry of tile t; one warp per tile.
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    find_tile_rows_kernel(const O* rowptr, std::int64_t rows, std::int64_t tiles, I* tile_rows) {
  const std::int64_t tile = thread_index() / 32;
  if (tile >= tiles) return;
  const std::int64_t row = last_of_warp(
      rows, [&](std::int64_t r) { return rowptr[r] <= static_cast<O>(tile * tile_entries); });
  if (threadIdx.x % 32 == 0) tile_rows[tile] = static_cast<I>(row);
}

/// The rows of A's entries, tile by tile.
template <class I, class O> struct entry_rows {
  const O* rowptr;
  const I* tile_rows;
  std::int64_t rows, entries;

  /// Calls f(entry, row) for the entries of this block's tile, neighbours side by side. Rows that
  /// begin in the tile are marked, empty ones too, and marks are summed up.
  template <class F> __device__ void for_tile(const F& f) const {
    using block_scan = cub::BlockScan<int, block_threads>;
    __shared__ int marks[tile_entries];
    __shared__ typename block_scan::TempStorage scan;
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t begin = blockIdx.x * std::int64_t{tile_entries};
    const int count = static_cast<int>(min(entries - begin, std::int64_t{tile_entries}));
    const std::int64_t first = tile_rows[blockIdx.x];
    const std::int64_t last = begin + tile_entries < entries ? tile_rows[blockIdx.x + 1] : rows - 1;
#pragma unroll
    for (int u = 0; u < entries_of_thread; ++u) marks[thread + u * block_threads] = 0;
    __syncthreads();
    for (std::int64_t r = first + 1 + thread; r <= last; r += block_threads)
      if (const std::int64_t at = rowptr[r] - begin; at < count) atomicAdd(marks + at, 1);
    __syncthreads();
    int before[entries_of_thread];
#pragma unroll
    for (int u = 0; u < entries_of_thread; ++u) before[u] = marks[thread * entries_of_thread + u];
    block_scan(scan).InclusiveSum(before, before);
#pragma unroll
    for (int u = 0; u < entries_of_thread; ++u) marks[thread * entries_of_thread + u] = before[u];
    __syncthreads();
#pragma unroll
    for (int u = 0; u < entries_of_thread; ++u)
      if (const int k = thread + u * block_threads; k < count) f(begin + k, first + marks[k]);
  }
};
/// f(k) for all entries, several per thread: each does little.
template <class F>
__global__ void __launch_bounds__(block_threads) for_entries_kernel(std::int64_t n, F f) {
  const std::int64_t begin = blockIdx.x * std::int64_t{tile_entries} + threadIdx.x;
#pragma unroll
  for (int u = 0; u < entries_of_thread; ++u)
    if (const std::int64_t k = begin + u * block_threads; k < n) f(k);
}

inline std::int64_t tiles_of(std::int64_t entries) {
  return (entries + tile_entries - 1) / tile_entries;
}

/// Where the search for an entry's mirror begins, in the row that has it.
enum class guess {
  from_end,     ///< as far from its end as the entry is from its row's beginning: stencils
  proportional, ///< by its first and last column: bands, dense rows
  none          ///< in the middle
};
constexpr int guesses = 3;
/// What is known of A's pattern.
struct mirror_facts {
  int differs;            // an entry has no mirror, or looking for all takes too long
  unsigned warps;         // that sampled entries
  unsigned cost[guesses]; // of their searches from each guess
};
constexpr int most_sampled = 4 * block_threads;
/// A warp's searches: what they look at, and what lanes wait for, half of the longest.
__device__ inline unsigned search_cost(unsigned probes) {
  return __reduce_add_sync(0xffffffffu, probes) + 16 * __reduce_max_sync(0xffffffffu, probes);
}
/// A sort is faster than searches that cost more: 8 entries on the mean and 12 at most.
constexpr unsigned most_cost = 32 * 8 + 16 * 12;

/// For entry k at (row, column): where the entry (column, row) is; -1 if there is none. Counts the
/// entries that it looks at: few, if the guess is good.
template <class I, class O>
__device__ std::int64_t mirror_of(const O* rowptr, const I* col, std::int64_t row, std::int64_t k,
                                  guess from, unsigned& probes) {
  const I column = col[k];
  std::int64_t low = rowptr[column], high = rowptr[std::int64_t{column} + 1];
  if (low == high) return -1;
  std::int64_t at = 0;
  if (from == guess::from_end) {
    at = max(low, high - 1 - (k - static_cast<std::int64_t>(rowptr[row])));
  } else if (from == guess::proportional) {
    const std::int64_t first = col[low], last = col[high - 1];
    if (row < first || row > last) return -1;
    const auto part =
        static_cast<float>(row - first) / static_cast<float>(max(last - first, std::int64_t{1}));
    at = min(high - 1,
             low + static_cast<std::int64_t>(part * static_cast<float>(high - 1 - low) + 0.5f));
  }
  const auto distance_at = [&](std::int64_t place) {
    ++probes;
    return static_cast<std::int64_t>(col[place]) - row;
  };
  std::int64_t away = 0;
  if (from != guess::none) { // steps that double, away from the guess; then halves
    away = distance_at(at);
    if (away == 0) return at;
    const bool up = away < 0;
    if (up)
      low = at + 1;
    else
      high = at;
    for (std::int64_t step = 1; low < high; step *= 2) {
      at = up ? min(low + step, high) - 1 : max(high - step, low);
      away = distance_at(at);
      if (away == 0) return at;
      if (away < 0)
        low = at + 1;
      else
        high = at;
      if ((away < 0) != up) break;
    }
  }
  while (low < high) {
    at = (low + high) / 2;
    away = distance_at(at);
    if (away == 0) return at;
    if (away < 0)
      low = at + 1;
    else
      high = at;
  }
  return -1;
}

/// Looks at the first entries of tiles all over A, from each guess: most patterns that are not
/// symmetric are found out here.
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    sample_mirrors_kernel(const entry_rows<I, O> all, const I* col, std::int64_t tiles,
                          mirror_facts* facts) {
  const std::int64_t tile = thread_index() * ((tiles + most_sampled - 1) / most_sampled);
  unsigned probes[guesses] = {};
  if (tile < tiles) {
    const std::int64_t k = tile * tile_entries, row = all.tile_rows[tile];
    bool lacks = false;
#pragma unroll
    for (int g = 0; g < guesses; ++g)
      lacks |= mirror_of(all.rowptr, col, row, k, static_cast<guess>(g), probes[g]) < 0;
    if (lacks) facts->differs = 1;
  }
  __syncwarp();
#pragma unroll
  for (int g = 0; g < guesses; ++g) {
    const unsigned cost = search_cost(probes[g]);
    if (threadIdx.x % 32 == 0) atomicAdd(&facts->cost[g], cost);
  }
  if (threadIdx.x % 32 == 0 && tile < tiles) atomicAdd(&facts->warps, 1u);
}

/// B = A^T where A's pattern is symmetric: B has A's columns, and a value is found by looking for
/// its mirror. Sets `differs` where there is none.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    mirror_kernel(const entry_rows<I, O> all, const I* __restrict__ col,
                  const T* __restrict__ value, I* __restrict__ to_col, T* __restrict__ to_value,
                  mirror_facts* facts) {
  // Other blocks may set it meanwhile, and all threads of a block must go the same way.
  if (__syncthreads_or(threadIdx.x == 0 && *static_cast<volatile int*>(&facts->differs) != 0) != 0)
    return;
  int best = 0;
  for (int g = 1; g < guesses; ++g)
    if (facts->cost[g] < facts->cost[best]) best = g;
  if (facts->cost[best] > most_cost * facts->warps) {
    if (threadIdx.x == 0) facts->differs = 1;
    return;
  }
  const auto from = static_cast<guess>(best);
  unsigned probes = 0;
  bool lacks = false;
  all.for_tile([&](std::int64_t k, std::int64_t row) {
    const std::int64_t at = mirror_of(all.rowptr, col, row, k, from, probes);
    lacks |= at < 0;
    to_col[k] = col[k];
    to_value[k] = value[at < 0 ? k : at];
  });
  if (__syncthreads_or(lacks) != 0 && threadIdx.x == 0) facts->differs = 1;
}

/// B's rows whose beginnings a block finds: enough to share two searches over all of A's columns.
constexpr int columns_of_thread = 4;
constexpr int block_columns = block_threads * columns_of_thread;

/// The grid's first `tiles` blocks write the rows of A's entries; each of the others finds where
/// block_columns of B's rows begin among A's sorted columns, by searches between the places of its
/// first and of the next block's.
template <class I, class O, class Key>
__global__ void __launch_bounds__(block_threads)
    number_rows_kernel(const entry_rows<I, O> all, I* row_of_entry, std::int64_t tiles,
                       const Key* sorted, std::int64_t columns, O* starts) {
  if (blockIdx.x < tiles) {
    all.for_tile([&](std::int64_t k, std::int64_t row) { row_of_entry[k] = static_cast<I>(row); });
    return;
  }
  __shared__ std::int64_t places[2];
  const std::int64_t first = (blockIdx.x - tiles) * block_columns;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (warp < 2) {
    const std::int64_t column = first + warp * block_columns;
    const std::int64_t before = last_of_warp(all.entries + 1, [&](std::int64_t n) {
      return n == 0 || static_cast<std::int64_t>(sorted[n - 1]) < column;
    });
    if (threadIdx.x % 32 == 0) places[warp] = before;
  }
  __syncthreads();
  for (int u = 0; u < columns_of_thread; ++u)
    if (const std::int64_t column = first + u * block_threads + threadIdx.x; column <= columns)
      starts[column] =
          static_cast<O>(places[0] + lower_bound(sorted + places[0], places[1] - places[0],
                                                 static_cast<Key>(column)));
}

template <class F>
void for_entries(const device_context& ctx, std::int64_t entries, const char* what, F f) {
  for_entries_kernel<<<static_cast<unsigned>(tiles_of(entries)), block_threads, 0, ctx.stream()>>>(
      entries, f);
  check_launch(what);
}

/// Entries by their numbers; all that a thread has are on their way before the first is written.
template <class P, class T, class I>
__global__ void __launch_bounds__(block_threads)
    gather_kernel(const P* __restrict__ numbers, const I* __restrict__ row_of_entry,
                  const T* __restrict__ from, std::int64_t n, I* __restrict__ to_col,
                  T* __restrict__ to_value) {
  const std::int64_t begin = blockIdx.x * std::int64_t{tile_entries} + threadIdx.x;
  P number[entries_of_thread];
  I row[entries_of_thread];
  T value[entries_of_thread];
#pragma unroll
  for (int u = 0; u < entries_of_thread; ++u) {
    const std::int64_t k = begin + u * block_threads;
    number[u] = k < n ? numbers[k] : P{0};
  }
#pragma unroll
  for (int u = 0; u < entries_of_thread; ++u) {
    row[u] = row_of_entry[number[u]];
    value[u] = from[number[u]];
  }
#pragma unroll
  for (int u = 0; u < entries_of_thread; ++u)
    if (const std::int64_t k = begin + u * block_threads; k < n) {
      to_col[k] = row[u];
      to_value[k] = value[u];
    }
}

/// Values times the x of their rows.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    multiply_rows_kernel(const entry_rows<I, O> all, const T* __restrict__ value,
                         const T* __restrict__ x, T* __restrict__ product) {
  all.for_tile([&](std::int64_t k, std::int64_t row) { product[k] = value[k] * x[row]; });
}

/// The transposition of a matrix with entries; all memory is allocated before anything is written.
template <class T, class I, class O, class P> class transposition {
public:
  transposition(const device_context& ctx, device_view<T, I, O> a, device_result<T, I, O> b)
      : ctx_(ctx), a_(a), b_(b),
        bits_(std::max(
            1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(a.shape().col - 1))))),
        tile_rows_(ctx, tiles_of(a.size())), facts_(ctx, 1),
        unsorted_(ctx, a.size() * static_cast<std::int64_t>(std::max(sizeof(P), sizeof(I)))),
        sorted_(ctx, a.size()) {
    std::size_t bytes = 0;
    check(sort_columns(nullptr, bytes), "transpose: sort");
    scratch_ = array<char, space::device>(ctx, static_cast<std::int64_t>(bytes));
    find_tile_rows_kernel<<<blocks_for(32 * tile_rows_.size()), block_threads, 0, ctx.stream()>>>(
        a.rowptr().data(), rows(), tile_rows_.size(), tile_rows_.data());
    check_launch("find_tile_rows_kernel");
  }

  /// Whether the pattern was symmetric, and B is done; waits. B's arrays may have been written in
  /// any case.
  bool mirror() {
    check(cudaMemsetAsync(facts_.data(), 0, facts_.bytes(), ctx_.stream()), "transpose: memset");
    sample_mirrors_kernel<<<most_sampled / block_threads, block_threads, 0, ctx_.stream()>>>(
        all_rows(), a_.colind().data(), tile_rows_.size(), facts_.data());
    check_launch("sample_mirrors_kernel");
    mirror_kernel<<<tiles(), block_threads, 0, ctx_.stream()>>>(
        all_rows(), a_.colind().data(), a_.values().data(), b_.colind().data(), b_.values().data(),
        facts_.data());
    check_launch("mirror_kernel");
    mirror_facts facts{};
    read_back(ctx_, &facts, facts_.data(), 1);
    if (facts.differs != 0) return false;
    check(cudaMemcpyAsync(b_.rowptr().data(), a_.rowptr().data(),
                          (static_cast<std::size_t>(rows()) + 1) * sizeof(O),
                          cudaMemcpyDeviceToDevice, ctx_.stream()),
          "transpose: rowptr");
    return true;
  }

  void sort() {
    const I* const row_of_entry = sort_numbers();
    gather_kernel<<<tiles(), block_threads, 0, ctx_.stream()>>>(
        sorted_.data(), row_of_entry, a_.values().data(), entries(), b_.colind().data(),
        b_.values().data());
    check_launch("gather_kernel");
  }

  /// B's pattern without its values, and where in A its entries are.
  void sort_pattern(O* from) {
    const I* const row_of_entry = sort_numbers();
    for_entries(ctx_, entries(), "transpose: pattern",
                [row_of_entry, numbers = sorted_.data(), to_col = b_.colind().data(),
                 from] __device__(std::int64_t k) {
                  const P number = numbers[k];
                  to_col[k] = row_of_entry[number];
                  from[k] = static_cast<O>(number);
                });
  }

  /// B's entry for a of A's row i is x_i a, and its column its own row's number.
  void sort_products(const T* x) {
    unsorted_ = {}; // numbers are not needed
    sorted_ = {};
    scratch_ = {};
    array<T, space::device> products(ctx_, entries());
    const auto sort = [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(
          scratch, bytes, reinterpret_cast<const key*>(a_.colind().data()), sorted_columns(),
          std::as_const(products).data(), b_.values().data(), entries(), 0, bits_, ctx_.stream());
    };
    std::size_t bytes = 0;
    check(sort(nullptr, bytes), "multiply: transposed, sort");
    array<char, space::device> scratch(ctx_, static_cast<std::int64_t>(bytes));
    multiply_rows_kernel<<<tiles(), block_threads, 0, ctx_.stream()>>>(
        all_rows(), a_.values().data(), x, products.data());
    check_launch("multiply_rows_kernel");
    check(sort(scratch.data(), bytes), "multiply: transposed, sort");
    number_rows(0, nullptr);
  }

  /// Entries' numbers by column, and B's rowptr; returns the row of each entry of A.
  const I* sort_numbers() {
    for_entries(
        ctx_, entries(), "transpose: positions",
        [positions = unsorted()] __device__(std::int64_t k) { positions[k] = static_cast<P>(k); });
    std::size_t bytes = scratch_.bytes();
    check(sort_columns(scratch_.data(), bytes), "transpose: sort");
    I* const row_of_entry = reinterpret_cast<I*>(unsorted_.data());
    number_rows(tiles(), row_of_entry);
    return row_of_entry;
  }

private:
  using key = std::make_unsigned_t<I>;
  [[nodiscard]] std::int64_t rows() const { return a_.shape().row; }
  [[nodiscard]] std::int64_t entries() const { return a_.size(); }
  [[nodiscard]] unsigned tiles() const { return static_cast<unsigned>(tile_rows_.size()); }
  [[nodiscard]] entry_rows<I, O> all_rows() const {
    return {a_.rowptr().data(), tile_rows_.data(), rows(), entries()};
  }
  /// B's rowptr, and the rows of A's entries in so many tiles.
  void number_rows(unsigned tiles, I* row_of_entry) {
    const std::int64_t columns = a_.shape().col;
    number_rows_kernel<<<tiles + blocks_for(columns / columns_of_thread + 1), block_threads, 0,
                         ctx_.stream()>>>(all_rows(), row_of_entry, tiles, sorted_columns(),
                                          columns, b_.rowptr().data());
    check_launch("number_rows_kernel");
  }
  /// In the place of B's columns, until those are known.
  [[nodiscard]] key* sorted_columns() const { return reinterpret_cast<key*>(b_.colind().data()); }
  [[nodiscard]] P* unsorted() { return reinterpret_cast<P*>(unsorted_.data()); }
  cudaError_t sort_columns(void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(
        scratch, bytes, reinterpret_cast<const key*>(a_.colind().data()), sorted_columns(),
        unsorted(), sorted_.data(), entries(), 0, bits_, ctx_.stream());
  }

  const device_context& ctx_;
  device_view<T, I, O> a_;
  device_result<T, I, O> b_;
  int bits_;
  array<I, space::device> tile_rows_;
  array<mirror_facts, space::device> facts_;
  array<char, space::device> unsorted_; // entries' numbers, and when those are sorted their rows
  array<P, space::device> sorted_;
  array<char, space::device> scratch_;
};

/// Calls f with a value of the type that numbers the entries of a matrix with offsets O.
template <class O, class F> void with_numbers_of(std::int64_t entries, F&& f) {
  if constexpr (sizeof(O) == 4)
    f(std::uint32_t{});
  else
    with_position_type(entries, f);
}

/// Offsets that kernels write; where these are wider than the caller's, they are copied into the
/// caller's.
template <class I, class O> class written_offsets {
public:
  using offset = kernel_offset<I, O>;
  written_offsets(const device_context& ctx, vector_view<O, space::device> to)
      : ctx_(ctx), to_(to) {
    if constexpr (!std::is_same_v<O, offset>) wide_ = array<offset, space::device>(ctx, to.size());
  }
  [[nodiscard]] offset* data() {
    if constexpr (std::is_same_v<O, offset>)
      return to_.data();
    else
      return wide_.data();
  }
  void finish() {
    if constexpr (!std::is_same_v<O, offset>)
      for_each(ctx_, to_.size(), "transpose: offsets",
               [from = wide_.data(), to = to_.data()] __device__(std::int64_t k) {
                 to[k] = static_cast<O>(from[k]);
               });
  }

private:
  const device_context& ctx_;
  vector_view<O, space::device> to_;
  array<offset, space::device> wide_;
};

} // namespace

/// Calls f(run, symmetric) with the transposition of a into b; symmetric: b is done.
template <class T, class I, class O, class F>
void run_transposition(const device_context& ctx, device_view<T, I, O> a, device_result<T, I, O> b,
                       F&& f) {
  using offset = kernel_offset<I, O>;
  const with_kernel_offsets<T, I, O, space::device> from(ctx, a);
  written_offsets<I, O> rowptr(ctx, b.rowptr());
  const device_result<T, I, offset> to(b.values().data(), rowptr.data(), b.colind().data(),
                                       b.shape(), b.size());
  with_numbers_of<offset>(a.size(), [&](auto number) {
    transposition<T, I, offset, decltype(number)> run(ctx, from.view(), to);
    const bool may_be_symmetric =
        a.shape().row == a.shape().col && a.order().sorted && a.order().unique;
    f(run, may_be_symmetric && run.mirror());
  });
  rowptr.finish();
}

template <class T, class I, class O>
void transpose_csr(const device_context& ctx, csr_view<const T, I, O, space::device> a,
                   csr_view<T, I, O, space::device> b) {
  const device_guard guard(ctx.device());
  const std::int64_t columns = a.shape().col;
  if (a.size() == 0) {
    if (b.rowptr().data() != nullptr)
      check(cudaMemsetAsync(b.rowptr().data(), 0,
                            (static_cast<std::size_t>(columns) + 1) * sizeof(O), ctx.stream()),
            "transpose: memset");
    return;
  }
  run_transposition<T, I, O>(ctx, a, b, [](auto& run, bool done) {
    if (!done) run.sort();
  });
}

template <class T, class I, class O>
void multiply_csr_transposed(const device_context& ctx, T alpha, device_view<T, I, O> a,
                             vector_view<const T, space::device> x, T beta,
                             vector_view<const T, space::device> z,
                             vector_view<T, space::device> y) {
  const device_guard guard(ctx.device());
  const std::int64_t columns = a.shape().col;
  csr<T, I, O, space::device> t(ctx, {a.shape().col, a.shape().row}, a.size());
  bool multiplied = false;
  if (a.size() == 0)
    transpose_csr<T, I, O>(ctx, a, t.view());
  else
    run_transposition<T, I, O>(ctx, a, t.view(), [&](auto& run, bool done) {
      multiplied = !done;
      if (!done) run.sort_products(x.data());
    });
  const device_view<T, I, O> b(std::as_const(t).values().data(), std::as_const(t).rowptr().data(),
                               std::as_const(t).colind().data(),
                               {a.shape().col, multiplied ? a.shape().col : a.shape().row},
                               a.size());
  array<T, space::device> ones(ctx, multiplied ? columns : 0);
  fill<T>(ctx, T{1}, ones.view());
  multiply_format(ctx, alpha, inspected_csr<T, I, O, space::device>{b},
                  as_columns(multiplied ? std::as_const(ones).view() : x), beta, as_columns(z),
                  as_columns(y));
}

template <class I, class O>
void transpose_pattern(const device_context& ctx, index<I> shape,
                       detail::pattern_arrays<I, O, space::device> a,
                       detail::transposed_pattern<I, O, space::device>& result) {
  const device_guard guard(ctx.device());
  if (a.colind.empty()) {
    check(cudaMemsetAsync(result.rowptr.data(), 0, result.rowptr.bytes(), ctx.stream()),
          "transpose: memset");
    return;
  }
  // No value is read or written, so that their type does not matter.
  using offset = kernel_offset<I, O>;
  const auto entries = static_cast<O>(a.colind.size());
  const with_kernel_offsets<float, I, O, space::device> from(
      ctx, device_view<float, I, O>(nullptr, a.rowptr.data(), a.colind.data(), shape, entries));
  written_offsets<I, O> rowptr(ctx, result.rowptr.view()), numbers(ctx, result.from.view());
  const device_result<float, I, offset> to(nullptr, rowptr.data(), result.colind.data(),
                                           result.shape, entries);
  with_numbers_of<offset>(entries, [&](auto number) {
    transposition<float, I, offset, decltype(number)> run(ctx, from.view(), to);
    run.sort_pattern(numbers.data());
  });
  rowptr.finish();
  numbers.finish();
}

#define LACUNA_INSTANTIATE_PATTERN(I, O)                                                           \
  template void transpose_pattern<I, O>(const device_context&, index<I>,                           \
                                        detail::pattern_arrays<I, O, space::device>,               \
                                        detail::transposed_pattern<I, O, space::device>&);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE_PATTERN)
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void transpose_csr<T, I, O>(const device_context&,                                      \
                                       csr_view<const T, I, O, space::device>,                     \
                                       csr_view<T, I, O, space::device>);                          \
  template void multiply_csr_transposed<T, I, O>(                                                  \
      const device_context&, T, csr_view<const T, I, O, space::device>,                            \
      vector_view<const T, space::device>, T, vector_view<const T, space::device>,                 \
      vector_view<T, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
