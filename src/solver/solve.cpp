#include <lacuna/solver/solve.hpp>

#include <cmath>
#include <optional>

#include <lacuna/op/reorder.hpp>
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

/// Where the choice was ours, a preconditioner that A has none of gives way to Jacobi's.
template <class T, class I, class O, space S>
preconditioner_ptr<T, S> make_or_give_way(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                          const solve_options<T, S>& options,
                                          solver_choice& choice) {
  try {
    return solving::make_preconditioner<T, I, O, S>(ctx, choice.preconditioner, a);
  } catch (const bad_input& e) {
    if (options.preconditioner != "auto" || choice.preconditioner == "jacobi") throw;
    choice.reasons.push_back(std::string(e.what()) + ", so jacobi instead");
    choice.preconditioner = "jacobi";
    return solving::make_preconditioner<T, I, O, S>(ctx, choice.preconditioner, a);
  }
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
  preconditioner_ptr<T, S> m = options.with;
  solver_choice choice =
      choose_solver(features, options.method, m ? "none" : options.preconditioner,
                    !m || m->is_linear(), !m || m->is_symmetric());
  if (m)
    choice.reasons.back() = m->name() + " was given";
  else
    m = make_or_give_way<T, I, O, S>(ctx, a, options, choice);

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

  krylov_options<T, S> how{options.stop, m, options.restart, options.watch};
  const bool may_give_way = !options.with && options.preconditioner == "auto" &&
                            choice.preconditioner != "none" && choice.preconditioner != "jacobi";
  // On a singular matrix CG may leave an x that is worse than what it began with, and incomplete
  // factors may overflow.
  array<T, S> guess;
  if (may_give_way ||
      (options.method == "auto" && successor(choice.method, stop_reason::indefinite))) {
    guess = array<T, S>(ctx, x.extent());
    copy_bytes(ctx, guess.data(), x.data(), guess.bytes(), S);
  }
  solve_report report = solve_krylov<T, S>(choice.method, ctx, *op, b, x, how);
  if (may_give_way && report.reason == stop_reason::nan && !report.history.empty() &&
      std::isfinite(report.history.front())) {
    choice.reasons.push_back(choice.preconditioner +
                             " led to numbers that are not finite, so jacobi instead");
    m = solving::make_preconditioner<T, I, O, S>(ctx, "jacobi", a);
    how.preconditioner = m;
    copy_bytes(ctx, x.data(), guess.data(), guess.bytes(), S);
    report = solve_krylov<T, S>(choice.method, ctx, *op, b, x, how);
  }
  const auto next = successor(choice.method, report.reason);
  if (options.method == "auto" && !report.converged && next) {
    choice.reasons.push_back(std::string(name_of(choice.method)) + " stopped, as " +
                             in_words(report.reason) + "; " + name_of(*next) + " went on");
    if (how.stop.seconds > 0) how.stop.seconds = std::max(how.stop.seconds - clock.seconds(), 1e-9);
    if (!guess.empty() && !(report.relative_residual <= report.history.front()))
      copy_bytes(ctx, x.data(), guess.data(), guess.bytes(), S);
    const bool keep = report.reason != stop_reason::indefinite || options.preconditioner != "auto";
    if (!keep && !options.with) how.preconditioner = nullptr;
    const solve_report before = std::move(report);
    report = solve_krylov<T, S>(*next, ctx, *op, b, x, how);
    report.iterations += before.iterations;
    // Its first residual is the last one before.
    auto all = before.history;
    if (report.history.size() > 1)
      all.insert(all.end(), report.history.begin() + 1, report.history.end());
    report.history = std::move(all);
  }
  if (later) report.storage = later->format();
  report.choice = std::move(choice.reasons);
  solving::report_levels(m.get(), report);
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
