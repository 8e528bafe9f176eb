// scaled(alpha, a) and transposed(a): operands that say what to do, without doing it yet; and how
// operations take operands apart.
#pragma once

#include <type_traits>
#include <utility>

#include <lacuna/core/config.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/format/coo.hpp>
#include <lacuna/format/csc.hpp>
#include <lacuna/format/csr.hpp>
#include <lacuna/format/dense.hpp>

namespace lacuna {

template <class Base> struct scaled_view {
  double alpha;
  Base base;
};
template <class Base> struct transposed_view { Base base; };

namespace detail {

template <class T> struct is_operand_view : std::false_type {};
template <class B> struct is_operand_view<scaled_view<B>> : std::true_type {};
template <class B> struct is_operand_view<transposed_view<B>> : std::true_type {};

/// The view of an owner or a view: cheap to copy, read-only.
template <class T, class I, class O, space S>
csr_view<const T, I, O, S> const_view(const csr<T, I, O, S>& a) {
  return a.view();
}
template <class T, class I, class O, space S>
csr_view<const T, I, O, S> const_view(csr_view<T, I, O, S> a) {
  return a;
}
template <class T, class I, class O, space S>
csc_view<const T, I, O, S> const_view(const csc<T, I, O, S>& a) {
  return a.view();
}
template <class T, class I, class O, space S>
csc_view<const T, I, O, S> const_view(csc_view<T, I, O, S> a) {
  return a;
}
template <class T, class I, class O, space S>
coo_view<const T, I, O, S> const_view(const coo<T, I, O, S>& a) {
  return a.view();
}
template <class T, class I, class O, space S>
coo_view<const T, I, O, S> const_view(coo_view<T, I, O, S> a) {
  return a;
}
template <class T, space S> dense_view<const T, S> const_view(const dense<T, S>& a) {
  return a.view();
}
template <class T, space S> dense_view<const T, S> const_view(dense_view<T, S> a) { return a; }
template <class T, space S> vector_view<const T, S> const_view(const array<T, S>& a) {
  return a.view();
}
template <class T, space S> vector_view<const T, S> const_view(vector_view<T, S> a) { return a; }
template <std::ranges::contiguous_range R>
vector_view<const std::ranges::range_value_t<R>, space::host> const_view(const R& r) {
  return r;
}
template <class T>
  requires(is_operand_view<T>::value)
T const_view(T a) { return a; }
/// The formats made for multiplication alone: ell_csr, csr_k, packed_csr.
template <class T> inline constexpr bool is_product_format = requires {
  typename T::product_format;
};
template <class A>
  requires(is_product_format<A>)
auto const_view(const A& a) {
  if constexpr (requires { a.view(); })
    return a.view();
  else
    return a;
}

/// The writable view of an output, which is passed on as it came: a const owner or a temporary
/// container does not fit, a temporary view does.
template <class T, class I, class O, space S>
csr_view<T, I, O, S> mutable_view(csr<T, I, O, S>& a) {
  return a.view();
}
template <class T, class I, class O, space S>
csr_view<T, I, O, S> mutable_view(csr_view<T, I, O, S> a) {
  return a;
}
template <class T, space S> dense_view<T, S> mutable_view(dense<T, S>& a) { return a.view(); }
template <class T, space S> dense_view<T, S> mutable_view(dense_view<T, S> a) { return a; }
template <class T, space S> vector_view<T, S> mutable_view(array<T, S>& a) { return a.view(); }
template <class T, space S> vector_view<T, S> mutable_view(vector_view<T, S> a) { return a; }
template <std::ranges::contiguous_range R>
  requires(std::ranges::borrowed_range<R> &&
           !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
vector_view<std::ranges::range_value_t<R>, space::host> mutable_view(R&& r) { return r; }

} // namespace detail

/// alpha * a, for a matrix or a vector; a is viewed, not copied.
template <class A> auto scaled(double alpha, const A& a) {
  return scaled_view<decltype(detail::const_view(a))>{alpha, detail::const_view(a)};
}
/// The transpose of a matrix; a is viewed, not copied.
template <class A> auto transposed(const A& a) {
  return transposed_view<decltype(detail::const_view(a))>{detail::const_view(a)};
}

namespace detail {

/// alpha * op(a), op = transposition or nothing.
template <class T, class I, class O, space S> struct matrix_operand {
  using scalar_type = T;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;
  csr_view<const T, I, O, S> a;
  double alpha = 1;
  bool transposed = false;
  std::int64_t rows() const { return transposed ? a.shape().col : a.shape().row; }
  std::int64_t cols() const { return transposed ? a.shape().row : a.shape().col; }
};
/// alpha * a for a format made for multiplication alone, which has one direction.
template <class View> struct product_operand {
  using scalar_type = typename View::scalar_type;
  using index_type = typename View::index_type;
  using offset_type = std::int64_t;
  static constexpr space memory_space = View::memory_space;
  View a;
  double alpha = 1;
  bool transposed = false;
};
/// alpha * x for a vector or a dense matrix.
template <class View> struct dense_operand {
  using scalar_type = std::remove_const_t<std::remove_pointer_t<decltype(View{}.data())>>;
  static constexpr space memory_space = View::memory_space;
  View x;
  double alpha = 1;
};

template <class T, class I, class O, space S>
matrix_operand<T, I, O, S> as_operand(csr_view<const T, I, O, S> a) {
  return {a};
}
template <class T, class I, class O, space S>
matrix_operand<T, I, O, S> as_operand(csc_view<const T, I, O, S> a) {
  return {a.transpose(), 1, true};
}
template <class View>
  requires(is_product_format<View>)
product_operand<View> as_operand(View a) { return {a}; }
template <class T, space S>
dense_operand<vector_view<const T, S>> as_operand(vector_view<const T, S> x) {
  return {x};
}
template <class T, space S>
dense_operand<dense_view<const T, S>> as_operand(dense_view<const T, S> x) {
  return {x};
}
template <class B> auto as_operand(transposed_view<B> t); // either may hold the other
template <class B> auto as_operand(scaled_view<B> s) {
  auto op = as_operand(s.base);
  op.alpha *= s.alpha;
  return op;
}
template <class B> auto as_operand(transposed_view<B> t) {
  auto op = as_operand(t.base);
  op.transposed = !op.transposed;
  return op;
}
/// From anything a caller may pass.
template <class A>
  requires requires(const A& a) { as_operand(const_view(a)); }
auto operand(const A& a) { return as_operand(const_view(a)); }

template <class A> using operand_t = decltype(operand(std::declval<const A&>()));
template <class A> inline constexpr bool is_matrix_operand = requires {
  typename operand_t<A>::offset_type;
};

/// One readable message instead of a page of overloads when spaces or value types are mixed.
template <space S, class... Operand> constexpr void require_same_space() {
  static_assert(((Operand::memory_space == S) && ...),
                "lacuna: host and device memory are mixed in one operation; use copy_to");
  static_assert(S == space::host || has_cuda,
                "lacuna: this Lacuna was built without CUDA; device memory cannot be used");
}
template <class T, class... Operand> constexpr void require_same_value() {
  static_assert((std::is_same_v<typename Operand::scalar_type, T> && ...),
                "lacuna: operands differ in value type (float, double)");
}

/// Throws bad_input if the two host or device ranges share memory.
template <class T>
void require_apart(const char* op, const char* x_name, const T* x, std::int64_t x_size,
                   const char* y_name, const T* y, std::int64_t y_size) {
  if (x_size > 0 && y_size > 0 && x < y + y_size && y < x + x_size)
    throw bad_input(std::string(op) + ": " + x_name + " and " + y_name + " overlap in memory");
}

} // namespace detail
} // namespace lacuna
