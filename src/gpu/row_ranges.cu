// Ranges of rows on a device.
#include "op/row_ranges.hpp"

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/scan.cuh"
#include <lacuna/core/types.hpp>

namespace lacuna::detail::gpu {
namespace {

/// Entries that a thread looks at for the least and the last column of a range.
constexpr std::int64_t entries_a_thread = 64;

} // namespace

template <class I, class O>
std::vector<row_range> cut_rows(const device_context& ctx, const rows_to_cut<I, O>& a, int n) {
  const device_guard guard(ctx.device());
  array<std::int64_t, space::device> before;
  if (a.b_rowptr != nullptr) {
    array<std::int64_t, space::device> products(ctx, a.entries);
    before = array<std::int64_t, space::device>(ctx, a.entries + 1);
    for_each(ctx, a.entries, "cut_rows: products",
             [a, products = products.data()] __device__(std::int64_t k) {
               products[k] = a.b_rowptr[a.colind[k] + 1] - a.b_rowptr[a.colind[k]];
             });
    exclusive_sums(ctx, a.entries, products.data(), before.data());
  }
  array<row_range, space::device> ranges(ctx, n);
  for_each(ctx, n, "cut_rows: ranges",
           [a, n, before = std::as_const(before).data(),
            ranges = ranges.data()] __device__(std::int64_t p) {
             const std::int64_t weight =
                 (before == nullptr ? a.entries : before[a.entries]) + a.rows;
             const auto cut = [&](std::int64_t q) {
               if (q == n) return a.rows;
               return row_of_weight(a.rowptr, before, a.rows, weight / n * q + weight % n * q / n);
             };
             const std::int64_t first = p == 0 ? 0 : cut(p), last = cut(p + 1);
             ranges[p] = {first, last, a.rowptr[first], a.rowptr[last], 0, 0};
           });
  std::vector<row_range> found(static_cast<std::size_t>(n));
  read_back(ctx, found.data(), ranges.data(), n);
  // Columns: least and, behind them, last + 1 of each range.
  array<unsigned long long, space::device> columns(ctx, 2 * std::int64_t{n});
  std::vector<unsigned long long> columns_found(static_cast<std::size_t>(2 * n));
  for_each(
      ctx, 2 * std::int64_t{n}, "cut_rows: start",
      [n, columns = columns.data()] __device__(std::int64_t p) { columns[p] = p < n ? ~0ull : 0; });
  for (int p = 0; p < n; ++p) {
    const row_range r = found[static_cast<std::size_t>(p)];
    const std::int64_t threads = (r.end - r.begin + entries_a_thread - 1) / entries_a_thread;
    for_each(ctx, threads, "cut_rows: columns",
             [a, r, threads, p, n, columns = columns.data()] __device__(std::int64_t t) {
               unsigned long long least = ~0ull, most = 0;
               for (std::int64_t k = r.begin + t; k < r.end; k += threads) {
                 const auto column = static_cast<unsigned long long>(a.colind[k]);
                 least = column < least ? column : least;
                 most = column >= most ? column + 1 : most;
               }
               // Few threads know better than all before them.
               if (least < columns[p]) atomicMin(columns + p, least);
               if (most > columns[n + p]) atomicMax(columns + n + p, most);
             });
  }
  read_back(ctx, columns_found.data(), columns.data(), 2 * std::int64_t{n});
  for (std::size_t p = 0; p < found.size(); ++p) {
    const bool any = found[p].begin < found[p].end;
    found[p].low = any ? static_cast<std::int64_t>(columns_found[p]) : 0;
    found[p].high = any ? static_cast<std::int64_t>(columns_found[found.size() + p]) : 0;
  }
  return found;
}

template <class O>
void shift_offsets(const device_context& ctx, const O* from, std::int64_t size, O by, O* to) {
  const device_guard guard(ctx.device());
  for_each(ctx, size, "shift_offsets",
           [from, by, to] __device__(std::int64_t i) { to[i] = from[i] + by; });
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template std::vector<row_range> cut_rows<I, O>(const device_context&, const rows_to_cut<I, O>&,  \
                                                 int);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
template void shift_offsets<std::int32_t>(const device_context&, const std::int32_t*, std::int64_t,
                                          std::int32_t, std::int32_t*);
template void shift_offsets<std::int64_t>(const device_context&, const std::int64_t*, std::int64_t,
                                          std::int64_t, std::int64_t*);

} // namespace lacuna::detail::gpu
