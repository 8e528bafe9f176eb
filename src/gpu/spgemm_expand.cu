// C in one pass: each row's products are expanded, sorted by column and summed. Finished rows lie
// in pools in the order in which they came; C, to which they are copied, does not depend on it. Of
// a dynamic C the pools are joined, and rows stay where they are.
#include <lacuna/op/copy.hpp>

#include "gpu/parts/hash.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/spgemm_expand.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Products of each row, and totals of the classes.
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    count_products_kernel(const spgemm_factors<I, O> f, int lanes, std::uint32_t* products,
                          spgemm_totals* totals) {
  __shared__ block_totals block;
  block.clear();
  const lane_group g(lanes);
  unsigned long long all = 0;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x / lanes;
  const std::int64_t rounds = (f.rows + stride - 1) / stride;
  std::int64_t row = thread_index() / lanes;
  for (std::int64_t round = 0; round < rounds; ++round, row += stride) {
    unsigned long long sum = 0;
    if (row < f.rows)
      for (O k = f.a_rowptr[row] + g.lane; k < f.a_rowptr[row + 1]; k += lanes) {
        const I j = f.a_colind[k];
        sum += static_cast<unsigned long long>(f.b_rowptr[j + 1] - f.b_rowptr[j]);
      }
    __syncwarp();
    sum = g.sum(sum);
    if (g.lane == 0 && row < f.rows) {
      all += sum;
      products[row] = static_cast<std::uint32_t>(min(sum, 0xffffffffull));
      const auto many = static_cast<std::int64_t>(sum);
      block.add(spgemm::expand_class(many), many, 0);
    }
    __syncwarp();
  }
  all = warp_sum(all);
  if (threadIdx.x % 32 == 0) atomicAdd(&totals->products, all);
  block.flush(totals);
}

/// Copies rows whose entries a pool has to their place in C: one group of lanes per row.
template <class T, class I>
__global__ void __launch_bounds__(block_threads)
    place_rows_kernel(row_list<I> list, int lanes, const pool_view<T, I> pool, read_offsets rowptr,
                      I* colind, T* values) {
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x / lanes;
  for (std::int64_t i = thread_index() / lanes; i < list.count; i += stride) {
    const std::int64_t row = list[i], size = pool.sizes[row];
    if (size == 0) continue; // its begin is not set
    const std::int64_t from = pool.begins[row] - pool.start;
    if (from < 0 || from >= pool.capacity) continue; // another pool's
    const std::int64_t to = rowptr[row];
    for (std::int64_t k = lane; k < size; k += lanes) {
      colind[to + k] = pool.columns[from + k];
      values[to + k] = pool.values[from + k];
    }
  }
}

struct class_by_products {
  const std::uint32_t* products;
  __device__ int operator()(std::int64_t row) const { return spgemm::expand_class(products[row]); }
};

/// Notes a row of the list, whose entries begin at firsts[i] of those from `start` on.
template <class I> struct note_expanded_row {
  row_list<I> list;
  const std::int64_t* firsts;
  std::int64_t start;
  std::int64_t *begins, *sizes;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t row = list[i];
    begins[row] = start + firsts[i];
    sizes[row] = firsts[i + 1] - firsts[i];
  }
};

/// Places of rows after pools were joined: pool i began at moves[2 i] and moves by moves[2 i + 1].
struct move_begins {
  const std::int64_t* moves;
  int pools;
  std::int64_t* begins;
  const std::int64_t* sizes;
  __device__ void operator()(std::int64_t row) const {
    if (sizes[row] == 0) return; // its begin is not set
    int i = pools - 1;
    while (moves[2 * i] > begins[row]) --i;
    begins[row] += moves[2 * i + 1];
  }
};

/// The least number of entries that a pool has room for: several of the longest rows.
constexpr std::int64_t least_capacity = 4 * spgemm::most_expanded(spgemm::expand_classes - 1);

} // namespace

template <class T, class I, class O>
expanded_rows<T, I, O>::expanded_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                                      const spgemm_values<T>& v, std::int64_t a_entries,
                                      const spgemm_options& options, stage_clock& clock)
    : ctx_(ctx), f_(f), v_(v), limit_(options.memory_limit),
      share_(limit_ != 0 ? limit_ / 8
                         : std::min(std::size_t{1} << 30U, ctx.properties().memory_bytes / 16)),
      begins_(ctx, f.rows), sizes_(ctx, f.rows), used_(ctx, 1) {
  if (f.rows == 0) return;
  array<std::uint32_t, space::device> products(ctx, f.rows);
  array<spgemm_counters, space::device> counters(ctx, 1);
  check(cudaMemsetAsync(counters.data(), 0, sizeof(spgemm_counters), ctx.stream()),
        "expanded_rows");
  check(cudaMemsetAsync(sizes_.data(), 0, sizes_.bytes(), ctx.stream()), "expanded_rows");
  int lanes = 1; // two entries of A each
  while (lanes < 32 && 2 * lanes * f.rows < a_entries) lanes *= 2;
  count_products_kernel<<<resident_blocks(ctx, f.rows * lanes, 8), block_threads, 0,
                          ctx.stream()>>>(f, lanes, products.data(), &counters.data()->analysed);
  check_launch("count_products_kernel");
  spgemm_totals totals{};
  read_back(ctx, &totals, &counters.data()->analysed, 1);
  products_ = static_cast<std::int64_t>(totals.products);
  clock.lap(&spgemm_report::analyse);

  spgemm_thresholds alone; // each class is launched for itself
  alone.few_rows = alone.few_in_all = 0;
  bins_.emplace(ctx, f.rows, alone, totals, spgemm::expand_classes, counters.data()->binned_to_fill,
                class_by_products{products.data()});
  clock.lap(&spgemm_report::bin_for_fill);
  std::int64_t light = 0;
  for (int c = 1; c < spgemm::expand_classes; ++c)
    light += static_cast<std::int64_t>(bins_->totals(c).products);
  if (light > 0) {
    const auto most = static_cast<std::int64_t>(share_ / (sizeof(T) + sizeof(I)));
    open_pool(std::clamp(light, least_capacity, std::max(least_capacity, most)));
    for (int c = 1; c < spgemm::expand_classes; ++c) make_light_rows(c);
    close_pool();
  }
  const row_list<I> heavy = (*bins_)[spgemm::expand_classes];
  if (heavy.count > 0) make_heavy_rows(heavy);
  clock.lap(&spgemm_report::fill);
  if (spgemm_report* const report = clock.report()) {
    report->heavy_rows = heavy.count;
    report->table_rows = f.rows - heavy.count;
  }
}

template <class T, class I, class O> std::size_t expanded_rows<T, I, O>::bytes() const {
  std::size_t sum = begins_.bytes() + sizes_.bytes() + (bins_ ? bins_->bytes() : 0);
  for (const pool& p : pools_) sum += p.columns.bytes() + p.values.bytes();
  return sum;
}

/// Before so many bytes more are taken, and a share for what is expanded beside them.
template <class T, class I, class O>
void expanded_rows<T, I, O>::require_within_limit(std::size_t more) const {
  const std::size_t needed = bytes() + more + share_;
  if (limit_ != 0 && needed > limit_)
    throw out_of_memory("multiply: workspace takes " + std::to_string(needed) + " bytes so far, " +
                            std::to_string(limit_) +
                            " are allowed; multiply_to_host makes C in parts",
                        needed);
}

template <class T, class I, class O> void expanded_rows<T, I, O>::open_pool(std::int64_t capacity) {
  require_within_limit(static_cast<std::size_t>(capacity) * (sizeof(T) + sizeof(I)));
  pools_.push_back({array<I, space::device>(ctx_, capacity),
                    array<T, space::device>(ctx_, capacity),
                    places(),
                    {nullptr, f_.rows}});
  check(cudaMemsetAsync(used_.data(), 0, sizeof(unsigned long long), ctx_.stream()), "open_pool");
  most_used_ = 0;
}

/// Waits for what the open pool has.
template <class T, class I, class O> void expanded_rows<T, I, O>::look_at_pool() {
  unsigned long long used = 0;
  read_back(ctx_, &used, used_.data(), 1);
  most_used_ = static_cast<std::int64_t>(used);
  if (most_used_ > pools_.back().columns.size())
    throw failed("multiply: rows of C have more entries than A and B have products: they changed");
}
template <class T, class I, class O> void expanded_rows<T, I, O>::close_pool() {
  look_at_pool();
  pools_.back().used = most_used_;
  entries_ += most_used_;
}

template <class T, class I, class O> void expanded_rows<T, I, O>::make_light_rows(int c) {
  const row_list<I> rows = (*bins_)[c];
  const auto products = static_cast<std::int64_t>(bins_->totals(c).products);
  const std::int64_t each = spgemm::most_expanded(c);
  for (std::int64_t done = 0; done < rows.count;) {
    const std::int64_t left = rows.count - done, capacity = pools_.back().columns.size();
    const auto that_fit = [&] {
      const std::int64_t room = capacity - most_used_;
      return done == 0 && products <= room ? left : std::min(left, room / each);
    };
    std::int64_t now = that_fit();
    if (now < left) {
      look_at_pool();
      now = that_fit();
    }
    if (now < left && now * each < capacity / 4) { // a pool is left when it is three quarters full
      close_pool();
      open_pool(
          std::max(least_capacity, static_cast<std::int64_t>(share_ / (sizeof(T) + sizeof(I)))));
      continue;
    }
    expand_rows(ctx_, f_, v_, c, row_list<I>{rows.rows, now, rows.from + done},
                view_of(pools_.back()));
    most_used_ += now == rows.count ? products : now * each;
    done += now;
  }
}

template <class T, class I, class O>
void expanded_rows<T, I, O>::make_heavy_rows(row_list<I> rows) {
  expansion<T, I, O> made(ctx_, f_, v_, rows,
                          std::max<std::int64_t>(4096, static_cast<std::int64_t>(share_ / 40)),
                          limit_);
  while (made.next()) {
    require_within_limit(made.columns.bytes() + made.sums.bytes());
    const row_list<I> batch_rows = made.rows();
    for_each(
        ctx_, batch_rows.count, "note_expanded_row",
        note_expanded_row<I>{batch_rows, made.firsts(), places(), begins_.data(), sizes_.data()});
    const std::int64_t used = made.columns.size();
    entries_ += used;
    pools_.push_back({std::move(made.columns), std::move(made.sums), places(), batch_rows, used});
  }
}

template <class T, class I, class O>
void expanded_rows<T, I, O>::place(read_offsets rowptr, I* colind, T* values) {
  int lanes = 1;
  while (lanes < 32 && lanes * f_.rows < entries_) lanes *= 2;
  for (pool& p : pools_) {
    place_rows_kernel<<<resident_blocks(ctx_, p.rows.count * lanes, 16), block_threads, 0,
                        ctx_.stream()>>>(p.rows, lanes, view_of(p), rowptr, colind, values);
    check_launch("place_rows_kernel");
    p.columns = {};
    p.values = {};
  }
  pools_.clear();
}

template <class T, class I, class O>
typename expanded_rows<T, I, O>::joined_pool expanded_rows<T, I, O>::join() {
  if (pools_.empty()) return {};
  if (pools_.size() == 1) {
    pool only = std::move(pools_.back());
    pools_.clear();
    return {std::move(only.columns), std::move(only.values), only.used};
  }
  std::size_t kept = 0;
  while (kept < pools_.size() && pools_[kept].columns.size() < entries_) ++kept;
  joined_pool result;
  const bool keeps = kept < pools_.size();
  if (keeps) {
    result = {std::move(pools_[kept].columns), std::move(pools_[kept].values), pools_[kept].used};
  } else {
    result.columns = array<I, space::device>(ctx_, entries_);
    result.values = array<T, space::device>(ctx_, entries_);
  }
  // How far the entries of each pool move, and where these began.
  array<std::int64_t> moves(default_context<space::host>(), 2 * std::ssize(pools_));
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    pool& p = pools_[i];
    const bool stays = keeps && i == kept;
    const std::int64_t to = stays ? 0 : result.used;
    moves[2 * i] = p.start;
    moves[2 * i + 1] = to - p.start;
    if (stays) continue;
    const auto copy = [&](auto& target, const auto& from) {
      copy_bytes(ctx_, target.data() + to, from.data(),
                 static_cast<std::size_t>(p.used) * sizeof *from.data(), space::device);
    };
    copy(result.columns, p.columns);
    copy(result.values, p.values);
    result.used += p.used;
  }
  const auto moved = copy_to(ctx_, std::as_const(moves).view());
  for_each(
      ctx_, f_.rows, "move_begins",
      move_begins{moved.data(), static_cast<int>(pools_.size()), begins_.data(), sizes_.data()});
  pools_.clear();
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O) template class expanded_rows<T, I, O>;
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
