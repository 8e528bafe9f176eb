// Matrices element by element, by rows and columns, and put together.
#include "matrix.hpp"
#include <lacuna/op/assemble.hpp>
#include <lacuna/op/combine.hpp>
#include <lacuna/op/map_values.hpp>
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
  return matrix(left).anywhere_with(matrix(right), [&](const auto& ctx, auto a, auto b) {
    return to_python(ctx, without_gil([&] { return combine(ctx, a, b, rule); }));
  });
}
nb::object compare_elements(nb::handle left, nb::handle right, const char* name) {
  const comparison holds = comparison_from(name);
  return matrix(left).anywhere_with(matrix(right), [&](const auto& ctx, auto a, auto b) {
    return to_python(ctx, without_gil([&] { return compare(ctx, a, b, holds); }));
  });
}
nb::object complement_of(nb::handle object) {
  return matrix(object).anywhere([](const auto& ctx, auto view) {
    return to_python(ctx, without_gil([&] { return complement(ctx, view); }));
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
/// axis 1: an element per row, 0: per column, where the matrix is; -1: one of all, in an array of
/// NumPy's.
nb::object reduce_elements(nb::handle object, const char* name, int axis) {
  const reduction how = reduction_from(name);
  return matrix(object).anywhere([&](const auto& ctx, auto view) {
    if (axis >= 0)
      return to_python(ctx, without_gil([&] {
                         return axis == 1 ? reduce_rows(ctx, view, how)
                                          : reduce_columns(ctx, view, how);
                       }));
    array<typename decltype(view)::scalar_type> one(host_context(), 1);
    one[0] = without_gil([&] { return reduce(ctx, view, how); });
    return to_numpy(std::move(one));
  });
}

/// Entries of each row (axis 1) or column (0).
nb::object count_entries(nb::handle object, int axis) {
  return matrix(object).anywhere([&](const auto& ctx, auto view) {
    return to_python(ctx, without_gil([&] {
                       return axis == 1 ? row_sizes(ctx, view) : column_sizes(ctx, view);
                     }));
  });
}

value_function function_from(const std::string& name) {
  using enum value_function;
  constexpr std::pair<const char*, value_function> all[] = {
      {"absolute", abs}, {"sign", sign},   {"sqrt", sqrt},   {"power", power},   {"expm1", expm1},
      {"log1p", log1p},  {"sin", sin},     {"tan", tan},     {"arcsin", asin},   {"arctan", atan},
      {"sinh", sinh},    {"tanh", tanh},   {"floor", floor}, {"arcsinh", asinh}, {"arctanh", atanh},
      {"ceil", ceil},    {"trunc", trunc}, {"rint", rint}};
  for (const auto& [word, value] : all)
    if (name == word) return value;
  throw unsupported("lacuna: " + name +
                    " of elements is not there on a device as yet; "
                    "A.to(\"cpu\") copies the matrix to the host");
}
/// A function of every stored value, by NumPy's name.
nb::object map_elements(nb::handle object, const char* name, double exponent) {
  const value_function f = function_from(name);
  return matrix(object).anywhere([&](const auto& ctx, auto view) {
    return to_python(ctx, without_gil([&] { return map_values(ctx, view, f, exponent); }));
  });
}

/// Matrices of one type and place.
nb::object put_together(const nb::list& list, detail::stacking how, const char* op) {
  std::vector<matrix> held;
  for (const nb::handle object : list) held.emplace_back(object);
  if (held.empty()) detail::throw_no_blocks(op);
  return held.front().anywhere([&](const auto& ctx, auto first) {
    using V = decltype(first);
    std::vector<V> views;
    for (const matrix& a : held)
      held.front().anywhere_with(a, [&](const auto&, auto, auto view) {
        if constexpr (std::is_same_v<decltype(view), V>) views.push_back(view);
      });
    return to_python(ctx, without_gil([&] { return detail::stack(ctx, op, how, views); }));
  });
}

nb::object kronecker(nb::handle left, nb::handle right) {
  return matrix(left).anywhere_with(matrix(right), [](const auto& ctx, auto a, auto b) {
    return to_python(ctx, without_gil([&] { return kron(ctx, a, b); }));
  });
}

} // namespace

void bind_elements(nb::module_& m) {
  m.def("combine", &combine_elements);
  m.def("compare", &compare_elements);
  m.def("complement", &complement_of);
  m.def("reduce", &reduce_elements);
  m.def("count_entries", &count_entries);
  m.def("map_values", &map_elements);
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
