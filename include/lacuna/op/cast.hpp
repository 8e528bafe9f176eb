// cast<T, I, O>(ctx, a): the same matrix with other types of values, indices and offsets.
//
//   auto b = cast<float>(a);                                       values alone
//   auto c = cast<double, std::int32_t, std::int64_t>(ctx, a);     offsets of 64 bits
//   auto y = cast<float>(x);                                       a vector
//
// Always a new owner. Values are rounded to nearest. Throws bad_input, naming the first, if an
// index or offset does not fit; on a device it waits to know that where a width shrinks.
#pragma once

#include <lacuna/op/copy.hpp>

namespace lacuna {

namespace detail::cpu {
/// to[k] = from[k]; returns the first k whose value does not fit, or -1. Values are rounded.
template <class From, class To>
LACUNA_EXPORT std::int64_t cast_array(const host_context& ctx, vector_view<const From> from,
                                      vector_view<To> to);
} // namespace detail::cpu
namespace detail::gpu {
template <class From, class To>
LACUNA_GPU_EXPORT std::int64_t cast_array(const device_context& ctx,
                                          vector_view<const From, space::device> from,
                                          vector_view<To, space::device> to);
} // namespace detail::gpu

namespace detail {
/// bad_input: "cast: colind[7] does not fit 32-bit indices; use 64-bit ones"
[[noreturn]] LACUNA_EXPORT void throw_does_not_fit_at(const char* what, std::int64_t at);

template <class To, class From, space S>
array<To, S> cast_array(const context<S>& ctx, vector_view<From, S> from, const char* what) {
  using F = std::remove_const_t<From>;
  if constexpr (std::is_same_v<F, To>) {
    return copy_to(ctx, from);
  } else {
    array<To, S> result(ctx, from.size());
    std::int64_t misfit = -1;
    if constexpr (S == space::host)
      misfit = detail::cpu::cast_array<F, To>(ctx, from, result.view());
    else
      misfit = detail::gpu::cast_array<F, To>(ctx, from, result.view());
    if (misfit >= 0) throw_does_not_fit_at(what, misfit);
    return result;
  }
}
template <class T, class I, class O, class V>
using keep_or = std::tuple<std::conditional_t<std::is_void_v<T>, typename V::scalar_type, T>,
                           std::conditional_t<std::is_void_v<I>, typename V::index_type, I>,
                           std::conditional_t<std::is_void_v<O>, typename V::offset_type, O>>;

template <class T, class I, class O, class U, class J, class P, space S>
csr<T, I, O, S> cast_view(const context<S>& ctx, csr_view<const U, J, P, S> a) {
  return {a.shape(), cast_array<O>(ctx, a.rowptr(), "rowptr"),
          cast_array<I>(ctx, a.colind(), "colind"), cast_array<T>(ctx, a.values(), "values"),
          a.order()};
}
template <class T, class I, class O, class U, class J, class P, space S>
csc<T, I, O, S> cast_view(const context<S>& ctx, csc_view<const U, J, P, S> a) {
  return csc<T, I, O, S>(cast_view<T, I, O>(ctx, a.transpose()));
}
template <class T, class I, class O, class U, class J, class P, space S>
coo<T, I, O, S> cast_view(const context<S>& ctx, coo_view<const U, J, P, S> a) {
  return {a.shape(), cast_array<I>(ctx, a.rowind(), "rowind"),
          cast_array<I>(ctx, a.colind(), "colind"), cast_array<T>(ctx, a.values(), "values"),
          a.order()};
}
} // namespace detail

/// T, I or O left out: as they are.
template <class T = void, class I = void, class O = void, space S, class A>
auto cast(const context<S>& ctx, const A& a) {
  const auto view = detail::const_view(a);
  using V = decltype(view);
  detail::require_same_space<S, V>();
  if constexpr (requires { typename V::offset_type; }) {
    using to = detail::keep_or<T, I, O, V>;
    return detail::cast_view<std::tuple_element_t<0, to>, std::tuple_element_t<1, to>,
                             std::tuple_element_t<2, to>>(ctx, view);
  } else {
    return detail::cast_array<std::conditional_t<std::is_void_v<T>, typename V::scalar_type, T>>(
        ctx, view, "values");
  }
}
template <class T = void, class I = void, class O = void, class A>
  requires(!detail::is_context<A>)
auto cast(const A& a) {
  return cast<T, I, O>(default_context<decltype(detail::const_view(a))::memory_space>(), a);
}

namespace detail {

template <class A, class B>
inline constexpr bool are_alike = std::is_same_v<typename A::index_type, typename B::index_type>&&
    std::is_same_v<typename A::offset_type, typename B::offset_type>;
/// An operand with the wider of two operands' indices and offsets: the operand itself, or one of a
/// copy.
template <class Op, class Other> class widened {
public:
  using T = typename Op::scalar_type;
  using I = std::common_type_t<typename Op::index_type, typename Other::index_type>;
  using O = std::common_type_t<typename Op::offset_type, typename Other::offset_type>;
  static constexpr space S = Op::memory_space;
  widened(const context<S>& ctx, const Op& from) {
    if constexpr (are_alike<Op, matrix_operand<T, I, O, S>>) {
      op_ = from;
    } else {
      own_ = cast_view<T, I, O>(ctx, from.a);
      op_ = {std::as_const(own_).view(), from.alpha, from.transposed};
    }
  }
  widened(const widened&) = delete;
  widened& operator=(const widened&) = delete;
  [[nodiscard]] const matrix_operand<T, I, O, S>& operand() const { return op_; }

private:
  csr<T, I, O, S> own_;
  matrix_operand<T, I, O, S> op_;
};

} // namespace detail
} // namespace lacuna
