// Matrices from files and generators, and to files.
#include "matrix.hpp"
#include <lacuna/gen/generate.hpp>
#include <lacuna/io/read.hpp>
#include <lacuna/io/write.hpp>
#include <lacuna/op/cast.hpp>
#include <nanobind/stl/string.h>

namespace lacuna::python {
namespace {

/// With 32-bit indices and offsets where the entries fit, else with 64-bit ones.
template <class T> nb::object read_as(const std::string& path, const std::string& member) {
  auto file = without_gil([&](const host_context& ctx) {
    return io::read<T>(ctx, path, {.member = member, .progress = {}});
  });
  return std::visit(
      [&](auto& a) {
        using A = std::remove_cvref_t<decltype(a)>;
        if constexpr (std::is_same_v<typename A::index_type, typename A::offset_type>)
          return to_python(std::move(a));
        else
          return to_python(without_gil([&](const host_context& ctx) {
            return cast<T, std::int64_t, std::int64_t>(ctx, a);
          }));
      },
      file.matrix);
}
nb::object read_file(const std::string& path, const std::string& member, bool doubles) {
  return doubles ? read_as<double>(path, member) : read_as<float>(path, member);
}

void write_file(const std::string& path, nb::handle object) {
  const matrix a(object);
  a.visit([&](auto view) {
    without_gil([&](const host_context& ctx) { io::write(ctx, path, view); });
  });
}

template <class T> nb::object generate_as(const std::string& spec) {
  const gen::size size = gen::expected_size(spec);
  constexpr std::int64_t narrow = std::numeric_limits<std::int32_t>::max();
  if (size.rows > narrow || size.cols > narrow || size.entries > narrow)
    return to_python(without_gil([&](const host_context& ctx) {
      return gen::generate<T, std::int64_t, std::int64_t>(ctx, spec);
    }));
  return to_python(
      without_gil([&](const host_context& ctx) { return gen::generate<T>(ctx, spec); }));
}
nb::object generate_matrix(const std::string& spec, bool doubles) {
  return doubles ? generate_as<double>(spec) : generate_as<float>(spec);
}

nb::list list_generators() {
  nb::list all;
  for (const gen::description& d : gen::generators())
    all.append(nb::make_tuple(d.name, d.parameters, d.summary));
  return all;
}

} // namespace

void bind_files(nb::module_& m) {
  m.def("read", &read_file);
  m.def("write", &write_file);
  m.def("generate", &generate_matrix);
  m.def("generators", &list_generators);
}

} // namespace lacuna::python
