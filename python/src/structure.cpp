// What changes how a matrix is stored, or takes part of it: conversions, order, selections.
#include "matrix.hpp"
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
  return a.visit([&](auto view) {
    return to_python(without_gil([&](const host_context& ctx) { return f(ctx, view); }));
  });
}

nb::object transpose_csr(nb::handle a) {
  return new_csr(a, [](const host_context& ctx, auto view) { return transpose(ctx, view); });
}

/// Rows in order; with `merge` duplicates are added up.
nb::object sort_csr(nb::handle a, bool merge) {
  return new_csr(a, [merge](const host_context& ctx, auto view) {
    auto copy = copy_to(ctx, view);
    sort(ctx, copy);
    return merge ? merge_duplicates(ctx, copy) : std::move(copy);
  });
}

/// (sorted, unique); unique is known of sorted rows alone.
nb::object order_of(nb::handle object) {
  const matrix a(object);
  const facts found = a.visit([&](auto view) {
    return without_gil([&](const host_context&) {
      facts order{true, true};
      const auto rowptr = view.rowptr();
      const auto colind = view.colind();
      for (std::int64_t i = 0; i < view.shape().row && order.sorted; ++i)
        for (std::int64_t k = rowptr[i] + 1; k < rowptr[i + 1]; ++k) {
          order.sorted &= colind[k - 1] <= colind[k];
          order.unique &= colind[k - 1] < colind[k];
        }
      return facts{order.sorted, order.sorted && order.unique};
    });
  });
  return nb::make_tuple(found.sorted, found.unique);
}

/// ValueError that names the first broken rule of CSR.
void check_csr(nb::handle object) {
  const matrix a(object);
  a.visit([&](auto view) {
    using V = decltype(view);
    const csr_view<const typename V::scalar_type, typename V::index_type, typename V::offset_type>
        without_facts(view.values().data(), view.rowptr().data(), view.colind().data(),
                      view.shape(), view.size());
    without_gil([&](const host_context& ctx) { check(ctx, without_facts); });
  });
}

nb::object select_nonzero(nb::handle a) {
  return new_csr(a, [](const host_context& ctx, auto v) { return filter(ctx, v, keep_nonzero); });
}
nb::object triangle(nb::handle a, std::int64_t k, bool upper) {
  return new_csr(a, [&](const host_context& ctx, auto v) {
    return filter(ctx, v, upper ? keep_upper(k) : keep_lower(k));
  });
}

/// Rows and columns [first, last), or lists of the matrix's index type.
nb::object take(nb::handle object, nb::handle rows, nb::handle columns) {
  const matrix a(object);
  const auto range = [](nb::handle side) {
    return line_range{nb::cast<std::int64_t>(side[0]), nb::cast<std::int64_t>(side[1])};
  };
  any_array row_list, column_list;
  const bool by_row_list = !nb::isinstance<nb::tuple>(rows);
  const bool by_column_list = !nb::isinstance<nb::tuple>(columns);
  if (by_row_list) row_list = nb::cast<any_array>(rows);
  if (by_column_list) column_list = nb::cast<any_array>(columns);
  const line_range row_range = by_row_list ? line_range{} : range(rows);
  const line_range column_range = by_column_list ? line_range{} : range(columns);
  return a.visit([&](auto view) {
    using I = typename decltype(view)::index_type;
    const auto r =
        by_row_list ? vector_of<I>(row_list, "the list of rows") : vector_view<const I>();
    const auto c =
        by_column_list ? vector_of<I>(column_list, "the list of columns") : vector_view<const I>();
    return to_python(without_gil([&](const host_context& ctx) {
      if (by_row_list)
        return by_column_list ? gather(ctx, view, r, c) : submatrix(ctx, view, r, column_range);
      return by_column_list ? gather(ctx, view, row_range, c)
                            : submatrix(ctx, view, row_range, column_range);
    }));
  });
}

/// Values of elements (rows[k], columns[k]).
nb::object look_up(nb::handle object, const any_array& rows, const any_array& columns) {
  const matrix a(object);
  return a.visit([&](auto view) {
    using I = typename decltype(view)::index_type;
    const auto i = vector_of<I>(rows, "the list of rows");
    const auto j = vector_of<I>(columns, "the list of columns");
    return to_numpy(
        without_gil([&](const host_context& ctx) { return elements(ctx, view, i, j); }));
  });
}

nb::object diagonal_of(nb::handle object) {
  const matrix a(object);
  return a.visit([&](auto view) {
    return to_numpy(without_gil([&](const host_context& ctx) { return diagonal(ctx, view); }));
  });
}

nb::object to_dense_array(nb::handle object, bool by_columns) {
  const matrix a(object);
  nb::object result = new_array(a.has_doubles(), a.rows(), a.cols(), 2, by_columns);
  const auto out = nb::cast<writable_array>(result);
  a.visit([&](auto view) {
    using T = typename decltype(view)::scalar_type;
    const dense_view<T> to(static_cast<T*>(out.data()), {a.rows(), a.cols()},
                           by_columns ? layout::column_major : layout::row_major);
    without_gil([&](const host_context& ctx) { detail::fill_dense(ctx, view, to); });
  });
  return result;
}

nb::object from_dense(const any_array& x, bool wide) {
  const auto made = [&]<class T, class I>(T, I) {
    const auto view = columns_of<T>(x, "the dense matrix");
    return to_python(without_gil([&](const host_context& ctx) { return to_csr<I, I>(ctx, view); }));
  };
  if (wide)
    return holds<double>(x) ? made(double{}, std::int64_t{}) : made(float{}, std::int64_t{});
  return holds<double>(x) ? made(double{}, std::int32_t{}) : made(float{}, std::int32_t{});
}

/// From coordinates, duplicates kept in their order; each index is checked.
nb::object from_coordinates(const any_array& data, const any_array& row, const any_array& col,
                            std::int64_t rows, std::int64_t cols) {
  const auto made = [&]<class T, class I>(T, I) {
    const auto values = vector_of<T>(data, "data");
    const auto i = vector_of<I>(row, "row"), j = vector_of<I>(col, "col");
    const coo_view<const T, I, I> entries(values.data(), i.data(), j.data(), {rows, cols},
                                          values.size());
    return to_python(without_gil([&](const host_context& ctx) { return to_csr(ctx, entries); }));
  };
  if (holds<std::int64_t>(row))
    return holds<double>(data) ? made(double{}, std::int64_t{}) : made(float{}, std::int64_t{});
  return holds<double>(data) ? made(double{}, std::int32_t{}) : made(float{}, std::int32_t{});
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
  m.def("to_dense", &to_dense_array);
  m.def("from_dense", &from_dense);
  m.def("from_coordinates", &from_coordinates);
}

} // namespace lacuna::python
