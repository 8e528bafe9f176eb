// Rows of C by class (spECK's binning): a block ranks its rows in their order and takes room for
// each class at once, so that neighbours stay together.
#pragma once

#include <bit>

#include <cuda/std/limits>

#include "gpu/parts/allow_shared.cuh"
#include "gpu/spgemm.cuh"

namespace lacuna::detail::gpu {

/// What a block's rows add to the totals of their classes, kept in shared memory till its end.
struct block_totals {
  static constexpr int count = 3 * (spgemm::count_classes + 1);
  /// A row counts with no more products and entries than this: they tell the mean length of B's
  /// rows in classes of small tables.
  static constexpr std::int64_t most = 1 << 14;
  unsigned sums[count];
  __device__ void clear() {
    if (threadIdx.x < count) sums[threadIdx.x] = 0;
    __syncthreads();
  }
  __device__ void add(int c, std::int64_t products, std::int64_t entries) {
    atomicAdd(sums + 3 * c, 1u);
    atomicAdd(sums + 3 * c + 1, static_cast<unsigned>(min(products, most)));
    atomicAdd(sums + 3 * c + 2, static_cast<unsigned>(min(entries, most)));
  }
  __device__ void flush(spgemm_totals* to) {
    __syncthreads();
    if (threadIdx.x < count && sums[threadIdx.x] != 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(to->of_class) + threadIdx.x,
                static_cast<unsigned long long>(sums[threadIdx.x]));
  }
};

/// Blocks of block_threads for `threads`, but no more than `each` per multiprocessor, which
/// stride over the rest.
inline unsigned resident_blocks(const device_context& ctx, std::int64_t threads, int each) {
  const std::int64_t wanted = (threads + block_threads - 1) / block_threads;
  return static_cast<unsigned>(std::max<std::int64_t>(
      1, std::min<std::int64_t>(wanted, std::int64_t{each} * ctx.properties().multiprocessors)));
}

/// Which rows a launch works on: all of them, or a list's.
template <class I> struct row_list {
  const I* rows; // null: row i is i
  std::int64_t count;
  std::int64_t from = 0; // the first that is meant
  __device__ std::int64_t operator[](std::int64_t i) const {
    return rows == nullptr ? from + i : rows[from + i];
  }
};

struct class_starts {
  unsigned long long of[spgemm::count_classes + 1];
};

template <class I, class ClassOf>
__global__ void __launch_bounds__(1024)
    bin_rows_kernel(std::int64_t count, const ClassOf class_of, const spgemm::joined_classes joined,
                    const class_starts starts, unsigned long long* binned, I* list) {
  constexpr int classes = spgemm::count_classes + 1;
  __shared__ unsigned of_warp[32][classes];
  __shared__ unsigned long long base[classes];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t row = thread_index();
  const int c = row < count ? joined.of[class_of(row)] : -1;
  unsigned before = 0;
  for (int k = 0; k < classes; ++k) {
    const unsigned votes = __ballot_sync(0xffffffffu, c == k);
    if (lane == 0) of_warp[warp][k] = __popc(votes);
    if (c == k) before = __popc(votes & ((1u << lane) - 1));
  }
  __syncthreads();
  if (threadIdx.x < classes) {
    unsigned sum = 0;
    for (int w = 0; w < 32; ++w) {
      const unsigned warp_rows = of_warp[w][threadIdx.x];
      of_warp[w][threadIdx.x] = sum;
      sum += warp_rows;
    }
    base[threadIdx.x] =
        sum == 0 ? 0
                 : starts.of[threadIdx.x] +
                       atomicAdd(binned + threadIdx.x, static_cast<unsigned long long>(sum));
  }
  __syncthreads();
  if (c >= 0) list[base[c] + of_warp[warp][c] + before] = static_cast<I>(row);
}

/// The rows of each launch, by class; where there is one launch alone, no list. `binned` are zeros.
template <class I> class row_bins {
public:
  template <class ClassOf>
  row_bins(const device_context& ctx, std::int64_t rows, const spgemm_thresholds& thresholds,
           const spgemm_totals& totals, int classes, unsigned long long* binned,
           const ClassOf& class_of) {
    const spgemm::joined_classes joined = spgemm::join_classes(
        thresholds, [&](int c) { return static_cast<std::int64_t>(totals.of_class[c].rows); },
        classes);
    for (int c = 0; c <= classes; ++c) {
      class_totals& to = totals_[joined.of[c]];
      to.rows += totals.of_class[c].rows;
      to.products += totals.of_class[c].products;
      to.entries += totals.of_class[c].entries;
    }
    unsigned long long before = 0;
    for (int c = 0; c <= classes; ++c) {
      starts_.of[c] = before;
      before += totals_[c].rows;
      launches_ += totals_[c].rows > 0 ? 1 : 0;
    }
    if (launches_ <= 1) return;
    list_ = array<I, space::device>(ctx, rows);
    const auto blocks = static_cast<unsigned>((rows + 1023) / 1024);
    bin_rows_kernel<<<blocks, 1024, 0, ctx.stream()>>>(rows, class_of, joined, starts_, binned,
                                                       list_.data());
    check_launch("bin_rows_kernel");
  }
  /// The rows of a launch; none is an empty list.
  row_list<I> operator[](int c) const {
    return {list_.empty() ? nullptr : list_.data() + starts_.of[c],
            static_cast<std::int64_t>(totals_[c].rows)};
  }
  const class_totals& totals(int c) const { return totals_[c]; }
  /// Lists that are not empty.
  int launches() const { return launches_; }
  std::size_t bytes() const { return list_.bytes(); }

private:
  array<I, space::device> list_;
  class_totals totals_[spgemm::count_classes + 1] = {};
  class_starts starts_ = {};
  int launches_ = 0;
};

/// First k in [b, e) with columns[k] >= column.
template <class I, class O>
__device__ O first_from(const I* columns, O b, O e, std::int64_t column) {
  while (b < e) {
    const O middle = b + (e - b) / 2;
    if (columns[middle] < column)
      b = middle + 1;
    else
      e = middle;
  }
  return b;
}

/// Rows of B that a short row of A needs, walked column by column by one thread. What is next in
/// each is in registers, and what comes then is asked for at once for all that move on.
template <int most, class I, class O> class merged_rows {
public:
  __device__ merged_rows(const spgemm_factors<I, O>& f, O begin, int count) : columns_(f.b_colind) {
#pragma unroll
    for (int u = 0; u < most; ++u) {
      at_[u] = end_[u] = 0;
      if (u < count) {
        const I j = f.a_colind[begin + u];
        at_[u] = f.b_rowptr[j];
        end_[u] = f.b_rowptr[j + 1];
      }
      column_[u] = at_[u] < end_[u] ? __ldg(columns_ + at_[u]) : past;
    }
  }
  /// The smallest column that is left; false if there is none.
  __device__ bool next(I& column) const {
    column = column_[0];
#pragma unroll
    for (int u = 1; u < most; ++u) column = min(column, column_[u]);
    return column != past;
  }
  /// Whether entry u of A's row meets this column; where in B.
  __device__ bool meets(int u, I column) const { return column_[u] == column; }
  __device__ O place(int u) const { return at_[u]; }
  /// On to what comes after this column.
  __device__ void leave(I column) {
#pragma unroll
    for (int u = 0; u < most; ++u)
      if (column_[u] == column) {
        ++at_[u];
        column_[u] = at_[u] < end_[u] ? __ldg(columns_ + at_[u]) : past;
      }
  }

private:
  static constexpr I past = cuda::std::numeric_limits<I>::max();
  const I* columns_;
  O at_[most], end_[most];
  I column_[most];
};

/// Calls f with the smallest number of rows, as a constant, that merged_rows is to be made for.
template <class F> void with_merged(unsigned long long longest, const F& f) {
  static_assert(spgemm::most_merged_entries == 10);
  if (longest <= 3) return f(std::integral_constant<int, 3>{});
  if (longest <= 5) return f(std::integral_constant<int, 5>{});
  if (longest <= 7) return f(std::integral_constant<int, 7>{});
  f(std::integral_constant<int, 10>{});
}

/// Lanes per row and threads per block for tables of `slots`: 256 threads, fewer where their tables
/// would not fit a block's shared memory.
struct group_shape {
  int lanes, threads;
  std::size_t bytes; // of shared memory per block
  bool flat;         // several rows of B at a time
};
inline group_shape shape_of(const device_context& ctx, const spgemm_thresholds& thresholds,
                            int slots, std::size_t slot_bytes, const class_totals& of,
                            unsigned long long longest_b) {
  const double rows = static_cast<double>(of.rows), entries = static_cast<double>(of.entries);
  const double mean = entries > 0 ? static_cast<double>(of.products) / entries : 1;
  const double per_row = rows > 0 ? entries / rows : 1;
  // Lanes sort what they own in registers, 6 entries each at most; larger tables belong to a
  // warp, and so do all tables where there are warps enough for every row.
  const bool few = of.rows < 32ull * static_cast<unsigned>(ctx.properties().multiprocessors);
  const int least = few || slots > 64 ? 32 : slots <= 32 ? 4 : 8;
  const int lanes =
      thresholds.lanes > 0
          ? std::clamp(static_cast<int>(std::bit_floor(static_cast<unsigned>(thresholds.lanes))),
                       least, 32)
          : spgemm::choose_group(mean, static_cast<double>(longest_b), per_row, least);
  const std::size_t most = ctx.properties().shared_bytes_per_block;
  int threads = 256;
  while (threads > 32 && slots * slot_bytes * static_cast<std::size_t>(threads / lanes) > most)
    threads /= 2;
  return {lanes, threads, slots * slot_bytes * static_cast<std::size_t>(threads / lanes),
          least == 32 && mean < static_cast<double>(thresholds.flat_length)};
}

/// Blocks for `rows` groups: four times what the device holds at once, so that no block is alone at
/// the end, and so few that what each does once hardly counts.
inline unsigned blocks_of_groups(const device_context& ctx, std::int64_t rows,
                                 const group_shape& shape) {
  const std::int64_t groups = shape.threads / shape.lanes, wanted = (rows + groups - 1) / groups;
  const std::int64_t held = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(ctx.properties().shared_bytes_per_block / (shape.bytes + 1024)), 1,
      8);
  return static_cast<unsigned>(
      std::min<std::int64_t>(wanted, 4 * held * ctx.properties().multiprocessors));
}

} // namespace lacuna::detail::gpu
