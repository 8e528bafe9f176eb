// A sparse matrix of Python's as the library reads it: a csr_view over the arrays of an object that
// has data, indices, indptr and shape, SciPy's or ours, in host memory (NumPy) or on a device
// (device_array). Nothing is copied; the arrays are held as long as this.
#pragma once

#include <optional>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "device.hpp"
#include <lacuna/format/csr.hpp>
#include <lacuna/format/dense.hpp>

namespace lacuna::python {

/// Any array in host memory that may be read; no conversion, so no copy.
using any_array = nb::ndarray<nb::ro, nb::device::cpu>;
using writable_array = nb::ndarray<nb::device::cpu>;

/// With the threads that set_threads or OpenMP's setting allows; one in a forked child.
host_context current_context();
inline host_context callers_context(const host_context&) { return current_context(); }
template <class F> auto on_own_stream(const host_context&, const host_context&, F f) { return f(); }

template <class T, class A> bool holds(const A& a) { return a.dtype() == nb::dtype<T>(); }
template <class T> bool holds(const device_array& a) { return a.holds<T>(); }

/// The elements of a one-dimensional array of T without gaps; TypeError that names it otherwise.
template <class T> vector_view<const T> vector_of(const any_array& a, const char* name) {
  if (a.ndim() != 1 || !holds<T>(a) || (a.shape(0) > 1 && a.stride(0) != 1))
    throw_type("lacuna: %s is no contiguous vector of the matrix's type", name);
  return {static_cast<const T*>(a.data()), static_cast<std::int64_t>(a.shape(0))};
}
template <class T>
vector_view<const T, space::device> vector_of(const device_array& a, const char* name) {
  if (a.ndim != 1 || !a.holds<T>() || !a.has_rows_without_gaps())
    throw_type("lacuna: %s is no contiguous vector of the matrix's type", name);
  return {static_cast<const T*>(a.data), a.shape[0]};
}

/// A dense view of a vector, as one column, or of a matrix; strides are in elements.
template <class E, space S>
dense_view<E, S> dense_columns(E* data, int ndim, std::int64_t rows, std::int64_t cols,
                               std::int64_t down, std::int64_t along, const char* name) {
  const auto fits = [](std::int64_t size, std::int64_t stride) { return size <= 1 || stride == 1; };
  if (ndim == 1) {
    if (!fits(rows, down)) throw_type("lacuna: %s is not contiguous", name);
    return dense_view<E, S>(data, {rows, 1}, layout::column_major);
  }
  if (rows == 0 || cols == 0) return dense_view<E, S>(data, {rows, cols});
  if (fits(cols, along) && (rows == 1 || down >= cols))
    return dense_view<E, S>(data, {rows, cols}, layout::row_major, rows == 1 ? 0 : down);
  if (fits(rows, down) && (cols == 1 || along >= rows))
    return dense_view<E, S>(data, {rows, cols}, layout::column_major, cols == 1 ? 0 : along);
  throw_type("lacuna: neither rows nor columns of %s are contiguous", name);
}
/// A vector as one column, or a matrix whose rows or columns lie without gaps between elements.
template <class T, class A> auto columns_of(const A& a, const char* name) {
  using E = std::remove_pointer_t<decltype(a.data())>;
  using element = std::conditional_t<std::is_const_v<E>, const T, T>;
  if (!holds<T>(a) || a.ndim() < 1 || a.ndim() > 2)
    throw_type("lacuna: %s is no vector or matrix of the matrix's type", name);
  const bool is_matrix = a.ndim() == 2;
  return dense_columns<element, space::host>(
      static_cast<element*>(a.data()), static_cast<int>(a.ndim()),
      static_cast<std::int64_t>(a.shape(0)), is_matrix ? static_cast<std::int64_t>(a.shape(1)) : 1,
      a.stride(0), is_matrix ? a.stride(1) : 1, name);
}
template <class T>
dense_view<T, space::device> columns_of(const device_array& a, const char* name) {
  if (!a.holds<T>()) throw_type("lacuna: %s is no vector or matrix of the matrix's type", name);
  return dense_columns<T, space::device>(static_cast<T*>(a.data), a.ndim, a.shape[0], a.shape[1],
                                         a.stride[0], a.stride[1], name);
}

template <class A> int dimensions_of(const A& a) { return static_cast<int>(a.ndim()); }
inline int dimensions_of(const device_array& a) { return a.ndim; }

/// A dense operand where a context works; TypeError that names it if it is elsewhere.
any_array dense_operand(const host_context& ctx, nb::handle x, const char* name);
device_array dense_operand(const device_context& ctx, nb::handle x, const char* name);
/// One that is written.
writable_array dense_result(const host_context& ctx, nb::handle y, const char* name);
device_array dense_result(const device_context& ctx, nb::handle y, const char* name);

/// A new NumPy array of one or two dimensions. Large ones come from Lacuna's memory, which keeps
/// blocks that were freed; small ones from NumPy's.
nb::object new_array(bool doubles, std::int64_t rows, std::int64_t cols, int ndim, bool by_columns);
/// The same where a context works.
template <class T>
nb::object new_dense(const host_context&, std::int64_t rows, std::int64_t cols, int ndim,
                     bool by_columns) {
  return new_array(std::is_same_v<T, double>, rows, cols, ndim, by_columns);
}
template <class T>
nb::object new_dense(const device_context& ctx, std::int64_t rows, std::int64_t cols, int ndim,
                     bool by_columns) {
  return to_python(device_array(ctx, array<T, space::device>(ctx, checked_mul(rows, cols)), ndim,
                                rows, cols, by_columns));
}

class matrix {
public:
  /// Throws TypeError if the object is none, ValueError if its arrays are too short. One on a
  /// device is ready on the calling thread's stream.
  explicit matrix(nb::handle object);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t cols() const { return cols_; }
  [[nodiscard]] bool has_doubles() const { return doubles_; }
  [[nodiscard]] bool is_wide() const { return wide_; }
  [[nodiscard]] bool is_on_device() const { return on_.has_value(); }
  /// Of one on a device: the stream that it was taken on.
  [[nodiscard]] const device_context& device() const { return *on_; }
  /// Whether it is in the memory that a context works on.
  [[nodiscard]] bool is_on(const host_context&) const { return !on_; }
  [[nodiscard]] bool is_on(const device_context& ctx) const {
    return on_ && on_->device() == ctx.device();
  }
  /// For those who keep it and read it later on device(), which then waits for what has been
  /// written to its arrays since. The GIL is held.
  void ready_again() const;
  template <class T, class I, space S = space::host> csr_view<const T, I, I, S> view() const {
    return {static_cast<const T*>(values_),
            static_cast<const I*>(rowptr_),
            static_cast<const I*>(colind_),
            {rows_, cols_},
            nnz_,
            order_};
  }
  /// f(view) for the types that the matrix has, in host memory; NotImplementedError for one on a
  /// device.
  template <class F> auto visit(F f) const {
    require_host();
    return with_types<space::host>(f);
  }
  /// f(ctx, view) where the matrix is.
  template <class F> auto anywhere(F f) const {
    if (is_on_device()) return with_types<space::device>([&](auto view) { return f(*on_, view); });
    const host_context ctx = current_context();
    return with_types<space::host>([&](auto view) { return f(ctx, view); });
  }
  /// f(view, other's view), in host memory; TypeError if the two differ in their types.
  template <class F> auto visit_with(const matrix& other, F f) const {
    require_alike(other);
    return visit([&](auto a) {
      using V = decltype(a);
      return f(a, other.view<typename V::scalar_type, typename V::index_type>());
    });
  }
  /// f(ctx, view, other's view) where they are; TypeError also if they are apart.
  template <class F> auto anywhere_with(const matrix& other, F f) const {
    require_alike(other);
    return anywhere([&]<space S>(const context<S>& ctx, auto a) {
      using V = decltype(a);
      return f(ctx, a, other.view<typename V::scalar_type, typename V::index_type, S>());
    });
  }

private:
  template <space S, class F> auto with_types(F f) const {
    if (wide_)
      return doubles_ ? f(view<double, std::int64_t, S>()) : f(view<float, std::int64_t, S>());
    return doubles_ ? f(view<double, std::int32_t, S>()) : f(view<float, std::int32_t, S>());
  }
  template <class A> void require_types(const A& data, const A& indices, const A& indptr);
  void take_host(nb::handle object, nb::handle data);
  void take_device(nb::handle object, nb::handle data);
  void require_host() const;
  void require_alike(const matrix& other) const;
  [[nodiscard]] std::string place() const;

  any_array arrays_[3];              // NumPy's
  nb::object device_arrays_[3];      // or these
  std::optional<device_context> on_; // where the matrix is, unless in host memory
  const void *values_ = nullptr, *colind_ = nullptr, *rowptr_ = nullptr;
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
template <class T> nb::object to_python(const host_context&, array<T> a) {
  return to_numpy(std::move(a));
}

/// (data, indices, indptr, (rows, columns), sorted, unique): what csr_array is made from.
template <class T, class I, space S>
nb::object to_python(const context<S>& ctx, csr<T, I, I, S> a) {
  const auto shape = a.shape();
  const facts order = a.order();
  auto [rowptr, colind, values] = std::move(a).release();
  return nb::make_tuple(to_python(ctx, std::move(values)), to_python(ctx, std::move(colind)),
                        to_python(ctx, std::move(rowptr)), nb::make_tuple(shape.row, shape.col),
                        order.sorted, order.unique);
}
template <class T, class I> nb::object to_python(csr<T, I, I> a) {
  return to_python(host_context(), std::move(a));
}

/// What f(ctx) returns, made while other threads of Python run.
template <class F>
  requires(std::is_invocable_v<F&, const host_context&>)
auto without_gil(F f) {
  const host_context ctx = current_context();
  const nb::gil_scoped_release released;
  return f(ctx);
}

/// f(ctx) where an array is.
template <class F> auto where(nb::handle array, F f) {
  if (const device_array* a = nullptr; nb::try_cast(array, a, false))
    return f(device_context_on(a->device));
  return f(current_context());
}

/// The product with a dense operand, a vector or a matrix: f(x, y) makes y, which has so many rows,
/// of x. It goes into `out`, or, where that is none, into a new array of x's layout; both are where
/// ctx works.
template <class T, space S, class F>
nb::object dense_product(const context<S>& ctx, nb::handle x, std::int64_t rows, nb::handle out,
                         F f) {
  const auto operand = dense_operand(ctx, x, "the dense operand");
  const auto from = columns_of<T>(operand, "the dense operand");
  const std::int64_t cols = from.shape().col;
  const int ndim = dimensions_of(operand);
  const bool by_columns = cols > 1 && from.layout() == layout::column_major;
  nb::object result =
      out.is_none() ? new_dense<T>(ctx, rows, cols, ndim, by_columns) : nb::borrow(out);
  const auto target = dense_result(ctx, result, "out");
  const auto to = columns_of<T>(target, "out");
  if (dimensions_of(target) != ndim || to.shape() != index<std::int64_t>(rows, cols))
    throw nb::value_error("lacuna: out has another shape than the product");
  without_gil([&] { f(from, to); });
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
void bind_streams(nb::module_& m);
void bind_device_array(nb::module_& m);

} // namespace lacuna::python
