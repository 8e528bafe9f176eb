// Two matrices element by element.
#include "matrix.hpp"
#include <lacuna/op/combine.hpp>

namespace lacuna::python {
namespace {

element_rule rule_from(const std::string& name) {
  if (name == "stored_times") return element_rule::stored_times;
  if (name == "minimum") return element_rule::minimum;
  if (name == "maximum") return element_rule::maximum;
  throw bad_input("combine: there is no rule " + name);
}
comparison comparison_from(const std::string& name) {
  constexpr std::pair<const char*, comparison> all[] = {
      {"equal", comparison::equal},           {"not_equal", comparison::not_equal},
      {"less", comparison::less},             {"less_equal", comparison::less_equal},
      {"greater", comparison::greater},       {"greater_equal", comparison::greater_equal}};
  for (const auto& [word, value] : all)
    if (name == word) return value;
  throw bad_input("compare: there is no comparison " + name);
}

nb::object combine_elements(nb::handle left, nb::handle right, const char* name) {
  const element_rule rule = rule_from(name);
  return matrix(left).visit_with(matrix(right), [&](auto a, auto b) {
    return to_python(
        without_gil([&](const host_context& ctx) { return combine(ctx, a, b, rule); }));
  });
}
nb::object compare_elements(nb::handle left, nb::handle right, const char* name) {
  const comparison holds = comparison_from(name);
  return matrix(left).visit_with(matrix(right), [&](auto a, auto b) {
    return to_python(
        without_gil([&](const host_context& ctx) { return compare(ctx, a, b, holds); }));
  });
}
nb::object complement_of(nb::handle object) {
  const matrix a(object);
  return a.visit([&](auto view) {
    return to_python(without_gil([&](const host_context& ctx) { return complement(ctx, view); }));
  });
}

} // namespace

void bind_elements(nb::module_& m) {
  m.def("combine", &combine_elements);
  m.def("compare", &compare_elements);
  m.def("complement", &complement_of);
}

} // namespace lacuna::python
