// CSR to hyb on the host, back again, and the test of its invariants. Rows are shared out to
// threads.
#include <vector>

#include <fmt/format.h>

#include "cpu/rows.hpp"
#include "cpu/scatter.hpp"
#include <lacuna/op/hyb.hpp>

namespace lacuna {

std::int64_t choose_hyb_width(std::int64_t rows, std::span<const std::int64_t> rows_of_length) {
  std::int64_t width = 0, longer = rows; // rows of more than `width` entries
  for (const std::int64_t count : rows_of_length) {
    longer -= count;
    if (longer < detail::hyb_least_rows || detail::hyb_relative_speed * longer < rows) return width;
    ++width;
  }
  return width;
}

namespace detail::cpu {
namespace {

constexpr std::int64_t group = 32; // rows that are filled together: they share cache lines

/// The rule, from a count of the row lengths.
template <class O>
std::int64_t find_width(const host_context& ctx, const O* rowptr, std::int64_t rows,
                        std::int64_t widest) {
  if (rows < detail::hyb_least_rows) return 0;
  const std::int64_t classes = widest + 2;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes * ctx.threads()), 0);
  for_each_part(ctx, rows, entry_grain, [&](int part, int parts) {
    std::int64_t* const mine = counts.data() + part * classes;
    for (std::int64_t i = part_begin(rows, part, parts); i < part_begin(rows, part + 1, parts); ++i)
      ++mine[std::min<std::int64_t>(rowptr[i + 1] - rowptr[i], widest + 1)];
  });
  for (int part = 1; part < ctx.threads(); ++part)
    for (std::int64_t n = 0; n < classes; ++n)
      counts[static_cast<std::size_t>(n)] += counts[static_cast<std::size_t>(part * classes + n)];
  return choose_hyb_width(rows, {counts.data(), static_cast<std::size_t>(classes)});
}

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw bad_input("hyb: " + fmt::format(format, std::forward<Args>(args)...));
}

/// Entries of row i in the ELL part.
template <class T, class I, class O>
std::int64_t entries_in_ell(hyb_view<const T, I, O> a, std::int64_t i) {
  std::int64_t k = 0;
  while (k < a.width() && a.columns()[k * a.stride() + i] != -1) ++k;
  return k;
}

} // namespace

template <class T, class I, class O>
hyb<T, I, O> csr_to_hyb(const host_context& ctx, csr_view<const T, I, O> a,
                        const hyb_options& options) {
  const std::int64_t rows = a.shape().row;
  const std::int64_t widest = detail::hyb_widest(rows, a.size());
  const O* const rowptr = a.rowptr().data();
  const std::int64_t width =
      options.width > 0 ? std::min(options.width, widest) : find_width(ctx, rowptr, rows, widest);
  const auto length = [=](std::int64_t i) -> std::int64_t { return rowptr[i + 1] - rowptr[i]; };

  array<O> starts(ctx, rows + 1);
  starts[0] = 0;
  for_each_range(ctx, rows, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      starts[i + 1] = static_cast<O>(std::max<std::int64_t>(length(i) - width, 0));
  });
  array<std::int64_t> sums(ctx, part_count(ctx, rows, entry_grain));
  inclusive_scan(ctx, starts.data(), rows, sums);
  const O beyond = starts[rows];

  hyb<T, I, O> result{a.shape(), a.size(), width, detail::hyb_stride(rows), {}, {}, {}};
  const std::int64_t stride = result.stride;
  result.columns = array<I>(ctx, checked_mul(width, stride));
  result.values = array<T>(ctx, checked_mul(width, stride));
  array<I> rest_columns(ctx, beyond);
  array<T> rest_values(ctx, beyond);
  for_each_range(ctx, stride / group, entry_grain / group,
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t i = first * group; i < last * group; i += group)
                     for (std::int64_t k = 0; k < width; ++k)
                       for (std::int64_t r = i; r < i + group; ++r) {
                         const bool has = r < rows && k < length(r);
                         result.columns[k * stride + r] = has ? a.colind()[rowptr[r] + k] : I{-1};
                         result.values[k * stride + r] = has ? a.values()[rowptr[r] + k] : T{0};
                       }
                 });
  for_each_range(ctx, beyond, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for_each_row_piece(
        starts.data(), rows, begin, end,
        [&](std::int64_t i, std::int64_t first, std::int64_t last) {
          const std::int64_t from = rowptr[i] + width + (first - starts[i]);
          std::copy_n(a.colind().data() + from, last - first, rest_columns.data() + first);
          std::copy_n(a.values().data() + from, last - first, rest_values.data() + first);
        });
  });
  result.rest = csr<T, I, O>(a.shape(), std::move(starts), std::move(rest_columns),
                             std::move(rest_values), a.order());
  return result;
}

template <class T, class I, class O>
csr<T, I, O> hyb_to_csr(const host_context& ctx, hyb_view<const T, I, O> a) {
  const std::int64_t rows = a.shape().row, stride = a.stride();
  csr<T, I, O> result(ctx, a.shape(), static_cast<O>(a.size()));
  const auto rowptr = result.rowptr();
  const auto rest = a.rest();
  rowptr[0] = 0;
  for_each_range(ctx, rows, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      rowptr[i + 1] =
          static_cast<O>(entries_in_ell(a, i) + (rest.rowptr()[i + 1] - rest.rowptr()[i]));
  });
  array<std::int64_t> sums(ctx, part_count(ctx, rows, entry_grain));
  inclusive_scan(ctx, rowptr.data(), rows, sums);
  for_each_part(ctx, rows + a.size(), entry_grain, [&](int part, int parts) {
    const std::int64_t end = first_row(rowptr.data(), rows, part + 1, parts);
    for (std::int64_t i = first_row(rowptr.data(), rows, part, parts); i < end; ++i) {
      const std::int64_t from = rest.rowptr()[i], more = rest.rowptr()[i + 1] - from;
      const std::int64_t to = rowptr[i], in_ell = rowptr[i + 1] - to - more;
      for (std::int64_t k = 0; k < in_ell; ++k) {
        result.colind()[to + k] = a.columns()[k * stride + i];
        result.values()[to + k] = a.values()[k * stride + i];
      }
      std::copy_n(rest.colind().data() + from, more, result.colind().data() + to + in_ell);
      std::copy_n(rest.values().data() + from, more, result.values().data() + to + in_ell);
    }
  });
  return result;
}

template <class T, class I, class O>
void check_hyb(const host_context& ctx, hyb_view<const T, I, O> a) {
  const std::int64_t rows = a.shape().row, cols = a.shape().col;
  const std::int64_t width = a.width(), stride = a.stride();
  if (width < 0) fail("the width is {}", width);
  if (stride != detail::hyb_stride(rows))
    fail("the stride is {} instead of {}", stride, detail::hyb_stride(rows));
  const std::int64_t places = checked_mul(width, stride);
  if (a.columns().size() != places) fail("{} columns instead of {}", a.columns().size(), places);
  if (a.values().size() != places) fail("{} values instead of {}", a.values().size(), places);
  if (!(a.rest().shape() == a.shape()))
    fail("the rest is {} x {}, the matrix {} x {}", a.rest().shape().row, a.rest().shape().col,
         rows, cols);
  const auto rest = a.rest();
  if (rows > 0 || !rest.rowptr().empty()) check_csr<T, I, O>(ctx, rest);

  std::int64_t entries = rest.size();
  for (std::int64_t i = 0; i < stride; ++i) {
    const std::int64_t count = entries_in_ell(a, i);
    if (i >= rows && count > 0) fail("there is an entry in row {} of {}", i, rows);
    for (std::int64_t k = 0; k < width; ++k) {
      const std::int64_t col = a.columns()[k * stride + i];
      if (k < count ? col < 0 || col >= cols : col != -1)
        fail("entry {} of row {} has column {} of {}, after {} entries", k, i, col, cols, count);
      if (k >= count && a.values()[k * stride + i] != T{0})
        fail("entry {} of row {} is none, but its value is {}", k, i, a.values()[k * stride + i]);
    }
    if (i < rows && count < width && rest.rowptr()[i + 1] != rest.rowptr()[i])
      fail("row {} has {} of {} entries, and more in the rest", i, count, width);
    entries += count;
  }
  if (entries != a.size()) fail("{} entries but nnz = {}", entries, a.size());
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template hyb<T, I, O> csr_to_hyb<T, I, O>(const host_context&, csr_view<const T, I, O>,          \
                                            const hyb_options&);                                   \
  template csr<T, I, O> hyb_to_csr<T, I, O>(const host_context&, hyb_view<const T, I, O>);         \
  template void check_hyb<T, I, O>(const host_context&, hyb_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace detail::cpu
} // namespace lacuna
