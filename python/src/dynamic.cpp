// dynamic_csr for Python: one class over the four types that it may have.
#include "matrix.hpp"
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/update.hpp>

namespace lacuna::python {
namespace {

class any_dynamic {
public:
  virtual ~any_dynamic() = default;
  virtual nb::object to_csr_arrays() const = 0;
  virtual nb::object multiply_dense(const any_array& x, bool transpose_it) const = 0;
  virtual nb::object insert_batch(const any_array& data, const any_array& row, const any_array& col,
                                  int rule) = 0;
  virtual nb::object erase_batch(const any_array& row, const any_array& col) = 0;
  virtual double at(std::int64_t row, std::int64_t col) const = 0;
  virtual void compact_it() = 0;
  virtual std::int64_t size() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual std::string describe() const = 0;
};

template <class T, class I> class dynamic_of final : public any_dynamic {
public:
  explicit dynamic_of(csr_view<const T, I, I> a)
      : m_(without_gil([&](const host_context& ctx) { return to_dynamic_csr(ctx, a); })) {}

  nb::object to_csr_arrays() const override {
    return to_python(without_gil([&](const host_context& ctx) { return to_csr(ctx, m_); }));
  }
  nb::object multiply_dense(const any_array& x, bool transpose_it) const override {
    return dense_product<T>(x, transpose_it ? m_.shape().col : m_.shape().row,
                            [&](const host_context& ctx, auto from, auto to) {
                              if (transpose_it)
                                multiply(ctx, transposed(m_), from, to);
                              else
                                multiply(ctx, m_, from, to);
                            });
  }
  nb::object insert_batch(const any_array& data, const any_array& row, const any_array& col,
                          int rule) override {
    const coo_view<const T, I, I> entries = batch(&data, row, col);
    const update_counts counts = without_gil([&](const host_context& ctx) {
      return insert(ctx, m_, entries, {.existing = static_cast<existing>(rule)});
    });
    return nb::make_tuple(counts.inserted, counts.changed);
  }
  nb::object erase_batch(const any_array& row, const any_array& col) override {
    const coo_view<const T, I, I> entries = batch(nullptr, row, col);
    return nb::int_(
        without_gil([&](const host_context& ctx) { return erase(ctx, m_, entries); }).erased);
  }
  double at(std::int64_t row, std::int64_t col) const override {
    return entry(current_context(), m_, row, col).value_or(T{0});
  }
  void compact_it() override {
    without_gil([&](const host_context& ctx) { compact(ctx, m_); });
  }
  std::int64_t size() const override { return m_.size(); }
  std::size_t bytes() const override { return m_.bytes(); }
  std::string describe() const override {
    return m_.is_compact() ? "compact"
                           : "up to " + std::to_string(m_.segments_max()) +
                                 (m_.segments_max() == 1 ? " segment" : " segments") + " per row";
  }

private:
  static coo_view<const T, I, I> batch(const any_array* data, const any_array& row,
                                       const any_array& col, index<I> shape) {
    const auto i = vector_of<I>(row, "the list of rows"),
               j = vector_of<I>(col, "the list of columns");
    if (i.size() != j.size() ||
        (data != nullptr && static_cast<std::int64_t>(data->shape(0)) != i.size()))
      throw nb::value_error("lacuna: a batch has as many rows as columns and values");
    const T* const values = data == nullptr ? nullptr : vector_of<T>(*data, "the values").data();
    return {values, i.data(), j.data(), shape, i.size()};
  }
  coo_view<const T, I, I> batch(const any_array* data, const any_array& row,
                                const any_array& col) const {
    return batch(data, row, col, m_.shape());
  }

  dynamic_csr<T, I, I> m_;
};

} // namespace

void bind_dynamic(nb::module_& m) {
  nb::class_<any_dynamic>(m, "dynamic")
      .def("to_csr", &any_dynamic::to_csr_arrays)
      .def("multiply_dense", &any_dynamic::multiply_dense)
      .def("insert", &any_dynamic::insert_batch)
      .def("erase", &any_dynamic::erase_batch)
      .def("at", &any_dynamic::at)
      .def("compact", &any_dynamic::compact_it)
      .def("describe", [](const any_dynamic& d) { return nb::str(d.describe().c_str()); })
      .def_prop_ro("nnz", &any_dynamic::size)
      .def_prop_ro("nbytes", &any_dynamic::bytes);
  m.def("to_dynamic", [](nb::handle object) {
    const matrix a(object);
    any_dynamic* made = a.visit([](auto view) -> any_dynamic* {
      using V = decltype(view);
      return new dynamic_of<typename V::scalar_type, typename V::index_type>(view);
    });
    return nb::cast(made, nb::rv_policy::take_ownership);
  });
}

} // namespace lacuna::python
