// update_values(ctx, to, a): new values for a matrix that is kept in one of the formats for
// products, from a CSR matrix of the pattern it was made from. Each format's header has its own.
//
//   auto e = to_ell_csr(ctx, a);
//   …                              a's values change, or b has a's pattern
//   update_values(ctx, e, a);      e is what to_ell_csr(ctx, a) would make now, bit by bit
//
// One pass over the values: no more than two products' time, no scratch, nothing is chosen or
// sorted again. On a device it is queued. Shape and number of entries are checked, and where they
// differ size_mismatch is thrown and nothing has changed. That the pattern is the same is not
// checked: where it is not, values go to places of other entries, but no memory outside the two
// matrices is touched. Plans: op.update_values(a).
#pragma once

#include <lacuna/op/operand.hpp>

namespace lacuna {

namespace detail::cpu {
/// to[k] = values[from[k]], or values[k] where from is null.
template <class T, class O>
LACUNA_EXPORT void place_values(const host_context& ctx, const O* from, vector_view<const T> values,
                                vector_view<T> to);
} // namespace detail::cpu

namespace detail::gpu {
/// Queued.
template <class T, class O>
LACUNA_GPU_EXPORT void place_values(const device_context& ctx, const O* from,
                                    vector_view<const T, space::device> values,
                                    vector_view<T, space::device> to);
} // namespace detail::gpu

namespace detail {
template <class T, class O, space S>
void place_values(const context<S>& ctx, const O* from, vector_view<const T, S> values,
                  vector_view<T, S> to) {
  if constexpr (S == space::host)
    detail::cpu::place_values<T, O>(ctx, from, values, to);
  else
    detail::gpu::place_values<T, O>(ctx, from, values, to);
}
/// The view of A, if it fits the matrix `to` in size and types.
template <class T, class I, space S, class A>
auto new_values_of(std::int64_t rows, std::int64_t cols, std::int64_t entries, const A& a) {
  const auto view = const_view(a);
  using V = decltype(view);
  require_same_space<S, V>();
  static_assert(std::is_same_v<typename V::scalar_type, T>,
                "lacuna: operands differ in value type (float, double)");
  static_assert(std::is_same_v<typename V::index_type, I>,
                "lacuna: operands differ in the width of their indices");
  require_same_size("update_values", "rows of A", view.shape().row, "rows of the matrix", rows);
  require_same_size("update_values", "columns of A", view.shape().col, "columns of the matrix",
                    cols);
  require_same_size("update_values", "entries of A", view.size(), "entries of the matrix", entries);
  return csr_view<const T, I, typename V::offset_type, S>(view);
}
template <class T, class I, space S, class To, class A>
auto new_values_of(const To& to, const A& a) {
  return new_values_of<T, I, S>(to.shape().row, to.shape().col, to.size(), a);
}
} // namespace detail

template <class T, class I, class O, space S, class A>
void update_values(const context<S>& ctx, csr<T, I, O, S>& to, const A& a) {
  const auto from = detail::new_values_of<T, I, S>(to, a);
  detail::place_values<T, O, S>(ctx, nullptr, from.values(), to.values());
}
} // namespace lacuna
