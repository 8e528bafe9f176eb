#include "cpu/spgemm_units.hpp"

#include <bit>

#include <lacuna/core/checked.hpp>

#include "core/kernel_offsets.hpp"
#include "cpu/spgemm_kernels.hpp"

namespace lacuna::detail::cpu {
namespace {

/// Threads take this many units each or more, so that one that turns out dear delays no one.
constexpr int units_per_thread = 32;
/// A row is divided by columns if it has more than 1 / (2 threads) of the work, and this much, and
/// looking (below) is a quarter of it at most.
constexpr std::int64_t heavy_row = 1 << 18;
/// Every range of columns of a divided row looks for its entries in all rows of B that the row of A
/// meets. Looking twice, to count and to add, takes as long as this many products: 20 where B's
/// rows have 32 entries, 57 with 128, 108 with 512 (EPYC, AVX2).
constexpr std::int64_t look_work = 64;
/// Longest dense window in columns: 4 MiB of doubles, which stay in a core's share of L3.
constexpr std::int64_t longest_window = 1 << 19;

/// Sums over a block of rows.
struct block_sums {
  std::int64_t products, longest, most_entries, work;
};

/// Of rows, beside their products.
template <class T, class I, class O>
std::int64_t work_besides(const spgemm_factors<T, I, O>& f, std::int64_t first, std::int64_t last) {
  return (f.a_rowptr[last] - f.a_rowptr[first]) + 4 * (last - first);
}
template <class T, class I, class O>
std::int64_t work_of(const spgemm_factors<T, I, O>& f, std::int64_t row, std::int64_t products) {
  return products + work_besides(f, row, row + 1);
}

template <class T, class I, class O>
block_sums sum_rows(const spgemm_factors<T, I, O>& f, std::int64_t first, std::int64_t last) {
  block_sums s{};
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t products = f.products(i);
    s.products += products;
    s.longest = std::max(s.longest, products);
    s.most_entries += std::min(products, f.cols);
    s.work += work_of(f, i, products);
  }
  return s;
}

template <class T, class I>
spgemm_sizes sizes_for(const spgemm_estimate& e, std::int64_t cols, int threads) {
  spgemm_sizes s;
  // Preparing a window costs a write a column, which the products must pay for.
  s.window =
      std::min(cols, std::clamp<std::int64_t>(e.products / (4 * threads), 4096, longest_window));
  s.slots = 2 * rank_limit;
  // Room for all products of a row, or for twice as many as it can have entries: full, it is half
  // empty once these are summed.
  s.sorted =
      std::min(e.longest_row,
               std::max<std::int64_t>(cols <= e.longest_row ? 2 * cols : e.longest_row, 1 << 16));
  if (s.window == cols) return s;
  const auto keys = static_cast<std::uint64_t>(std::min(e.longest_row, cols));
  spgemm_sizes table = s, row = s;
  table.slots = std::max<std::int64_t>(s.slots, static_cast<std::int64_t>(std::bit_ceil(2 * keys)));
  row.window = cols;
  return table.bytes<T, I>() <= row.bytes<T, I>() ? table : row;
}

} // namespace

template <class T, class I, class O>
spgemm_schedule schedule_spgemm(const host_context& ctx, const spgemm_factors<T, I, O>& f,
                                bool units) {
  spgemm_schedule schedule;
  const std::int64_t rows = f.rows;
  if (rows == 0) return schedule;
  // Blocks of rows, small enough to make units of.
  const std::int64_t block = std::max<std::int64_t>(1, rows / (std::int64_t{256} * ctx.threads()));
  array<block_sums> sums(ctx, (rows + block - 1) / block);
  const std::int64_t entries = f.a_rowptr[rows];
  for_each_part(ctx, rows + entries, spgemm_grain, [&](int part, int parts) {
    const std::int64_t last = part_begin(sums.size(), part + 1, parts);
    for (std::int64_t i = part_begin(sums.size(), part, parts); i < last; ++i)
      sums[i] = sum_rows(f, i * block, std::min(rows, (i + 1) * block));
  });
  std::int64_t work = 0;
  auto& e = schedule.estimate;
  for (const block_sums& s : sums) {
    e.products = checked_add(e.products, s.products);
    e.longest_row = std::max(e.longest_row, s.longest);
    e.most_entries = checked_add(e.most_entries, s.most_entries);
    work = checked_add(work, s.work);
  }
  if (!units) return schedule;

  schedule.threads =
      static_cast<int>(std::clamp<std::int64_t>(work / spgemm_grain, 1, ctx.threads()));
  schedule.sizes = sizes_for<T, I>(e, f.cols, schedule.threads);
  const std::int64_t target = work / (std::int64_t{units_per_thread} * schedule.threads) + 1;
  const std::int64_t heavy = std::max(heavy_row, work / (2 * schedule.threads));
  const bool may_cut = schedule.threads > 1 && f.b_sorted;
  const std::int64_t most_ranges = std::min<std::int64_t>(8 * schedule.threads, f.cols);
  // Each unit but those beside a heavy row, and the last, has `target` of work or more.
  schedule.units =
      array<spgemm_unit>(ctx, std::int64_t{units_per_thread} * schedule.threads + 2 +
                                  (may_cut ? 2 * schedule.threads * (most_ranges + 2) : 0));
  std::int64_t count = 0, first = 0, done = 0;
  const auto close = [&](std::int64_t last) {
    if (first < last) {
      schedule.units[count] = {};
      schedule.units[count].products = done - work_besides(f, first, last);
      schedule.units[count].first = first;
      schedule.units[count++].last = last;
    }
    first = last;
    done = 0;
  };
  for (std::int64_t b = 0; b < sums.size(); ++b) {
    const std::int64_t last = std::min(rows, (b + 1) * block);
    if (sums[b].work <= target / 4) {
      done += sums[b].work;
      if (done >= target) close(last);
      continue;
    }
    for (std::int64_t i = b * block; i < last; ++i) {
      const std::int64_t products = f.products(i);
      const std::int64_t row_work = work_of(f, i, products);
      const std::int64_t looking = look_work * (f.a_rowptr[i + 1] - f.a_rowptr[i]);
      if (may_cut && row_work > heavy && products >= 4 * looking) {
        close(i);
        // One for each thread; more, that unequal ones cost less, while products pay for them.
        const std::int64_t ranges = std::min(
            most_ranges, std::max<std::int64_t>(schedule.threads, products / (4 * looking)));
        for (std::int64_t p = 0; p < ranges; ++p) {
          schedule.units[count] = {};
          auto& u = schedule.units[count++];
          u.first = i;
          u.last = i + 1;
          u.cut = true;
          u.columns = {part_begin(f.cols, static_cast<int>(p), static_cast<int>(ranges)),
                       part_begin(f.cols, static_cast<int>(p) + 1, static_cast<int>(ranges))};
        }
        first = i + 1;
        continue;
      }
      done += row_work;
      if (done >= target) close(i + 1);
    }
  }
  close(rows);
  array<spgemm_unit> exact(ctx, count);
  std::copy_n(schedule.units.begin(), count, exact.begin());
  schedule.units = std::move(exact);
  return schedule;
}

template <class T, class I, class O>
spgemm_estimate estimate_spgemm(const host_context& ctx, csr_view<const T, I, O> a,
                                csr_view<const T, I, O> b) {
  const with_kernel_offsets<T, I, O, space::host> left(ctx, a), right(ctx, b);
  auto e = schedule_spgemm(ctx, spgemm_factors(T{1}, left.view(), right.view()), false).estimate;
  e.most_result_bytes = static_cast<std::size_t>(
      checked_add(checked_mul(e.most_entries, sizeof(T) + sizeof(I)),
                  checked_mul(std::int64_t{a.shape().row} + 1, sizeof(O))));
  return e;
}

#define LACUNA_INSTANTIATE_SCHEDULE(T, I, O)                                                       \
  template spgemm_schedule schedule_spgemm(const host_context&, const spgemm_factors<T, I, O>&,    \
                                           bool);
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE_SCHEDULE)
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template spgemm_estimate estimate_spgemm(const host_context&, csr_view<const T, I, O>,           \
                                           csr_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
