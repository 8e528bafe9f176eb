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

any_array array_of(nb::handle object, const char* name) {
  const nb::object attribute = nb::getattr(object, name, nb::none());
  any_array result;
  if (!nb::try_cast(attribute, result) || result.ndim() != 1 ||
      (result.shape(0) > 1 && result.stride(0) != 1))
    throw_type("lacuna: %s of a %s is no contiguous array", name,
               nb::type_name(object.type()).c_str());
  return result;
}
std::int64_t size_of(const any_array& a) { return static_cast<std::int64_t>(a.shape(0)); }

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

matrix::matrix(nb::handle object)
    : data_(array_of(object, "data")), indices_(array_of(object, "indices")),
      indptr_(array_of(object, "indptr")) {
  doubles_ = holds<double>(data_);
  wide_ = holds<std::int64_t>(indices_);
  if (!doubles_ && !holds<float>(data_)) throw_type("lacuna: values are float32 or float64");
  if ((!wide_ && !holds<std::int32_t>(indices_)) || indptr_.dtype() != indices_.dtype())
    throw_type("lacuna: indices and indptr are both int32 or both int64");
  const auto shape = nb::cast<nb::tuple>(nb::getattr(object, "shape"));
  rows_ = shape.size() == 1 ? 1 : nb::cast<std::int64_t>(shape[0]);
  cols_ = nb::cast<std::int64_t>(shape[shape.size() - 1]);
  if (size_of(indptr_) != rows_ + 1)
    throw nb::value_error("lacuna: indptr has not rows + 1 elements");
  nnz_ = wide_ ? static_cast<const std::int64_t*>(indptr_.data())[rows_]
               : static_cast<const std::int32_t*>(indptr_.data())[rows_];
  if (nnz_ < 0 || size_of(indices_) < nnz_ || size_of(data_) < nnz_)
    throw nb::value_error("lacuna: indices or data are shorter than indptr says");
  // Known of our own arrays; SciPy's are looked at where it matters.
  order_ = {has_fact(object, "_sorted"), has_fact(object, "_unique")};
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
}

} // namespace lacuna::python
