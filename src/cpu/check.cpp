#include <lacuna/op/check.hpp>

#include <atomic>
#include <limits>

#include <fmt/format.h>

#include "cpu/parallel_sort.hpp"

namespace lacuna::detail::cpu {
namespace {

constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();

/// The smallest place that find(begin, end) names over shares of [0, size), or nowhere.
template <class Find>
std::int64_t first_place(const host_context& ctx, std::int64_t size, Find find) {
  std::atomic<std::int64_t> first{nowhere};
  for_each_range(ctx, size, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t place = find(begin, end);
    std::int64_t seen = first.load();
    while (place < seen && !first.compare_exchange_weak(seen, place)) {
    }
  });
  return first.load();
}
/// The smallest k in [0, size) for which broken(k) holds, or nowhere.
template <class Broken>
std::int64_t first_broken(const host_context& ctx, std::int64_t size, Broken broken) {
  return first_place(ctx, size, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      if (broken(k)) return k;
    return nowhere;
  });
}

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw bad_input(fmt::format(format, std::forward<Args>(args)...));
}

void require_data(const char* format, const char* what, const void* data, std::int64_t nnz) {
  if (data == nullptr && nnz > 0) fail("{}: {} is null but nnz = {}", format, what, nnz);
}

/// Whether a row, however ordered, has a column twice; copy is scratch of the row's size.
template <class I> bool repeats(const I* first, const I* last, I* copy) {
  if (std::is_sorted(first, last)) return std::adjacent_find(first, last) != last;
  I* const end = std::copy(first, last, copy);
  std::sort(copy, end);
  return std::adjacent_find(copy, end) != end;
}

template <class T, class I, class O>
void check_rowptr(const host_context& ctx, csr_view<const T, I, O> a) {
  const std::int64_t rows = a.shape().row, nnz = a.size();
  const O* const rowptr = a.rowptr().data();
  if (rowptr == nullptr) {
    if (rows == 0 && nnz == 0) return; // a default-constructed matrix has no arrays at all
    fail("csr: rowptr is null but there are {} rows and {} entries", rows, nnz);
  }
  if (rowptr[0] != 0) fail("csr: rowptr[0] = {}, it must be 0", rowptr[0]);
  const std::int64_t i =
      first_broken(ctx, rows, [=](std::int64_t row) { return rowptr[row + 1] < rowptr[row]; });
  if (i != nowhere) fail("csr: rowptr decreases at row {} ({} -> {})", i, rowptr[i], rowptr[i + 1]);
  if (rowptr[rows] != nnz) fail("csr: rowptr[{}] = {} but nnz = {}", rows, rowptr[rows], nnz);
}

/// The first entry that is broken beside the one before it in its row, or nowhere.
template <class T, class I, class O, class Broken>
std::int64_t first_broken_pair(const host_context& ctx, csr_view<const T, I, O> a, Broken broken) {
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  return first_place(ctx, a.size(), [=](std::int64_t begin, std::int64_t end) {
    std::int64_t place = nowhere;
    for_each_row_piece(rowptr, a.shape().row, begin, end,
                       [&](std::int64_t row, std::int64_t first, std::int64_t last) {
                         std::int64_t k = std::max(first, std::int64_t{rowptr[row]} + 1);
                         for (; place == nowhere && k < last; ++k)
                           if (broken(colind[k - 1], colind[k])) place = k;
                       });
    return place;
  });
}

/// The entry that repeats a column in the first row that has one, or nowhere. Scratch: a copy of
/// the columns.
template <class T, class I, class O>
std::int64_t find_repeated(const host_context& ctx, csr_view<const T, I, O> a) {
  const std::int64_t rows = a.shape().row;
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  array<I> copy(ctx, a.size());
  I* const scratch = copy.data();
  std::atomic<std::int64_t> first{rows};
  for_each_part(ctx, rows + a.size(), entry_grain, [&](int part, int parts) {
    const std::int64_t end = first_row(rowptr, rows, part + 1, parts);
    for (std::int64_t i = first_row(rowptr, rows, part, parts); i < end; ++i)
      if (repeats(colind + rowptr[i], colind + rowptr[i + 1], scratch + rowptr[i])) {
        std::int64_t seen = first.load();
        while (i < seen && !first.compare_exchange_weak(seen, i)) {
        }
        return;
      }
  });
  if (first.load() == rows) return nowhere;
  const I* const begin = colind + rowptr[first.load()];
  const I* const end = colind + rowptr[first.load() + 1];
  I* const sorted = scratch + rowptr[first.load()];
  I* const sorted_end = std::copy(begin, end, sorted);
  std::sort(sorted, sorted_end);
  const I column = *std::adjacent_find(sorted, sorted_end);
  return std::find(std::find(begin, end, column) + 1, end, column) - colind;
}

template <class I> struct coordinate {
  I row, col;
  bool operator<(const coordinate& other) const {
    return row != other.row ? row < other.row : col < other.col;
  }
  bool operator==(const coordinate&) const = default;
};

/// The entry that repeats the smallest coordinate found twice, or nowhere. Scratch: a copy of both
/// index arrays.
template <class T, class I, class O>
std::int64_t find_repeated(const host_context& ctx, coo_view<const T, I, O> a) {
  array<coordinate<I>> sorted(ctx, a.size());
  for_each_range(ctx, a.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) sorted[k] = {a.rowind()[k], a.colind()[k]};
  });
  parallel_sort(ctx, sorted.data(), sorted.size());
  const auto* const twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return nowhere;
  const auto next = [&](std::int64_t k) {
    while (a.rowind()[k] != twice->row || a.colind()[k] != twice->col) ++k;
    return k;
  };
  return next(next(0) + 1);
}

} // namespace

template <class T, class I, class O>
void check_csr(const host_context& ctx, csr_view<const T, I, O> a) {
  const std::int64_t rows = a.shape().row, cols = a.shape().col, nnz = a.size();
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  detail::require_shape("csr", rows, cols, nnz);
  check_rowptr(ctx, a);
  require_data("csr", "colind", colind, nnz);
  require_data("csr", "values", a.values().data(), nnz);
  const auto row_of = [=](std::int64_t k) { return row_of_entry(rowptr, rows, k); };

  const std::int64_t outside =
      first_broken(ctx, nnz, [=](std::int64_t k) { return colind[k] < 0 || colind[k] >= cols; });
  if (outside != nowhere)
    fail("csr: colind[{}] = {} is outside [0, {}) in row {}", outside, colind[outside], cols,
         row_of(outside));
  if (a.order().sorted) {
    const std::int64_t k = first_broken_pair(ctx, a, [](I left, I right) { return right < left; });
    if (k != nowhere)
      fail("csr: stated sorted, but columns descend in row {} at entry {}", row_of(k), k);
  }
  if (a.order().unique) {
    const std::int64_t k =
        a.order().sorted ? first_broken_pair(ctx, a, [](I left, I right) { return right == left; })
                         : find_repeated(ctx, a);
    if (k != nowhere)
      fail("csr: stated unique, but column {} appears twice in row {} (entry {})", colind[k],
           row_of(k), k);
  }
}

template <class T, class I, class O>
void check_coo(const host_context& ctx, coo_view<const T, I, O> a) {
  const std::int64_t rows = a.shape().row, cols = a.shape().col, nnz = a.size();
  const I* const row = a.rowind().data();
  const I* const col = a.colind().data();
  detail::require_shape("coo", rows, cols, nnz);
  require_data("coo", "rowind", row, nnz);
  require_data("coo", "colind", col, nnz);
  require_data("coo", "values", a.values().data(), nnz);

  const std::int64_t outside = first_broken(ctx, nnz, [=](std::int64_t k) {
    return row[k] < 0 || row[k] >= rows || col[k] < 0 || col[k] >= cols;
  });
  if (outside != nowhere) {
    if (row[outside] < 0 || row[outside] >= rows)
      fail("coo: rowind[{}] = {} is outside [0, {})", outside, row[outside], rows);
    fail("coo: colind[{}] = {} is outside [0, {})", outside, col[outside], cols);
  }
  if (a.order().sorted) {
    const std::int64_t k = first_broken(ctx, nnz, [=](std::int64_t e) {
      return e > 0 && (row[e] < row[e - 1] || (row[e] == row[e - 1] && col[e] < col[e - 1]));
    });
    if (k != nowhere)
      fail("coo: stated sorted, but entry {} at ({}, {}) comes after ({}, {})", k, row[k], col[k],
           row[k - 1], col[k - 1]);
  }
  if (a.order().unique) {
    const auto as_before = [=](std::int64_t e) {
      return e > 0 && row[e] == row[e - 1] && col[e] == col[e - 1];
    };
    const std::int64_t k =
        a.order().sorted ? first_broken(ctx, nnz, as_before) : find_repeated(ctx, a);
    if (k != nowhere)
      fail("coo: stated unique, but ({}, {}) appears twice (entry {})", row[k], col[k], k);
  }
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void check_csr(const host_context&, csr_view<const T, I, O>);                           \
  template void check_coo(const host_context&, coo_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
