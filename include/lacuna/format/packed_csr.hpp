// CSR with packed columns: the same entries in the same order, with 1 or 2 bytes a column where
// the columns of neighbouring entries lie near each other.
//
// rowptr and values are CSR's. Columns are kept in chunks of 64 consecutive entries, whatever rows
// they belong to. A chunk has a head, and for each entry its column's distance from the chunk's
// base in 1, 2, 4 or (64-bit columns) 8 bytes. So a far entry costs only its own chunk.
//
// Invariants, tested by check():
//   rowptr and values as in csr;
//   chunks has ceil(nnz / 64) elements; a chunk takes 64 columns' bytes, begins where the chunk
//   before it ends, the first at 0, and columns ends with the last;
//   a column takes no more bytes than I has; 0 <= base + distance < cols;
//   order() as in csr.
// to_packed_csr makes the base the chunk's smallest column and the distances as narrow as they
// can be; in the last chunk the places without an entry hold 0.
#pragma once

#include <lacuna/format/csr.hpp>
#include <lacuna/op/inspection.hpp>

namespace lacuna {

/// Entries of a chunk.
inline constexpr int chunk_entries = 64;

/// Head of a chunk: its base, and where and how wide its distances are.
template <class I> struct alignas(2 * sizeof(I)) packed_chunk {
  I base;
  /// First byte of its columns in units of 64, times 4, plus log_width.
  std::make_unsigned_t<I> place;

  /// Binary logarithm of the bytes a column takes: 0 to 3.
  constexpr int log_width() const { return static_cast<int>(place & 3); }
  constexpr std::int64_t first_byte() const {
    return static_cast<std::int64_t>(place >> 2) * chunk_entries;
  }
  constexpr std::int64_t bytes() const { return std::int64_t{chunk_entries} << log_width(); }
};

/// How a device multiplies the matrix, found when it was made: what multiply_inspect finds for the
/// same matrix in CSR. Without tiles they are found in each call.
template <class I, class O, space S> struct packed_schedule {
  spmv_kernel kernel;
  row_statistics statistics;
  vector_view<const tile_start<I, O>, S> tiles;
};

/// View, read-only: packed_csr_view<const double>.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class packed_csr_view : public detail::product_view {
public:
  using scalar_type = std::remove_const_t<T>;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;
  static_assert(std::is_const_v<T>, "lacuna: a packed_csr_view is read-only: name a const value");
  static_assert(detail::is_value<scalar_type>, "lacuna: values are float or double");
  static_assert(detail::is_index<I> && detail::is_index<O>, "lacuna: indices are int32 or int64");

  constexpr packed_csr_view() = default;
  constexpr packed_csr_view(T* values, const O* rowptr,
                            vector_view<const packed_chunk<I>, S> chunks,
                            vector_view<const std::uint8_t, S> columns, index<I> shape, O nnz,
                            facts f = {}, packed_schedule<I, O, S> schedule = {})
      : values_(values), rowptr_(rowptr), chunks_(chunks), columns_(columns), shape_(shape),
        nnz_(nnz), facts_(f), schedule_(schedule) {}

  constexpr vector_view<T, S> values() const { return {values_, nnz_}; }
  /// Empty if there is none: a matrix that was default-constructed or moved from.
  constexpr vector_view<const O, S> rowptr() const {
    return {rowptr_, rowptr_ == nullptr ? 0 : std::int64_t{shape_.row} + 1};
  }
  constexpr vector_view<const packed_chunk<I>, S> chunks() const { return chunks_; }
  /// The distances of all chunks, in bytes.
  constexpr vector_view<const std::uint8_t, S> columns() const { return columns_; }
  constexpr index<I> shape() const { return shape_; }
  constexpr O size() const { return nnz_; }
  constexpr facts order() const { return facts_; }
  constexpr const packed_schedule<I, O, S>& schedule() const { return schedule_; }

private:
  T* values_ = nullptr;
  const O* rowptr_ = nullptr;
  vector_view<const packed_chunk<I>, S> chunks_;
  vector_view<const std::uint8_t, S> columns_;
  index<I> shape_{};
  O nnz_ = 0;
  facts facts_{};
  packed_schedule<I, O, S> schedule_{};
};

/// Owner. Made by to_packed_csr; the values may be changed afterwards, the pattern may not.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class packed_csr {
public:
  using product_format = void;
  using scalar_type = T;
  using index_type = I;
  using offset_type = O;
  using const_view_type = packed_csr_view<const T, I, O, S>;
  static constexpr space memory_space = S;

  packed_csr() = default;
  /// Takes over arrays that keep the invariants; on a device, with what an inspection found.
  packed_csr(index<I> shape, array<O, S> rowptr, array<packed_chunk<I>, S> chunks,
             array<std::uint8_t, S> columns, array<T, S> values, facts f,
             multiply_inspection<T, I, O, S> found = {})
      : shape_(shape), rowptr_(std::move(rowptr)), chunks_(std::move(chunks)),
        columns_(std::move(columns)), values_(std::move(values)), facts_(f),
        found_(std::move(found)) {}

  const_view_type view() const {
    return {values_.data(), rowptr_.data(),
            chunks_.view(), columns_.view(),
            shape_,         size(),
            facts_,         {found_.kernel, found_.statistics, found_.tiles.view()}};
  }
  operator const_view_type() const { return view(); } // NOLINT(google-explicit-constructor)

  vector_view<T, S> values() { return values_.view(); }
  vector_view<const T, S> values() const { return values_.view(); }
  index<I> shape() const { return shape_; }
  O size() const { return static_cast<O>(values_.size()); }
  facts order() const { return facts_; }
  [[nodiscard]] std::size_t bytes() const {
    return rowptr_.bytes() + chunks_.bytes() + columns_.bytes() + values_.bytes() + found_.bytes();
  }

private:
  index<I> shape_{};
  array<O, S> rowptr_;
  array<packed_chunk<I>, S> chunks_;
  array<std::uint8_t, S> columns_;
  array<T, S> values_;
  facts facts_{};
  multiply_inspection<T, I, O, S> found_;
};

} // namespace lacuna
