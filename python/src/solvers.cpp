// Krylov methods, solve(), multigrid and triangular solves. Long calls run without the GIL; a watch
// takes it now and then to see whether Ctrl-C was pressed.
#include <chrono>
#include <cstring>
#include <optional>
#include <variant>

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

template <class T>
void call_python(const host_context&, nb::handle f, vector_view<const T> x, vector_view<T> y) {
  call_python<T>(f, x, y);
}
/// The same on a device, where f gets a copy and returns an array that is there.
template <class T>
void call_python(const device_context& ctx, nb::handle f, vector_view<const T, space::device> x,
                 vector_view<T, space::device> y) {
  const nb::gil_scoped_acquire held;
  const nb::object value = f(to_python(ctx, copy_to(ctx, x)));
  const device_array made = dense_operand(ctx, value, "what the operator returned");
  const auto result = vector_of<T>(made, "what the operator returned");
  if (result.size() != y.size()) throw nb::value_error("lacuna: an operator returned another size");
  detail::copy_bytes(ctx, y.data(), result.data(), made.bytes(), space::device);
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

/// One of Lacuna's preconditioners, in either type and place; it looks at the matrix, which it
/// holds.
struct any_preconditioner {
  std::optional<matrix> kept;
  std::variant<preconditioner_ptr<double>, preconditioner_ptr<float>,
               preconditioner_ptr<double, space::device>, preconditioner_ptr<float, space::device>>
      made;
  std::string text;

  /// Null if it is of another type or place.
  template <class T, space S> [[nodiscard]] preconditioner_ptr<T, S> get() const {
    const auto* const found = std::get_if<preconditioner_ptr<T, S>>(&made);
    return found == nullptr ? nullptr : *found;
  }
  /// For work on ctx: behind what was queued when it was made, and its memory is freed behind that
  /// work, however it ends. Null if it is of another type or place.
  template <class T, space S>
  [[nodiscard]] preconditioner_ptr<T, S> ready_on(const context<S>& ctx) const {
    const preconditioner_ptr<T, S> p = get<T, S>();
    if (p == nullptr || !kept->is_on(ctx)) return nullptr;
    if constexpr (S == space::host) {
      return p;
    } else {
      kept->ready_again();
      const device_context& own = kept->device();
      order_streams(own.device(), own.stream(), ctx.stream());
      return {std::shared_ptr<ordered_at_end>(new ordered_at_end{ctx, own}), p.get()};
    }
  }
  [[nodiscard]] std::string name() const {
    return std::visit([](const auto& p) { return p->name(); }, made);
  }
  [[nodiscard]] std::size_t bytes() const {
    return std::visit([](const auto& p) { return p->bytes(); }, made);
  }
  [[nodiscard]] nb::object apply(nb::handle r) const {
    return kept->anywhere([&]<space S>(const context<S>& own, auto view) {
      using T = typename decltype(view)::scalar_type;
      const preconditioner_ptr<T, S> p = get<T, S>();
      const context<S> ctx = callers_context(own);
      kept->ready_again();
      const auto held = dense_operand(ctx, r, "the vector");
      const auto from = vector_of<T>(held, "the vector");
      detail::require_same_size("preconditioner", "the vector", from.size(), "rows", p->size());
      return to_python(ctx, without_gil([&] {
                         array<T, S> z(ctx, from.size());
                         on_own_stream(ctx, own, [&] { p->apply(own, from, z.view()); });
                         return z;
                       }));
    });
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
  made->kept->anywhere([&]<space S>(const context<S>& ctx, auto view) {
    using T = typename decltype(view)::scalar_type;
    without_gil([&] {
      const auto keep = [&](preconditioner_ptr<T, S> p) { made->made = std::move(p); };
      if (kind == "amg") {
        auto p = std::make_shared<amg<T, S>>(ctx, view, options);
        made->text = p->explain();
        keep(std::move(p));
      } else if (kind == "jacobi") {
        keep(std::make_shared<jacobi<T, S>>(ctx, view));
      } else if (kind == "ilu0") {
        keep(std::make_shared<ilu0<T, S>>(ctx, view));
      } else if (kind == "ic0") {
        keep(std::make_shared<ic0<T, S>>(ctx, view));
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

template <class T, space S>
preconditioner_ptr<T, S> preconditioner_from(const context<S>& ctx, nb::handle m,
                                             std::int64_t size) {
  if (m.is_none()) return nullptr;
  if (const any_preconditioner* ours = nullptr; nb::try_cast(m, ours))
    if (auto p = ours->ready_on<T, S>(ctx)) return p;
  if constexpr (S == space::host)
    return std::make_shared<python_preconditioner<T>>(m, size);
  else
    throw_type("lacuna: on a device a preconditioner is Lacuna's, made there and of the same type");
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

/// A vector that a linear_operator's function is called with, column by column.
template <class T, space S> auto column(dense_view<T, S> a, std::int64_t j) {
  return vector_view<T, S>(a.data() + j * a.col_stride(), a.shape().row);
}

/// x holds the initial guess, then the solution, and says where all is. `a` is a matrix, or a
/// function of vectors of x's size.
nb::object krylov(const std::string& method, nb::handle a, bool is_function, nb::handle b,
                  nb::handle x, nb::handle m, double rtol, double atol, std::int64_t maxiter,
                  int restart, nb::handle callback, nb::handle callback_x) {
  const auto run = [&]<class T, space S>(T, const context<S>& ctx, const auto& b_held,
                                         const auto& x_held) {
    const auto right = columns_of<T>(b_held, "b");
    const auto solution = columns_of<T>(x_held, "x");
    interruptible signals(callback, callback_x.is_none() ? nb::handle() : callback_x);
    krylov_options<T, S> options;
    options.stop = {.relative = rtol, .absolute = atol, .iterations = maxiter};
    options.preconditioner = preconditioner_from<T, S>(ctx, m, right.shape().row);
    options.restart = restart;
    options.watch = signals.watch();
    const auto solve_with = [&](const auto& op) {
      return without_gil([&] {
        return detail::solve_krylov<T, S>(method_from(method), ctx,
                                          detail::as_linear_operator<T, S>(ctx, op), right,
                                          solution, options);
      });
    };
    solve_report report;
    if (is_function) {
      const std::int64_t n = right.shape().row;
      const linear_operator<T, S> op({n, n}, [a](const context<S>& on, auto from, auto to) {
        for (std::int64_t j = 0; j < from.shape().col; ++j)
          call_python<T>(on, a, column(from, j), column(to, j));
      });
      report = solve_with(op);
    } else {
      const matrix held(a);
      if (held.has_doubles() != std::is_same_v<T, double> || !held.is_on(ctx))
        throw_type("lacuna: the matrix and x differ in type or place");
      report = held.is_wide() ? solve_with(held.view<T, std::int64_t, S>())
                              : solve_with(held.view<T, std::int32_t, S>());
    }
    signals.rethrow();
    return as_python(report);
  };
  return where(x, [&](const auto& ctx) {
    const auto right = dense_operand(ctx, b, "b");
    const auto solution = dense_result(ctx, x, "x");
    return holds<double>(solution) ? run(double{}, ctx, right, solution)
                                   : run(float{}, ctx, right, solution);
  });
}

nb::object solve_system(nb::handle object, nb::handle b, nb::handle x, const std::string& method,
                        nb::handle with, double rtol, double atol, std::int64_t maxiter) {
  const matrix a(object);
  return a.anywhere([&]<space S>(const context<S>& ctx, auto view) {
    using T = typename decltype(view)::scalar_type;
    const auto b_held = dense_operand(ctx, b, "b");
    const auto x_held = dense_result(ctx, x, "x");
    const auto right = columns_of<T>(b_held, "b");
    const auto solution = columns_of<T>(x_held, "x");
    interruptible signals{nb::none(), nb::handle()};
    solve_options<T, S> options;
    options.stop = {.relative = rtol, .absolute = atol, .iterations = maxiter};
    options.method = method;
    if (nb::isinstance<nb::str>(with))
      options.preconditioner = nb::cast<std::string>(with);
    else
      options.with = preconditioner_from<T, S>(ctx, with, right.shape().row);
    options.watch = signals.watch();
    options.throws = false;
    const solve_report report =
        without_gil([&] { return solve(ctx, view, right, solution, options); });
    signals.rethrow();
    return as_python(report);
  });
}

void solve_triangle(nb::handle object, nb::handle b, nb::handle x, bool lower, bool unit) {
  const matrix a(object);
  a.anywhere([&](const auto& ctx, auto view) {
    using T = typename decltype(view)::scalar_type;
    const auto b_held = dense_operand(ctx, b, "b");
    const auto x_held = dense_result(ctx, x, "x");
    const auto right = columns_of<T>(b_held, "b");
    const auto solution = columns_of<T>(x_held, "x");
    without_gil([&] {
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

/// Of the stored entries: Frobenius', or the largest sum of magnitudes of a row.
double norm_of(nb::handle object, bool frobenius) {
  return matrix(object).anywhere([&](const auto& ctx, auto view) {
    return without_gil([&]() -> double {
      return frobenius ? matrix_frob_norm(ctx, view) : matrix_inf_norm(ctx, view);
    });
  });
}

} // namespace

void bind_solvers(nb::module_& m) {
  nb::class_<any_preconditioner>(m, "preconditioner")
      .def("__call__", &any_preconditioner::apply)
      .def("explain", [](const any_preconditioner& p) { return p.text; })
      .def_prop_ro("name", &any_preconditioner::name)
      .def_prop_ro("nbytes", &any_preconditioner::bytes);
  m.def("make_preconditioner", &make_preconditioner, nb::rv_policy::take_ownership);
  m.def("krylov", &krylov, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());
  m.def("solve", &solve_system, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
        nb::arg(), nb::arg(), nb::arg());
  m.def("solve_triangle", &solve_triangle);
  m.def("norm", &norm_of);
}

} // namespace lacuna::python
