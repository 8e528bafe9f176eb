// A sparse matrix of others: side by side, on top of each other, as blocks of a diagonal, by
// Kronecker's product; the same elements in another shape.
//
//   auto c = hstack(ctx, a, b);           [A B]; as many as you like, of one type
//   auto c = vstack(ctx, list);           a range of csr or csr_view works, too
//   auto c = block_diag(ctx, a, b);       [A 0; 0 B]
//   auto c = kron(ctx, a, b);             A's entry (i, j) becomes the block a_ij B
//   auto c = reshape(ctx, a, {m, n});     elements in row-major order, as NumPy's
//
// The context is optional; operands are csr, the result is a csr of their types. Entries keep their
// order, duplicates and zeros are entries like others; rows stay sorted and unique if all operands'
// are stated to be. An element of kron is round(a b).
//
// O(entries + rows of operands and result); reshape has 8 to 16 bytes of scratch per entry, hstack
// on a device an offset per row of every operand. All are queued on a device, however many matrices
// are put together: sizes follow from the operands'. Throws size_mismatch if rows (columns) differ,
// bad_input if the result's sizes do not fit its types or there is nothing to put together.
#pragma once

#include <vector>

#include <lacuna/op/convert.hpp>
#include <lacuna/op/result.hpp>

namespace lacuna {

namespace detail {
/// A matrix within another.
template <class T, class I, class O, space S> struct placed_block {
  csr_view<const T, I, O, S> a;
  std::int64_t row = 0, col = 0; ///< where its first element is
};
enum class stacking { beside, below, diagonal };

[[noreturn]] LACUNA_EXPORT void throw_no_blocks(const char* op);
[[noreturn]] LACUNA_EXPORT void throw_other_elements(std::int64_t rows, std::int64_t cols,
                                                     std::int64_t to_rows, std::int64_t to_cols);
} // namespace detail

namespace detail::cpu {
/// Blocks by ascending column; none overlap.
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O>
place_blocks(const host_context& ctx, index<I> shape,
             const std::vector<placed_block<T, I, O, space::host>>& blocks, facts order);
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> kron_csr(const host_context& ctx, csr_view<const T, I, O> a,
                                    csr_view<const T, I, O> b);
/// Element (i, j) of rows of from_cols elements becomes one of rows of to_cols, in place.
template <class I>
LACUNA_EXPORT void reshape_indices(const host_context& ctx, std::int64_t from_cols,
                                   std::int64_t to_cols, vector_view<I> rowind,
                                   vector_view<I> colind);
} // namespace detail::cpu

namespace detail::gpu {
/// Blocks all beside each other, or each below the one before.
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr<T, I, O, space::device>
place_blocks(const device_context& ctx, bool beside, index<I> shape,
             const std::vector<placed_block<T, I, O, space::device>>& blocks, facts order);
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr<T, I, O, space::device> kron_csr(const device_context& ctx,
                                                       csr_view<const T, I, O, space::device> a,
                                                       csr_view<const T, I, O, space::device> b);
template <class I>
LACUNA_GPU_EXPORT void reshape_indices(const device_context& ctx, std::int64_t from_cols,
                                       std::int64_t to_cols, vector_view<I, space::device> rowind,
                                       vector_view<I, space::device> colind);
} // namespace detail::gpu

namespace detail {

template <class A> inline constexpr bool is_csr_operand = is_compressed<A> && !is_by_columns<A>;
template <class R> inline constexpr bool is_csr_range = requires {
  requires std::ranges::input_range<const R>;
  requires is_csr_operand<std::ranges::range_value_t<R>>;
};

template <class T, class I, class O, space S>
csr<T, I, O, S> stack(const context<S>& ctx, const char* op, stacking how,
                      const std::vector<csr_view<const T, I, O, S>>& matrices) {
  if (matrices.empty()) throw_no_blocks(op);
  std::vector<placed_block<T, I, O, S>> blocks;
  facts order{true, true};
  std::int64_t rows = 0, cols = 0;
  for (const auto& a : matrices) {
    const std::int64_t down = a.shape().row, along = a.shape().col;
    if (how == stacking::beside && !blocks.empty())
      require_same_size(op, "rows of a matrix", down, "rows of the first", rows);
    if (how == stacking::below && !blocks.empty())
      require_same_size(op, "columns of a matrix", along, "columns of the first", cols);
    blocks.push_back({a, how == stacking::beside ? 0 : rows, how == stacking::below ? 0 : cols});
    rows = how == stacking::beside ? down : checked_add(rows, down);
    cols = how == stacking::below ? along : checked_add(cols, along);
    order = {order.sorted && a.order().sorted, order.unique && a.order().unique};
  }
  const index<I> shape{checked_cast<I>(rows, "the number of rows"),
                       checked_cast<I>(cols, "the number of columns")};
  if constexpr (S == space::host)
    return detail::cpu::place_blocks<T, I, O>(ctx, shape, blocks, order);
  else
    return detail::gpu::place_blocks<T, I, O>(ctx, how == stacking::beside, shape, blocks, order);
}

template <space S, class R>
auto stack_range(const context<S>& ctx, const char* op, stacking how, const R& matrices) {
  using V = decltype(const_view(*std::ranges::begin(matrices)));
  require_same_space<S, V>();
  if constexpr (are_in<S, V>) {
    std::vector<V> views;
    for (const auto& a : matrices) views.push_back(const_view(a));
    return stack(ctx, op, how, views);
  }
}
template <space S, class A, class... B>
auto stack_all(const context<S>& ctx, const char* op, stacking how, const A& a, const B&... b) {
  using V = decltype(const_view(a));
  require_same_space<S, V, decltype(const_view(b))...>();
  constexpr bool alike = (std::is_same_v<V, decltype(const_view(b))> && ...);
  static_assert(alike, "lacuna: matrices to be put together have one type; use cast");
  if constexpr (alike && are_in<S, V>)
    return stack(ctx, op, how, std::vector<V>{const_view(a), const_view(b)...});
}

} // namespace detail

/// Side by side.
template <space S, class A, class... B>
  requires(detail::is_csr_operand<A> && (detail::is_csr_operand<B> && ...))
auto hstack(const context<S>& ctx, const A& a, const B&... b) {
  return detail::stack_all(ctx, "hstack", detail::stacking::beside, a, b...);
}
template <space S, class R>
  requires(detail::is_csr_range<R>)
auto hstack(const context<S>& ctx, const R& matrices) {
  return detail::stack_range(ctx, "hstack", detail::stacking::beside, matrices);
}

/// On top of each other.
template <space S, class A, class... B>
  requires(detail::is_csr_operand<A> && (detail::is_csr_operand<B> && ...))
auto vstack(const context<S>& ctx, const A& a, const B&... b) {
  return detail::stack_all(ctx, "vstack", detail::stacking::below, a, b...);
}
template <space S, class R>
  requires(detail::is_csr_range<R>)
auto vstack(const context<S>& ctx, const R& matrices) {
  return detail::stack_range(ctx, "vstack", detail::stacking::below, matrices);
}

/// Each to the right of and below the one before.
template <space S, class A, class... B>
  requires(detail::is_csr_operand<A> && (detail::is_csr_operand<B> && ...))
auto block_diag(const context<S>& ctx, const A& a, const B&... b) {
  return detail::stack_all(ctx, "block_diag", detail::stacking::diagonal, a, b...);
}
template <space S, class R>
  requires(detail::is_csr_range<R>)
auto block_diag(const context<S>& ctx, const R& matrices) {
  return detail::stack_range(ctx, "block_diag", detail::stacking::diagonal, matrices);
}

namespace detail {
/// Of a matrix, or of those of a range.
template <class A> const auto& context_of_stack() {
  if constexpr (is_csr_range<A>)
    return default_context_for<std::ranges::range_value_t<A>>();
  else
    return default_context_for<A>();
}
} // namespace detail

template <class A, class... B>
  requires(!detail::is_context<A>)
auto hstack(const A& a, const B&... b) { return hstack(detail::context_of_stack<A>(), a, b...); }
template <class A, class... B>
  requires(!detail::is_context<A>)
auto vstack(const A& a, const B&... b) { return vstack(detail::context_of_stack<A>(), a, b...); }
template <class A, class... B>
  requires(!detail::is_context<A>)
auto block_diag(const A& a, const B&... b) {
  return block_diag(detail::context_of_stack<A>(), a, b...);
}

template <space S, class A, class B>
  requires(detail::is_csr_operand<A>&& detail::is_csr_operand<B>)
auto kron(const context<S>& ctx, const A& a, const B& b) {
  const auto left = detail::const_view(a);
  const auto right = detail::const_view(b);
  using V = std::remove_cv_t<decltype(left)>;
  constexpr bool alike = std::is_same_v<V, std::remove_cv_t<decltype(right)>>;
  detail::require_same_space<S, V, decltype(right)>();
  static_assert(alike, "lacuna: matrices to be put together have one type; use cast");
  if constexpr (alike && detail::are_in<S, V>) {
    using T = typename V::scalar_type;
    using I = typename V::index_type;
    using O = typename V::offset_type;
    if constexpr (S == space::host)
      return detail::cpu::kron_csr<T, I, O>(ctx, left, right);
    else
      return detail::gpu::kron_csr<T, I, O>(ctx, left, right);
  }
}
template <class A, class B>
  requires(detail::is_csr_operand<A>&& detail::is_csr_operand<B>)
auto kron(const A& a, const B& b) { return kron(detail::default_context_for<A>(), a, b); }

/// Throws bad_input if the shapes have not as many elements.
template <space S, class A>
  requires(detail::is_csr_operand<A>)
auto reshape(const context<S>& ctx, const A& a, index<std::int64_t> shape) {
  const auto view = detail::const_view(a);
  using V = std::remove_cv_t<decltype(view)>;
  using I = typename V::index_type;
  detail::require_same_space<S, V>();
  if constexpr (detail::are_in<S, V>) {
    const std::int64_t rows = view.shape().row, cols = view.shape().col;
    if (shape.row < 0 || shape.col < 0 ||
        checked_mul(rows, cols) != checked_mul(shape.row, shape.col))
      detail::throw_other_elements(rows, cols, shape.row, shape.col);
    const index<I> to{checked_cast<I>(shape.row, "the number of rows"),
                      checked_cast<I>(shape.col, "the number of columns")};
    auto triples = detail::make_coo(ctx, view);
    if constexpr (S == space::host)
      detail::cpu::reshape_indices<I>(ctx, cols, to.col, triples.rowind(), triples.colind());
    else
      detail::gpu::reshape_indices<I>(ctx, cols, to.col, triples.rowind(), triples.colind());
    const auto moved = std::as_const(triples).view();
    using T = typename V::scalar_type;
    const coo_view<const T, I, typename V::offset_type, S> reshaped(
        moved.values().data(), moved.rowind().data(), moved.colind().data(), to, moved.size(),
        view.order());
    return detail::make_csr_of_checked(ctx, reshaped);
  }
}
template <class A>
  requires(detail::is_csr_operand<A>)
auto reshape(const A& a, index<std::int64_t> shape) {
  return reshape(detail::default_context_for<A>(), a, shape);
}

} // namespace lacuna
