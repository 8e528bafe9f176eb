// Diagonals: where rows begin is known without a running sum, as every diagonal has one element in
// each row that it reaches. Random matrices: the host's, element by element.
#include <lacuna/op/diagonals.hpp>

#include "gen/random.hpp"
#include "gpu/parts/entries.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Offsets ascend, so that those in a row follow one another.
template <class T> struct diagonal_list {
  array<std::int64_t, space::device> offsets, places; ///< places: of a diagonal's first value
  array<T, space::device> values;
};
template <class T>
diagonal_list<T> put_diagonals(const device_context& ctx, std::int64_t rows, std::int64_t cols,
                               const std::vector<diagonal_values<T>>& diagonals) {
  std::vector<std::int64_t> offsets, places; // places of repeated values are negative, from -1 on
  std::int64_t size = 0;
  const auto length_of = [=](const diagonal_values<T>& d) {
    return d.repeated ? 1 : diagonal_length(rows, cols, d.offset);
  };
  for (const auto& d : diagonals) {
    offsets.push_back(d.offset);
    places.push_back(d.repeated ? -1 - size : size);
    size += length_of(d);
  }
  diagonal_list<T> list{copy_to(ctx, offsets), copy_to(ctx, places),
                        array<T, space::device>(ctx, size)};
  T* to = list.values.data();
  for (const auto& d : diagonals) {
    const std::int64_t length = length_of(d);
    detail::copy_bytes(ctx, to, d.value, static_cast<std::size_t>(length) * sizeof(T), space::host);
    to += length;
  }
  return list;
}

template <class T, class I>
void fill_diagonals(const device_context& ctx, const diagonal_list<T>& list, std::int64_t rows,
                    std::int64_t cols, std::int64_t entries, write_offsets to_rowptr,
                    read_offsets rowptr, I* to_col, T* to_value) {
  const std::int64_t count = list.offsets.size();
  for_each(ctx, rows + 1, "diagonals: rows",
           [count, cols, offsets = list.offsets.data(), to_rowptr] __device__(std::int64_t row) {
             std::int64_t before = 0; // of each diagonal, the rows that it reaches
             for (std::int64_t d = 0; d < count; ++d) {
               const std::int64_t first = max(-offsets[d], std::int64_t{0});
               before += max(min(row, cols - offsets[d]) - first, std::int64_t{0});
             }
             to_rowptr.set(row, before);
           });
  for_each_entry(ctx, rowptr, rows, 0, entries, "diagonals: entries",
                 [count, rowptr, offsets = list.offsets.data(), places = list.places.data(),
                  values = list.values.data(), to_col,
                  to_value] __device__(bool inside, std::int64_t row, std::int64_t k) {
                   if (!inside) return;
                   const std::int64_t d = lower_bound(offsets, count, -row) + (k - rowptr[row]);
                   const std::int64_t col = row + offsets[d], place = places[d];
                   to_col[k] = static_cast<I>(col);
                   to_value[k] = values[place < 0 ? -1 - place : place + min(row, col)];
                 });
}

} // namespace

template <class T, class I, class O>
csr<T, I, O, space::device> csr_from_diagonals(const device_context& ctx, index<I> shape,
                                               const std::vector<diagonal_values<T>>& diagonals) {
  const device_guard guard(ctx.device());
  const std::int64_t rows = shape.row, cols = shape.col;
  std::int64_t entries = 0;
  for (const auto& d : diagonals)
    entries = checked_add(entries, diagonal_length(rows, cols, d.offset));
  csr<T, I, O, space::device> c(ctx, shape, checked_cast<O>(entries, "the number of entries"),
                                {true, true});
  const auto list = put_diagonals<T>(ctx, rows, cols, diagonals);
  fill_diagonals<T, I>(ctx, list, rows, cols, entries, c.rowptr().data(),
                       std::as_const(c).rowptr().data(), c.colind().data(), c.values().data());
  return c;
}

template <class T, class I, class O>
coo<T, I, O, space::device> random_coo(const device_context& ctx, index<I> shape,
                                       std::int64_t entries, std::uint64_t seed) {
  const device_guard guard(ctx.device());
  coo<T, I, O, space::device> result(ctx, shape, checked_cast<O>(entries, "the number of entries"),
                                     {false, true});
  const std::int64_t cols = shape.col;
  for_each(ctx, entries, "random_csr",
           [cols, seed, element = gen::permutation(std::int64_t{shape.row} * cols, seed),
            row = result.rowind().data(), col = result.colind().data(),
            value = result.values().data()] __device__(std::int64_t k) {
             const std::int64_t at = element(k);
             row[k] = static_cast<I>(at / cols);
             col[k] = static_cast<I>(at % cols);
             value[k] = static_cast<T>(gen::unit_value(seed, at));
           });
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O, space::device> csr_from_diagonals(const device_context&, index<I>,         \
                                                          const std::vector<diagonal_values<T>>&); \
  template coo<T, I, O, space::device> random_coo(const device_context&, index<I>, std::int64_t,   \
                                                  std::uint64_t);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
