#include <lacuna/op/convert.hpp>

#include <atomic>

#include "cpu/parallel_sort.hpp"

namespace lacuna::detail::cpu {
namespace {

/// Column and position in the row, which makes any sort stable. Packed: both below 2^32.
struct packed_key {
  std::uint64_t bits;
  packed_key() = default;
  packed_key(std::int64_t col, std::int64_t at)
      : bits(static_cast<std::uint64_t>(col) << 32 | static_cast<std::uint64_t>(at)) {}
  std::int64_t col() const { return static_cast<std::int64_t>(bits >> 32); }
  std::int64_t at() const { return static_cast<std::int64_t>(bits & 0xffffffffU); }
  bool operator<(const packed_key& other) const { return bits < other.bits; }
};
struct wide_key {
  std::int64_t col_, at_;
  wide_key() = default;
  wide_key(std::int64_t col, std::int64_t at) : col_(col), at_(at) {}
  std::int64_t col() const { return col_; }
  std::int64_t at() const { return at_; }
  bool operator<(const wide_key& other) const {
    return col_ != other.col_ ? col_ < other.col_ : at_ < other.at_;
  }
};

constexpr std::int64_t short_row = 32; // up to here insertion beats keys and gathering

template <class T, class I> void insertion_sort(I* col, T* value, std::int64_t size) {
  for (std::int64_t k = 1; k < size; ++k) {
    const I c = col[k];
    const T v = value[k];
    std::int64_t to = k;
    for (; to > 0 && c < col[to - 1]; --to) {
      col[to] = col[to - 1];
      value[to] = value[to - 1];
    }
    col[to] = c;
    value[to] = v;
  }
}

/// Sorts one row, with keys and saved values as scratch; `sort_keys` sorts size keys.
template <class T, class I, class Key, class Sort>
void sort_row(I* col, T* value, std::int64_t size, Key* keys, T* saved, Sort sort_keys) {
  for (std::int64_t k = 0; k < size; ++k) keys[k] = Key(col[k], k);
  std::copy(value, value + size, saved);
  sort_keys(keys, size);
  for (std::int64_t k = 0; k < size; ++k) {
    col[k] = static_cast<I>(keys[k].col());
    value[k] = saved[keys[k].at()];
  }
}

/// The longest rows out of order: among those that one thread sorts, and among those so long
/// that all threads sort them together.
struct longest_rows {
  std::int64_t own = 0, shared = 0;
};

template <class I, class O> bool is_sorted_row(const O* rowptr, const I* colind, std::int64_t i) {
  return std::is_sorted(colind + rowptr[i], colind + rowptr[i + 1]);
}

template <class Key, class T, class I, class O>
void sort_rows(const host_context& ctx, csr_view<T, I, O> a, int parts, longest_rows longest,
               std::int64_t shared_from) {
  const std::int64_t rows = a.shape().row;
  const O* const rowptr = a.rowptr().data();
  I* const colind = a.colind().data();
  T* const values = a.values().data();
  const std::int64_t scratch = std::max(parts * longest.own, longest.shared);
  array<Key> keys(ctx, scratch);
  array<T> saved(ctx, scratch);

  for_each_part(ctx, parts, 1, [&](int part, int) {
    Key* const own_keys = keys.data() + part * longest.own;
    T* const own_saved = saved.data() + part * longest.own;
    const std::int64_t end = first_row(rowptr, rows, part + 1, parts);
    for (std::int64_t i = first_row(rowptr, rows, part, parts); i < end; ++i) {
      const std::int64_t begin = rowptr[i], size = rowptr[i + 1] - begin;
      if (size <= short_row)
        insertion_sort(colind + begin, values + begin, size);
      else if (size < shared_from && !is_sorted_row(rowptr, colind, i))
        sort_row(colind + begin, values + begin, size, own_keys, own_saved,
                 [](Key* k, std::int64_t n) { std::sort(k, k + n); });
    }
  });
  for (std::int64_t i = 0; longest.shared > 0 && i < rows; ++i) {
    const std::int64_t begin = rowptr[i], size = rowptr[i + 1] - begin;
    if (size >= shared_from && !is_sorted_row(rowptr, colind, i))
      sort_row(colind + begin, values + begin, size, keys.data(), saved.data(),
               [&](Key* k, std::int64_t n) { parallel_sort(ctx, k, n); });
  }
}

template <class I, class O> struct coordinate {
  I row, col;
  O at;
  bool operator<(const coordinate& other) const {
    if (row != other.row) return row < other.row;
    return col != other.col ? col < other.col : at < other.at;
  }
};

template <class T, class I, class O> bool is_sorted(const host_context& ctx, coo_view<T, I, O> a) {
  std::atomic<bool> result{true};
  for_each_range(ctx, a.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = std::max<std::int64_t>(begin, 1); k < end; ++k)
      if (a.rowind()[k] < a.rowind()[k - 1] ||
          (a.rowind()[k] == a.rowind()[k - 1] && a.colind()[k] < a.colind()[k - 1]))
        return result.store(false, std::memory_order_relaxed);
  });
  return result.load();
}

/// For shapes not much larger than the number of entries: counting by row, then row by row.
template <class T, class I, class O>
void sort_coo_by_rows(const host_context& ctx, coo_view<T, I, O> a) {
  auto sorted = coo_to_csr<T, I, O>(ctx, a);
  sort_csr<T, I, O>(ctx, sorted.view());
  const I* const colind = sorted.colind().data();
  const T* const values = sorted.values().data();
  I* const rowind = a.rowind().data();
  for_each_range(ctx, a.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for_each_row_piece(sorted.rowptr().data(), a.shape().row, begin, end,
                       [&](std::int64_t row, std::int64_t first, std::int64_t last) {
                         std::fill(rowind + first, rowind + last, static_cast<I>(row));
                       });
    std::copy(colind + begin, colind + end, a.colind().data() + begin);
    std::copy(values + begin, values + end, a.values().data() + begin);
  });
}

/// For huge and nearly empty shapes.
template <class T, class I, class O>
void sort_coo_by_comparison(const host_context& ctx, coo_view<T, I, O> a) {
  array<coordinate<I, O>> order(ctx, a.size());
  array<T> saved(ctx, a.size());
  for_each_range(ctx, a.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      order[k] = {a.rowind()[k], a.colind()[k], static_cast<O>(k)};
      saved[k] = a.values()[k];
    }
  });
  parallel_sort(ctx, order.data(), order.size());
  for_each_range(ctx, a.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      a.rowind()[k] = order[k].row;
      a.colind()[k] = order[k].col;
      a.values()[k] = saved[order[k].at];
    }
  });
}

} // namespace

template <class T, class I, class O> void sort_csr(const host_context& ctx, csr_view<T, I, O> a) {
  const std::int64_t rows = a.shape().row, cols = a.shape().col;
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  const int parts = part_count(ctx, rows + a.size(), entry_grain);
  const std::int64_t shared_from =
      std::max<std::int64_t>(4 * entry_grain, a.size() / (2 * std::int64_t{parts}));
  array<longest_rows> longest_of_part(ctx, parts);
  std::atomic<bool> sorted{true};
  for_each_part(ctx, parts, 1, [&](int part, int) {
    longest_rows longest;
    const std::int64_t end = first_row(rowptr, rows, part + 1, parts);
    for (std::int64_t i = first_row(rowptr, rows, part, parts); i < end; ++i) {
      if (is_sorted_row(rowptr, colind, i)) continue;
      sorted.store(false, std::memory_order_relaxed);
      const std::int64_t size = rowptr[i + 1] - std::int64_t{rowptr[i]};
      if (size >= shared_from)
        longest.shared = std::max(longest.shared, size);
      else if (size > short_row)
        longest.own = std::max(longest.own, size);
    }
    longest_of_part[part] = longest;
  });
  if (sorted.load()) return;
  longest_rows longest;
  for (const auto& f : longest_of_part)
    longest = {std::max(longest.own, f.own), std::max(longest.shared, f.shared)};
  constexpr std::int64_t packed_limit = std::int64_t{1} << 32;
  if (cols <= packed_limit && std::max(longest.own, longest.shared) <= packed_limit)
    sort_rows<packed_key>(ctx, a, parts, longest, shared_from);
  else
    sort_rows<wide_key>(ctx, a, parts, longest, shared_from);
}

template <class T, class I, class O> void sort_coo(const host_context& ctx, coo_view<T, I, O> a) {
  if (is_sorted(ctx, a)) return;
  if (a.shape().row <= a.size())
    sort_coo_by_rows(ctx, a);
  else
    sort_coo_by_comparison(ctx, a);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void sort_csr(const host_context&, csr_view<T, I, O>);                                  \
  template void sort_coo(const host_context&, coo_view<T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
