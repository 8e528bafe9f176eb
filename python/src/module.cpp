// The extension module: threads, exceptions, and the arrays of Python's matrices.
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <limits>

#include <pthread.h>

#include "matrix.hpp"
#include <lacuna/core/config.hpp>
#include <lacuna/core/error.hpp>

namespace lacuna::python {
namespace {

std::atomic<int> wanted_threads{0}; // 0: as OpenMP is set, which threadpoolctl changes
std::atomic<bool> forked{false};

any_array array_of(nb::handle object, nb::handle attribute, const char* name) {
  any_array result;
  if (!nb::try_cast(attribute, result) || result.ndim() != 1 ||
      (result.shape(0) > 1 && result.stride(0) != 1))
    throw_type("lacuna: %s of a %s is no contiguous array", name,
               nb::type_name(object.type()).c_str());
  return result;
}
std::int64_t size_of(const any_array& a) { return static_cast<std::int64_t>(a.shape(0)); }
std::int64_t size_of(const device_array& a) { return a.size(); }

bool has_fact(nb::handle object, const char* name) {
  const nb::object value = nb::getattr(object, name, nb::none());
  return value.ptr() == Py_True;
}

} // namespace

void throw_type(const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  throw nb::type_error(text);
}

host_context current_context() {
  // OpenMP's threads of the parent are not there in a forked child: it would wait for them forever.
  if (forked) return host_context({.threads = 1});
  return host_context({.threads = wanted_threads});
}

matrix::matrix(nb::handle object) {
  const auto shape = nb::cast<nb::tuple>(nb::getattr(object, "shape"));
  rows_ = shape.size() == 1 ? 1 : nb::cast<std::int64_t>(shape[0]);
  cols_ = nb::cast<std::int64_t>(shape[shape.size() - 1]);
  const nb::object data = nb::getattr(object, "data", nb::none());
  if (nb::isinstance<device_array>(data))
    take_device(object, data);
  else
    take_host(object, data);
  // Known of our own arrays; SciPy's are looked at where it matters.
  order_ = {has_fact(object, "_sorted"), has_fact(object, "_unique")};
}

/// The types and sizes of the three arrays, in host memory or on a device.
template <class A> void matrix::require_types(const A& data, const A& indices, const A& indptr) {
  doubles_ = holds<double>(data);
  wide_ = holds<std::int64_t>(indices);
  if (!doubles_ && !holds<float>(data)) throw_type("lacuna: values are float32 or float64");
  if ((!wide_ && !holds<std::int32_t>(indices)) ||
      (wide_ ? !holds<std::int64_t>(indptr) : !holds<std::int32_t>(indptr)))
    throw_type("lacuna: indices and indptr are both int32 or both int64");
  if (size_of(indptr) != rows_ + 1)
    throw nb::value_error("lacuna: indptr has not rows + 1 elements");
}

void matrix::take_host(nb::handle object, nb::handle data) {
  auto& [values, indices, indptr] = arrays_;
  values = array_of(object, data, "data");
  indices = array_of(object, nb::getattr(object, "indices", nb::none()), "indices");
  indptr = array_of(object, nb::getattr(object, "indptr", nb::none()), "indptr");
  require_types(values, indices, indptr);
  values_ = values.data(), colind_ = indices.data(), rowptr_ = indptr.data();
  nnz_ = wide_ ? static_cast<const std::int64_t*>(rowptr_)[rows_]
               : static_cast<const std::int32_t*>(rowptr_)[rows_];
  if (nnz_ < 0 || size_of(indices) < nnz_ || size_of(values) < nnz_)
    throw nb::value_error("lacuna: indices or data are shorter than indptr says");
}

void matrix::take_device(nb::handle object, nb::handle data) {
  device_arrays_[0] = nb::borrow(data);
  device_arrays_[1] = nb::getattr(object, "indices");
  device_arrays_[2] = nb::getattr(object, "indptr");
  const device_array* arrays[3];
  for (int k = 0; k < 3; ++k)
    if (!nb::try_cast(device_arrays_[k], arrays[k]) || arrays[k]->ndim != 1 ||
        !arrays[k]->has_rows_without_gaps() || arrays[k]->device != arrays[0]->device)
      throw_type("lacuna: data, indices and indptr are not all contiguous vectors on one device");
  const auto& [values, indices, indptr] = arrays;
  require_types(*values, *indices, *indptr);
  values_ = values->data, colind_ = indices->data, rowptr_ = indptr->data;
  nnz_ = indices->size(); // indptr's last element says the same: check_format tests it
  if (values->size() != nnz_)
    throw nb::value_error("lacuna: indices and data have different lengths");
  on_ = device_context_on(values->device);
  ready_again();
}
void matrix::ready_again() const {
  if (!on_) return;
  for (const nb::object& a : device_arrays_)
    nb::cast<const device_array&>(a).uses->before_reading_on(*on_);
}

void matrix::require_host() const {
  if (is_on_device())
    throw unsupported("lacuna: this operation is for matrices in host memory as yet; "
                      "A.to(\"cpu\") copies one there");
}
void matrix::require_alike(const matrix& other) const {
  if (is_on_device() != other.is_on_device() ||
      (is_on_device() && on_->device() != other.on_->device()))
    throw_type("lacuna: one operand is on %s, the other on %s: to() moves one of them",
               place().c_str(), other.place().c_str());
  if (other.doubles_ != doubles_ || other.wide_ != wide_)
    throw_type("lacuna: the operands differ in the types of their values or indices");
}
std::string matrix::place() const {
  return is_on_device() ? "cuda:" + std::to_string(on_->device()) : "cpu";
}

any_array dense_operand(const host_context&, nb::handle x, const char* name) {
  any_array made;
  if (!nb::try_cast(x, made, false))
    throw_type("lacuna: %s is no array in host memory that can be read as it is", name);
  return made;
}
writable_array dense_result(const host_context&, nb::handle y, const char* name) {
  writable_array made;
  if (!nb::try_cast(y, made, false))
    throw_type("lacuna: %s is no array in host memory that can be written to", name);
  return made;
}
device_array dense_operand(const device_context& ctx, nb::handle x, const char* name) {
  device_array made = device_array_of(x, name);
  if (made.device != ctx.device())
    throw_type("lacuna: %s is on cuda:%d and the matrix on cuda:%d", name, made.device,
               ctx.device());
  return made;
}
device_array dense_result(const device_context& ctx, nb::handle y, const char* name) {
  device_array made = dense_operand(ctx, y, name);
  if (made.read_only) throw_type("lacuna: %s is read-only", name);
  made.uses->before_writing_on(ctx);
  return made;
}

nb::object new_array(bool doubles, std::int64_t rows, std::int64_t cols, int ndim,
                     bool by_columns) {
  constexpr std::int64_t large = std::int64_t{128} << 10; // bytes: what the host context keeps
  const std::int64_t elements = checked_mul(rows, cols);
  if (elements < large / (doubles ? 8 : 4)) {
    static PyObject* const empty =
        nb::module_::import_("numpy").attr("empty").inc_ref().ptr(); // as long as the process
    const nb::object shape =
        ndim == 1 ? nb::object(nb::int_(rows)) : nb::object(nb::make_tuple(rows, cols));
    return nb::borrow(empty)(shape, doubles ? "d" : "f", by_columns ? "F" : "C");
  }
  const auto make = [&]<class T>(T) {
    auto* const owner = new array<T>(current_context(), elements);
    const nb::capsule keeper(owner, [](void* p) noexcept { delete static_cast<array<T>*>(p); });
    const std::size_t shape[2] = {static_cast<std::size_t>(rows), static_cast<std::size_t>(cols)};
    const std::int64_t strides[2] = {by_columns ? 1 : cols, by_columns ? rows : 1};
    const std::int64_t* const apart = ndim == 1 ? nullptr : strides;
    return nb::cast(nb::ndarray<nb::numpy, T>(owner->data(), static_cast<std::size_t>(ndim), shape,
                                              keeper, apart));
  };
  return doubles ? make(double{}) : make(float{});
}

NB_MODULE(_lacuna, m) {
  // The base of those below comes first: translators are asked in the reverse order.
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void*) {
        try {
          std::rethrow_exception(p);
        } catch (const out_of_memory& e) {
          PyErr_SetString(PyExc_MemoryError, e.what());
        } catch (const unsupported& e) {
          PyErr_SetString(PyExc_NotImplementedError, e.what());
        } catch (const failed& e) {
          PyErr_SetString(PyExc_OSError, e.what());
        }
      },
      nullptr);
  pthread_atfork(nullptr, nullptr, [] { forked = true; });

  m.attr("version") = LACUNA_VERSION;
  m.def("set_threads", [](int threads) { wanted_threads = threads; });
  m.def("get_threads", [] { return current_context().threads(); });
  m.def("simd_target", [] { return simd_target(); });
  m.def("built_with_cuda", [] { return built_with_cuda(); });
  bind_products(m);
  bind_elements(m);
  bind_structure(m);
  bind_solvers(m);
  bind_dynamic(m);
  bind_block(m);
  bind_plan(m);
  bind_files(m);
  bind_streams(m);
  bind_device_array(m);
}

} // namespace lacuna::python
