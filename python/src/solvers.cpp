// Krylov methods, solve(), multigrid and triangular solves. Long calls run without the GIL; a watch
// takes it now and then to see whether Ctrl-C was pressed.
#include <chrono>
#include <cstring>
#include <optional>

#include "matrix.hpp"
#include <lacuna/op/triangular_solve.hpp>
#include <lacuna/solver/amg.hpp>
#include <lacuna/solver/ilu.hpp>
#include <lacuna/solver/jacobi.hpp>
#include <lacuna/solver/krylov.hpp>
#include <lacuna/solver/solve.hpp>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace lacuna::python {
namespace {

/// A copy for Python to keep; the GIL is held.
template <class T> nb::object copied(const T* data, std::int64_t size) {
  nb::object result = new_array(std::is_same_v<T, double>, size, 1, 1, false);
  std::memcpy(nb::cast<writable_array>(result).data(), data,
              static_cast<std::size_t>(size) * sizeof(T));
  return result;
}

/// y = f(x), f a function of Python's that returns a new array.
template <class T> void call_python(nb::handle f, vector_view<const T> x, vector_view<T> y) {
  const nb::gil_scoped_acquire held;
  const nb::object value = nb::module_::import_("numpy").attr("ascontiguousarray")(
      nb::object(f(copied(x.data(), x.size()))), std::is_same_v<T, double> ? "d" : "f");
  const nb::object flat = value.attr("ravel")();
  const auto result = vector_of<T>(nb::cast<any_array>(flat), "what the operator returned");
  if (result.size() != y.size()) throw nb::value_error("lacuna: an operator returned another size");
  std::memcpy(y.data(), result.data(), static_cast<std::size_t>(y.size()) * sizeof(T));
}

template <class T> class python_preconditioner final : public preconditioner<T> {
public:
  python_preconditioner(nb::handle f, std::int64_t size) : f_(f), size_(size) {}
  [[nodiscard]] std::int64_t size() const override { return size_; }
  void apply(const host_context&, vector_view<const T> r, vector_view<T> z) const override {
    call_python<T>(f_, r, z);
  }
  [[nodiscard]] std::string name() const override { return "a function"; }
  [[nodiscard]] std::size_t bytes() const override { return 0; }

private:
  nb::handle f_; // the caller of the solver holds it
  std::int64_t size_;
};

/// One of Lacuna's preconditioners, in either type; it looks at the matrix, which it holds.
struct any_preconditioner {
  std::optional<matrix> kept;
  preconditioner_ptr<double> in_double;
  preconditioner_ptr<float> in_float;
  std::string text;

  template <class T> const preconditioner_ptr<T>& get() const {
    if constexpr (std::is_same_v<T, double>)
      return in_double;
    else
      return in_float;
  }
  template <class T> void set(preconditioner_ptr<T> p) {
    if constexpr (std::is_same_v<T, double>)
      in_double = std::move(p);
    else
      in_float = std::move(p);
  }
  [[nodiscard]] std::string name() const {
    return in_double ? in_double->name() : in_float->name();
  }
  [[nodiscard]] std::size_t bytes() const {
    return in_double ? in_double->bytes() : in_float->bytes();
  }
  [[nodiscard]] nb::object apply(const any_array& r) const {
    const auto with = [&]<class T>(const preconditioner_ptr<T>& p) {
      const auto from = vector_of<T>(r, "the vector");
      detail::require_same_size("preconditioner", "the vector", from.size(), "rows", p->size());
      return to_numpy(without_gil([&](const host_context& ctx) {
        array<T> z(ctx, from.size());
        p->apply(ctx, from, z.view());
        return z;
      }));
    };
    return in_double ? with(in_double) : with(in_float);
  }
};

/// One of these words; ValueError that lists them.
template <class E>
E choice_of(const char* what, const std::string& word,
            std::initializer_list<std::pair<const char*, E>> words) {
  std::string known;
  for (const auto& [name, value] : words) {
    if (word == name) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw bad_input(std::string("amg: ") + what + " is one of " + known + ", not " + word);
}

amg_options options_from(const nb::dict& given) {
  amg_options o;
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    if (name == "kind")
      o.kind = choice_of<amg_kind>("kind", nb::cast<std::string>(value),
                                   {{"smoothed_aggregation", amg_kind::smoothed_aggregation},
                                    {"classical", amg_kind::classical}});
    else if (name == "smoother")
      o.smoother = choice_of<amg_smoother>("smoother", nb::cast<std::string>(value),
                                           {{"jacobi", amg_smoother::jacobi},
                                            {"l1_jacobi", amg_smoother::l1_jacobi},
                                            {"chebyshev", amg_smoother::chebyshev},
                                            {"gauss_seidel", amg_smoother::gauss_seidel}});
    else if (name == "cycle")
      o.cycle =
          choice_of<amg_cycle>("cycle", nb::cast<std::string>(value),
                               {{"v", amg_cycle::v}, {"w", amg_cycle::w}, {"k", amg_cycle::k}});
    else if (name == "strength")
      o.strength = nb::cast<double>(value);
    else if (name == "unknowns_per_node")
      o.unknowns_per_node = nb::cast<int>(value);
    else if (name == "near_null_space")
      o.near_null_space = nb::cast<std::vector<double>>(value);
    else if (name == "prolongator_relaxation")
      o.prolongator_relaxation = nb::cast<double>(value);
    else if (name == "degree")
      o.degree = nb::cast<int>(value);
    else if (name == "pre_sweeps")
      o.pre_sweeps = nb::cast<int>(value);
    else if (name == "post_sweeps")
      o.post_sweeps = nb::cast<int>(value);
    else if (name == "most_levels")
      o.most_levels = nb::cast<int>(value);
    else if (name == "coarse_rows")
      o.coarse_rows = nb::cast<int>(value);
    else
      throw nb::type_error(("lacuna: amg has no option " + name).c_str());
  }
  return o;
}

any_preconditioner* make_preconditioner(const std::string& kind, nb::handle object,
                                        const nb::dict& given) {
  auto made = std::make_unique<any_preconditioner>();
  made->kept.emplace(object);
  const amg_options options = kind == "amg" ? options_from(given) : amg_options{};
  made->kept->visit([&](auto view) {
    using T = typename decltype(view)::scalar_type;
    without_gil([&](const host_context& ctx) {
      if (kind == "amg") {
        auto p = std::make_shared<amg<T>>(ctx, view, options);
        made->text = p->explain();
        made->set<T>(std::move(p));
      } else if (kind == "jacobi") {
        made->set<T>(std::make_shared<jacobi<T>>(ctx, view));
      } else if (kind == "ilu0") {
        made->set<T>(std::make_shared<ilu0<T>>(ctx, view));
      } else if (kind == "ic0") {
        made->set<T>(std::make_shared<ic0<T>>(ctx, view));
      } else {
        throw bad_input("preconditioner: amg, jacobi, ilu0 or ic0, not " + kind);
      }
    });
  });
  if (made->text.empty()) made->text = made->name();
  return made.release();
}

/// A watch that calls back and sees Ctrl-C. Python's exceptions end the method, and are thrown when
/// it has returned.
class interruptible {
public:
  /// callback(x) or, where x is null, callback(relative residual); None: none.
  interruptible(nb::handle callback, nb::handle x) : callback_(callback), x_(x) {}

  solve_watch watch() {
    return [this](const solve_progress& p) {
      using clock = std::chrono::steady_clock;
      const auto now = clock::now();
      if (callback_.is_none() && now - looked_ < std::chrono::milliseconds(50)) return true;
      looked_ = now;
      const nb::gil_scoped_acquire held;
      try {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!callback_.is_none()) {
          if (x_.is_valid())
            callback_(x_);
          else
            callback_(p.relative_residual);
        }
        return true;
      } catch (nb::python_error& e) {
        raised_.emplace(std::move(e));
        return false;
      }
    };
  }
  void rethrow() {
    if (raised_) throw nb::python_error(std::move(*raised_));
  }

private:
  nb::handle callback_, x_;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
  std::optional<nb::python_error> raised_;
};

template <class T> preconditioner_ptr<T> preconditioner_from(nb::handle m, std::int64_t size) {
  if (m.is_none()) return nullptr;
  if (const any_preconditioner* ours = nullptr; nb::try_cast(m, ours) && ours->get<T>())
    return ours->get<T>();
  return std::make_shared<python_preconditioner<T>>(m, size);
}

nb::object as_python(const solve_report& r) {
  return nb::make_tuple(r.converged, name_of(r.reason), r.iterations, r.relative_residual, r.text(),
                        r.json());
}

krylov_method method_from(const std::string& name) {
  using enum krylov_method;
  for (const krylov_method m : {cg, flexible_cg, minres, bicgstab, gmres})
    if (name == name_of(m)) return m;
  throw bad_input("krylov: there is no method " + name);
}

/// x holds the initial guess, then the solution. `a` is a matrix, or a function where `shape` says
/// how large it is.
nb::object krylov(const std::string& method, nb::handle a, bool is_function, const any_array& b,
                  const writable_array& x, nb::handle m, double rtol, double atol,
                  std::int64_t maxiter, int restart, nb::handle callback, nb::handle callback_x) {
  const auto run = [&]<class T>(T) {
    const auto right = columns_of<T>(b, "b");
    const auto solution = columns_of<T>(x, "x");
    interruptible signals(callback, callback_x.is_none() ? nb::handle() : callback_x);
    krylov_options<T, space::host> options;
    options.stop = {.relative = rtol, .absolute = atol, .iterations = maxiter};
    options.preconditioner = preconditioner_from<T>(m, right.shape().row);
    options.restart = restart;
    options.watch = signals.watch();
    const auto solve_with = [&](const auto& op) {
      return without_gil([&](const host_context& ctx) {
        return detail::solve_krylov<T, space::host>(
            method_from(method), ctx, detail::as_linear_operator<T, space::host>(ctx, op), right,
            solution, options);
      });
    };
    solve_report report;
    if (is_function) {
      const std::int64_t n = right.shape().row;
      const linear_operator<T> op({n, n}, [a](const host_context&, auto from, auto to) {
        for (std::int64_t j = 0; j < from.shape().col; ++j)
          call_python<T>(a, {from.data() + j * from.col_stride(), from.shape().row},
                         {to.data() + j * to.col_stride(), to.shape().row});
      });
      report = solve_with(op);
    } else {
      const matrix held(a);
      if (held.has_doubles() != std::is_same_v<T, double>)
        throw_type("lacuna: the matrix and x differ in type");
      report = held.is_wide() ? solve_with(held.view<T, std::int64_t>())
                              : solve_with(held.view<T, std::int32_t>());
    }
    signals.rethrow();
    return as_python(report);
  };
  return holds<double>(x) ? run(double{}) : run(float{});
}

nb::object solve_system(nb::handle object, const any_array& b, const writable_array& x,
                        const std::string& method, nb::handle with, double rtol, double atol,
                        std::int64_t maxiter) {
  const matrix a(object);
  return a.visit([&](auto view) {
    using T = typename decltype(view)::scalar_type;
    const auto right = columns_of<T>(b, "b");
    const auto solution = columns_of<T>(x, "x");
    interruptible signals{nb::none(), nb::handle()};
    solve_options<T, space::host> options;
    options.stop = {.relative = rtol, .absolute = atol, .iterations = maxiter};
    options.method = method;
    if (nb::isinstance<nb::str>(with))
      options.preconditioner = nb::cast<std::string>(with);
    else
      options.with = preconditioner_from<T>(with, right.shape().row);
    options.watch = signals.watch();
    options.throws = false;
    const solve_report report = without_gil(
        [&](const host_context& ctx) { return solve(ctx, view, right, solution, options); });
    signals.rethrow();
    return as_python(report);
  });
}

void solve_triangle(nb::handle object, const any_array& b, const writable_array& x, bool lower,
                    bool unit) {
  const matrix a(object);
  a.visit([&](auto view) {
    using T = typename decltype(view)::scalar_type;
    const auto right = columns_of<T>(b, "b");
    const auto solution = columns_of<T>(x, "x");
    without_gil([&](const host_context& ctx) {
      const auto by = [&](auto triangle, auto diagonal) {
        triangular_solve(ctx, view, triangle, diagonal, right, solution);
      };
      if (lower)
        unit ? by(lower_triangle, implicit_unit_diagonal) : by(lower_triangle, explicit_diagonal);
      else
        unit ? by(upper_triangle, implicit_unit_diagonal) : by(upper_triangle, explicit_diagonal);
    });
  });
}

} // namespace

void bind_solvers(nb::module_& m) {
  nb::class_<any_preconditioner>(m, "preconditioner")
      .def("__call__", &any_preconditioner::apply, nb::arg("r").noconvert())
      .def("explain", [](const any_preconditioner& p) { return p.text; })
      .def_prop_ro("name", &any_preconditioner::name)
      .def_prop_ro("nbytes", &any_preconditioner::bytes);
  m.def("make_preconditioner", &make_preconditioner, nb::rv_policy::take_ownership);
  m.def("krylov", &krylov, nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg().none(), nb::arg().none());
  m.def("solve", &solve_system, nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(),
        nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
  m.def("solve_triangle", &solve_triangle, nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg(), nb::arg());
}

} // namespace lacuna::python
