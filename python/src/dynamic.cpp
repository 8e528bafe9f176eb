// dynamic_csr for Python: one class over the types and places that it may have.
#include "matrix.hpp"
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/update.hpp>

namespace lacuna::python {
namespace {

class any_dynamic {
public:
  virtual ~any_dynamic() = default;
  virtual nb::object to_csr_arrays() = 0;
  virtual nb::object multiply_dense(nb::handle x, bool transpose_it, nb::handle out) = 0;
  virtual nb::object insert_batch(nb::handle data, nb::handle row, nb::handle col, int rule) = 0;
  virtual nb::object erase_batch(nb::handle row, nb::handle col) = 0;
  virtual double at(std::int64_t row, std::int64_t col) = 0;
  virtual void compact_it() = 0;
  virtual std::int64_t size() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual std::string describe() const = 0;
};

template <class T, class I, space S> class dynamic_of final : public any_dynamic {
public:
  dynamic_of(const context<S>& ctx, csr_view<const T, I, I, S> a)
      : own_(ctx), m_(without_gil([&] { return to_dynamic_csr(ctx, a); })) {}

  nb::object to_csr_arrays() override {
    return to_python(own_, run(callers_context(own_), [&] { return to_csr(own_, m_); }));
  }
  nb::object multiply_dense(nb::handle x, bool transpose_it, nb::handle out) override {
    const context<S> ctx = callers_context(own_);
    return dense_product<T>(ctx, x, transpose_it ? m_.shape().col : m_.shape().row, out,
                            [&](auto from, auto to) {
                              on_own_stream(ctx, own_, [&] {
                                if (transpose_it)
                                  multiply(own_, transposed(m_), from, to);
                                else
                                  multiply(own_, m_, from, to);
                              });
                            });
  }
  nb::object insert_batch(nb::handle data, nb::handle row, nb::handle col, int rule) override {
    const context<S> ctx = callers_context(own_);
    const batch entries(ctx, data, row, col, m_.shape());
    const update_counts counts = run(ctx, [&] {
      return insert(own_, m_, entries.view, {.existing = static_cast<existing>(rule)});
    });
    return nb::make_tuple(counts.inserted, counts.changed);
  }
  nb::object erase_batch(nb::handle row, nb::handle col) override {
    const context<S> ctx = callers_context(own_);
    const batch entries(ctx, nb::handle(), row, col, m_.shape());
    return nb::int_(run(ctx, [&] { return erase(own_, m_, entries.view); }).erased);
  }
  double at(std::int64_t row, std::int64_t col) override {
    return run(callers_context(own_), [&] { return entry(own_, m_, row, col).value_or(T{0}); });
  }
  void compact_it() override {
    run(callers_context(own_), [&] { compact(own_, m_); });
  }
  std::int64_t size() const override { return m_.size(); }
  std::size_t bytes() const override { return m_.bytes(); }
  std::string describe() const override {
    return m_.is_compact() ? "compact"
                           : "up to " + std::to_string(m_.segments_max()) +
                                 (m_.segments_max() == 1 ? " segment" : " segments") + " per row";
  }

private:
  /// Entries of Python's arrays, which it holds; without values where there are none.
  struct batch {
    batch(const context<S>& ctx, nb::handle data, nb::handle row, nb::handle col, index<I> shape)
        : rows(dense_operand(ctx, row, "the list of rows")),
          cols(dense_operand(ctx, col, "the list of columns")) {
      const auto i = vector_of<I>(rows, "the list of rows");
      const auto j = vector_of<I>(cols, "the list of columns");
      const T* of_entries = nullptr;
      std::int64_t count = i.size();
      if (data.is_valid()) {
        values.emplace(dense_operand(ctx, data, "the values"));
        const auto v = vector_of<T>(*values, "the values");
        of_entries = v.data();
        count = v.size();
      }
      if (i.size() != j.size() || i.size() != count)
        throw nb::value_error("lacuna: a batch has as many rows as columns and values");
      view = {of_entries, i.data(), j.data(), shape, count};
    }
    using array_type = std::conditional_t<S == space::host, any_array, device_array>;
    array_type rows, cols;
    std::optional<array_type> values;
    coo_view<const T, I, I, S> view;
  };

  template <class F> auto run(const context<S>& callers, F f) {
    return without_gil([&] { return on_own_stream(callers, own_, f); });
  }

  context<S> own_; // all that is done to the matrix is queued here
  dynamic_csr<T, I, I, S> m_;
};

} // namespace

void bind_dynamic(nb::module_& m) {
  nb::class_<any_dynamic>(m, "dynamic")
      .def("to_csr", &any_dynamic::to_csr_arrays)
      .def("multiply_dense", &any_dynamic::multiply_dense, nb::arg(), nb::arg(),
           nb::arg().none() = nb::none())
      .def("insert", &any_dynamic::insert_batch)
      .def("erase", &any_dynamic::erase_batch)
      .def("at", &any_dynamic::at)
      .def("compact", &any_dynamic::compact_it)
      .def("describe", [](const any_dynamic& d) { return nb::str(d.describe().c_str()); })
      .def_prop_ro("nnz", &any_dynamic::size)
      .def_prop_ro("nbytes", &any_dynamic::bytes);
  m.def("to_dynamic", [](nb::handle object) {
    const matrix a(object);
    any_dynamic* made = a.anywhere([]<space S>(const context<S>& ctx, auto view) -> any_dynamic* {
      using V = decltype(view);
      return new dynamic_of<typename V::scalar_type, typename V::index_type, S>(ctx, view);
    });
    return nb::cast(made, nb::rv_policy::take_ownership);
  });
}

} // namespace lacuna::python
