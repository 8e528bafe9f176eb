// A dynamic CSR in parts on the host: rows dealt out, batches split, results gathered.
#include "op/dynamic_parts.hpp"

#include "cpu/parallel_sort.hpp"
#include "cpu/scatter.hpp"

namespace lacuna::detail::cpu {

template <class I, class O>
void deal_rows(const host_context& ctx, const O* rowptr, std::int64_t rows, I* slots) {
  struct sized_row {
    std::int64_t fewer; // minus its entries
    std::int64_t row;
    constexpr bool operator<(const sized_row& b) const {
      return fewer != b.fewer ? fewer < b.fewer : row < b.row;
    }
  };
  array<sized_row> order(ctx, rows);
  for_each_range(ctx, rows, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) order[i] = {rowptr[i] - rowptr[i + 1], i};
  });
  parallel_sort(ctx, order.data(), rows);
  for_each_range(ctx, rows, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) slots[order[k].row] = static_cast<I>(k);
  });
}

template <class I>
void invert_slots(const host_context& ctx, const I* slots, std::int64_t rows, I* to) {
  for_each_range(ctx, rows, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      to[slots == nullptr ? i : std::int64_t{slots[i]}] = static_cast<I>(i);
  });
}

template <class T, class I>
split_batch<T, I, space::host> split_by_part(const host_context& ctx,
                                             const batch_to_split<T, I>& batch, bool by_row) {
  const std::int64_t n = batch.parts, size = batch.size;
  split_batch<T, I, space::host> result;
  array<I> keys(ctx, size);
  std::vector<std::int64_t> outside(static_cast<std::size_t>(ctx.threads()), size);
  for_each_part(ctx, size, entry_grain, [&](int part, int parts) {
    for (std::int64_t k = part_begin(size, part, parts); k < part_begin(size, part + 1, parts); ++k)
      if (batch.is_outside(k)) {
        outside[static_cast<std::size_t>(part)] = k;
        return;
      } else {
        keys[k] = batch.key(k, by_row);
      }
  });
  const std::int64_t first = *std::min_element(outside.begin(), outside.end());
  if (first < size) {
    result.outside = first;
    return result;
  }
  result.rowind = array<I>(ctx, size);
  result.colind = array<I>(ctx, size);
  if (batch.values != nullptr) result.values = array<T>(ctx, size);
  array<std::int64_t> starts(ctx, batch.keys(by_row) + 1);
  scatter_by_key(ctx, keys.data(), size, batch.keys(by_row), size, starts.data(),
                 [&](std::int64_t begin, std::int64_t end, std::int64_t* next, std::int64_t low) {
                   for (std::int64_t k = begin; k < end; ++k) {
                     const std::int64_t to = next[keys[k] - low]++;
                     result.rowind[to] = static_cast<I>(batch.slot(k) / n);
                     result.colind[to] = batch.colind[k];
                     if (batch.values != nullptr) result.values[to] = batch.values[k];
                   }
                 });
  for (std::int64_t p = 0; p <= n; ++p) result.starts.push_back(starts[batch.first_key(p, by_row)]);
  return result;
}

template <class I>
void number_rows(const host_context& ctx, const I* row_of_slot, std::int64_t n, std::int64_t p,
                 I* rowind, std::int64_t size) {
  for_each_range(ctx, size, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) rowind[k] = row_of_slot[rowind[k] * n + p];
  });
}

template <class T, class I>
void gather_parts(const host_context& ctx, const T* results, const I* slots, std::int64_t rows,
                  std::int64_t n, T* y) {
  for_each_range(ctx, rows, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = results[place_of_slot(slots[i], rows, n)];
  });
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template void deal_rows<I, O>(const host_context&, const O*, std::int64_t, I*);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template split_batch<T, I, space::host> split_by_part<T, I>(const host_context&,                 \
                                                              const batch_to_split<T, I>&, bool);  \
  template void gather_parts<T, I>(const host_context&, const T*, const I*, std::int64_t,          \
                                   std::int64_t, T*);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(I)                                                                      \
  template void invert_slots<I>(const host_context&, const I*, std::int64_t, I*);                  \
  template void number_rows<I>(const host_context&, const I*, std::int64_t, std::int64_t, I*,      \
                               std::int64_t);
LACUNA_INSTANTIATE(std::int32_t)
LACUNA_INSTANTIATE(std::int64_t)

} // namespace lacuna::detail::cpu
