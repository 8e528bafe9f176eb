// A sparse matrix of Python's as the library reads it: a csr_view over the NumPy arrays of an
// object that has data, indices, indptr and shape, SciPy's or ours. Nothing is copied; the arrays
// are held as long as this.
#pragma once

#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <lacuna/format/csr.hpp>
#include <lacuna/format/dense.hpp>

namespace lacuna::python {

namespace nb = nanobind;

/// Any array in host memory that may be read; no conversion, so no copy.
using any_array = nb::ndarray<nb::ro, nb::device::cpu>;
using writable_array = nb::ndarray<nb::device::cpu>;

/// With the threads that set_threads or OpenMP's setting allows; one in a forked child.
host_context current_context();

/// TypeError: "lacuna: …".
[[noreturn]] void throw_type(const char* format, ...);

template <class T, class A> bool holds(const A& a) { return a.dtype() == nb::dtype<T>(); }

/// The elements of a one-dimensional array of T without gaps; TypeError that names it otherwise.
template <class T> vector_view<const T> vector_of(const any_array& a, const char* name) {
  if (a.ndim() != 1 || !holds<T>(a) || (a.shape(0) > 1 && a.stride(0) != 1))
    throw_type("lacuna: %s is no contiguous vector of the matrix's type", name);
  return {static_cast<const T*>(a.data()), static_cast<std::int64_t>(a.shape(0))};
}

/// A vector as one column, or a matrix whose rows or columns lie without gaps between elements.
template <class T, class A> auto columns_of(const A& a, const char* name) {
  using E = std::remove_pointer_t<decltype(a.data())>;
  using element = std::conditional_t<std::is_const_v<E>, const T, T>;
  if (!holds<T>(a) || a.ndim() < 1 || a.ndim() > 2)
    throw_type("lacuna: %s is no vector or matrix of the matrix's type", name);
  const auto rows = static_cast<std::int64_t>(a.shape(0));
  const std::int64_t cols = a.ndim() == 2 ? static_cast<std::int64_t>(a.shape(1)) : 1;
  auto* const data = static_cast<element*>(a.data());
  const auto fits = [](std::int64_t size, std::int64_t stride) { return size <= 1 || stride == 1; };
  if (a.ndim() == 1) {
    if (!fits(rows, a.stride(0))) throw_type("lacuna: %s is not contiguous", name);
    return dense_view<element>(data, {rows, 1}, layout::column_major);
  }
  if (rows == 0 || cols == 0) return dense_view<element>(data, {rows, cols});
  if (fits(cols, a.stride(1)) && (rows == 1 || a.stride(0) >= cols))
    return dense_view<element>(data, {rows, cols}, layout::row_major, rows == 1 ? 0 : a.stride(0));
  if (fits(rows, a.stride(0)) && (cols == 1 || a.stride(1) >= rows))
    return dense_view<element>(data, {rows, cols}, layout::column_major,
                               cols == 1 ? 0 : a.stride(1));
  throw_type("lacuna: neither rows nor columns of %s are contiguous", name);
}

/// A new NumPy array of one or two dimensions. Large ones come from Lacuna's memory, which keeps
/// blocks that were freed; small ones from NumPy's.
nb::object new_array(bool doubles, std::int64_t rows, std::int64_t cols, int ndim, bool by_columns);

class matrix {
public:
  /// Throws TypeError if the object is none, ValueError if its arrays are too short.
  explicit matrix(nb::handle object);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t cols() const { return cols_; }
  [[nodiscard]] bool has_doubles() const { return doubles_; }
  [[nodiscard]] bool is_wide() const { return wide_; }
  template <class T, class I> csr_view<const T, I, I> view() const {
    return {static_cast<const T*>(data_.data()),
            static_cast<const I*>(indptr_.data()),
            static_cast<const I*>(indices_.data()),
            {rows_, cols_},
            nnz_,
            order_};
  }
  /// f(view) for the types that the matrix has.
  template <class F> auto visit(F f) const {
    if (wide_) return doubles_ ? f(view<double, std::int64_t>()) : f(view<float, std::int64_t>());
    return doubles_ ? f(view<double, std::int32_t>()) : f(view<float, std::int32_t>());
  }
  /// f(view, other's view); TypeError if the two differ in their types.
  template <class F> auto visit_with(const matrix& other, F f) const {
    if (other.doubles_ != doubles_ || other.wide_ != wide_)
      throw_type("lacuna: the operands differ in the types of their values or indices");
    return visit([&](auto a) {
      using V = decltype(a);
      return f(a, other.view<typename V::scalar_type, typename V::index_type>());
    });
  }

private:
  any_array data_, indices_, indptr_;
  std::int64_t rows_ = 0, cols_ = 0, nnz_ = 0;
  facts order_;
  bool doubles_ = true, wide_ = false;
};

/// An array that NumPy shows and keeps.
template <class T> nb::object to_numpy(array<T> a) {
  auto* const owner = new array<T>(std::move(a));
  const nb::capsule keeper(owner, [](void* p) noexcept { delete static_cast<array<T>*>(p); });
  // An array without elements has no address; NumPy wants one.
  T* const data = owner->empty() ? reinterpret_cast<T*>(owner) : owner->data();
  const auto size = static_cast<std::size_t>(owner->size());
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, keeper));
}

/// (data, indices, indptr, (rows, columns), sorted, unique): what csr_array is made from.
template <class T, class I> nb::object to_python(csr<T, I, I> a) {
  const auto shape = a.shape();
  const facts order = a.order();
  auto [rowptr, colind, values] = std::move(a).release();
  return nb::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(colind)),
                        to_numpy(std::move(rowptr)), nb::make_tuple(shape.row, shape.col),
                        order.sorted, order.unique);
}

/// What f(ctx) returns, made while other threads of Python run.
template <class F> auto without_gil(F f) {
  const host_context ctx = current_context();
  const nb::gil_scoped_release released;
  return f(ctx);
}

/// The product with a dense operand, a vector or a matrix, in its layout: f(ctx, x, y) makes y,
/// which has so many rows, of x.
template <class T, class F> nb::object dense_product(const any_array& x, std::int64_t rows, F f) {
  const auto ndim = static_cast<int>(x.ndim());
  const std::int64_t cols = ndim == 2 ? static_cast<std::int64_t>(x.shape(1)) : 1;
  const auto from = columns_of<T>(x, "the dense operand");
  nb::object result =
      new_array(std::is_same_v<T, double>, rows, cols, ndim, cols > 1 && x.stride(1) != 1);
  const auto to = columns_of<T>(nb::cast<writable_array>(result), "the result");
  without_gil([&](const host_context& ctx) { f(ctx, from, to); });
  return result;
}

// One for each source.
void bind_products(nb::module_& m);
void bind_elements(nb::module_& m);
void bind_structure(nb::module_& m);
void bind_solvers(nb::module_& m);
void bind_dynamic(nb::module_& m);
void bind_block(nb::module_& m);
void bind_plan(nb::module_& m);
void bind_files(nb::module_& m);

} // namespace lacuna::python
