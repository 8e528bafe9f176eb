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
//
//   auto p = to_packed_csr(ctx, a);   entries and their order as in a
//   multiply(ctx, p, x, y);           y = A x: the bits of multiply(ctx, info, a, x, y) with an
//                                     inspected CSR matrix, from fewer bytes
//   auto b = to_csr(ctx, p);          a again
//
// Several columns: the host unpacks about a thousand columns at a time and multiplies them with all
// columns of X. The device multiplies a tile with eight columns of X before it is read again; what
// is not stored by columns there passes through scratch of rows + cols elements a column of X.
#pragma once

#include <lacuna/op/check.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/update_values.hpp>

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
                            facts f = {}, const detail::inspection* schedule = nullptr)
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
  /// How a device multiplies the matrix, found when it was made; null: found in each call.
  constexpr const detail::inspection* schedule() const { return schedule_; }

private:
  T* values_ = nullptr;
  const O* rowptr_ = nullptr;
  vector_view<const packed_chunk<I>, S> chunks_;
  vector_view<const std::uint8_t, S> columns_;
  index<I> shape_{};
  O nnz_ = 0;
  facts facts_{};
  const detail::inspection* schedule_ = nullptr;
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
             std::shared_ptr<const detail::inspection> schedule = nullptr)
      : shape_(shape), rowptr_(std::move(rowptr)), chunks_(std::move(chunks)),
        columns_(std::move(columns)), values_(std::move(values)), facts_(f),
        schedule_(std::move(schedule)) {}

  const_view_type view() const {
    return {values_.data(), rowptr_.data(), chunks_.view(), columns_.view(),
            shape_,         size(),         facts_,         schedule_.get()};
  }
  operator const_view_type() const { return view(); } // NOLINT(google-explicit-constructor)

  vector_view<T, S> values() { return values_.view(); }
  vector_view<const T, S> values() const { return values_.view(); }
  index<I> shape() const { return shape_; }
  O size() const { return static_cast<O>(values_.size()); }
  facts order() const { return facts_; }
  [[nodiscard]] std::size_t bytes() const {
    return rowptr_.bytes() + chunks_.bytes() + columns_.bytes() + values_.bytes() +
           (schedule_ ? schedule_->bytes() : 0);
  }

private:
  index<I> shape_{};
  array<O, S> rowptr_;
  array<packed_chunk<I>, S> chunks_;
  array<std::uint8_t, S> columns_;
  array<T, S> values_;
  facts facts_{};
  std::shared_ptr<const detail::inspection> schedule_;
};

namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT packed_csr<T, I, O> csr_to_packed_csr(const host_context& ctx,
                                                    csr_view<const T, I, O> a);
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> packed_csr_to_csr(const host_context& ctx,
                                             packed_csr_view<const T, I, O> a);
template <class T, class I, class O>
LACUNA_EXPORT void check_packed_csr(const host_context& ctx, packed_csr_view<const T, I, O> a);
template <class T, class I, class O>
LACUNA_EXPORT void multiply_format(const host_context& ctx, T alpha,
                                   packed_csr_view<const T, I, O> a, dense_view<const T> x, T beta,
                                   dense_view<const T> z, dense_view<T> y);
} // namespace detail::cpu

namespace detail::gpu {
template <class T, class I, class O>
using device_packed_csr = packed_csr_view<const T, I, O, space::device>;
template <class T, class I, class O>
LACUNA_GPU_EXPORT packed_csr<T, I, O, space::device> csr_to_packed_csr(const device_context& ctx,
                                                                       device_csr<T, I, O> a);
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr_d<T, I, O> packed_csr_to_csr(const device_context& ctx,
                                                   device_packed_csr<T, I, O> a);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void check_packed_csr(const device_context& ctx, device_packed_csr<T, I, O> a);
/// Queued.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void
multiply_format(const device_context& ctx, T alpha, device_packed_csr<T, I, O> a,
                dense_view<const T, space::device> x, T beta, dense_view<const T, space::device> z,
                dense_view<T, space::device> y);
} // namespace detail::gpu

/// From a csr matrix or view. Two passes over the columns and one over the rest; on the device it
/// waits for the size of the columns and for the row lengths. Throws bad_input where 32-bit columns
/// would take more than 64 GiB when packed.
template <space S, class A> auto to_packed_csr(const context<S>& ctx, const A& a) {
  const auto view = detail::const_view(a);
  using V = decltype(view);
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  detail::require_same_space<S, V>();
  static_assert(std::is_convertible_v<V, csr_view<const T, I, O, S>>,
                "lacuna: to_packed_csr takes csr; use to_csr before");
  if constexpr (S == space::host)
    return detail::cpu::csr_to_packed_csr<T, I, O>(ctx, view);
  else
    return detail::gpu::csr_to_packed_csr<T, I, O>(ctx, view);
}

/// The matrix it was made from, facts included.
template <space S, class T, class I, class O>
csr<T, I, O, S> to_csr(const context<S>& ctx, packed_csr_view<const T, I, O, S> a) {
  if constexpr (S == space::host)
    return detail::cpu::packed_csr_to_csr<T, I, O>(ctx, a);
  else
    return detail::gpu::packed_csr_to_csr<T, I, O>(ctx, a);
}
template <space S, class T, class I, class O>
csr<T, I, O, S> to_csr(const context<S>& ctx, const packed_csr<T, I, O, S>& a) {
  return to_csr(ctx, a.view());
}

/// To the device it waits for the row lengths.
template <space S, class T, class I, class O, space From>
packed_csr<T, I, O, S> copy_to(const context<S>& ctx, packed_csr_view<const T, I, O, From> a) {
  auto rowptr = copy_to(ctx, a.rowptr());
  std::shared_ptr<multiply_inspection<T, I, O, S>> schedule;
  if constexpr (S == space::device) {
    schedule = std::make_shared<multiply_inspection<T, I, O, S>>();
    detail::gpu::inspect_csr<T, I, O>(ctx, {nullptr, rowptr.data(), nullptr, a.shape(), a.size()},
                                      *schedule);
  }
  return {a.shape(),
          std::move(rowptr),
          copy_to(ctx, a.chunks()),
          copy_to(ctx, a.columns()),
          copy_to(ctx, a.values()),
          a.order(),
          std::move(schedule)};
}
template <space S, class T, class I, class O, space From>
packed_csr<T, I, O, S> copy_to(const context<S>& ctx, const packed_csr<T, I, O, From>& a) {
  return copy_to(ctx, a.view());
}

namespace detail {
/// Scratch: the columns, unpacked.
template <class T, class I, class O, space S>
void check_view(const context<S>& ctx, packed_csr_view<const T, I, O, S> a) {
  if constexpr (S == space::host)
    detail::cpu::check_packed_csr<T, I, O>(ctx, a);
  else
    detail::gpu::check_packed_csr<T, I, O>(ctx, a);
}
using cpu::multiply_format;
using gpu::multiply_format;
} // namespace detail

template <space S, class T, class I, class O>
void check(const context<S>& ctx, packed_csr_view<const T, I, O, S> a) {
  detail::check_view(ctx, a);
}
template <space S, class T, class I, class O>
void check(const context<S>& ctx, const packed_csr<T, I, O, S>& a) {
  check(ctx, a.view());
}

template <class A>
  requires(!detail::is_context<A>)
auto to_packed_csr(const A& a) { return to_packed_csr(detail::default_context_for<A>(), a); }

template <class T, class I, class O, space S, class A>
void update_values(const context<S>& ctx, packed_csr<T, I, O, S>& to, const A& a) {
  const auto from = detail::new_values_of<T, I, S>(to, a);
  detail::place_values<T, O, S>(ctx, nullptr, from.values(), to.values());
}

} // namespace lacuna
