// B = A^T: csr from csr or dynamic_csr, or csc from csc.
//
//   auto b = transpose(ctx, a);                 new owner
//   transpose(ctx, a, b);                       into memory of the caller's
//
//   auto info = transpose_inspect(ctx, a, b);   keeps where each entry goes
//   transpose(ctx, info, a, b);                 all of b, from what was kept
//   transpose_refill(ctx, info, a2, b);         values alone, as often as they change
//
// The context is optional. Entries of a row of B come in the order of A's rows, so B is sorted
// whatever A is; equal coordinates keep their order. O(nnz + rows + columns).
#pragma once

#include <lacuna/op/copy.hpp>
#include <lacuna/op/inspection.hpp>
#include <lacuna/op/result.hpp>

namespace lacuna {

namespace detail::cpu {
/// Fills b's three arrays, with the same bits for any number of threads. Scratch: an offset for
/// each column that a thread meets, over all threads no more than A's entries take (or one offset
/// a column, where that is more).
template <class T, class I, class O>
LACUNA_EXPORT void transpose_csr(const host_context& ctx, csr_view<const T, I, O> a,
                                 csr_view<T, I, O> b);
} // namespace detail::cpu
namespace detail::gpu {
/// Queued; a square matrix that states sorted and unique rows is looked at first, and waited for:
/// with a symmetric pattern only values move. Scratch: about 16 bytes per entry.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void transpose_csr(const device_context& ctx,
                                     csr_view<const T, I, O, space::device> a,
                                     csr_view<T, I, O, space::device> b);
} // namespace detail::gpu

namespace detail {

/// What transpose_inspect keeps.
template <class I, class O, space S> struct transpose_inspection : inspection {
  transposed_pattern<I, O, S> kept;
  [[nodiscard]] std::string explain() const override {
    return explain_transpose(kept.from.size(), kept.bytes());
  }
  [[nodiscard]] std::size_t bytes() const override { return kept.bytes(); }
};

template <class T, class I, class O, space S>
void transpose_arrays(const context<S>& ctx, csr_view<const T, I, O, S> a, csr_view<T, I, O, S> b) {
  if constexpr (S == space::host)
    detail::cpu::transpose_csr<T, I, O>(ctx, a, b);
  else
    detail::gpu::transpose_csr<T, I, O>(ctx, a, b);
}
template <class T, class I, class O, space S>
csr<T, I, O, S> transpose_new(const context<S>& ctx, csr_view<const T, I, O, S> a) {
  csr<T, I, O, S> b(ctx, {a.shape().col, a.shape().row}, a.size(), {true, a.order().unique});
  transpose_arrays<T, I, O, S>(ctx, a, b.view());
  return b;
}

template <space S, class A, class B> constexpr void require_transposable() {
  static_assert(is_by_columns<A> == is_by_columns<B>,
                "lacuna: transpose makes csr from csr and csc from csc; to_csr and to_csc convert");
  using from = decltype(const_view(std::declval<const A&>()));
  using to = decltype(const_view(std::declval<const B&>()));
  require_same_space<S, from, to>();
  require_same_value<typename from::scalar_type, to>();
  static_assert(std::is_same_v<typename from::index_type, typename to::index_type> &&
                    std::is_same_v<typename from::offset_type, typename to::offset_type>,
                "lacuna: A and B differ in the width of their indices or offsets");
}

template <class A> index<std::int64_t> transposed_shape(const A& a) {
  return {a.shape().col, a.shape().row};
}

/// Of A's rows as they are stored; sizes are compared, where entries are is not.
template <class I, class O, space S, class Rows>
void require_inspected(const char* op, const transposed_pattern<I, O, S>& kept, const Rows& a) {
  require_same_size(op, "rows of A", a.shape().row, "rows as inspected", kept.shape.col);
  require_same_size(op, "columns of A", a.shape().col, "columns as inspected", kept.shape.row);
  require_same_size(op, "entries of A", a.size(), "entries as inspected", kept.from.size());
}

template <class A> const auto& context_of_matrix() {
  return default_context<decltype(const_view(std::declval<const A&>()))::memory_space>();
}

} // namespace detail

/// A new matrix holding A^T: a csr of a csr, a csc of a csc.
template <space S, class A>
  requires(detail::is_compressed<A>)
auto transpose(const context<S>& ctx, const A& a) {
  const auto rows = detail::compressed_rows(detail::const_view(a));
  detail::require_same_space<S, decltype(rows)>();
  using R = std::remove_cv_t<decltype(rows)>;
  using csr_t = csr<typename R::scalar_type, typename R::index_type, typename R::offset_type, S>;
  using csc_t = csc<typename R::scalar_type, typename R::index_type, typename R::offset_type, S>;
  csr_t result;
  if constexpr (detail::are_in<S, R>) result = detail::transpose_new(ctx, rows);
  if constexpr (detail::is_by_columns<A>)
    return csc_t(std::move(result));
  else
    return result;
}
/// Of a dynamic_csr: a csr. Other formats made for products are refused in one line.
template <space S, class A>
  requires(detail::is_product_format<A>)
auto transpose(const context<S>& ctx, const A& a) {
  const auto op = detail::operand(a);
  using Op = decltype(op);
  detail::require_compressed<Op>();
  if constexpr (detail::are_compressed<Op>) {
    const detail::csr_rows_of rows(ctx, op);
    return transpose(ctx, rows.operand().a);
  }
}
template <class A>
  requires(detail::is_compressed<A>)
auto transpose(const A& a) { return transpose(detail::context_of_matrix<A>(), a); }

/// All of B, which shares no memory with A. Throws size_mismatch if B has another shape or no room
/// (result.hpp); after out_of_memory B is as it was.
template <space S, class A, class B>
  requires(detail::is_compressed<A>)
void transpose(const context<S>& ctx, const A& a, B&& b) {
  detail::require_transposable<S, A, std::remove_cvref_t<B>>();
  const auto from = detail::compressed_rows(detail::const_view(a));
  const auto to = detail::result_arrays("transpose", "B", std::forward<B>(b),
                                        detail::transposed_shape(a), from.size());
  detail::transpose_arrays(ctx, from, to);
  detail::state_result(std::forward<B>(b), from.size(), {true, from.order().unique});
}
template <class A, class B>
  requires(detail::is_compressed<A>)
void transpose(const A& a, B&& b) {
  transpose(detail::context_of_matrix<A>(), a, std::forward<B>(b));
}

/// Keeps B's pattern and where in A each of its entries is: an index and two offsets per entry at
/// most. Values of A are not read, b is not used. Costs about one transposition; queued.
template <space S, class A, class B>
  requires(detail::is_compressed<A>)
operation_info_t transpose_inspect(const context<S>& ctx, const A& a, const B&) {
  detail::require_transposable<S, A, B>();
  const auto from = detail::compressed_rows(detail::const_view(a));
  using V = std::remove_cv_t<decltype(from)>;
  auto inspection = std::make_shared<
      detail::transpose_inspection<typename V::index_type, typename V::offset_type, S>>();
  inspection->kept = detail::keep_transposed(ctx, from);
  return operation_info_t(std::move(inspection), detail::transposed_shape(a), from.size());
}
template <class A, class B>
  requires(detail::is_compressed<A>)
operation_info_t transpose_inspect(const A& a, const B& b) {
  return transpose_inspect(detail::context_of_matrix<A>(), a, b);
}

/// All of B: the kept pattern is copied, values are fetched through the map: about half of a
/// transposition. A has the pattern that was inspected, which is not checked beyond its sizes; its
/// values may be others. An empty info stands for nothing: transpose(ctx, a, b). Throws
/// size_mismatch if A's or B's sizes are others.
template <space S, class A, class B>
  requires(detail::is_compressed<A>)
void transpose(const context<S>& ctx, const operation_info_t& info, const A& a, B&& b) {
  detail::require_transposable<S, A, std::remove_cvref_t<B>>();
  const auto from = detail::compressed_rows(detail::const_view(a));
  using V = std::remove_cv_t<decltype(from)>;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  const auto* inspection =
      detail::found_in<detail::transpose_inspection<I, O, S>>(info, "transpose");
  if (inspection == nullptr) return transpose(ctx, a, std::forward<B>(b));
  detail::require_inspected("transpose", inspection->kept, from);
  const auto to = detail::result_arrays("transpose", "B", std::forward<B>(b),
                                        detail::transposed_shape(a), from.size());
  const auto& kept = inspection->kept;
  if (to.rowptr().data() != nullptr)
    detail::copy_bytes(ctx, to.rowptr().data(), kept.rowptr.data(), kept.rowptr.bytes(), S);
  detail::copy_bytes(ctx, to.colind().data(), kept.colind.data(), kept.colind.bytes(), S);
  detail::gather_values(ctx, from.values().data(), kept.from, to.values().data());
  detail::state_result(std::forward<B>(b), from.size(), {true, from.order().unique});
}
template <class A, class B>
  requires(detail::is_compressed<A>)
void transpose(const operation_info_t& info, const A& a, B&& b) {
  transpose(detail::context_of_matrix<A>(), info, a, std::forward<B>(b));
}

/// Values of B alone, whose pattern is as transpose left it: one pass over the map. Neither A's
/// nor B's pattern is checked beyond its sizes. Throws as transpose does, and bad_input if the
/// info is empty.
template <space S, class A, class B>
  requires(detail::is_compressed<A>)
void transpose_refill(const context<S>& ctx, const operation_info_t& info, const A& a, B&& b) {
  detail::require_transposable<S, A, std::remove_cvref_t<B>>();
  const auto from = detail::compressed_rows(detail::const_view(a));
  using V = std::remove_cv_t<decltype(from)>;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  const auto* inspection =
      detail::found_in<detail::transpose_inspection<I, O, S>>(info, "transpose_refill");
  if (inspection == nullptr) detail::throw_other_info("transpose_refill");
  detail::require_inspected("transpose_refill", inspection->kept, from);
  const auto to = detail::result_arrays("transpose_refill", "B", std::forward<B>(b),
                                        detail::transposed_shape(a), from.size());
  detail::gather_values(ctx, from.values().data(), inspection->kept.from, to.values().data());
}
template <class A, class B>
  requires(detail::is_compressed<A>)
void transpose_refill(const operation_info_t& info, const A& a, B&& b) {
  transpose_refill(detail::context_of_matrix<A>(), info, a, std::forward<B>(b));
}

} // namespace lacuna
