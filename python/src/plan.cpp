// plan(A) for Python, tuning, closures and orderings.
#include <filesystem>

#include "matrix.hpp"
#include <lacuna/op/closure.hpp>
#include <lacuna/op/reorder.hpp>
#include <lacuna/plan/plan.hpp>
#include <lacuna/plan/tune.hpp>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace lacuna::python {
namespace {

class any_plan {
public:
  virtual ~any_plan() = default;
  virtual nb::object multiply_dense(nb::handle x, bool transposed, nb::handle out) const = 0;
  virtual std::string explain() const = 0;
  virtual std::string json() const = 0;
  virtual std::string format() const = 0;
  virtual std::size_t bytes() const = 0;
};

/// Looks at the arrays of `a`, which it holds.
template <class T, class I, space S> class plan_of final : public any_plan {
public:
  plan_of(const context<S>& ctx, matrix a, const plan_hints& hints)
      : a_(std::move(a)), op_(without_gil([&] { return plan(ctx, a_.view<T, I, S>(), hints); })) {}
  nb::object multiply_dense(nb::handle x, bool transposed, nb::handle out) const override {
    const context<S>& own = op_.where();
    const context<S> ctx = callers_context(own);
    a_.ready_again();
    return dense_product<T>(ctx, x, transposed ? a_.cols() : a_.rows(), out,
                            [&](auto from, auto to) {
                              on_own_stream(ctx, own, [&] {
                                if (transposed)
                                  op_.multiply_transposed(from, to);
                                else
                                  op_.multiply(from, to);
                              });
                            });
  }
  std::string explain() const override { return op_.explain(); }
  std::string json() const override { return op_.json(); }
  std::string format() const override { return op_.format(); }
  std::size_t bytes() const override { return op_.bytes(); }

private:
  matrix a_;
  planned_operator<T, I, I, S> op_;
};

nb::object make_plan(nb::handle object, double multiplies, double transposed_multiplies,
                     bool may_reorder, const std::string& format) {
  matrix a(object);
  plan_hints hints;
  hints.multiplies = multiplies;
  hints.transposed_multiplies = transposed_multiplies;
  hints.may_reorder = may_reorder;
  hints.format = format;
  any_plan* made = a.anywhere([&]<space S>(const context<S>& where, auto view) -> any_plan* {
    using V = decltype(view);
    const context<S> ctx = where; // `a` is given away
    return new plan_of<typename V::scalar_type, typename V::index_type, S>(ctx, std::move(a),
                                                                           hints);
  });
  return nb::cast(made, nb::rv_policy::take_ownership);
}

nb::object closure_of(nb::handle object, bool reflexive) {
  return matrix(object).anywhere([&](const auto& ctx, auto view) {
    return to_python(ctx, without_gil([&] {
                       return to_csr(ctx,
                                     closure(ctx, copy_to(ctx, view), {.reflexive = reflexive}));
                     }));
  });
}

nb::object cuthill_mckee(nb::handle object) {
  const matrix a(object);
  return a.visit([&](auto view) {
    return to_numpy(without_gil([&](const host_context& ctx) {
      const auto p = reverse_cuthill_mckee(ctx, view);
      return copy_to(ctx, p.new_to_old());
    }));
  });
}

/// (whether it chooses better than before, where it was stored or "").
nb::object tune_machine(bool quick, bool store, const std::vector<std::string>& only) {
  tuning t = without_gil([&](const host_context& ctx) {
    return tune(ctx, {.quick = quick, .only = only, .progress = {}});
  });
  std::string file;
  if (store && t.better) {
    file = machine_file(t.machine.name);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    write_machine(file, t.machine);
  }
  return nb::make_tuple(t.better, file, t.judged_before.mean_slowdown(), t.judged.mean_slowdown(),
                        t.scatter());
}

} // namespace

void bind_plan(nb::module_& m) {
  nb::class_<any_plan>(m, "plan")
      .def("multiply_dense", &any_plan::multiply_dense, nb::arg(), nb::arg(),
           nb::arg().none() = nb::none())
      .def("explain", &any_plan::explain)
      .def("json", &any_plan::json)
      .def_prop_ro("format", &any_plan::format)
      .def_prop_ro("nbytes", &any_plan::bytes);
  m.def("make_plan", &make_plan);
  m.def("closure", &closure_of);
  m.def("reverse_cuthill_mckee", &cuthill_mckee);
  m.def("tune", &tune_machine);
}

} // namespace lacuna::python
