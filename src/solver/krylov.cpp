#include <lacuna/solver/krylov.hpp>

#include <fmt/format.h>

#include "solver/bicgstab.hpp"
#include "solver/cg.hpp"
#include "solver/gmres.hpp"
#include "solver/minres.hpp"

namespace lacuna {

const char* name_of(krylov_method method) {
  switch (method) {
  case krylov_method::cg: return "cg";
  case krylov_method::flexible_cg: return "flexible_cg";
  case krylov_method::minres: return "minres";
  case krylov_method::bicgstab: return "bicgstab";
  case krylov_method::gmres: break;
  }
  return "gmres";
}

namespace detail {

mirror<space::host>::mirror(const host_context& ctx, std::int64_t size)
    : ctx_(ctx),
      data_(static_cast<double*>(ctx.allocate(static_cast<std::size_t>(size) * sizeof(double)))),
      size_(size) {
  std::fill(data_, data_ + size, 0.0);
}
mirror<space::host>::~mirror() {
  ctx_.deallocate(data_, static_cast<std::size_t>(size_) * sizeof(double));
}

namespace {

void require_system(std::int64_t rows, std::int64_t cols, index<std::int64_t> b,
                    index<std::int64_t> x, std::int64_t preconditioner) {
  require_same_size("solve", "rows of A", rows, "columns of A", cols);
  require_same_size("solve", "b", b.row, "rows of A", rows);
  require_same_size("solve", "x", x.row, "columns of A", cols);
  require_same_size("solve", "columns of B", b.col, "columns of X", x.col);
  if (preconditioner >= 0)
    require_same_size("solve", "rows of the preconditioner", preconditioner, "rows of A", rows);
}

template <class T, space S> bool has_columns(dense_view<T, S> v) {
  return v.row_stride() == 1 || v.shape().row <= 1;
}
/// Every element of one block of columns to another of another layout.
template <class T, space S>
void copy_columns(const context<S>& ctx, dense_view<const T, S> from, dense_view<T, S> to) {
  if (from.shape().row == 0 || from.shape().col == 0) return;
  const host_context& host = default_context<space::host>();
  array<T> read(host, from.extent()), written(host, to.extent());
  if constexpr (S == space::device) ctx.synchronize();
  copy_bytes(host, read.data(), from.data(), read.bytes(), S);
  copy_bytes(host, written.data(), to.data(), written.bytes(), S); // gaps stay
  for (std::int64_t j = 0; j < from.shape().col; ++j)
    for (std::int64_t i = 0; i < from.shape().row; ++i)
      written[i * to.row_stride() + j * to.col_stride()] =
          read[i * from.row_stride() + j * from.col_stride()];
  copy_bytes(ctx, to.data(), written.data(), written.bytes(), space::host);
  ctx.synchronize();
}

template <class Method, class T, space S>
void run_method(solve_report& report, const context<S>& ctx, const linear_operator<T, S>& a,
                dense_view<const T, S> b, dense_view<T, S> x, const stopping_rule& rule,
                const krylov_options<T, S>& options) {
  solving::krylov_frame<T, S> frame(ctx, a, options.preconditioner.get(), b, x, rule, options.watch,
                                    Method::slots);
  Method method(frame);
  report.setup_seconds = frame.clock.seconds();
  frame.solve(method);
  report.restarts = frame.restarts;
  report.history = frame.history();
  solving::summarise(report, std::move(frame.outcome));
}

template <class T, space S>
void run_gmres(solve_report& report, const context<S>& ctx, const linear_operator<T, S>& a,
               dense_view<const T, S> b, dense_view<T, S> x, const stopping_rule& rule,
               const krylov_options<T, S>& options) {
  if (options.restart < 1 || options.restart > 500)
    throw bad_input(fmt::format("gmres: restart is {}; 1 to 500 it may be", options.restart));
  solving::gmres_solver<T, S> solver(ctx, a, options.preconditioner.get(), rule, options.watch,
                                     options.restart);
  std::vector<solved_column> columns;
  for (std::int64_t j = 0; j < x.shape().col; ++j) {
    columns.push_back(solver.solve(solving::column_of(b, j), solving::column_of(x, j)));
    auto& worst = report.history;
    worst.resize(std::max(worst.size(), solver.history.size()), 0.0);
    for (std::size_t i = 0; i < worst.size(); ++i)
      worst[i] = std::max(worst[i], solver.history[std::min(i, solver.history.size() - 1)]);
  }
  solving::summarise(report, std::move(columns));
}

} // namespace

template <class T, space S>
solve_report solve_krylov(krylov_method method, const context<S>& ctx,
                          const linear_operator<T, S>& a, dense_view<const T, S> b,
                          dense_view<T, S> x, const krylov_options<T, S>& options) {
  const solving::solver_clock clock;
  const preconditioner<T, S>* const m = options.preconditioner.get();
  const auto [rows, cols] = a.shape();
  require_system(rows, cols, b.shape(), x.shape(), m != nullptr ? m->size() : -1);
  require_apart<T>("solve", "b", b.data(), b.extent(), "x", x.data(), x.extent());
  const stopping_rule rule =
      solving::filled_rule<T>(options.stop, rows, method == krylov_method::minres);
  solve_report report;
  report.method = name_of(method);
  report.preconditioner = m != nullptr ? m->name() : "none";
  report.storage = a.name();
  report.tolerance = rule.relative;
  // Columns that are not contiguous are solved in copies.
  solving::work_vectors<T, S> b_copy, x_copy;
  dense_view<const T, S> b_used = b;
  dense_view<T, S> x_used = x;
  if (!has_columns(b)) {
    b_copy = solving::work_vectors<T, S>(ctx, rows, b.shape().col);
    copy_columns<T, S>(ctx, b, b_copy.view());
    b_used = b_copy.view();
  }
  if (!has_columns(x)) {
    x_copy = solving::work_vectors<T, S>(ctx, rows, x.shape().col);
    copy_columns<T, S>(ctx, x, x_copy.view());
    x_used = x_copy.view();
  }
  if (rows == 0 || x.shape().col == 0) {
    solving::summarise(report, std::vector<solved_column>(static_cast<std::size_t>(x.shape().col),
                                                          {true, stop_reason::converged, 0, 0, 0}));
    report.history = {0};
    return report;
  }
  switch (method) {
  case krylov_method::cg:
    run_method<solving::cg_method<T, S, false>>(report, ctx, a, b_used, x_used, rule, options);
    break;
  case krylov_method::flexible_cg:
    run_method<solving::cg_method<T, S, true>>(report, ctx, a, b_used, x_used, rule, options);
    break;
  case krylov_method::minres:
    run_method<solving::minres_method<T, S>>(report, ctx, a, b_used, x_used, rule, options);
    break;
  case krylov_method::bicgstab:
    run_method<solving::bicgstab_method<T, S>>(report, ctx, a, b_used, x_used, rule, options);
    break;
  case krylov_method::gmres: run_gmres<T, S>(report, ctx, a, b_used, x_used, rule, options); break;
  }
  if (!has_columns(x)) copy_columns<T, S>(ctx, x_used, x);
  report.solve_seconds = clock.seconds() - report.setup_seconds;
  return report;
}

#define LACUNA_INSTANTIATE(T, S)                                                                   \
  template solve_report solve_krylov(krylov_method, const context<S>&,                             \
                                     const linear_operator<T, S>&, dense_view<const T, S>,         \
                                     dense_view<T, S>, const krylov_options<T, S>&);
LACUNA_INSTANTIATE(float, space::host)
LACUNA_INSTANTIATE(double, space::host)
LACUNA_INSTANTIATE(float, space::device)
LACUNA_INSTANTIATE(double, space::device)

} // namespace detail
} // namespace lacuna
