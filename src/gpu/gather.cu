// Elements by a search in their rows. Rows are copied entry by entry, so that long ones are shared.
// Columns: the list is sorted by column, each entry of the rows is counted as often as its column
// stands in the list, and each entry of the result finds the one that it comes from in the running
// sum of these counts.
#include <lacuna/op/gather.hpp>

#include "gpu/parts/chosen_rows.cuh"
#include "gpu/parts/entries.cuh"

namespace lacuna::detail::gpu {
namespace {

/// By a warp, which looks at all entries of the row; duplicates are added in stored order.
template <class T, class I>
__device__ T sum_of_matches(const I* colind, const T* values, std::int64_t first, std::int64_t last,
                            I column) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  T sum{0};
  for (std::int64_t base = first; base < last; base += 32) {
    const std::int64_t k = base + lane;
    const bool matches = k < last && colind[k] == column;
    const T value = matches ? values[k] : T{0};
    for (unsigned left = __ballot_sync(whole_warp, matches); left != 0; left &= left - 1)
      sum += __shfl_sync(whole_warp, value, __ffs(static_cast<int>(left)) - 1);
  }
  return sum;
}

template <class T, class I>
void look_up_in_rows(const device_context& ctx, read_offsets rowptr, const I* colind,
                     const T* values, bool sorted, vector_view<const I, space::device> rows,
                     const I* columns, T* result) {
  if (sorted)
    return for_each(ctx, rows.size(), "elements",
                    [=, rows = rows.data()] __device__(std::int64_t n) {
                      const std::int64_t row = rows[n], first = rowptr[row], last = rowptr[row + 1];
                      const I column = columns[n];
                      std::int64_t k = first + lower_bound(colind + first, last - first, column);
                      T sum{0};
                      for (; k < last && colind[k] == column; ++k) sum += values[k];
                      result[n] = sum;
                    });
  for_each(ctx, rows.size() * 32, "elements", [=, rows = rows.data()] __device__(std::int64_t i) {
    const std::int64_t n = i / 32, row = rows[n];
    const T sum = sum_of_matches(colind, values, rowptr[row], rowptr[row + 1], columns[n]);
    if (i % 32 == 0) result[n] = sum;
  });
}

/// Where columns go: to places[starts[j]], …, places[starts[j + 1] - 1] column j.
template <class I> struct listed_columns {
  array<std::make_unsigned_t<I>, space::device> places;
  array<I, space::device> starts;
};
template <class I>
listed_columns<I> sort_columns(const device_context& ctx, vector_view<const I, space::device> list,
                               std::int64_t columns) {
  auto order = sort_indices<std::make_unsigned_t<I>>(ctx, list.data(), list.size(), columns);
  array<I, space::device> starts(ctx, columns + 1);
  find_starts(ctx, order.keys.data(), list.size(), starts.view());
  return {std::move(order.positions), std::move(starts)};
}

/// As often as an entry's column can stand in a list.
template <class I> using repetitions = std::conditional_t<sizeof(I) == 4, int, std::int64_t>;

/// counts[k]: how often the k-th of the entries is wanted; from[k], if there is one: where it is.
template <class I>
void count_wanted(const device_context& ctx, const looked_at<I>& in, const I* colind,
                  const I* starts, repetitions<I>* counts, std::int64_t* from) {
  for_each_entry(ctx, in.starts, in.count, in.begin, in.end, "gather: count",
                 [=] __device__(bool inside, std::int64_t row, std::int64_t k) {
                   if (!inside) return;
                   const std::int64_t stored = in.stored(row, k).entry;
                   const std::int64_t column = colind[stored];
                   counts[k - in.begin] = starts[column + 1] - starts[column];
                   if (from != nullptr) from[k - in.begin] = stored;
                 });
}

/// sums[k]: entries of the result before those that the k-th of the entries becomes.
template <class T, class I>
void write_wanted(const device_context& ctx, const looked_at<I>& in, const I* colind,
                  const T* values, const listed_columns<I>& list, const std::int64_t* from,
                  const array<std::int64_t, space::device>& sums, std::int64_t entries,
                  write_offsets to_rowptr, I* to_column, T* to_value) {
  for_each(ctx, in.count + 1, "gather: rows",
           [starts = in.starts, begin = in.begin, sums = sums.data(), to_rowptr] __device__(
               std::int64_t row) { to_rowptr.set(row, sums[starts[row] - begin]); });
  for_each_entry(ctx, sums.data(), sums.size() - 1, 0, entries, "gather: entries",
                 [=, begin = in.begin, places = list.places.data(), starts = list.starts.data(),
                  sums = sums.data()] __device__(bool inside, std::int64_t k, std::int64_t to) {
                   if (!inside) return;
                   const std::int64_t stored = from != nullptr ? from[k] : begin + k;
                   to_column[to] = static_cast<I>(places[starts[colind[stored]] + (to - sums[k])]);
                   to_value[to] = values[stored];
                 });
}

/// All entries of the rows, one after another.
template <class T, class I>
void copy_rows(const device_context& ctx, const looked_at<I>& in, const I* colind, const T* values,
               write_offsets to_rowptr, I* to_column, T* to_value) {
  for_each(ctx, in.count + 1, "gather: rows",
           [starts = in.starts, to_rowptr] __device__(std::int64_t row) {
             to_rowptr.set(row, starts[row]);
           });
  for_each_entry(ctx, in.starts, in.count, in.begin, in.end, "gather: entries",
                 [=] __device__(bool inside, std::int64_t row, std::int64_t k) {
                   if (!inside) return;
                   const std::int64_t stored = in.stored(row, k).entry;
                   to_column[k] = colind[stored];
                   to_value[k] = values[stored];
                 });
}

} // namespace

template <class T, class I, class O>
void look_up_elements(const device_context& ctx, csr_view<const T, I, O, space::device> a,
                      vector_view<const I, space::device> rows,
                      vector_view<const I, space::device> columns,
                      vector_view<T, space::device> result) {
  const device_guard guard(ctx.device());
  look_up_in_rows<T, I>(ctx, a.rowptr().data(), a.colind().data(), a.values().data(),
                        a.order().sorted, rows, columns.data(), result.data());
}

template <class T, class I, class O>
csr<T, I, O, space::device>
gather_columns(const device_context& ctx, csr_view<const T, I, O, space::device> a, const I* rows,
               std::int64_t first_row, std::int64_t count,
               vector_view<const I, space::device> columns, facts order) {
  const device_guard guard(ctx.device());
  const index<I> shape{checked_cast<I>(count, "the number of rows"), columns.size()};
  if (count == 0) return without_rows<T, I, O>(ctx, shape, order);
  const auto list = sort_columns<I>(ctx, columns, a.shape().col);
  const chosen_rows<I> chosen(ctx, a, rows, first_row, count);
  const looked_at<I>& in = chosen.rows();
  const std::int64_t n = in.end - in.begin;
  array<repetitions<I>, space::device> counts(ctx, n);
  array<std::int64_t, space::device> sums(ctx, n + 1), from(ctx, rows == nullptr ? 0 : n);
  std::int64_t* const stored = rows == nullptr ? nullptr : from.data();
  count_wanted<I>(ctx, in, a.colind().data(), list.starts.data(), counts.data(), stored);
  exclusive_sums(ctx, n, counts.data(), sums.data());
  const std::int64_t entries = value_at(ctx, sums.data() + n);
  csr<T, I, O, space::device> result(ctx, shape, checked_cast<O>(entries, "the number of entries"),
                                     order);
  write_wanted<T, I>(ctx, in, a.colind().data(), a.values().data(), list, stored, sums, entries,
                     result.rowptr().data(), result.colind().data(), result.values().data());
  return result;
}

template <class T, class I, class O>
csr<T, I, O, space::device> gather_rows(const device_context& ctx,
                                        csr_view<const T, I, O, space::device> a,
                                        vector_view<const I, space::device> rows) {
  const device_guard guard(ctx.device());
  const index<I> shape{checked_cast<I>(rows.size(), "the number of rows"), a.shape().col};
  if (rows.empty()) return without_rows<T, I, O>(ctx, shape, a.order());
  const chosen_rows<I> chosen(ctx, a, rows.data(), 0, rows.size());
  const looked_at<I>& in = chosen.rows();
  csr<T, I, O, space::device> result(ctx, shape, checked_cast<O>(in.end, "the number of entries"),
                                     a.order());
  copy_rows<T, I>(ctx, in, a.colind().data(), a.values().data(), result.rowptr().data(),
                  result.colind().data(), result.values().data());
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void look_up_elements(const device_context&, csr_view<const T, I, O, space::device>,    \
                                 vector_view<const I, space::device>,                              \
                                 vector_view<const I, space::device>,                              \
                                 vector_view<T, space::device>);                                   \
  template csr<T, I, O, space::device> gather_rows(const device_context&,                          \
                                                   csr_view<const T, I, O, space::device>,         \
                                                   vector_view<const I, space::device>);           \
  template csr<T, I, O, space::device> gather_columns(                                             \
      const device_context&, csr_view<const T, I, O, space::device>, const I*, std::int64_t,       \
      std::int64_t, vector_view<const I, space::device>, facts);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
