// Y = alpha A X + beta Z on the host, A packed, X with several columns: the columns of some rows of
// A are unpacked into a buffer, and CSR's kernels run on it, so the matrix is read once.
#include <lacuna/format/packed_csr.hpp>

#include "cpu/dense_by_rows.hpp"
#include "cpu/packed_kernels.hpp"
#include "cpu/shares.hpp"
#include "cpu/stream.hpp"

namespace lacuna::detail::cpu {
namespace {

/// Entries that are unpacked together, about; rows may have more. Stays in the first cache.
constexpr std::int64_t window_entries = 1024;
/// Columns of X whose sums of a long row are held at once, on the stack.
constexpr std::int64_t sum_block = 512;

/// One past the last of up to `rows` rows from `first` on whose entries fit the buffer; at least
/// first + 1.
template <class O>
std::int64_t window_end(const O* rowptr, std::int64_t first, std::int64_t last, std::int64_t rows) {
  std::int64_t end = std::min(first + rows, last);
  while (end > first + 1 && rowptr[end] - rowptr[first] > piece_entries)
    end = first + (end - first) / 2;
  return end;
}

/// CSR's arguments for some entries at a time. Has the buffer, 64 or 128 kB: a piece of a row is
/// summed in one go.
template <class T, class I, class O> class unpacked_rows {
public:
  unpacked_rows(const row_arguments<T, I, O>& p, packed_csr_view<const T, I, O> a)
      : p_(p), chunks_(a.chunks().data()), columns_(a.columns().data()) {}

  /// The arguments with colind[k] for first <= k < last, and for no others.
  const row_arguments<T, I, O>& entries(std::int64_t first, std::int64_t last) {
    const std::int64_t chunk = first / chunk_entries;
    unpack_chunks(chunks_, columns_, chunk, chunk_count(last), buffer_);
    // Points to where entry 0 would be, far outside the buffer: so by numbers, not by pointers.
    const auto back = static_cast<std::uintptr_t>(chunk) * chunk_entries * sizeof(I);
    p_.colind = reinterpret_cast<const I*>( // NOLINT(performance-no-int-to-ptr)
        reinterpret_cast<std::uintptr_t>(buffer_) - back);
    return p_;
  }

private:
  row_arguments<T, I, O> p_;
  const packed_chunk<I>* chunks_;
  const std::uint8_t* columns_;
  alignas(64) I buffer_[piece_entries + 2 * chunk_entries];
};

/// A row of several pieces, which are added in their order.
template <class T, class I, class O>
void multiply_long_row(const row_arguments<T, I, O>& p, const row_kernels<T, I, O>& kernels,
                       unpacked_rows<T, I, O>& unpacked, std::int64_t row) {
  T sums[sum_block], more[sum_block];
  const std::int64_t begin = p.rowptr[row], end = p.rowptr[row + 1];
  for (std::int64_t column = 0; column < p.columns; column += sum_block) {
    const std::int64_t columns = std::min(sum_block, p.columns - column);
    for (std::int64_t first = begin; first < end; first += piece_entries) {
      const std::int64_t last = std::min(first + piece_entries, end);
      row_arguments<T, I, O> block = unpacked.entries(first, last);
      block.columns = columns;
      block.x += column * p.x_column;
      kernels.dense_piece(block, first, last, first == begin ? sums : more);
      if (first > begin)
        for (std::int64_t j = 0; j < columns; ++j) sums[j] += more[j];
    }
    for (std::int64_t j = 0; j < columns; ++j) store_sum(p, row, column + j, sums[j]);
  }
}

} // namespace

template <class T, class I, class O>
void multiply_packed_csr_dense(const host_context& ctx, T alpha, packed_csr_view<const T, I, O> a,
                               dense_view<const T> x, T beta, dense_view<const T> z,
                               dense_view<T> y) {
  const std::int64_t rows = a.shape().row, columns = y.shape().col;
  if (columns == 0) return;
  if (columns > 1 && x.layout() == layout::column_major) {
    const array<T> by_rows = copy_by_rows(ctx, x);
    return multiply_packed_csr_dense<T, I, O>(
        ctx, alpha, a, dense_view<const T>(by_rows.data(), x.shape()), beta, z, y);
  }
  const row_arguments<T, I, O> p{a.rowptr().data(),
                                 nullptr,
                                 a.values().data(),
                                 x.data(),
                                 z.data(),
                                 y.data(),
                                 alpha,
                                 beta,
                                 columns,
                                 x.row_stride(),
                                 x.col_stride(),
                                 z.row_stride(),
                                 z.col_stride(),
                                 y.row_stride(),
                                 y.col_stride(),
                                 rows * columns * std::int64_t{sizeof(T)} >= streamed_bytes};
  const auto& kernels = best_row_kernels<T, I, O>();
  const std::int64_t window_rows = std::clamp<std::int64_t>(
      window_entries * rows / std::max<std::int64_t>(a.size(), 1), 1, window_entries);
  array<T> sums;
  for_each_share(
      ctx, p.rowptr, rows,
      [&](std::int64_t slots) { sums = array<T>(ctx, checked_mul(slots, columns)); },
      [&](std::int64_t first, std::int64_t last) {
        unpacked_rows<T, I, O> unpacked(p, a);
        while (first < last) {
          const std::int64_t next = window_end(p.rowptr, first, last, window_rows);
          const std::int64_t begin = p.rowptr[first], end = p.rowptr[next];
          if (end - begin <= piece_entries)
            kernels.dense_rows(unpacked.entries(begin, end), first, next);
          else
            multiply_long_row(p, kernels, unpacked, first);
          first = next;
        }
      },
      [&](std::int64_t, std::int64_t first, std::int64_t last, std::int64_t slot) {
        unpacked_rows<T, I, O> unpacked(p, a);
        kernels.dense_piece(unpacked.entries(first, last), first, last,
                            sums.data() + slot * columns);
      },
      [&](std::int64_t row, std::int64_t first, std::int64_t last) {
        for (std::int64_t j = 0; j < columns; ++j) {
          T sum = sums[first * columns + j];
          for (std::int64_t slot = first + 1; slot < last; ++slot) sum += sums[slot * columns + j];
          store_sum(p, row, j, sum);
        }
      });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_packed_csr_dense<T, I, O>(                                                \
      const host_context&, T, packed_csr_view<const T, I, O>, dense_view<const T>, T,              \
      dense_view<const T>, dense_view<T>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
