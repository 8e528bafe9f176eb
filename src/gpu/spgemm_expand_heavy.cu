// Rows expanded in global memory: heavy ones of the method that sorts, and those of the other that
// are too broad for ranges of columns.
#include <bit>
#include <limits>
#include <string>

#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "gpu/parts/hash.cuh"
#include "gpu/parts/reduce.cuh"
#include "gpu/parts/sort.cuh"
#include "gpu/spgemm_expand.cuh"

namespace lacuna::detail::gpu {
namespace {

/// sums[i + 1] = f(0) + … + f(i); sums[0] = 0.
template <class F>
void running_sums(const device_context& ctx, std::int64_t n, F f, std::int64_t* sums) {
  check(cudaMemsetAsync(sums, 0, sizeof(std::int64_t), ctx.stream()), "running_sums");
  if (n == 0) return;
  run_cub(ctx, "running_sums", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(
        scratch, bytes,
        thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}), f),
        sums + 1, n, ctx.stream());
  });
}

template <class I, class O> struct entries_of_row {
  const O* a_rowptr;
  row_list<I> rows;
  __device__ std::int64_t operator()(std::int64_t i) const {
    const std::int64_t row = rows[i];
    return static_cast<std::int64_t>(a_rowptr[row + 1] - a_rowptr[row]);
  }
};

/// Entry e of the listed rows' entries, one row behind the other: where A has it.
template <class I, class O> struct listed_entries {
  const O* a_rowptr;
  row_list<I> rows;
  const std::int64_t* row_entries;
  __device__ std::int64_t place(std::int64_t row, std::int64_t e) const {
    return static_cast<std::int64_t>(a_rowptr[rows[row]]) + (e - row_entries[row]);
  }
};

template <class I, class O> struct products_of_entry {
  spgemm_factors<I, O> f;
  listed_entries<I, O> entries;
  __device__ std::int64_t operator()(std::int64_t e) const {
    const std::int64_t row = row_of(entries.row_entries, entries.rows.count, e);
    const I j = f.a_colind[entries.place(row, e)];
    return static_cast<std::int64_t>(f.b_rowptr[j + 1] - f.b_rowptr[j]);
  }
};

struct products_before_row {
  const std::int64_t *entry_starts, *row_entries;
  std::int64_t* row_starts;
  __device__ void operator()(std::int64_t row) const {
    row_starts[row] = entry_starts[row_entries[row]];
  }
};

/// What a batch takes: `carried` sums of the batch before, then products from `first` on, `count`
/// in all, of `rows` rows of the list from `row` on.
struct batch {
  std::int64_t first, carried, count;
  std::int64_t row, rows;
  int column_bits;
};

constexpr int products_a_block = 8 * block_threads;

/// Keys are row << column_bits | column.
template <class Key, class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    expand_kernel(const spgemm_factors<I, O> f, const spgemm_values<T> v,
                  const listed_entries<I, O> entries, const std::int64_t* entry_starts,
                  std::int64_t all_entries, const std::int64_t* row_starts, const batch of,
                  const I* carried_columns, const T* carried_sums, Key* keys,
                  std::uint32_t* positions, T* products) {
  // The entries and rows that this block's products can be of.
  __shared__ std::int64_t entry_bounds[2], row_bounds[2];
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * products_a_block;
  const std::int64_t end = min(begin + products_a_block, of.count);
  if (threadIdx.x < 2 && end > of.carried) {
    const std::int64_t i = threadIdx.x == 0 ? max(begin, of.carried) : end - 1;
    const std::int64_t p = of.first + (i - of.carried);
    entry_bounds[threadIdx.x] = row_of(entry_starts, all_entries, p);
    row_bounds[threadIdx.x] = row_of(row_starts + of.row, of.rows, p);
  }
  __syncthreads();
  for (std::int64_t i = begin + threadIdx.x; i < end; i += block_threads) {
    positions[i] = static_cast<std::uint32_t>(i);
    if (i < of.carried) {
      keys[i] = static_cast<Key>(carried_columns[i]);
      products[i] = carried_sums[i];
      continue;
    }
    const std::int64_t p = of.first + (i - of.carried);
    const std::int64_t e = entry_bounds[0] + row_of(entry_starts + entry_bounds[0],
                                                    entry_bounds[1] + 1 - entry_bounds[0], p);
    const std::int64_t row = row_bounds[0] + row_of(row_starts + of.row + row_bounds[0],
                                                    row_bounds[1] + 1 - row_bounds[0], p);
    const std::int64_t a = entries.place(of.row + row, e);
    const std::int64_t b = f.b_rowptr[f.a_colind[a]] + (p - entry_starts[e]);
    keys[i] = static_cast<Key>(row) << of.column_bits | static_cast<Key>(f.b_colind[b]);
    products[i] = rounded_product(v.factor(a), v.value(b));
  }
}

template <class Key> struct starts_run {
  const Key* keys;
  __device__ bool operator()(std::uint32_t i) const { return i == 0 || keys[i] != keys[i - 1]; }
};

/// Entry i of C is the sum of products heads[i] .. heads[i + 1]. One thread per entry;
/// entries of many products by the whole warp, which loads them together and adds one after
/// another.
template <class Key, class T, class I>
__global__ void __launch_bounds__(block_threads)
    sum_entries_kernel(std::int64_t entries, std::int64_t count, const Key* keys,
                       const std::uint32_t* positions, const T* products,
                       const std::uint32_t* heads, int column_bits, bool pattern, I* columns,
                       T* sums) {
  constexpr std::int64_t few = 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t i = thread_index();
  std::int64_t begin = 0, end = 0;
  if (i < entries) {
    begin = heads[i];
    end = i + 1 < entries ? heads[i + 1] : count;
    columns[i] = static_cast<I>(keys[begin] & ((Key{1} << column_bits) - 1));
  }
  T sum = -T{0}; // changes no bit of what is added to it
  if (end - begin <= few)
    for (std::int64_t k = begin; k < end; ++k) sum += products[positions[k]];
  unsigned left = __ballot_sync(whole_warp, end - begin > few);
  for (; left != 0; left &= left - 1) {
    const int owner = __ffs(static_cast<int>(left)) - 1;
    const std::int64_t last = __shfl_sync(whole_warp, end, owner);
    T total = -T{0};
    for (std::int64_t k = __shfl_sync(whole_warp, begin, owner); k < last; k += 32) {
      const T mine = k + lane < last ? products[positions[k + lane]] : T{0};
      const int terms = static_cast<int>(min(std::int64_t{32}, last - k));
      for (int t = 0; t < terms; ++t) total += __shfl_sync(whole_warp, mine, t);
    }
    if (lane == owner) sum = total;
  }
  if (i < entries) sums[i] = pattern ? T{1} : sum;
}

/// Entry that each row begins with: the first whose key is the row's or above.
template <class Key>
__global__ void __launch_bounds__(block_threads)
    find_rows_kernel(std::int64_t rows, std::int64_t entries, const Key* keys,
                     const std::uint32_t* heads, int column_bits, std::int64_t* firsts) {
  const std::int64_t row = thread_index();
  if (row > rows) return;
  std::int64_t low = row == rows ? entries : 0, high = entries;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (keys[heads[middle]] >> column_bits < static_cast<Key>(row))
      low = middle + 1;
    else
      high = middle;
  }
  firsts[row] = low;
}

/// Products that are expanded at a time: a sixteenth of the device's memory, and no more than 2^25,
/// which keep it busy.
std::int64_t products_at_once(const device_context& ctx) {
  return std::min<std::int64_t>(
      1 << 25, static_cast<std::int64_t>(ctx.properties().memory_bytes / 16 / 40) + 4096);
}

} // namespace

template <class T, class I, class O>
expansion<T, I, O>::expansion(const device_context& ctx, const spgemm_factors<I, O>& f,
                              const spgemm_values<T>& v, row_list<I> rows, std::int64_t most,
                              std::size_t memory_limit)
    : ctx_(ctx), f_(f), v_(v), rows_(rows), most_(most), limit_(memory_limit),
      column_bits_(
          std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(f.columns, 1) - 1))),
      row_entries_(ctx, rows.count + 1), row_starts_(ctx, rows.count + 1) {
  running_sums(ctx, rows.count, entries_of_row<I, O>{f.a_rowptr, rows}, row_entries_.data());
  std::int64_t entries = 0;
  read_back(ctx, &entries, row_entries_.data() + rows.count, 1);
  entry_starts_ = array<std::int64_t, space::device>(ctx, entries + 1);
  running_sums(ctx, entries, products_of_entry<I, O>{f, {f.a_rowptr, rows, row_entries_.data()}},
               entry_starts_.data());
  for_each(ctx, rows.count + 1, "products_before_row",
           products_before_row{entry_starts_.data(), row_entries_.data(), row_starts_.data()});
  starts_ = array<std::int64_t>(default_context<space::host>(), rows.count + 1);
  read_back(ctx, starts_.data(), row_starts_.data(), rows.count + 1);
}

template <class T, class I, class O> bool expansion<T, I, O>::next() {
  do {
    if (row_ == rows_.count) return false;
    make_batch();
  } while (made_ == 0);
  return true;
}

template <class T, class I, class O> void expansion<T, I, O>::make_batch() {
  const std::int64_t carried = carried_columns_.size();
  // As many again as are carried, so that a row is sorted O(log) times. Positions have 32 bits;
  // more would not fit a device's memory.
  const std::int64_t fresh = std::min(std::max(most_, carried), (std::int64_t{1} << 32) - carried);
  std::int64_t last = std::min(starts_[rows_.count], first_ + fresh);
  // Rows before `end` are whole.
  std::int64_t end =
      std::upper_bound(starts_.begin() + row_, starts_.end(), last) - 1 - starts_.begin();
  if (end > row_) {
    const std::int64_t most_rows = std::int64_t{1} << std::min(63 - column_bits_, 30);
    end = std::min(end, row_ + most_rows);
    last = starts_[end];
  }
  made_ = end - row_;
  const std::int64_t rows = std::max<std::int64_t>(made_, 1); // a row alone may be cut
  if (column_bits_ + std::bit_width(static_cast<std::uint64_t>(rows - 1)) < 32)
    sum_products<std::uint32_t>(last, rows);
  else
    sum_products<std::uint64_t>(last, rows);
  carried_columns_ = {};
  carried_sums_ = {};
  if (made_ == 0) {
    carried_columns_.swap(columns);
    carried_sums_.swap(sums);
  }
  first_ = last;
  row_ = end;
}

template <class T, class I, class O>
template <class Key>
void expansion<T, I, O>::sum_products(std::int64_t last, std::int64_t rows) {
  const std::int64_t carried = carried_columns_.size(), count = carried + (last - first_);
  const auto needed = static_cast<std::size_t>(count) * 40;
  if (limit_ != 0 && needed > limit_)
    throw out_of_memory("multiply: " + std::to_string(count) + " products of a row take " +
                            std::to_string(needed) + " bytes at a time, " + std::to_string(limit_) +
                            " are allowed",
                        needed);
  const batch of{first_, carried, count, row_, rows, column_bits_};
  firsts_ = array<std::int64_t, space::device>(ctx_, rows + 1);
  std::int64_t entries = 0;
  sorted_keys<Key, std::uint32_t> sorted{array<Key, space::device>(ctx_, count),
                                         array<std::uint32_t, space::device>(ctx_, count)};
  array<T, space::device> products(ctx_, count);
  array<std::uint32_t, space::device> heads;
  if (count > 0) {
    const auto blocks = static_cast<unsigned>((count + products_a_block - 1) / products_a_block);
    expand_kernel<<<blocks, block_threads, 0, ctx_.stream()>>>(
        f_, v_, listed_entries<I, O>{f_.a_rowptr, rows_, row_entries_.data()},
        std::as_const(entry_starts_).data(), entry_starts_.size() - 1,
        std::as_const(row_starts_).data(), of, std::as_const(carried_columns_).data(),
        std::as_const(carried_sums_).data(), sorted.keys.data(), sorted.positions.data(),
        products.data());
    check_launch("expand_kernel");
    const int bits = column_bits_ + std::bit_width(static_cast<std::uint64_t>(rows - 1));
    sorted =
        sort_stably(ctx_, std::move(sorted),
                    bits < 63 ? std::int64_t{1} << bits : std::numeric_limits<std::int64_t>::max());
    heads = array<std::uint32_t, space::device>(ctx_, count);
    array<std::int64_t, space::device> selected(ctx_, 1);
    run_cub(ctx_, "starts_run", [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceSelect::If(scratch, bytes, thrust::make_counting_iterator(std::uint32_t{0}),
                                   heads.data(), selected.data(), count,
                                   starts_run<Key>{std::as_const(sorted.keys).data()},
                                   ctx_.stream());
    });
    read_back(ctx_, &entries, selected.data(), 1);
  }
  columns = array<I, space::device>(ctx_, entries);
  sums = array<T, space::device>(ctx_, entries);
  if (entries > 0) {
    sum_entries_kernel<<<blocks_for(entries), block_threads, 0, ctx_.stream()>>>(
        entries, count, std::as_const(sorted.keys).data(), std::as_const(sorted.positions).data(),
        std::as_const(products).data(), std::as_const(heads).data(), column_bits_, v_.pattern,
        columns.data(), sums.data());
    check_launch("sum_entries_kernel");
  }
  find_rows_kernel<<<blocks_for(rows + 1), block_threads, 0, ctx_.stream()>>>(
      rows, entries, std::as_const(sorted.keys).data(), std::as_const(heads).data(), column_bits_,
      firsts_.data());
  check_launch("find_rows_kernel");
}

template <class I, class O>
void count_broad_rows(const device_context& ctx, const spgemm_factors<I, O>& f, row_list<I> rows,
                      std::int64_t* counts) {
  const spgemm_values<float> none{0, nullptr, nullptr, true};
  expansion<float, I, O> made(ctx, f, none, rows, products_at_once(ctx));
  while (made.next()) {
    const row_list<I> batch_rows = made.rows();
    const std::int64_t* const firsts = made.firsts();
    for_each(ctx, batch_rows.count, "count_broad_rows",
             [=] __device__(std::int64_t i) { counts[batch_rows[i]] = firsts[i + 1] - firsts[i]; });
  }
}

template <class T, class I, class O>
void fill_broad_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                     const spgemm_values<T>& v, row_list<I> rows, read_offsets rowptr,
                     const fill_target<T, I>& target, int* wrong) {
  // Rows that are broad because they are many get by with less, 160 MB.
  const std::int64_t at_once = f.columns > spgemm::broad_span
                                   ? products_at_once(ctx)
                                   : std::min<std::int64_t>(1 << 22, products_at_once(ctx));
  expansion<T, I, O> made(ctx, f, v, rows, at_once);
  while (made.next()) {
    const row_list<I> batch_rows = made.rows();
    const std::int64_t* const firsts = made.firsts();
    const I* const columns = made.columns.data();
    const T* const sums = made.sums.data();
    for_each(ctx, batch_rows.count, "fill_broad_rows", [=] __device__(std::int64_t i) {
      const std::int64_t row = batch_rows[i];
      if (firsts[i + 1] - firsts[i] != rowptr[row + 1] - rowptr[row]) atomicOr(wrong, 1);
    });
    for_each(ctx, made.columns.size(), "fill_broad_rows", [=] __device__(std::int64_t k) {
      const std::int64_t i = row_of(firsts, batch_rows.count, k), row = batch_rows[i];
      const std::int64_t to = rowptr[row] + (k - firsts[i]);
      if (to < rowptr[row + 1]) target.put(to, columns[k], sums[k], wrong);
    });
  }
}

#define LACUNA_INSTANTIATE_INDEX(I, O)                                                             \
  template void count_broad_rows<I, O>(const device_context&, const spgemm_factors<I, O>&,         \
                                       row_list<I>, std::int64_t*);
LACUNA_FOR_EACH_KERNEL_INDEX(LACUNA_INSTANTIATE_INDEX)
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template class expansion<T, I, O>;                                                               \
  template void fill_broad_rows<T, I, O>(const device_context&, const spgemm_factors<I, O>&,       \
                                         const spgemm_values<T>&, row_list<I>, read_offsets,       \
                                         const fill_target<T, I>&, int*);
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
