// Internal: the inner loops of packed_csr, compiled for several instruction sets by Highway; the
// best this machine has is picked at first use.
#pragma once

#include "cpu/rows.hpp"
#include <lacuna/format/packed_csr.hpp>

namespace lacuna::detail::cpu {

/// y = alpha A x + beta z over some rows.
template <class T, class I, class O> struct packed_arguments {
  const O* rowptr;
  const packed_chunk<I>* chunks;
  const std::uint8_t* columns;
  std::int64_t chunk_count;
  const T* values;
  const T* x;
  const T* z; // not read if beta is 0; may be y
  T* y;
  T alpha;
  T beta;
};

/// As CSR's row_kernels, with the same sums bit by bit.
template <class T, class I, class O> struct packed_kernels {
  /// Whole rows [first, last).
  void (*rows)(const packed_arguments<T, I, O>&, std::int64_t first, std::int64_t last);
  /// Sum of a x over entries [first, last), at most piece_entries of them.
  T (*piece)(const packed_arguments<T, I, O>&, std::int64_t first, std::int64_t last);
};

/// The kernels for this machine.
template <class T, class I, class O> const packed_kernels<T, I, O>& best_packed_kernels();

/// Y = alpha A X + beta Z with several columns, or vectors whose elements have gaps between them.
template <class T, class I, class O>
void multiply_packed_csr_dense(const host_context& ctx, T alpha, packed_csr_view<const T, I, O> a,
                               dense_view<const T> x, T beta, dense_view<const T> z,
                               dense_view<T> y);

/// Writes the columns of chunks [first, last) to result, 64 per chunk.
template <class I>
void unpack_chunks(const packed_chunk<I>* chunks, const std::uint8_t* columns, std::int64_t first,
                   std::int64_t last, I* result);

inline std::int64_t chunk_count(std::int64_t entries) {
  return (entries + chunk_entries - 1) / chunk_entries;
}
/// Chunks below which another thread does not pay.
inline constexpr std::int64_t chunk_grain = entry_grain / chunk_entries;

/// All columns of a matrix.
template <class T, class I, class O>
array<I> unpack_columns(const host_context& ctx, packed_csr_view<const T, I, O> a) {
  const packed_chunk<I>* const chunks = a.chunks().data();
  const std::uint8_t* const columns = a.columns().data();
  const std::int64_t nnz = a.size(), full = nnz / chunk_entries;
  array<I> result(ctx, nnz);
  for_each_range(ctx, full, chunk_grain, [&](std::int64_t begin, std::int64_t end) {
    unpack_chunks(chunks, columns, begin, end, result.data() + begin * chunk_entries);
  });
  if (nnz > full * chunk_entries) {
    I last[chunk_entries];
    unpack_chunks(chunks, columns, full, full + 1, last);
    std::copy(last, last + nnz % chunk_entries, result.data() + full * chunk_entries);
  }
  return result;
}

} // namespace lacuna::detail::cpu
