// scaled(alpha, a) and transposed(a): operands that say what to do, without doing it yet; and how
// operations take operands apart.
#pragma once

#include <type_traits>
#include <utility>

#include <lacuna/core/error.hpp>
#include <lacuna/format/coo.hpp>
#include <lacuna/format/csc.hpp>
#include <lacuna/format/csr.hpp>
#include <lacuna/format/dense.hpp>

namespace lacuna {

namespace detail {
/// A rank-2 mdspan of any implementation (std, Kokkos') over plain pointers.
template <class M>
concept mdspan_like = requires(const M& m) {
  { M::rank() } -> std::convertible_to<std::size_t>;
  requires M::rank()
  == 2;
  m.extent(0);
  m.stride(0);
  requires std::is_pointer_v<std::remove_cvref_t<decltype(m.data_handle())>>;
};
} // namespace detail

/// alpha * base, with alpha of the base's own scalar type.
template <class Base> class scaled_view {
public:
  using scalar_type = typename Base::scalar_type;
  static constexpr space memory_space = Base::memory_space;
  constexpr scaled_view(scalar_type alpha, Base base) : alpha_(alpha), base_(base) {}
  constexpr scalar_type alpha() const { return alpha_; }
  constexpr const Base& base() const { return base_; }
  /// (rows, columns) of a matrix; the size of a vector.
  constexpr auto shape() const {
    if constexpr (requires { base_.shape(); })
      return base_.shape();
    else
      return base_.size();
  }
  constexpr auto size() const requires requires(const Base& b) { b.size(); }
  { return base_.size(); }

private:
  scalar_type alpha_;
  Base base_;
};
/// The transpose of base.
template <class Base> class transposed_view {
public:
  using scalar_type = typename Base::scalar_type;
  static constexpr space memory_space = Base::memory_space;
  constexpr explicit transposed_view(Base base) : base_(base) {}
  constexpr const Base& base() const { return base_; }
  constexpr auto shape() const {
    const auto [rows, cols] = base_.shape();
    return decltype(base_.shape())(cols, rows);
  }
  constexpr auto size() const requires requires(const Base& b) { b.size(); }
  { return base_.size(); }

private:
  Base base_;
};

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
csr_view<const std::remove_const_t<T>, I, O, S> const_view(csr_view<T, I, O, S> a) {
  return a;
}
template <class T, class I, class O, space S>
csc_view<const T, I, O, S> const_view(const csc<T, I, O, S>& a) {
  return a.view();
}
template <class T, class I, class O, space S>
csc_view<const std::remove_const_t<T>, I, O, S> const_view(csc_view<T, I, O, S> a) {
  return a;
}
template <class T, class I, class O, space S>
coo_view<const T, I, O, S> const_view(const coo<T, I, O, S>& a) {
  return a.view();
}
template <class T, class I, class O, space S>
coo_view<const std::remove_const_t<T>, I, O, S> const_view(coo_view<T, I, O, S> a) {
  return a;
}
template <class T, space S> dense_view<const T, S> const_view(const dense<T, S>& a) {
  return a.view();
}
template <class T, space S>
dense_view<const std::remove_const_t<T>, S> const_view(dense_view<T, S> a) {
  return a;
}
template <class T, space S> vector_view<const T, S> const_view(const array<T, S>& a) {
  return a.view();
}
template <class T, space S>
vector_view<const std::remove_const_t<T>, S> const_view(vector_view<T, S> a) {
  return a;
}
template <std::ranges::contiguous_range R>
vector_view<const std::ranges::range_value_t<R>, space::host> const_view(const R& r) {
  return r;
}
[[noreturn]] LACUNA_EXPORT void throw_strided(std::int64_t down, std::int64_t along);
/// Rows or columns of an mdspan must lie side by side; throws unsupported if neither do.
template <mdspan_like M> auto mdspan_view(const M& m) {
  using T = std::remove_pointer_t<std::remove_cvref_t<decltype(m.data_handle())>>;
  const auto rows = static_cast<std::int64_t>(m.extent(0));
  const auto cols = static_cast<std::int64_t>(m.extent(1));
  const auto down = static_cast<std::int64_t>(m.stride(0));
  const auto along = static_cast<std::int64_t>(m.stride(1));
  const bool by_rows = (along == 1 || cols <= 1) && (down >= cols || rows <= 1);
  const bool by_columns = (down == 1 || rows <= 1) && (along >= rows || cols <= 1);
  if (!by_rows && !by_columns) throw_strided(down, along);
  return by_rows
             ? dense_view<T>(m.data_handle(), {rows, cols}, layout::row_major, rows <= 1 ? 0 : down)
             : dense_view<T>(m.data_handle(), {rows, cols}, layout::column_major,
                             cols <= 1 ? 0 : along);
}
template <mdspan_like M> auto const_view(const M& m) { return const_view(mdspan_view(m)); }
template <class T>
  requires(is_operand_view<T>::value)
T const_view(T a) { return a; }
/// The formats made for multiplication: those of format/ but coo, csr, csc, dense.
template <class T> inline constexpr bool is_product_format = requires {
  typename T::product_format;
};
/// One of them whose rows the operations on csr matrices take, too: dynamic_csr.
template <class T> inline constexpr bool is_row_format = requires { typename T::row_format; };
/// One of them that multiplies transposed from the same storage: block_tree.
template <class T> inline constexpr bool is_two_way = requires { typename T::two_way_format; };
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
template <class T, class I, class O, space S>
csc_view<T, I, O, S> mutable_view(csc<T, I, O, S>& a) {
  return a.view();
}
template <class T, class I, class O, space S>
csc_view<T, I, O, S> mutable_view(csc_view<T, I, O, S> a) {
  return a;
}
template <class T, class I, class O, space S>
coo_view<T, I, O, S> mutable_view(coo<T, I, O, S>& a) {
  return a.view();
}
template <class T, class I, class O, space S>
coo_view<T, I, O, S> mutable_view(coo_view<T, I, O, S> a) {
  return a;
}
template <class T, space S> dense_view<T, S> mutable_view(dense<T, S>& a) { return a.view(); }
template <class T, space S> dense_view<T, S> mutable_view(dense_view<T, S> a) { return a; }
template <mdspan_like M> auto mutable_view(const M& m) { return mdspan_view(m); }
template <class T, space S> vector_view<T, S> mutable_view(array<T, S>& a) { return a.view(); }
template <class T, space S> vector_view<T, S> mutable_view(vector_view<T, S> a) { return a; }
template <std::ranges::contiguous_range R>
  requires(std::ranges::borrowed_range<R> &&
           !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
vector_view<std::ranges::range_value_t<R>, space::host> mutable_view(R&& r) { return r; }

/// What an operation leaves in its result: an owner states the order of its entries, a named view
/// takes over the new number of entries too.
template <class C, class View> void set_result(C&& c, const View& filled) {
  if constexpr (requires { c.state(facts{}); })
    c.state(filled.order());
  else if constexpr (std::is_lvalue_reference_v<C> && !std::is_const_v<std::remove_reference_t<C>>)
    c = filled;
}

/// Owners of memory: Lacuna's own, std::vector and the like.
template <class V> inline constexpr bool owns = requires(const V& v) { v.view(); }
|| (std::ranges::range<V> && !std::ranges::borrowed_range<V>);
template <class A> constexpr void require_named() {
  static_assert(std::is_lvalue_reference_v<A> || !owns<std::remove_cvref_t<A>>,
                "lacuna: a view of a temporary would dangle; give the temporary a name");
}

} // namespace detail

/// alpha * a, for a matrix or a vector; a is viewed, not copied, and may not be a temporary owner.
template <class Scalar, class A>
  requires(std::is_arithmetic_v<Scalar>)
auto scaled(Scalar alpha, A&& a) {
  detail::require_named<A>();
  using Base = decltype(detail::const_view(a));
  return scaled_view<Base>(static_cast<typename Base::scalar_type>(alpha), detail::const_view(a));
}
/// The transpose of a matrix; a is viewed, not copied, and may not be a temporary owner.
template <class A> auto transposed(A&& a) {
  detail::require_named<A>();
  return transposed_view<decltype(detail::const_view(a))>(detail::const_view(a));
}

namespace detail {

/// The type that a format counts entries with; 64 bits where it names none.
template <class View> struct view_offset { using type = std::int64_t; };
template <class View>
  requires requires { typename View::offset_type; }
struct view_offset<View> {
  using type = typename View::offset_type;
};

/// alpha * op(a), op = transposition or nothing; View: of a sparse matrix in any format.
template <class View> struct sparse_operand {
  using scalar_type = typename View::scalar_type;
  using index_type = typename View::index_type;
  using offset_type = typename view_offset<View>::type;
  static constexpr space memory_space = View::memory_space;
  View a;
  double alpha = 1;
  bool transposed = false;
  std::int64_t rows() const { return transposed ? a.shape().col : a.shape().row; }
  std::int64_t cols() const { return transposed ? a.shape().row : a.shape().col; }
};
template <class T, class I, class O, space S>
using matrix_operand = sparse_operand<csr_view<const T, I, O, S>>;
/// alpha * x for a vector or a dense matrix.
template <class View> struct dense_operand {
  using scalar_type = std::remove_const_t<std::remove_pointer_t<decltype(View{}.data())>>;
  static constexpr space memory_space = View::memory_space;
  View x;
  double alpha = 1;
};

/// An operand that was taken apart already stays as it is.
template <class T, class I, class O, space S>
matrix_operand<T, I, O, S> const_view(const matrix_operand<T, I, O, S>& a) {
  return a;
}
template <class T, class I, class O, space S>
matrix_operand<T, I, O, S> as_operand(const matrix_operand<T, I, O, S>& a) {
  return a;
}
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
sparse_operand<View> as_operand(View a) { return {a}; }
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
  auto op = as_operand(s.base());
  op.alpha *= s.alpha();
  return op;
}
template <class B> auto as_operand(transposed_view<B> t) {
  auto op = as_operand(t.base());
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

template <class X> using const_view_t = decltype(const_view(std::declval<const X&>()));
/// Where an operation on X runs if the caller names no context.
template <class X> const auto& default_context_for() {
  return default_context<const_view_t<X>::memory_space>();
}

template <class V> auto values_data(const V& v) {
  if constexpr (requires { v.values(); })
    return v.values().data();
  else
    return v.data();
}
/// Whether Y can be an output.
template <class Y> inline constexpr bool is_writable = requires(Y&& y) {
  requires !std::is_const_v<
      std::remove_pointer_t<decltype(values_data(mutable_view(std::forward<Y>(y))))>>;
};
template <space S, class... Operand>
inline constexpr bool are_in = ((Operand::memory_space == S) && ...);
template <class T, class... Operand>
inline constexpr bool are_of = (std::is_same_v<typename Operand::scalar_type, T> && ...);

/// csr, csc and dynamic_csr, scaled or transposed or not; other formats made for products are none.
template <class... Operand>
inline constexpr bool are_compressed = ((!is_product_format<decltype(Operand::a)> ||
                                         is_row_format<decltype(Operand::a)>)&&...);
template <class... Operand> constexpr void require_compressed() {
  static_assert(are_compressed<Operand...>,
                "lacuna: this operation takes csr, csc and dynamic_csr matrices; use to_csr");
}

/// An operand whose rows are a csr's: itself. Those of a row format are copied to one, unless they
/// lie side by side.
template <class Op> class csr_rows_of {
public:
  template <space S> csr_rows_of(const context<S>&, const Op& op) : op_(op) {}
  [[nodiscard]] const Op& operand() const { return op_; }

private:
  Op op_;
};
template <class View>
  requires(is_row_format<View>)
class csr_rows_of<sparse_operand<View>> {
  using T = typename View::scalar_type;
  using I = typename View::index_type;
  using O = typename View::offset_type;
  static constexpr space own_space = View::memory_space;

public:
  template <space S>
  csr_rows_of(const context<S>& ctx, const sparse_operand<View>& op)
      : op_{{}, op.alpha, op.transposed} {
    if constexpr (S == own_space) { // else the operation refuses it
      if (!op.a.compact) own_ = make_csr(ctx, op.a);
      op_.a = op.a.compact ? op.a.csr_rows() : std::as_const(own_).view();
    }
  }
  csr_rows_of(const csr_rows_of&) = delete;
  csr_rows_of& operator=(const csr_rows_of&) = delete;
  [[nodiscard]] const matrix_operand<T, I, O, own_space>& operand() const { return op_; }

private:
  csr<T, I, O, own_space> own_;
  matrix_operand<T, I, O, own_space> op_;
};
template <space S, class Op> csr_rows_of(const context<S>&, const Op&) -> csr_rows_of<Op>;
template <class... Operand>
inline constexpr bool has_row_format = (is_row_format<decltype(Operand::a)> || ...);

/// One readable message instead of a page of overloads when spaces or value types are mixed.
template <space S, class... Operand> constexpr void require_same_space() {
  static_assert(are_in<S, Operand...>,
                "lacuna: host and device memory are mixed in one operation; use copy_to");
}
template <class T, class... Operand> constexpr void require_same_value() {
  static_assert(are_of<T, Operand...>,
                "lacuna: operands differ in value type (float, double); use cast");
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
