// Y = alpha A X + beta Z on the device, A a block tree or its transpose. A task owns the lines of Y
// that its leaves touch, and has a thread block; its sums are in shared memory. Leaves go to the
// block's warps in turn, 32 entries at a time.
//
// A stripe of the lowest level is narrow: each warp adds up for itself, and the warps' sums are
// added in order. Where flat leaves make a stripe wide its warps share one row of sums, and write
// to it one after the other; sums that do not fit shared memory are in L2. Stripes that several
// tasks share are added up in the order of the tasks. So bits are always the same.
//
// Memory-bound: the leaves' bytes once, 24 per leaf of lists, x and y about once.
#include "gpu/block_tree.cuh"
#include "gpu/parts/cuda.cuh"
#include <lacuna/op/block_tree_ops.hpp>

namespace lacuna::detail::gpu {
namespace {

template <class T, class I> struct tree_multiply {
  tree_arrays<const T, I, space::device> a;
  const tree_task<I>* tasks;
  std::int64_t task_count;
  const T* x;
  const T* z;
  T* y;
  T alpha, beta;
  std::int64_t x_row, x_column, z_row, z_column, y_row, y_column;
  std::int64_t lines; ///< of Y
  std::int64_t slots; ///< of one vector in `waiting`
  unsigned vectors;
  T* waiting; ///< sums of tasks that share their lines
  T* wide;    ///< sums of tasks that do not fit shared memory, by lines; may be null

  __device__ void write(std::int64_t line, unsigned vector, T sum) const {
    T* const to = y + line * y_row + vector * y_column;
    *to = beta == T{0} ? alpha * sum : alpha * sum + beta * z[line * z_row + vector * z_column];
  }
  /// Lines from this task's stripe up to the next one's, whose last may have no entries.
  __device__ std::int64_t first_line(std::int64_t t) const {
    return t == 0 ? 0 : std::int64_t{tasks[t].begin};
  }
  __device__ std::int64_t last_line(std::int64_t t) const {
    return t + 1 == task_count ? lines : std::int64_t{tasks[t + 1].begin};
  }
};

constexpr int narrow_lines = 256; ///< the largest block of the lowest level
constexpr int narrow_warps = 4;   // 8 KB of sums in double; most tasks have few leaves
constexpr int narrow_blocks = 8;  // of a multiprocessor: 64 registers. Reasoned, not measured
constexpr int wide_warps = 8;
/// Windows of 32 entries whose loads are under way at a time.
constexpr int narrow_windows = 2, wide_windows = 4;

/// 32 entries: what each adds to which line. Line: int where a task has few.
template <class T, class Line> struct window {
  T value, x;
  Line line;
  bool inside = false, valid = false;
};

template <bool transposed, class T, class I> class leaf_reader {
public:
  __device__ leaf_reader(const tree_multiply<T, I>& p, const tree_task<I>& task, unsigned vector)
      : p_(p), task_(task), x_(p.x + vector * p.x_column) {}
  __device__ void begin(std::int64_t k) {
    const tree_item<I> item = p_.a.items.data()[transposed ? p_.a.by_column.data()[k] : k];
    begin_item(walk_, p_.a, item);
    line_ = (transposed ? item.col : item.row) - task_.begin;
    from_ = transposed ? item.row : item.col;
    header_ = has_header(type_of(item.node));
  }
  /// Whether the leaf is flat: all warps of a block share it.
  [[nodiscard]] __device__ bool is_flat() const { return header_; }
  [[nodiscard]] __device__ bool done() const { return walk_.done(); }
  __device__ void skip() { walk_.skip(); }
  template <class Line> __device__ void read(window<T, Line>& w) {
    std::uint32_t row, col;
    const T* value;
    w.inside = walk_.next(row, col, value);
    w.valid = w.inside || row != leaf_walk<const T>::no_row;
    w.line = static_cast<Line>(line_ + (transposed ? col : row));
    w.value = w.x = T{0};
    if (w.inside) {
      w.value = load_once(value);
      w.x = x_[(from_ + (transposed ? row : col)) * p_.x_row];
    }
  }

private:
  const tree_multiply<T, I>& p_;
  const tree_task<I>& task_;
  const T* x_;
  leaf_walk<const T> walk_;
  std::int64_t line_ = 0, from_ = 0;
  bool header_ = false;
};

/// Adds a window whose lines never decrease: those of one line are added by shuffles, the last of
/// them adds to the sums.
template <class T, class Line> __device__ void add_ascending(const window<T, Line>& w, T* sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Line line = w.valid ? w.line : Line{-1};
  const Line before = __shfl_up_sync(whole_warp, line, 1);
  const unsigned begins = __ballot_sync(whole_warp, lane == 0 || before != line);
  const int first = 31 - __clz(static_cast<int>(begins & (0xffffffffu >> (31 - lane))));
  T sum = w.inside ? w.value * w.x : T{0};
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const T other = __shfl_up_sync(whole_warp, sum, step);
    if (lane - first >= step) sum += other;
  }
  const bool last = lane == 31 || (begins >> (lane + 1) & 1u) != 0;
  if (last && w.valid) sums[line] += sum;
  __syncwarp();
}

/// Adds a window whose lines ascend in pieces, those of a row: piece after piece. Where there are
/// many, entries of one line find each other.
template <class T, class Line> __device__ void add_in_pieces(const window<T, Line>& w, T* sums) {
  constexpr int most_rounds = 4;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Line before = __shfl_up_sync(whole_warp, w.line, 1);
  const unsigned begins = __ballot_sync(whole_warp, w.valid && lane > 0 && w.line <= before);
  const T product = w.inside ? w.value * w.x : T{0};
  const int rounds = __popc(begins) + 1;
  if (rounds <= most_rounds) {
    const int own = __popc(begins & (0xffffffffu >> (31 - lane)));
    for (int round = 0; round < rounds; ++round) {
      if (w.inside && own == round) sums[w.line] += product;
      __syncwarp();
    }
    return;
  }
  // Lanes without an entry have a key of their own.
  const unsigned same = __match_any_sync(whole_warp, w.inside ? w.line : static_cast<Line>(~lane));
  T sum{0};
  for (unsigned left = same; __any_sync(whole_warp, left != 0); left &= left - 1) {
    const T other =
        __shfl_sync(whole_warp, product, left == 0 ? lane : __ffs(static_cast<int>(left)) - 1);
    if (left != 0) sum += other;
  }
  if (w.inside && (same & (0xffffffffu >> (31 - lane))) == 1u << lane) sums[w.line] += sum;
  __syncwarp();
}
template <bool transposed, class T, class Line>
__device__ void add_window(const window<T, Line>& w, T* sums) {
  if constexpr (transposed)
    add_in_pieces(w, sums);
  else
    add_ascending(w, sums);
}

template <bool transposed, class T, class I>
__global__ void __launch_bounds__(32 * narrow_warps, narrow_blocks)
    multiply_narrow_kernel(const tree_multiply<T, I> p) {
  __shared__ T sums[narrow_warps][narrow_lines];
  const std::int64_t t = blockIdx.x / p.vectors;
  const unsigned vector = blockIdx.x % p.vectors;
  const tree_task<I> task = p.tasks[t];
  const int lines =
      static_cast<int>(min(std::int64_t{task.end} - task.begin, std::int64_t{narrow_lines} + 1));
  if (lines > narrow_lines) return;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  T* const own = sums[warp];
  for (int i = lane; i < lines; i += 32) own[i] = T{0};
  __syncwarp();
  leaf_reader<transposed, T, I> reader(p, task, vector);
  const std::int64_t end = p.tasks[t + 1].first;
  for (std::int64_t k = task.first + warp; k < end; k += narrow_warps) {
    reader.begin(k);
    while (!reader.done()) {
      window<T, int> w[narrow_windows];
#pragma unroll
      for (int u = 0; u < narrow_windows; ++u)
        if (!reader.done()) reader.read(w[u]);
#pragma unroll
      for (int u = 0; u < narrow_windows; ++u)
        if (__any_sync(whole_warp, w[u].valid)) add_window<transposed>(w[u], own);
    }
  }
  __syncthreads();
  const bool shared = task.parts > 1;
  for (int i = static_cast<int>(threadIdx.x); i < lines; i += 32 * narrow_warps) {
    T sum = sums[0][i];
#pragma unroll
    for (int other = 1; other < narrow_warps; ++other) sum += sums[other][i];
    if (shared)
      p.waiting[vector * p.slots + task.slot + i] = sum;
    else
      p.write(task.begin + i, vector, sum);
  }
  if (shared) return;
  // Lines without entries.
  for (std::int64_t i = p.first_line(t) + threadIdx.x; i < task.begin; i += 32 * narrow_warps)
    p.write(i, vector, T{0});
  for (std::int64_t i = std::int64_t{task.end} + threadIdx.x; i < p.last_line(t);
       i += 32 * narrow_warps)
    p.write(i, vector, T{0});
}

/// room: lines of sums that shared memory has.
template <bool transposed, class T, class I>
__global__ void __launch_bounds__(32 * wide_warps)
    multiply_wide_kernel(const tree_multiply<T, I> p, std::int64_t room) {
  extern __shared__ __align__(16) unsigned char wide_shared[];
  const std::int64_t t = blockIdx.x / p.vectors;
  const unsigned vector = blockIdx.x % p.vectors;
  const tree_task<I> task = p.tasks[t];
  const std::int64_t lines = std::int64_t{task.end} - task.begin;
  if (lines <= narrow_lines) return;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const bool shared = task.parts > 1;
  T* const slot =
      shared ? p.waiting + vector * p.slots + task.slot : p.wide + vector * p.lines + task.begin;
  T* const sums = lines <= room ? reinterpret_cast<T*>(wide_shared) : slot;
  for (std::int64_t i = threadIdx.x; i < lines; i += 32 * wide_warps) sums[i] = T{0};
  __syncthreads();
  leaf_reader<transposed, T, I> reader(p, task, vector);
  const std::int64_t end = p.tasks[t + 1].first;
  std::int64_t k = task.first;
  bool begun = false;
  int turn = 0; // of a flat leaf: whose window is next
  // The warp's next window; false: it has no more.
  const auto read_next = [&](window<T, std::int64_t>& w) {
    for (;;) {
      if (begun && !reader.done()) {
        if (!reader.is_flat() || turn == warp) {
          reader.read(w);
          turn = (turn + 1) % wide_warps;
          return true;
        }
        reader.skip();
        turn = (turn + 1) % wide_warps;
        continue;
      }
      if (begun) ++k;
      begun = false;
      if (k >= end) return false;
      const std::uint64_t node = p.a.items.data()[transposed ? p.a.by_column.data()[k] : k].node;
      if (!has_header(type_of(node)) && (k - task.first) % wide_warps != warp) {
        ++k;
        continue;
      }
      reader.begin(k);
      begun = true;
      turn = 0;
    }
  };
  for (;;) {
    window<T, std::int64_t> w[wide_windows];
    bool has[wide_windows] = {};
#pragma unroll
    for (int u = 0; u < wide_windows; ++u) has[u] = read_next(w[u]);
    if (__syncthreads_or(has[0] ? 1 : 0) == 0) break;
    for (int other = 0; other < wide_warps; ++other) {
      if (other == warp) {
#pragma unroll
        for (int u = 0; u < wide_windows; ++u)
          if (has[u]) add_window<transposed>(w[u], sums);
      }
      __syncthreads();
    }
  }
  if (shared) {
    if (sums != slot)
      for (std::int64_t i = threadIdx.x; i < lines; i += 32 * wide_warps) slot[i] = sums[i];
    return;
  }
  for (std::int64_t i = p.first_line(t) + threadIdx.x; i < p.last_line(t); i += 32 * wide_warps)
    p.write(i, vector, i >= task.begin && i < task.end ? sums[i - task.begin] : T{0});
}

/// y of stripes that several tasks share, a thread per line.
template <class T, class I>
void join_shared_tasks(const device_context& ctx, const tree_multiply<T, I>& p) {
  for_each(ctx, p.lines * p.vectors, "multiply: block_tree, joined",
           [p] __device__(std::int64_t i) {
             const std::int64_t line = i / p.vectors;
             const auto vector = static_cast<unsigned>(i % p.vectors);
             std::int64_t low = 0, high = p.task_count; // begin(low) <= line < begin(high)
             while (high - low > 1) {
               const std::int64_t middle = (low + high) / 2;
               if (p.tasks[middle].begin <= line)
                 low = middle;
               else
                 high = middle;
             }
             const tree_task<I> last = p.tasks[low];
             if (last.parts == 1) return;
             T sum{0};
             if (line >= last.begin && line < last.end) {
               const std::int64_t lines = std::int64_t{last.end} - last.begin;
               const T* const first = p.waiting + vector * p.slots + last.slot - last.part * lines;
               for (std::int64_t part = 0; part < last.parts; ++part)
                 sum += first[part * lines + line - last.begin];
             }
             p.write(line, vector, sum);
           });
}

template <bool transposed, class T, class I>
void launch_tasks(const device_context& ctx, const tree_multiply<T, I>& p, std::int64_t widest,
                  std::int64_t room) {
  const std::int64_t blocks = checked_mul(p.task_count, p.vectors);
  if (blocks > 0x7fffffff) throw unsupported("multiply: the block tree has too many tasks");
  multiply_narrow_kernel<transposed>
      <<<static_cast<unsigned>(blocks), 32 * narrow_warps, 0, ctx.stream()>>>(p);
  check_launch("multiply_narrow_kernel");
  if (widest <= narrow_lines) return;
  const std::size_t bytes = static_cast<std::size_t>(min(widest, room)) * sizeof(T);
  // All that there is, always: products on other threads set it, too.
  if (bytes > 48 * 1024)
    check(cudaFuncSetAttribute(multiply_wide_kernel<transposed, T, I>,
                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(room * std::int64_t{sizeof(T)})),
          "cudaFuncSetAttribute");
  multiply_wide_kernel<transposed>
      <<<static_cast<unsigned>(blocks), 32 * wide_warps, bytes, ctx.stream()>>>(p, room);
  check_launch("multiply_wide_kernel");
}

/// What one product of a tree in one direction needs, allocated before anything is written.
template <class T, class I> class tree_product {
public:
  tree_product(const device_context& ctx, const tree_arrays<const T, I, space::device>& a,
               bool transposed, std::int64_t lines, std::int64_t columns)
      : ctx_(ctx), a_(a), transposed_(transposed),
        room_(static_cast<std::int64_t>(ctx.properties().shared_bytes_per_block / sizeof(T))) {
    if (columns > 0x7fffffff) throw unsupported("multiply: the dense matrix has too many columns");
    const tree_sums need = sums();
    const bool in_l2 = need.widest > max(room_, std::int64_t{narrow_lines});
    waiting_ = array<T, space::device>(ctx, checked_mul(need.slots, columns));
    wide_ = array<T, space::device>(ctx, in_l2 ? checked_mul(lines, columns) : 0);
  }

  void run(T alpha, dense_view<const T, space::device> x, T beta,
           dense_view<const T, space::device> z, dense_view<T, space::device> y) {
    const std::int64_t lines = y.shape().row, columns = y.shape().col;
    if (lines == 0 || columns == 0) return;
    const auto tasks = transposed_ ? a_.column_tasks : a_.row_tasks;
    const tree_multiply<T, I> p{a_,
                                tasks.data(),
                                tasks.size() - 1,
                                x.data(),
                                z.data(),
                                y.data(),
                                alpha,
                                beta,
                                x.row_stride(),
                                x.col_stride(),
                                z.row_stride(),
                                z.col_stride(),
                                y.row_stride(),
                                y.col_stride(),
                                lines,
                                sums().slots,
                                static_cast<unsigned>(columns),
                                waiting_.data(),
                                wide_.data()};
    if (p.task_count == 0) {
      for_each(ctx_, lines * columns, "multiply: block_tree, empty",
               [p] __device__(std::int64_t i) {
                 p.write(i / p.vectors, static_cast<unsigned>(i % p.vectors), T{0});
               });
      return;
    }
    if (transposed_)
      launch_tasks<true>(ctx_, p, sums().widest, room_);
    else
      launch_tasks<false>(ctx_, p, sums().widest, room_);
    if (sums().slots > 0) join_shared_tasks(ctx_, p);
  }

private:
  [[nodiscard]] tree_sums sums() const { return transposed_ ? a_.column_sums : a_.row_sums; }

  const device_context& ctx_;
  const tree_arrays<const T, I, space::device>& a_;
  bool transposed_;
  std::int64_t room_; // elements of shared memory
  array<T, space::device> waiting_, wide_;
};

} // namespace

template <class T, class I>
void multiply_tree(const device_context& ctx, T alpha,
                   const tree_arrays<const T, I, space::device>& a, bool transposed,
                   dense_view<const T, space::device> x, T beta,
                   dense_view<const T, space::device> z, dense_view<T, space::device> y) {
  const device_guard guard(ctx.device());
  tree_product<T, I>(ctx, a, transposed, y.shape().row, y.shape().col).run(alpha, x, beta, z, y);
}

template <class T, class I>
void multiply_tree_both(const device_context& ctx, T alpha,
                        const tree_arrays<const T, I, space::device>& a,
                        vector_view<const T, space::device> x, vector_view<T, space::device> y,
                        vector_view<const T, space::device> w, vector_view<T, space::device> z) {
  const device_guard guard(ctx.device());
  tree_product<T, I> plain(ctx, a, false, y.size(), 1), across(ctx, a, true, z.size(), 1);
  plain.run(alpha, as_columns(x), T{0}, as_columns(x), as_columns(y));
  across.run(alpha, as_columns(w), T{0}, as_columns(w), as_columns(z));
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void multiply_tree<T, I>(                                                               \
      const device_context&, T, const tree_arrays<const T, I, space::device>&, bool,               \
      dense_view<const T, space::device>, T, dense_view<const T, space::device>,                   \
      dense_view<T, space::device>);                                                               \
  template void multiply_tree_both<T, I>(                                                          \
      const device_context&, T, const tree_arrays<const T, I, space::device>&,                     \
      vector_view<const T, space::device>, vector_view<T, space::device>,                          \
      vector_view<const T, space::device>, vector_view<T, space::device>);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
