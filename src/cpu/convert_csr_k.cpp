// Grouping the rows of a CSR matrix for CSR-k, and checking groups.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "cpu/row_kernels.hpp"
#include "cpu/rows.hpp"
#include "plan/csr_k.hpp"

namespace lacuna::detail::cpu {
namespace {

/// Shares in which rows are looked at. Their number is fixed, so that sums are the same for any
/// number of threads.
constexpr int looks = 64;

template <class F> void for_each_look(const host_context& ctx, std::int64_t rows, F&& f) {
  for_each_dynamic(part_count(ctx, rows, entry_grain), looks, [&](int look) {
    f(look, part_begin(rows, look, looks), part_begin(rows, look + 1, looks));
  });
}

template <class O>
row_statistics find_lengths(const host_context& ctx, const O* rowptr, std::int64_t rows,
                            std::int64_t limit) {
  struct totals {
    std::int64_t rows = 0, entries = 0, longest = 0;
    double squares = 0;
  };
  totals shares[looks];
  for_each_look(ctx, rows, [&](int look, std::int64_t begin, std::int64_t end) {
    totals share;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t length = rowptr[row + 1] - rowptr[row];
      if (length > limit) continue;
      ++share.rows;
      share.entries += length;
      share.longest = std::max(share.longest, length);
      share.squares += static_cast<double>(length) * static_cast<double>(length);
    }
    shares[look] = share;
  });
  totals all;
  for (const totals& share : shares) {
    all.rows += share.rows;
    all.entries += share.entries;
    all.longest = std::max(all.longest, share.longest);
    all.squares += share.squares;
  }
  if (all.rows == 0) return {};
  const auto count = static_cast<double>(all.rows);
  const double mean = static_cast<double>(all.entries) / count;
  return {mean, std::sqrt(std::max(0.0, all.squares / count - mean * mean)), all.longest, 0};
}

std::int64_t pieces_of(std::int64_t entries) {
  return (entries + piece_entries - 1) / piece_entries;
}

template <class I, class O>
void list_long_rows(const host_context& ctx, const O* rowptr, std::int64_t rows,
                    csr_k_groups<I, O>& groups) {
  const std::int64_t limit = groups.grouping.long_row;
  const auto for_each_long = [=](std::int64_t begin, std::int64_t end, auto&& f) {
    for (std::int64_t row = begin; row < end; ++row)
      if (rowptr[row + 1] - rowptr[row] > limit) f(row);
  };
  std::int64_t long_rows[looks + 1] = {}, pieces[looks + 1] = {};
  for_each_look(ctx, rows, [&](int look, std::int64_t begin, std::int64_t end) {
    for_each_long(begin, end, [&](std::int64_t row) {
      ++long_rows[look + 1];
      pieces[look + 1] += pieces_of(rowptr[row + 1] - rowptr[row]);
    });
  });
  for (int look = 0; look < looks; ++look) {
    long_rows[look + 1] += long_rows[look];
    pieces[look + 1] += pieces[look];
  }
  groups.long_rows = array<std::int64_t>(ctx, long_rows[looks] + 1);
  groups.pieces = array<csr_k_piece<I, O>>(ctx, pieces[looks]);
  groups.long_rows[long_rows[looks]] = pieces[looks];
  for_each_look(ctx, rows, [&](int look, std::int64_t begin, std::int64_t end) {
    std::int64_t i = long_rows[look], piece = pieces[look];
    for_each_long(begin, end, [&](std::int64_t row) {
      groups.long_rows[i] = piece;
      for (std::int64_t first = rowptr[row]; first < rowptr[row + 1]; first += piece_entries)
        groups.pieces[piece++] = {
            static_cast<I>(row), static_cast<I>(i), static_cast<O>(first),
            static_cast<O>(std::min<std::int64_t>(first + piece_entries, rowptr[row + 1]))};
      ++i;
    });
  });
}

/// 0, size, 2 size, … and count.
template <class I>
array<I> equal_starts(const host_context& ctx, std::int64_t count, std::int64_t size) {
  const std::int64_t groups = count / size + (count % size != 0 ? 1 : 0);
  array<I> starts(ctx, groups + 1);
  for_each_range(ctx, groups, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) starts[j] = static_cast<I>(j * size);
  });
  starts[groups] = static_cast<I>(count);
  return starts;
}

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw bad_input(fmt::format(format, std::forward<Args>(args)...));
}

template <class I>
void check_starts(const char* name, vector_view<const I> starts, const char* of,
                  std::int64_t count) {
  if (starts.empty()) {
    if (count == 0) return;
    fail("csr_k: there are no {}, but {} {}", name, count, of);
  }
  if (starts[0] != 0) fail("csr_k: {}[0] = {}, it must be 0", name, starts[0]);
  for (std::int64_t j = 1; j < starts.size(); ++j)
    if (starts[j] <= starts[j - 1])
      fail("csr_k: {}[{}] = {} does not come after {}", name, j, starts[j], starts[j - 1]);
  const std::int64_t last = starts.size() - 1;
  if (starts[last] != count)
    fail("csr_k: {}[{}] = {} but there are {} {}", name, last, starts[last], count, of);
}

/// The i-th long row and its pieces.
template <class T, class I, class O>
void check_long_row(csr_k_view<const T, I, O> a, std::int64_t i) {
  const std::int64_t begin = a.long_rows()[i], end = a.long_rows()[i + 1];
  const std::int64_t row = a.pieces()[begin].row;
  if (row < 0 || row >= a.shape().row)
    fail("csr_k: pieces[{}] is of row {}, outside [0, {})", begin, row, a.shape().row);
  std::int64_t at = a.rows().rowptr()[row];
  const std::int64_t stop = a.rows().rowptr()[row + 1];
  if (stop - at <= a.grouping().long_row)
    fail("csr_k: row {} of {} entries is listed as long, beyond {}", row, stop - at,
         a.grouping().long_row);
  for (std::int64_t k = begin; k < end; ++k) {
    const csr_k_piece<I, O> piece = a.pieces()[k];
    if (piece.row != row || piece.long_row != i)
      fail("csr_k: pieces[{}] is of row {} (long row {}), among those of row {} (long row {})", k,
           piece.row, piece.long_row, row, i);
    if (piece.first != at || piece.last <= at || piece.last > stop)
      fail("csr_k: pieces[{}] has entries [{}, {}); the next of row {} are [{}, {})", k,
           piece.first, piece.last, row, at, stop);
    at = piece.last;
  }
  if (at != stop)
    fail("csr_k: pieces of row {} end at entry {}, the row ends at {}", row, at, stop);
}

template <class T, class I, class O> void check_long_rows(csr_k_view<const T, I, O> a) {
  check_starts("long_rows", a.long_rows(), "pieces", a.pieces().size());
  const O* rowptr = a.rows().rowptr().data();
  std::int64_t i = 0;
  for (std::int64_t row = 0; row < a.shape().row; ++row) {
    if (rowptr[row + 1] - rowptr[row] <= a.grouping().long_row) continue;
    if (i == a.long_row_count() || a.pieces()[a.long_rows()[i]].row != row) break;
    check_long_row(a, i++);
  }
  if (i < a.long_row_count()) check_long_row(a, i);
  const std::int64_t after = i == 0 ? 0 : std::int64_t{a.pieces()[a.long_rows()[i - 1]].row} + 1;
  for (std::int64_t row = after; row < a.shape().row; ++row)
    if (rowptr[row + 1] - rowptr[row] > a.grouping().long_row)
      fail("csr_k: row {} of {} entries is not in its place among the long rows, those beyond {}",
           row, rowptr[row + 1] - rowptr[row], a.grouping().long_row);
  if (i < a.long_row_count())
    fail("csr_k: pieces[{}] is of row {}, which does not come after row {}", a.long_rows()[i],
         a.pieces()[a.long_rows()[i]].row, after - 1);
}

} // namespace

template <class I, class O>
csr_k_groups<I, O> group_rows(const host_context& ctx, vector_view<const O> rowptr,
                              const csr_k_options& options, const std::vector<array<I>>* starts) {
  const std::int64_t rows = std::max<std::int64_t>(rowptr.size() - 1, 0);
  csr_k_options used = options;
  if (starts != nullptr) {
    used.k = static_cast<int>(starts->size()) + 1;
    if (options.k != 0 && options.k != used.k)
      fail("to_csr_k: k = {}, but the ordering is Band-{}", options.k, used.k);
    if (options.super_row != 0 || options.super_super_row != 0)
      fail("to_csr_k: sizes and an ordering that has its own");
  }
  csr_k_groups<I, O> result;
  result.grouping = choose_grouping(
      used, space::host, csr_k_model::cpu(),
      [&](std::int64_t limit) { return find_lengths(ctx, rowptr.data(), rows, limit); },
      starts != nullptr);
  const csr_k_grouping& g = result.grouping;
  if (starts != nullptr) {
    const auto copied = [&](std::size_t level, const char* name, const char* of,
                            std::int64_t count) {
      const vector_view<const I> from = (*starts)[level].view();
      check_starts(name, from, of, count);
      return copy_to(ctx, from);
    };
    result.super_rows = copied(0, "super_rows", "rows", rows);
    if (g.k == 3)
      result.super_super_rows = copied(1, "super_super_rows", "super-rows",
                                       std::max<std::int64_t>(result.super_rows.size() - 1, 0));
  } else {
    result.super_rows = equal_starts<I>(ctx, rows, g.super_row);
    if (g.k == 3)
      result.super_super_rows =
          equal_starts<I>(ctx, result.super_rows.size() - 1, g.super_super_row);
  }
  list_long_rows(ctx, rowptr.data(), rows, result);
  return result;
}

template <class T, class I, class O> void check_groups(csr_k_view<const T, I, O> a) {
  const int k = a.grouping().k;
  if (k != 2 && k != 3) fail("csr_k: k = {}, it must be 2 or 3", k);
  check_starts("super_rows", a.super_rows(), "rows", a.shape().row);
  if (k == 3)
    check_starts("super_super_rows", a.super_super_rows(), "super-rows",
                 std::max<std::int64_t>(a.super_rows().size() - 1, 0));
  else if (!a.super_super_rows().empty())
    fail("csr_k: k = 2, but there are super_super_rows");
  check_long_rows(a);
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template csr_k_groups<I, O> group_rows<I, O>(const host_context&, vector_view<const O>,          \
                                               const csr_k_options&,                               \
                                               const std::vector<array<I>>*);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O) template void check_groups<T, I, O>(csr_k_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
