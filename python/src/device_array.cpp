// device_array for Python: its memory, and the protocols by which other libraries share it.
#include "device.hpp"

#include "matrix.hpp"
#include <lacuna/core/error.hpp>
#include <lacuna/op/cast.hpp>
#include <lacuna/op/vector.hpp>
#include <nanobind/stl/string.h>

namespace lacuna::python {
namespace {

constexpr int dlpack_cuda = 2, dlpack_cuda_managed = 13;
nb::handle array_type; // lacuna.device_array, as long as the process

nb::dlpack::dtype type_from(const std::string& text, const char* name) {
  if (text == "<f8") return nb::dtype<double>();
  if (text == "<f4") return nb::dtype<float>();
  if (text == "<i4") return nb::dtype<std::int32_t>();
  if (text == "<i8") return nb::dtype<std::int64_t>();
  throw_type("lacuna: %s holds %s; on a device it may be float32, float64, int32 or int64", name,
             text.c_str());
}
std::string type_text(nb::dlpack::dtype t) {
  const bool is_float = t.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float);
  return (is_float ? "<f" : "<i") + std::to_string(t.bits / 8);
}

/// f(T{}) for the type of its elements.
template <class F> auto with_type(nb::dlpack::dtype t, F f) {
  if (t == nb::dtype<double>()) return f(double{});
  if (t == nb::dtype<float>()) return f(float{});
  if (t == nb::dtype<std::int64_t>()) return f(std::int64_t{});
  return f(std::int32_t{});
}

device_array from_interface(nb::handle object, const char* name) {
  require_device(current_device());
  const auto all = nb::cast<nb::dict>(object.attr("__cuda_array_interface__"));
  const auto shape = nb::cast<nb::tuple>(all["shape"]);
  const auto place = nb::cast<nb::tuple>(all["data"]);
  if (shape.size() < 1 || shape.size() > device_array::most_dimensions)
    throw_type("lacuna: %s has %d dimensions, not one or two", name,
               static_cast<int>(shape.size()));
  if (all.contains("mask") && !all["mask"].is_none()) throw_type("lacuna: %s has a mask", name);
  void* const memory = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(place[0]));
  // Arrays without elements are nowhere: on the thread's device.
  const int device = memory != nullptr ? device_of(memory) : current_device();
  if (device < 0) throw_type("lacuna: %s is in host memory", name);
  const device_context ctx = device_context_on(device);
  device_array made(ctx, memory, type_from(nb::cast<std::string>(all["typestr"]), name),
                    nb::borrow(object));
  made.ndim = static_cast<int>(shape.size());
  for (int k = 0; k < made.ndim; ++k) made.shape[k] = nb::cast<std::int64_t>(shape[k]);
  made.stride = {made.ndim == 1 ? 1 : made.shape[1], 1};
  made.read_only = nb::cast<bool>(place[1]);
  if (all.contains("strides") && !all["strides"].is_none()) {
    const auto strides = nb::cast<nb::tuple>(all["strides"]);
    for (int k = 0; k < made.ndim; ++k) {
      const auto bytes = nb::cast<std::int64_t>(strides[k]);
      if (bytes % made.item_bytes() != 0)
        throw_type("lacuna: elements of %s are not a multiple of their size apart", name);
      made.stride[k] = bytes / made.item_bytes();
    }
  }
  if (all.contains("stream") && !all["stream"].is_none())
    order_streams(device, stream_from(nb::cast<std::uintptr_t>(all["stream"])), ctx.stream());
  return made;
}

device_array from_dlpack(nb::handle object, int device, const char* name) {
  const device_context ctx = device_context_on(device);
  const nb::object capsule = object.attr("__dlpack__")(nb::arg("stream") = number_of(ctx.stream()));
  nb::ndarray<> theirs;
  if (!nb::try_cast(capsule, theirs, false)) throw_type("lacuna: %s exports no DLPack", name);
  if (theirs.ndim() < 1 || theirs.ndim() > device_array::most_dimensions)
    throw_type("lacuna: %s has %d dimensions, not one or two", name,
               static_cast<int>(theirs.ndim()));
  const nb::dlpack::dtype t = theirs.dtype();
  const bool known = t == nb::dtype<double>() || t == nb::dtype<float>() ||
                     t == nb::dtype<std::int32_t>() || t == nb::dtype<std::int64_t>();
  if (!known)
    throw_type("lacuna: %s is not of float32, float64, int32 or int64, which a device takes", name);
  auto* const kept = new nb::ndarray<>(theirs);
  nb::capsule keeper(kept, [](void* p) noexcept { delete static_cast<nb::ndarray<>*>(p); });
  device_array made(ctx, theirs.data(), t, std::move(keeper));
  made.ndim = static_cast<int>(theirs.ndim());
  for (int k = 0; k < made.ndim; ++k) {
    made.shape[k] = static_cast<std::int64_t>(theirs.shape(k));
    made.stride[k] = theirs.stride(k);
  }
  return made;
}

/// The device that an object's memory is on by DLPack; -1: none, or it does not say.
int dlpack_device(nb::handle object) {
  if (!nb::hasattr(object, "__dlpack_device__")) return -1;
  const nb::object place = object.attr("__dlpack_device__")();
  const int kind = nb::cast<int>(place[0]), device = nb::cast<int>(place[1]);
  return kind == dlpack_cuda || kind == dlpack_cuda_managed ? device : -1;
}

bool is_on_device(nb::handle object) {
  return nb::isinstance<device_array>(object) || dlpack_device(object) >= 0 ||
         nb::hasattr(object, "__cuda_array_interface__");
}

void require_dense(const device_array& a) {
  if (!a.has_rows_without_gaps() && !a.has_columns_without_gaps())
    throw_type("lacuna: a device_array with gaps cannot be copied");
}

/// An array of the same shape and layout, of what f(ctx, from) returns.
template <class To, class From, class F> nb::object made_like(const device_array& a, F f) {
  require_dense(a);
  const device_context ctx = device_context_on(a.device);
  a.uses->before_reading_on(ctx);
  const vector_view<const From, space::device> from(static_cast<const From*>(a.data), a.size());
  array<To, space::device> made = without_gil([&] { return f(ctx, from); });
  return to_python(device_array(ctx, std::move(made), a.ndim, a.shape[0], a.shape[1],
                                !a.has_rows_without_gaps()));
}

nb::object copy_of(const device_array& a) {
  return with_type(a.type, [&]<class T>(T) {
    return made_like<T, T>(a,
                           [](const device_context& ctx, auto from) { return copy_to(ctx, from); });
  });
}

nb::object with_other_type(const device_array& a, const std::string& text) {
  const nb::dlpack::dtype wanted = type_from(text, "the result");
  return with_type(a.type, [&]<class From>(From) {
    return with_type(wanted, [&]<class To>(To) -> nb::object {
      if constexpr (std::is_floating_point_v<From> == std::is_floating_point_v<To>)
        return made_like<To, From>(a, [](const device_context& ctx, auto from) {
          return detail::cast_array<To>(ctx, from, "an index");
        });
      else
        throw_type("lacuna: integers and floats are not converted into each other on a device");
    });
  });
}

/// f(T{}) of floats.
template <class F> auto with_values(const device_array& a, F f) {
  return with_type(a.type, [&]<class T>(T t) -> decltype(f(double{})) {
    if constexpr (std::is_floating_point_v<T>)
      return f(t);
    else
      throw_type("lacuna: indices on a device are not computed with");
  });
}

nb::object scaled_copy(const device_array& a, double factor) {
  return with_values(a, [&]<class T>(T) {
    return made_like<T, T>(a, [&](const device_context& ctx, auto from) {
      auto made = copy_to(ctx, from);
      scale(ctx, factor, made);
      return made;
    });
  });
}

void scale_in_place(const device_array& a, double factor) {
  if (a.read_only) throw_type("lacuna: the array is read-only");
  require_dense(a);
  const device_context ctx = device_context_on(a.device);
  a.uses->before_writing_on(ctx);
  with_values(a, [&]<class T>(T) {
    without_gil([&] {
      scale(ctx, factor, vector_view<T, space::device>(static_cast<T*>(a.data), a.size()));
    });
  });
}

nb::object zeros(std::int64_t rows, std::int64_t cols, int ndim, bool doubles, bool by_columns,
                 int device) {
  const device_context ctx = device_context_on(device);
  const auto make = [&]<class T>(T) {
    array<T, space::device> made(ctx, checked_mul(rows, cols));
    fill(ctx, 0, made);
    return to_python(device_array(ctx, std::move(made), ndim, rows, cols, by_columns));
  };
  return doubles ? make(double{}) : make(float{});
}

nb::object to_device(const any_array& a, int device) {
  const device_context ctx = device_context_on(device);
  const auto rows = static_cast<std::int64_t>(a.shape(0));
  const std::int64_t cols = a.ndim() == 2 ? static_cast<std::int64_t>(a.shape(1)) : 1;
  const bool by_columns = a.ndim() == 2 && rows > 1 && a.stride(0) == 1;
  return with_type(a.dtype(), [&]<class T>(T) {
    array<T, space::device> made = without_gil([&] {
      auto copy = copy_to(ctx, vector_view<const T>(static_cast<const T*>(a.data()), rows * cols));
      ctx.synchronize(); // pinned memory, as CuPy's and PyTorch's, may not have been read as yet
      return copy;
    });
    return to_python(
        device_array(ctx, std::move(made), static_cast<int>(a.ndim()), rows, cols, by_columns));
  });
}

nb::tuple shape_of(const device_array& a) {
  return a.ndim == 1 ? nb::make_tuple(a.shape[0]) : nb::make_tuple(a.shape[0], a.shape[1]);
}
/// Waits for all work on the device, as copy_to.
nb::object to_host(const device_array& a) {
  require_dense(a);
  nb::object numpy = nb::module_::import_("numpy");
  const bool by_rows = a.has_rows_without_gaps();
  nb::object result =
      numpy.attr("empty")(shape_of(a), type_text(a.type).c_str(), by_rows ? "C" : "F");
  void* const to = nb::cast<writable_array>(result).data();
  without_gil([&] {
    detail::wait_for_device_of(a.data);
    detail::copy_bytes(host_context(), to, a.data, a.bytes(), space::device);
  });
  return result;
}

nb::tuple byte_strides(const device_array& a) {
  const std::int64_t b = a.item_bytes();
  return a.ndim == 1 ? nb::make_tuple(a.stride[0] * b)
                     : nb::make_tuple(a.stride[0] * b, a.stride[1] * b);
}

nb::object interface_of(const device_array& a) {
  nb::dict all;
  all["shape"] = shape_of(a);
  all["typestr"] = type_text(a.type);
  all["data"] =
      nb::make_tuple(a.size() == 0 ? 0 : reinterpret_cast<std::uintptr_t>(a.data), a.read_only);
  all["strides"] = a.has_rows_without_gaps() ? nb::none() : nb::object(byte_strides(a));
  all["version"] = 3;
  all["stream"] = number_of(a.uses->before_sharing());
  return all;
}

/// stream: the consumer's, which waits for what was done with the array; -1: it need not.
nb::object export_dlpack(nb::handle self, nb::handle stream, nb::handle /*max_version*/,
                         nb::handle dl_device, nb::handle copy) {
  nb::object kept = nb::borrow(self);
  if (copy.ptr() == Py_True) kept = copy_of(nb::cast<const device_array&>(self));
  const auto& a = nb::cast<const device_array&>(kept);
  if (!dl_device.is_none() &&
      (nb::cast<int>(dl_device[0]) != dlpack_cuda || nb::cast<int>(dl_device[1]) != a.device))
    throw nb::buffer_error("lacuna: get() copies a device_array to the host, __dlpack__ does not");
  if (a.read_only) // a capsule without a version cannot say so
    throw nb::buffer_error("lacuna: the array is read-only, copy() of it is not");
  const std::int64_t consumer = stream.is_none() ? 1 : nb::cast<std::int64_t>(stream);
  if (consumer == 0 || consumer < -1)
    throw nb::value_error("lacuna: DLPack has no stream 0, 1 is the default one, -1 is none");
  if (consumer > 0)
    order_streams(a.device, a.uses->before_sharing(),
                  stream_from(static_cast<std::uintptr_t>(consumer)));
  const std::array<std::size_t, 2> shape = {static_cast<std::size_t>(a.shape[0]),
                                            static_cast<std::size_t>(a.shape[1])};
  const nb::ndarray<> shown(a.data, static_cast<std::size_t>(a.ndim), shape.data(), kept,
                            a.stride.data(), a.type, dlpack_cuda, a.device);
  return nb::cast(shown); // a capsule without a version, which every consumer takes
}

/// Elements [first, last) of a vector, rows of a matrix.
nb::object part_of(const device_array& a, nb::handle key) {
  if (!nb::isinstance<nb::slice>(key))
    throw_type("lacuna: elements on a device are not read one by one; get() copies them all");
  const auto [first, last, step, length] =
      nb::borrow<nb::slice>(key).compute(static_cast<std::size_t>(a.shape[0]));
  if (step != 1) throw_type("lacuna: slices of a device_array have a step of 1");
  device_array part = a;
  part.shape[0] = static_cast<std::int64_t>(length);
  if (length > 0) part.data = static_cast<char*>(a.data) + first * a.stride[0] * a.item_bytes();
  return to_python(std::move(part));
}

nb::object transposed_view_of(const device_array& a) {
  device_array made = a;
  if (a.ndim == 2) {
    std::swap(made.shape[0], made.shape[1]);
    std::swap(made.stride[0], made.stride[1]);
  }
  return to_python(std::move(made));
}

/// Between vectors and matrices of one row or column.
nb::object reshaped(const device_array& a, const nb::tuple& shape) {
  if (!a.has_rows_without_gaps()) throw_type("lacuna: only arrays by rows are reshaped");
  device_array made = a;
  made.ndim = static_cast<int>(shape.size());
  if (made.ndim < 1 || made.ndim > 2)
    throw nb::value_error("lacuna: a device_array has one or two dimensions");
  made.shape = {nb::cast<std::int64_t>(shape[0]),
                made.ndim == 2 ? nb::cast<std::int64_t>(shape[1]) : 1};
  if (made.shape[0] < 0 || made.shape[1] < 0 || made.size() != a.size())
    throw nb::value_error("lacuna: the new shape has another size");
  made.stride = {made.shape[1], 1};
  return to_python(std::move(made));
}

nb::object numpy_type(const device_array& a) {
  return nb::module_::import_("numpy").attr("dtype")(type_text(a.type));
}

} // namespace

bool device_array::has_rows_without_gaps() const {
  if (ndim == 1) return shape[0] <= 1 || stride[0] == 1;
  return size() == 0 ||
         ((shape[1] <= 1 || stride[1] == 1) && (shape[0] <= 1 || stride[0] == shape[1]));
}
bool device_array::has_columns_without_gaps() const {
  if (ndim == 1) return has_rows_without_gaps();
  return size() == 0 ||
         ((shape[0] <= 1 || stride[0] == 1) && (shape[1] <= 1 || stride[1] == shape[0]));
}

device_array device_array_of(nb::handle object, const char* name) {
  if (const device_array* ours = nullptr; nb::try_cast(object, ours, false)) {
    ours->uses->before_reading_on(device_context_on(ours->device));
    return *ours;
  }
  if (const int device = dlpack_device(object); device >= 0)
    return from_dlpack(object, device, name);
  if (nb::hasattr(object, "__cuda_array_interface__")) return from_interface(object, name);
  throw_type("lacuna: %s is a %s in host memory and the matrix on a device: move one of them, by "
             "lacuna.device_array(x) or A.to(\"cpu\")",
             name, nb::type_name(object.type()).c_str());
}

nb::object to_python(device_array a) {
  nb::object made = nb::inst_alloc(array_type);
  new (nb::inst_ptr<device_array>(made)) device_array(std::move(a));
  nb::inst_mark_ready(made);
  return made;
}

void bind_device_array(nb::module_& m) {
  m.def("is_on_device", &is_on_device);
  m.def("to_device", &to_device);
  m.def("zeros_on_device", &zeros);
  m.def("shared_on_device",
        [](nb::handle object) { return to_python(device_array_of(object, "the array")); });
  m.def("set_device_array", [](nb::handle type) { array_type = type.inc_ref(); });
  nb::class_<device_array>(m, "device_memory")
      .def_prop_ro("shape", &shape_of)
      .def_prop_ro("strides", &byte_strides)
      .def_prop_ro("dtype", &numpy_type)
      .def_ro("ndim", &device_array::ndim)
      .def_prop_ro("size", &device_array::size)
      .def_prop_ro("itemsize", &device_array::item_bytes)
      .def_prop_ro("nbytes", &device_array::bytes)
      .def_ro("device_index", &device_array::device)
      .def_prop_ro("T", &transposed_view_of)
      .def("get", &to_host)
      .def("copy", &copy_of)
      .def("_as_type", &with_other_type)
      .def("_scaled", &scaled_copy)
      .def("_scale", &scale_in_place)
      .def("_reshaped", &reshaped)
      .def("__len__", [](const device_array& a) { return a.shape[0]; })
      .def("__getitem__", &part_of)
      .def_prop_ro("__cuda_array_interface__", &interface_of)
      .def("__dlpack__", &export_dlpack, nb::kw_only(), nb::arg("stream").none() = nb::none(),
           nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(),
           nb::arg("copy").none() = nb::none())
      .def("__dlpack_device__",
           [](const device_array& a) { return nb::make_tuple(dlpack_cuda, a.device); });
}

} // namespace lacuna::python
