// Matrices element by element, by rows and columns, and put together.
#include "matrix.hpp"
#include <lacuna/op/assemble.hpp>
#include <lacuna/op/combine.hpp>
#include <lacuna/op/reduce.hpp>

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
      {"equal", comparison::equal},     {"not_equal", comparison::not_equal},
      {"less", comparison::less},       {"less_equal", comparison::less_equal},
      {"greater", comparison::greater}, {"greater_equal", comparison::greater_equal}};
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

reduction reduction_from(const std::string& name) {
  constexpr std::pair<const char*, reduction> all[] = {
      {"sum", reduction::sum},
      {"sum_of_magnitudes", reduction::sum_of_magnitudes},
      {"sum_of_squares", reduction::sum_of_squares},
      {"max", reduction::max},
      {"min", reduction::min}};
  for (const auto& [word, value] : all)
    if (name == word) return value;
  throw bad_input("reduce: there is no reduction " + name);
}
/// axis 1: an element per row, 0: per column, -1: one of all, as an array of one.
nb::object reduce_elements(nb::handle object, const char* name, int axis) {
  const reduction how = reduction_from(name);
  const matrix a(object);
  return a.visit([&](auto view) {
    using T = typename decltype(view)::scalar_type;
    return to_numpy(without_gil([&](const host_context& ctx) {
      if (axis >= 0)
        return axis == 1 ? reduce_rows(ctx, view, how) : reduce_columns(ctx, view, how);
      array<T> one(ctx, 1);
      one[0] = reduce(ctx, view, how);
      return one;
    }));
  });
}

/// Matrices of one type.
nb::object put_together(const nb::list& list, detail::stacking how, const char* op) {
  std::vector<matrix> held;
  for (const nb::handle object : list) held.emplace_back(object);
  if (held.empty()) detail::throw_no_blocks(op);
  return held.front().visit([&](auto first) {
    using V = decltype(first);
    std::vector<V> views;
    for (const matrix& a : held)
      held.front().visit_with(a, [&](auto, auto view) {
        if constexpr (std::is_same_v<decltype(view), V>) views.push_back(view);
      });
    return to_python(
        without_gil([&](const host_context& ctx) { return detail::stack(ctx, op, how, views); }));
  });
}

nb::object kronecker(nb::handle left, nb::handle right) {
  return matrix(left).visit_with(matrix(right), [](auto a, auto b) {
    return to_python(without_gil([&](const host_context& ctx) { return kron(ctx, a, b); }));
  });
}

} // namespace

void bind_elements(nb::module_& m) {
  m.def("combine", &combine_elements);
  m.def("compare", &compare_elements);
  m.def("complement", &complement_of);
  m.def("reduce", &reduce_elements);
  m.def("hstack",
        [](const nb::list& l) { return put_together(l, detail::stacking::beside, "hstack"); });
  m.def("vstack",
        [](const nb::list& l) { return put_together(l, detail::stacking::below, "vstack"); });
  m.def("block_diag", [](const nb::list& l) {
    return put_together(l, detail::stacking::diagonal, "block_diag");
  });
  m.def("kron", &kronecker);
}

} // namespace lacuna::python
