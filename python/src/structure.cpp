// What changes how a matrix is stored, or takes part of it: conversions, order, selections.
#include "matrix.hpp"
#include <lacuna/op/add.hpp>
#include <lacuna/op/check.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/diagonal.hpp>
#include <lacuna/op/gather.hpp>
#include <lacuna/op/select.hpp>
#include <lacuna/op/transpose.hpp>

namespace lacuna::python {
namespace {

/// f(ctx, view) makes a csr.
template <class F> nb::object new_csr(nb::handle object, F f) {
  const matrix a(object);
  return a.anywhere([&](const auto& ctx, auto view) {
    return to_python(ctx, without_gil([&] { return f(ctx, view); }));
  });
}

nb::object transpose_csr(nb::handle a) {
  return new_csr(a, [](const auto& ctx, auto view) { return transpose(ctx, view); });
}

/// Rows in order; with `merge` duplicates are added up.
nb::object sort_csr(nb::handle a, bool merge) {
  return new_csr(a, [merge](const auto& ctx, auto view) {
    auto copy = copy_to(ctx, view);
    sort(ctx, copy);
    return merge ? merge_duplicates(ctx, copy) : std::move(copy);
  });
}

/// What V promises but for the order of its entries.
template <class V> auto with_order(const V& view, facts order) {
  return csr_view<const typename V::scalar_type, typename V::index_type, typename V::offset_type,
                  V::memory_space>(view.values().data(), view.rowptr().data(), view.colind().data(),
                                   view.shape(), view.size(), order);
}

template <class V> facts look_at_order(const host_context&, V view) {
  facts order{true, true};
  const auto rowptr = view.rowptr();
  const auto colind = view.colind();
  for (std::int64_t i = 0; i < view.shape().row && order.sorted; ++i)
    for (std::int64_t k = rowptr[i] + 1; k < rowptr[i + 1]; ++k) {
      order.sorted &= colind[k - 1] <= colind[k];
      order.unique &= colind[k - 1] < colind[k];
    }
  return {order.sorted, order.sorted && order.unique};
}
template <class V> facts look_at_order(const device_context& ctx, V view) {
  if (detail::has_ascending_rows(ctx, with_order(view, {}))) return {true, true};
  try {
    check(ctx, with_order(view, {true, false}));
    return {true, false};
  } catch (const bad_input&) {
    return {};
  }
}
/// (sorted, unique); unique is known of sorted rows alone.
nb::object order_of(nb::handle object) {
  const facts found = matrix(object).anywhere([](const auto& ctx, auto view) {
    return without_gil([&] { return look_at_order(ctx, view); });
  });
  return nb::make_tuple(found.sorted, found.unique);
}

/// ValueError that names the first broken rule of CSR.
void check_csr(nb::handle object) {
  matrix(object).anywhere(
      [](const auto& ctx, auto view) { without_gil([&] { check(ctx, with_order(view, {})); }); });
}

nb::object select_nonzero(nb::handle a) {
  return new_csr(a, [](const auto& ctx, auto v) { return filter(ctx, v, keep_nonzero); });
}
nb::object triangle(nb::handle a, std::int64_t k, bool upper) {
  return new_csr(a, [&](const auto& ctx, auto v) {
    return filter(ctx, v, upper ? keep_upper(k) : keep_lower(k));
  });
}

/// Rows or columns [first, last), or a list of the matrix's index type that is where the matrix is.
template <class I, space S> struct lines {
  lines(const context<S>& ctx, nb::handle side, const char* name) {
    if (nb::isinstance<nb::tuple>(side)) {
      range = {nb::cast<std::int64_t>(side[0]), nb::cast<std::int64_t>(side[1])};
    } else {
      held.emplace(dense_operand(ctx, side, name));
      list = vector_of<I>(*held, name);
    }
  }
  using list_type = std::conditional_t<S == space::host, any_array, device_array>;
  std::optional<list_type> held;
  vector_view<const I, S> list;
  line_range range;
};

nb::object take(nb::handle object, nb::handle rows, nb::handle columns) {
  const matrix a(object);
  return a.anywhere([&]<space S>(const context<S>& ctx, auto view) {
    using I = typename decltype(view)::index_type;
    const lines<I, S> r(ctx, rows, "the list of rows"), c(ctx, columns, "the list of columns");
    const auto by_columns = [&](const auto& chosen_rows) {
      return c.held ? gather(ctx, view, chosen_rows, c.list)
                    : submatrix(ctx, view, chosen_rows, c.range);
    };
    return to_python(
        ctx, without_gil([&] { return r.held ? by_columns(r.list) : by_columns(r.range); }));
  });
}

/// Values of elements (rows[k], columns[k]).
nb::object look_up(nb::handle object, nb::handle rows, nb::handle columns) {
  return matrix(object).anywhere([&](const auto& ctx, auto view) {
    using I = typename decltype(view)::index_type;
    const auto row_list = dense_operand(ctx, rows, "the list of rows");
    const auto column_list = dense_operand(ctx, columns, "the list of columns");
    const auto i = vector_of<I>(row_list, "the list of rows");
    const auto j = vector_of<I>(column_list, "the list of columns");
    return to_python(ctx, without_gil([&] { return elements(ctx, view, i, j); }));
  });
}

nb::object diagonal_of(nb::handle object) {
  return matrix(object).anywhere([](const auto& ctx, auto view) {
    return to_python(ctx, without_gil([&] { return diagonal(ctx, view); }));
  });
}

/// Row and column of each entry of a matrix on a device, as two vectors there.
nb::object coordinates_of(nb::handle object) {
  return matrix(object).anywhere([]<space S>(const context<S>& ctx, auto view) -> nb::object {
    if constexpr (S == space::host) {
      throw_type("lacuna: coordinates are for matrices on a device");
    } else {
      auto [rows, columns] = without_gil([&] {
        const auto entries = to_coo(ctx, view);
        return std::pair(copy_to(ctx, entries.rowind()), copy_to(ctx, entries.colind()));
      });
      return nb::make_tuple(to_python(ctx, std::move(rows)), to_python(ctx, std::move(columns)));
    }
  });
}

nb::object to_dense_array(nb::handle object, bool by_columns) {
  const matrix a(object);
  return a.anywhere([&](const auto& ctx, auto view) {
    using T = typename decltype(view)::scalar_type;
    nb::object result = new_dense<T>(ctx, a.rows(), a.cols(), 2, by_columns);
    const auto target = dense_result(ctx, result, "the result");
    const auto to = columns_of<T>(target, "the result");
    without_gil([&] { detail::fill_dense(ctx, view, to); });
    return result;
  });
}

/// f(T{}, I{}) for the types that two flags stand for.
template <class F> auto with_types(bool doubles, bool wide, F f) {
  if (wide) return doubles ? f(double{}, std::int64_t{}) : f(float{}, std::int64_t{});
  return doubles ? f(double{}, std::int32_t{}) : f(float{}, std::int32_t{});
}

nb::object from_dense(nb::handle dense, bool wide) {
  return where(dense, [&](const auto& ctx) {
    const auto x = dense_operand(ctx, dense, "the dense matrix");
    return with_types(holds<double>(x), wide, [&]<class T, class I>(T, I) {
      const auto view = columns_of<T>(x, "the dense matrix");
      return to_python(ctx, without_gil([&] { return to_csr<I, I>(ctx, view); }));
    });
  });
}

/// From coordinates, duplicates kept in their order; each index is checked.
nb::object from_coordinates(nb::handle data, nb::handle row, nb::handle col, std::int64_t rows,
                            std::int64_t cols) {
  return where(data, [&]<space S>(const context<S>& ctx) {
    const auto v = dense_operand(ctx, data, "data");
    const auto r = dense_operand(ctx, row, "row"), c = dense_operand(ctx, col, "col");
    return with_types(holds<double>(v), holds<std::int64_t>(r), [&]<class T, class I>(T, I) {
      const auto values = vector_of<T>(v, "data");
      const auto i = vector_of<I>(r, "row"), j = vector_of<I>(c, "col");
      const coo_view<const T, I, I, S> entries(values.data(), i.data(), j.data(), {rows, cols},
                                               values.size());
      return to_python(ctx, without_gil([&] { return to_csr(ctx, entries); }));
    });
  });
}

} // namespace

void bind_structure(nb::module_& m) {
  m.def("transpose", &transpose_csr);
  m.def("sort", &sort_csr);
  m.def("order_of", &order_of);
  m.def("check", &check_csr);
  m.def("select_nonzero", &select_nonzero);
  m.def("triangle", &triangle);
  m.def("take", &take);
  m.def("look_up", &look_up);
  m.def("diagonal", &diagonal_of);
  m.def("coordinates", &coordinates_of);
  m.def("to_dense", &to_dense_array);
  m.def("from_dense", &from_dense);
  m.def("from_coordinates", &from_coordinates);
}

} // namespace lacuna::python
