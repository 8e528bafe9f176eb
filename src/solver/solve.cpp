#include <lacuna/solver/solve.hpp>

#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include <lacuna/op/add.hpp>
#include <lacuna/op/elementwise.hpp>
#include <lacuna/op/reorder.hpp>
#include <lacuna/op/transpose.hpp>
#include <lacuna/plan/async.hpp>

#include "solver/krylov_frame.hpp"
#include "solver/make_preconditioner.hpp"

namespace lacuna {

std::vector<std::string> solver_preconditioners() {
  std::vector<std::string> names = {"auto"};
  for (const char* const name : solving::preconditioner_names) names.emplace_back(name);
  return names;
}

namespace detail {
namespace {

/// The method that takes over where the first one found out what the matrix is; only where the
/// choice was ours.
std::optional<krylov_method> successor(krylov_method first, stop_reason why) {
  if (first == krylov_method::cg || first == krylov_method::flexible_cg) {
    if (why == stop_reason::indefinite || why == stop_reason::breakdown_pivot)
      return krylov_method::minres;
  }
  if (first == krylov_method::bicgstab &&
      (why == stop_reason::breakdown_rho || why == stop_reason::breakdown_omega ||
       why == stop_reason::breakdown_pivot))
    return krylov_method::gmres;
  return std::nullopt;
}

/// A hierarchy in float: its cycles move half of the bytes and cost no iteration. Null if T is
/// float, if A does not fit, or if residuals of b would leave float's range.
template <class T, class I, class O, space S>
preconditioner_ptr<T, S> make_in_float(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                       dense_view<const T, S> b) {
  if constexpr (std::is_same_v<T, double>) {
    constexpr double least = 1e-18, most = 1e18; // a residual is 1e-8 of b, an entry of it less
    if (b.row_stride() != 1) return nullptr;
    for (std::int64_t j = 0; j < b.shape().col; ++j) {
      const double largest = norm_inf(ctx, solving::column_of(b, j));
      if (largest != 0 && !(largest >= least && largest <= most)) return nullptr;
    }
    try {
      return std::make_shared<amg_mixed<S>>(ctx, a);
    } catch (const bad_input&) { // an entry is too large for float
    }
  }
  return nullptr;
}

/// Where the choice was ours, a preconditioner that A has none of gives way to Jacobi's.
template <class T, class I, class O, space S>
preconditioner_ptr<T, S>
make_or_give_way(const context<S>& ctx, csr_view<const T, I, O, S> a, dense_view<const T, S> b,
                 const solve_options<T, S>& options, solver_choice& choice) {
  try {
    if (options.preconditioner == "auto" && choice.preconditioner == "amg")
      if (auto hierarchy = make_in_float<T, I, O, S>(ctx, a, b)) return hierarchy;
    return solving::make_preconditioner<T, I, O, S>(ctx, choice.preconditioner, a);
  } catch (const bad_input& e) {
    if (options.preconditioner != "auto" || choice.preconditioner == "jacobi") throw;
    choice.reasons.push_back(std::string(e.what()) + ", so jacobi instead");
    choice.preconditioner = "jacobi";
    return solving::make_preconditioner<T, I, O, S>(ctx, choice.preconditioner, a);
  }
}

/// Whether what look_at_system found to be unsymmetric is no more than rounding of the largest
/// entry, as where small entries are differences of large ones. Transposes and subtracts.
template <class T, class I, class O, space S>
bool is_symmetric_as_a_whole(const context<S>& ctx, csr_view<const T, I, O, S> a) {
  const auto other = transpose(ctx, a);
  const auto difference = add(ctx, a, scaled(-1.0, other));
  return static_cast<double>(norm_inf(ctx, difference.values())) <=
         512 * static_cast<double>(std::numeric_limits<T>::epsilon()) *
             static_cast<double>(norm_inf(ctx, a.values()));
}

/// One solve: a method with a preconditioner, and those that take over from it. x goes on from one
/// to the next; iterations, seconds and histories add up.
template <class T, class I, class O, space S> class attempts {
public:
  attempts(const context<S>& ctx, csr_view<const T, I, O, S> a, const linear_operator<T, S>& op,
           dense_view<const T, S> b, dense_view<T, S> x, const solve_options<T, S>& options,
           solver_choice& choice)
      : ctx_(ctx), a_(a), op_(op), b_(b), x_(x), options_(options), choice_(choice),
        most_(solving::filled_rule<T>(options.stop, a.shape().row, false).iterations),
        guess_(ctx, x.extent()) {
    copy_bytes(ctx, guess_.data(), x.data(), guess_.bytes(), S);
  }

  solve_report run(preconditioner_ptr<T, S> m) {
    m_ = std::move(m);
    const bool ours = !options_.with && options_.preconditioner == "auto";
    const bool positive = choice_.method == krylov_method::cg;
    // Far fewer than a method may take: a stronger preconditioner pays before that.
    const std::int64_t patience =
        choice_.preconditioner == "amg" ? with_hierarchy : std::max<std::int64_t>(1000, most_ / 10);
    const bool strengthens = ours && positive && patience < most_;
    once(choice_.method, strengthens ? patience : most_);
    if (ours && broke_down() && solving::hierarchy_in_float(m_.get()))
      go_on_with("amg", std::string("in float stopped, as ") + in_words(report_.reason), patience);
    if (ours && needs_finite()) go_on_with("jacobi", "led to numbers that are not finite", most_);
    if (strengthens) strengthen();
    const auto next = successor(choice_.method, report_.reason);
    if (options_.method == "auto" && !report_.converged && next) {
      choice_.reasons.push_back(std::string(name_of(choice_.method)) + " stopped, as " +
                                in_words(report_.reason) + "; " + name_of(*next) + " went on");
      if (ours && report_.reason == stop_reason::indefinite) m_ = nullptr;
      once(*next, most_);
    }
    return std::move(report_);
  }
  [[nodiscard]] const preconditioner<T, S>* last() const { return m_.get(); }
  /// On a singular matrix x may have grown beyond use: then the guess stands.
  void keep_the_better(solve_report& report) {
    if (report.converged || report.history.empty() || report.columns.size() != 1 ||
        !(report.relative_residual > report.history.front()))
      return;
    copy_bytes(ctx_, x_.data(), guess_.data(), guess_.bytes(), S);
    ctx_.synchronize();
    choice_.reasons.push_back(fmt::format("x is the initial guess: what came of it left {:.1e}",
                                          report.relative_residual));
    solved_column& only = report.columns.front();
    only.residual *= report.history.front() / report.relative_residual;
    only.relative_residual = report.history.front();
    report.residual = only.residual;
    report.relative_residual = only.relative_residual;
  }

private:
  /// Iterations of a method on top of those before, from x if that is better than the guess.
  void once(krylov_method method, std::int64_t most) {
    krylov_options<T, S> how{options_.stop, m_, options_.restart, options_.watch};
    how.stop.iterations = most;
    if (how.stop.seconds > 0)
      how.stop.seconds = std::max(how.stop.seconds - clock_.seconds(), 1e-9);
    const bool first = report_.history.empty();
    const bool worse = !first && !(report_.relative_residual <= report_.history.front());
    if (worse) copy_bytes(ctx_, x_.data(), guess_.data(), guess_.bytes(), S);
    const solve_report before = std::move(report_);
    report_ = solve_krylov<T, S>(method, ctx_, op_, b_, x_, how);
    if (first) return;
    report_.iterations += before.iterations;
    for (std::size_t j = 0; j < report_.columns.size(); ++j)
      report_.columns[j].iterations += before.columns[j].iterations;
    auto all = before.history; // its last is the next one's first
    if (report_.history.size() > 1)
      all.insert(all.end(), report_.history.begin() + 1, report_.history.end());
    report_.history = std::move(all);
  }

  [[nodiscard]] bool needs_finite() const {
    return report_.reason == stop_reason::nan && !report_.history.empty() &&
           std::isfinite(report_.history.front()) && choice_.preconditioner != "none" &&
           choice_.preconditioner != "jacobi";
  }
  /// For other reasons than that it takes too long.
  [[nodiscard]] bool broke_down() const {
    return needs_finite() || report_.reason == stop_reason::indefinite ||
           report_.reason == stop_reason::breakdown_rho ||
           report_.reason == stop_reason::breakdown_pivot;
  }
  void go_on_with(const char* name, const std::string& why, std::int64_t most) {
    choice_.reasons.push_back(choice_.preconditioner + " " + why + ", so " + name + " instead");
    choice_.preconditioner = name;
    m_ = solving::make_preconditioner<T, I, O, S>(ctx_, name, a_);
    once(choice_.method, most);
  }

  /// More work would help, or another preconditioner: this one may be what is not definite.
  [[nodiscard]] bool may_be_stronger() const {
    return !report_.converged &&
           (report_.reason == stop_reason::iteration_limit ||
            report_.reason == stop_reason::stagnation ||
            (report_.reason == stop_reason::indefinite && choice_.preconditioner == "amg"));
  }
  /// Another hierarchy after a hierarchy; then incomplete factors with the shift they need, then
  /// inverted blocks for the rest.
  void strengthen() {
    if (!may_be_stronger()) return;
    double shift = 0;
    const auto why = [&] {
      return fmt::format("{} with {} left {:.1e} after {} iterations, as {}", report_.method,
                         report_.preconditioner, report_.relative_residual, report_.iterations,
                         in_words(report_.reason));
    };
    if (choice_.preconditioner == "amg" && report_.reason != stop_reason::indefinite) {
      choice_.reasons.push_back(why() + ": classical amg");
      m_ = std::make_shared<amg<T, S>>(ctx_, a_, amg_options{.kind = amg_kind::classical});
      once(choice_.method, std::min(with_hierarchy, most_ - report_.iterations));
      if (!may_be_stronger() || report_.iterations >= most_) return;
    }
    if (auto factors = solving::make_shifted_ic0<T, I, O, S>(ctx_, a_, shift)) {
      choice_.reasons.push_back(
          why() + (shift > 0 ? fmt::format(": ic0, its diagonal shifted by {}", shift) : ": ic0"));
      choice_.preconditioner = "ic0";
      m_ = std::move(factors);
      once(choice_.method, std::max<std::int64_t>(1, (most_ - report_.iterations) / 2));
    }
    if (!may_be_stronger() || report_.iterations >= most_) return;
    try {
      auto blocks = solving::make_preconditioner<T, I, O, S>(ctx_, "block_jacobi", a_);
      choice_.reasons.push_back(why() + ": block_jacobi");
      choice_.preconditioner = "block_jacobi";
      m_ = std::move(blocks);
      once(choice_.method, most_ - report_.iterations);
    } catch (const bad_input& e) {
      choice_.reasons.push_back(std::string(e.what()));
    }
  }

  /// What a hierarchy that suits the matrix does not take.
  static constexpr std::int64_t with_hierarchy = 80;
  const context<S>& ctx_;
  csr_view<const T, I, O, S> a_;
  const linear_operator<T, S>& op_;
  dense_view<const T, S> b_;
  dense_view<T, S> x_;
  const solve_options<T, S>& options_;
  solver_choice& choice_;
  std::int64_t most_;
  array<T, S> guess_; ///< a method may leave an x that is worse than what it began with
  preconditioner_ptr<T, S> m_;
  solve_report report_;
  solving::solver_clock clock_;
};

/// What rounding the diagonal's part of A x alone leaves, relative to b: eps |D x| / |b|, the worst
/// column's. Columns are contiguous, or it is 0.
template <class T, space S>
double rounding_of(const context<S>& ctx, const array<T, S>& diagonal, dense_view<const T, S> b,
                   dense_view<const T, S> x) {
  double worst = 0;
  if (x.row_stride() != 1 || b.row_stride() != 1) return worst;
  array<T, S> product(ctx, diagonal.size());
  for (std::int64_t j = 0; j < x.shape().col; ++j) {
    multiply_elements(ctx, diagonal, solving::column_of(x, j), product);
    const auto right = static_cast<double>(norm2(ctx, solving::column_of(b, j)));
    if (right > 0) worst = std::max(worst, static_cast<double>(norm2(ctx, product)) / right);
  }
  return worst * static_cast<double>(std::numeric_limits<T>::epsilon());
}

template <class T, class I, class O, space S>
solve_report solve_as_is(const context<S>& ctx, csr_view<const T, I, O, S> a,
                         dense_view<const T, S> b, dense_view<T, S> x,
                         const solve_options<T, S>& options) {
  const solving::solver_clock clock;
  array<T, S> diagonal(ctx, a.shape().row);
  system_features features;
  if constexpr (S == space::host)
    features = cpu::look_at_system<T, I, O>(ctx, a, diagonal.view());
  else
    features = gpu::look_at_system<T, I, O>(ctx, a, diagonal.view());
  std::string nearly;
  const std::int64_t odd = features.unmatched + features.unsymmetric;
  if (features.not_finite == 0 && odd > 0 && 100 * features.unmatched < features.entries &&
      is_symmetric_as_a_whole<T, I, O, S>(ctx, a)) {
    nearly = fmt::format("symmetric but for {} entries that differ from their counterparts by "
                         "rounding of the largest entry",
                         odd);
    features.unmatched = features.unsymmetric = 0;
  }
  preconditioner_ptr<T, S> m = options.with;
  solver_choice choice =
      choose_solver(features, options.method, m ? "none" : options.preconditioner,
                    !m || m->is_linear(), !m || m->is_symmetric());
  if (!nearly.empty()) choice.reasons.insert(choice.reasons.begin(), nearly);
  if (m)
    choice.reasons.back() = m->name() + " was given";
  else
    m = make_or_give_way<T, I, O, S>(ctx, a, b, options, choice);

  std::optional<planned_operator<T, I, O, S>> planned;
  std::optional<async_operator<T, I, O, S>> later;
  std::optional<linear_operator<T, S>> op;
  const plan_hints hints{.multiplies = 500};
  if (options.storage == "planned")
    op.emplace(ctx, planned.emplace(ctx, a, hints));
  else if (options.storage == "background")
    op.emplace(ctx, later.emplace(ctx, a, hints, 0));
  else if (options.storage == "csr")
    op.emplace(ctx, a);
  else
    throw bad_input("solve: storage '" + options.storage + "' is none of planned, background, csr");
  const double prepared = clock.seconds();

  attempts<T, I, O, S> tries(ctx, a, *op, b, x, options, choice);
  solve_report report = tries.run(std::move(m));
  const bool gave_up = report.reason == stop_reason::iteration_limit ||
                       report.reason == stop_reason::time_limit ||
                       report.reason == stop_reason::stagnation;
  if (gave_up && rounding_of<T, S>(ctx, diagonal, b, x) > report.tolerance)
    report.reason = stop_reason::precision_limit;
  tries.keep_the_better(report);
  if (later) report.storage = later->format();
  report.choice = std::move(choice.reasons);
  solving::report_levels(tries.last(), report);
  report.setup_seconds += prepared;
  report.solve_seconds = clock.seconds() - report.setup_seconds;
  return report;
}

template <class T, class I, class O>
permutation<I> find_order(const host_context& host, csr_view<const T, I, O> a,
                          const std::string& order) {
  if (order == "rcm") return reverse_cuthill_mckee(host, a);
  // Sizes of CSR-k's groups on hosts, which the order is made for (docs/csr_k.md).
  if (order == "band-k") return std::move(band_k(host, a, {32, 16}).order);
  throw bad_input("solve: order '" + order + "' is none of none, rcm, band-k");
}

/// In the order of a permutation from beginning to end. The order is found on the host.
template <class T, class I, class O, space S>
solve_report solve_in_order(const context<S>& ctx, csr_view<const T, I, O, S> a,
                            dense_view<const T, S> b, dense_view<T, S> x,
                            const solve_options<T, S>& options) {
  const solving::solver_clock clock;
  const host_context& host = default_context<space::host>();
  csr<T, I, O> here, permuted;
  csr_view<const T, I, O> on_host;
  if constexpr (S == space::host) {
    on_host = a;
  } else {
    here = copy_to(host, a);
    on_host = std::as_const(here).view();
  }
  const permutation<I> order = find_order<T, I, O>(host, on_host, options.order);
  permuted = permute(host, on_host, order);
  const std::int64_t rows = x.shape().row, columns = x.shape().col;
  const auto moved = [&](auto from) { // its columns, permuted, by columns
    array<T> all(host, from.extent()), result(host, checked_mul(rows, columns)), column(host, rows);
    if constexpr (S == space::device) ctx.synchronize();
    copy_bytes(host, all.data(), from.data(), all.bytes(), S);
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < rows; ++i)
        column[i] = all[i * from.row_stride() + j * from.col_stride()];
      permute(host, order, column, vector_view<T>(result.data() + j * rows, rows));
    }
    return copy_to(ctx, result);
  };
  const array<T, S> b_moved = moved(b);
  array<T, S> x_moved = moved(dense_view<const T, S>(x));
  const index<std::int64_t> shape{rows, columns};
  const auto run = [&](csr_view<const T, I, O, S> matrix) {
    return solve_as_is<T, I, O, S>(ctx, matrix, {b_moved.data(), shape, layout::column_major},
                                   {x_moved.data(), shape, layout::column_major}, options);
  };
  const double ordered = clock.seconds();
  solve_report report;
  if constexpr (S == space::host) {
    report = run(std::as_const(permuted).view());
  } else {
    const auto there = copy_to(ctx, permuted);
    ctx.synchronize();
    report = run(there.view());
  }
  const auto solved = copy_to(host, x_moved);
  array<T> all(host, x.extent()), column(host, rows);
  copy_bytes(host, all.data(), x.data(), all.bytes(), S); // gaps stay
  for (std::int64_t j = 0; j < columns; ++j) {
    permute_back(host, order, vector_view<const T>(solved.data() + j * rows, rows), column);
    for (std::int64_t i = 0; i < rows; ++i)
      all[i * x.row_stride() + j * x.col_stride()] = column[i];
  }
  copy_bytes(ctx, x.data(), all.data(), all.bytes(), space::host);
  ctx.synchronize();
  report.choice.push_back("in the order of " + options.order + ", from beginning to end");
  report.setup_seconds += ordered;
  return report;
}

} // namespace

template <class T, class I, class O, space S>
solve_report solve_csr(const context<S>& ctx, csr_view<const T, I, O, S> a,
                       dense_view<const T, S> b, dense_view<T, S> x,
                       const solve_options<T, S>& options) {
  require_same_size("solve", "rows of A", a.shape().row, "columns of A", a.shape().col);
  require_same_size("solve", "b", b.shape().row, "rows of A", a.shape().row);
  require_same_size("solve", "x", x.shape().row, "columns of A", a.shape().col);
  require_same_size("solve", "columns of B", b.shape().col, "columns of X", x.shape().col);
  const bool in_order = options.order != "none" && !options.order.empty() && a.shape().row > 0;
  if (in_order && options.with)
    throw bad_input("solve: a preconditioner that was given is for the order that A has");
  solve_report report = in_order ? solve_in_order<T, I, O, S>(ctx, a, b, x, options)
                                 : solve_as_is<T, I, O, S>(ctx, a, b, x, options);
  if (!report.converged && options.throws) throw not_solved(std::move(report));
  return report;
}

#define LACUNA_INSTANTIATE(T, I, O, S)                                                             \
  template solve_report solve_csr(const context<S>&, csr_view<const T, I, O, S>,                   \
                                  dense_view<const T, S>, dense_view<T, S>,                        \
                                  const solve_options<T, S>&);
LACUNA_INSTANTIATE(float, std::int32_t, std::int32_t, space::host)
LACUNA_INSTANTIATE(double, std::int32_t, std::int32_t, space::host)
LACUNA_INSTANTIATE(float, std::int64_t, std::int64_t, space::host)
LACUNA_INSTANTIATE(double, std::int64_t, std::int64_t, space::host)
LACUNA_INSTANTIATE(float, std::int32_t, std::int32_t, space::device)
LACUNA_INSTANTIATE(double, std::int32_t, std::int32_t, space::device)
LACUNA_INSTANTIATE(float, std::int64_t, std::int64_t, space::device)
LACUNA_INSTANTIATE(double, std::int64_t, std::int64_t, space::device)

} // namespace detail
} // namespace lacuna
