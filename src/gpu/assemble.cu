// Matrices of others: each entry of the result finds the block, or the pair of entries, that it
// comes from. As many launches for a thousand blocks as for two, and no wait.
#include <lacuna/op/assemble.hpp>

#include "gpu/parts/entries.cuh"

namespace lacuna::detail::gpu {
namespace {

template <class T, class I, class O> struct block_arrays {
  const O* rowptr;
  const I* colind;
  const T* values;
  std::int64_t col; ///< of the result, of its first one

  __device__ void copy_entry(std::int64_t from, I* to_col, T* to_value) const {
    *to_col = static_cast<I>(colind[from] + col);
    *to_value = values[from];
  }
};

/// The blocks on the device; entries of those before each.
template <class T, class I, class O> struct block_list {
  array<block_arrays<T, I, O>, space::device> blocks;
  array<std::int64_t, space::device> first_row, first_entry;
};
template <class T, class I, class O>
block_list<T, I, O> put_blocks(const device_context& ctx,
                               const std::vector<placed_block<T, I, O, space::device>>& blocks) {
  std::vector<block_arrays<T, I, O>> arrays;
  std::vector<std::int64_t> first_row, first_entry;
  std::int64_t entries = 0;
  for (const auto& [a, row, col] : blocks) {
    arrays.push_back({a.rowptr().data(), a.colind().data(), a.values().data(), col});
    first_row.push_back(row);
    first_entry.push_back(entries);
    entries += a.size();
  }
  return {copy_to(ctx, arrays), copy_to(ctx, first_row), copy_to(ctx, first_entry)};
}

/// Each below the one before: their entries follow one another.
template <class T, class I, class O>
void place_below(const device_context& ctx, const block_list<T, I, O>& list,
                 csr<T, I, O, space::device>& c) {
  const std::int64_t rows = c.shape().row, entries = c.size(), count = list.blocks.size();
  for_each(ctx, rows + 1, "stack: rows",
           [blocks = list.blocks.data(), first_row = list.first_row.data(),
            first_entry = list.first_entry.data(), rows, entries, count,
            to = c.rowptr().data()] __device__(std::int64_t row) {
             if (row == rows) {
               to[row] = static_cast<O>(entries);
               return;
             }
             const std::int64_t b = row_of(first_row, count, row);
             to[row] = static_cast<O>(first_entry[b] + blocks[b].rowptr[row - first_row[b]]);
           });
  for_each(ctx, entries, "stack: entries",
           [blocks = list.blocks.data(), first_entry = list.first_entry.data(), count,
            to_col = c.colind().data(), to_value = c.values().data()] __device__(std::int64_t k) {
             const std::int64_t b = row_of(first_entry, count, k);
             blocks[b].copy_entry(k - first_entry[b], to_col + k, to_value + k);
           });
}

/// All beside each other: where every row of every block begins is found first.
template <class T, class I, class O>
void place_beside(const device_context& ctx, const block_list<T, I, O>& list,
                  csr<T, I, O, space::device>& c) {
  const std::int64_t rows = c.shape().row, entries = c.size(), count = list.blocks.size();
  array<O, space::device> begins(ctx, checked_mul(count, rows)); // of a row, block after block
  for_each(ctx, rows + 1, "stack: rows",
           [blocks = list.blocks.data(), rows, entries, count, begins = begins.data(),
            to = c.rowptr().data()] __device__(std::int64_t row) {
             if (row == rows) {
               to[row] = static_cast<O>(entries);
               return;
             }
             O at = 0;
             for (std::int64_t b = 0; b < count; ++b) at += blocks[b].rowptr[row];
             to[row] = at;
             for (std::int64_t b = 0; b < count; ++b) {
               begins[b * rows + row] = at;
               at += blocks[b].rowptr[row + 1] - blocks[b].rowptr[row];
             }
           });
  for_each_entry(
      ctx, std::as_const(c).rowptr().data(), rows, 0, entries, "stack: entries",
      [blocks = list.blocks.data(), rows, count, begins = begins.data(), to_col = c.colind().data(),
       to_value = c.values().data()] __device__(bool inside, std::int64_t row, std::int64_t k) {
        if (!inside) return;
        std::int64_t b = 0, high = count; // begins of b <= k < that of high
        while (high - b > 1) {
          const std::int64_t middle = (b + high) / 2;
          if (begins[middle * rows + row] <= k)
            b = middle;
          else
            high = middle;
        }
        const std::int64_t from = blocks[b].rowptr[row] + (k - begins[b * rows + row]);
        blocks[b].copy_entry(from, to_col + k, to_value + k);
      });
}

/// Of numbers that are not negative. Those of 32 bits take a fraction of the time of others.
__device__ std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

/// C has as many entries as A and B have pairs.
template <class T, class I>
void fill_kron(const device_context& ctx, read_offsets a_rowptr, const I* a_col, const T* a_value,
               read_offsets b_rowptr, const I* b_col, const T* b_value, std::int64_t b_rows,
               std::int64_t b_cols, std::int64_t b_entries, std::int64_t rows, std::int64_t entries,
               write_offsets to_rowptr, read_offsets rowptr, I* to_col, T* to_value) {
  for_each(ctx, rows + 1, "kron: rows", [=] __device__(std::int64_t row) {
    const std::int64_t i = quotient(row, b_rows), j = row - i * b_rows;
    const std::int64_t in_row = j == 0 ? 0 : a_rowptr[i + 1] - a_rowptr[i];
    to_rowptr.set(row, a_rowptr[i] * b_entries + (j == 0 ? 0 : in_row * b_rowptr[j]));
  });
  for_each_entry(ctx, rowptr, rows, 0, entries, "kron: entries",
                 [=] __device__(bool inside, std::int64_t row, std::int64_t at) {
                   if (!inside) return;
                   const std::int64_t i = quotient(row, b_rows), j = row - i * b_rows;
                   const std::int64_t first = b_rowptr[j], length = b_rowptr[j + 1] - first;
                   const std::int64_t pair = at - rowptr[row], block = quotient(pair, length);
                   const std::int64_t k = a_rowptr[i] + block, l = first + (pair - block * length);
                   to_col[at] = static_cast<I>(a_col[k] * b_cols + b_col[l]);
                   to_value[at] = a_value[k] * b_value[l];
                 });
}

} // namespace

template <class T, class I, class O>
csr<T, I, O, space::device>
place_blocks(const device_context& ctx, bool beside, index<I> shape,
             const std::vector<placed_block<T, I, O, space::device>>& blocks, facts order) {
  const device_guard guard(ctx.device());
  std::int64_t entries = 0;
  for (const auto& block : blocks) entries = checked_add(entries, block.a.size());
  csr<T, I, O, space::device> c(ctx, shape, checked_cast<O>(entries, "the number of entries"),
                                order);
  const auto list = put_blocks<T, I, O>(ctx, blocks);
  if (beside)
    place_beside(ctx, list, c);
  else
    place_below(ctx, list, c);
  return c;
}

template <class T, class I, class O>
csr<T, I, O, space::device> kron_csr(const device_context& ctx,
                                     csr_view<const T, I, O, space::device> a,
                                     csr_view<const T, I, O, space::device> b) {
  const device_guard guard(ctx.device());
  const std::int64_t rows = checked_mul(a.shape().row, b.shape().row);
  const index<I> shape{
      checked_cast<I>(rows, "the number of rows"),
      checked_cast<I>(checked_mul(a.shape().col, b.shape().col), "the number of columns")};
  const O entries = checked_cast<O>(checked_mul(a.size(), b.size()), "the number of entries");
  csr<T, I, O, space::device> c(
      ctx, shape, entries,
      {a.order().sorted && b.order().sorted, a.order().unique && b.order().unique});
  if (rows == 0)
    check(cudaMemsetAsync(c.rowptr().data(), 0, sizeof(O), ctx.stream()), "kron: memset");
  else
    fill_kron<T, I>(ctx, a.rowptr().data(), a.colind().data(), a.values().data(), b.rowptr().data(),
                    b.colind().data(), b.values().data(), b.shape().row, b.shape().col, b.size(),
                    rows, entries, c.rowptr().data(), std::as_const(c).rowptr().data(),
                    c.colind().data(), c.values().data());
  return c;
}

template <class I>
void reshape_indices(const device_context& ctx, std::int64_t from_cols, std::int64_t to_cols,
                     vector_view<I, space::device> rowind, vector_view<I, space::device> colind) {
  const device_guard guard(ctx.device());
  for_each(ctx, rowind.size(), "reshape",
           [from_cols, to_cols, rowind = rowind.data(),
            colind = colind.data()] __device__(std::int64_t k) {
             const std::int64_t element = rowind[k] * from_cols + colind[k];
             const std::int64_t row = quotient(element, to_cols);
             rowind[k] = static_cast<I>(row);
             colind[k] = static_cast<I>(element - row * to_cols);
           });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O, space::device> place_blocks(                                               \
      const device_context&, bool, index<I>,                                                       \
      const std::vector<placed_block<T, I, O, space::device>>&, facts);                            \
  template csr<T, I, O, space::device> kron_csr(const device_context&,                             \
                                                csr_view<const T, I, O, space::device>,            \
                                                csr_view<const T, I, O, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
template void reshape_indices(const device_context&, std::int64_t, std::int64_t,
                              vector_view<std::int32_t, space::device>,
                              vector_view<std::int32_t, space::device>);
template void reshape_indices(const device_context&, std::int64_t, std::int64_t,
                              vector_view<std::int64_t, space::device>,
                              vector_view<std::int64_t, space::device>);

} // namespace lacuna::detail::gpu
