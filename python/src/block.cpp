// block_tree for Python: one class over the four types that it may have.
#include <nanobind/stl/string.h>

#include "matrix.hpp"
#include <lacuna/format/block_tree.hpp>
#include <lacuna/op/block_tree_ops.hpp>

namespace lacuna::python {
namespace {

class any_tree {
public:
  virtual ~any_tree() = default;
  virtual nb::object to_csr_arrays() const = 0;
  virtual nb::object multiply_dense(nb::handle x, nb::handle out) const = 0;
  /// Others of the same nodes.
  virtual any_tree* transposed() const = 0;
  virtual any_tree* scaled(double factor) const = 0;
  virtual any_tree* plus(const any_tree& other, double alpha, double beta) const = 0;
  virtual std::int64_t size() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual int block() const = 0;
};

template <class T, class I> class tree_of final : public any_tree {
public:
  explicit tree_of(block_tree<T, I, I> t) : t_(std::move(t)) {}

  nb::object to_csr_arrays() const override {
    return to_python(without_gil([&](const host_context& ctx) { return to_csr(ctx, t_); }));
  }
  nb::object multiply_dense(nb::handle x, nb::handle out) const override {
    const host_context ctx = current_context();
    return dense_product<T>(ctx, x, t_.shape().row, out,
                            [&](auto from, auto to) { multiply(ctx, t_, from, to); });
  }
  any_tree* transposed() const override {
    auto copy = t_;
    copy.transpose();
    return new tree_of(std::move(copy));
  }
  any_tree* scaled(double factor) const override {
    auto copy = t_;
    copy.scale(static_cast<T>(factor));
    return new tree_of(std::move(copy));
  }
  any_tree* plus(const any_tree& other, double alpha, double beta) const override {
    const auto* const same = dynamic_cast<const tree_of*>(&other);
    if (same == nullptr)
      throw_type("lacuna: the operands differ in the types of their values or indices");
    return new tree_of(without_gil([&](const host_context& ctx) {
      return add(ctx, lacuna::scaled(alpha, t_), lacuna::scaled(beta, same->t_));
    }));
  }
  std::int64_t size() const override { return t_.size(); }
  std::size_t bytes() const override { return t_.bytes(); }
  int block() const override { return t_.block(); }

private:
  block_tree<T, I, I> t_;
};

any_tree* make_tree(nb::handle object, int block) {
  const matrix a(object);
  return a.visit([&](auto view) -> any_tree* {
    using V = decltype(view);
    return new tree_of<typename V::scalar_type, typename V::index_type>(without_gil(
        [&](const host_context& ctx) { return to_block_tree(ctx, view, {.block = block}); }));
  });
}

} // namespace

void bind_block(nb::module_& m) {
  const auto owned = nb::rv_policy::take_ownership;
  nb::class_<any_tree>(m, "block_tree")
      .def("to_csr", &any_tree::to_csr_arrays)
      .def("multiply_dense", &any_tree::multiply_dense, nb::arg(), nb::arg().none() = nb::none())
      .def("transposed", &any_tree::transposed, owned)
      .def("scaled", &any_tree::scaled, owned)
      .def("plus", &any_tree::plus, owned)
      .def_prop_ro("nnz", &any_tree::size)
      .def_prop_ro("nbytes", &any_tree::bytes)
      .def_prop_ro("block", &any_tree::block);
  m.def("to_block_tree", &make_tree, owned);
}

} // namespace lacuna::python
