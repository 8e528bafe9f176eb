// lacuna-bench cg: iterations of conjugate gradients beside Eigen's (host) or the same iterations
// with cuSPARSE's products (device), and beside what the memory could do.
#pragma once

#include <fmt/format.h>
#include <map>

#include "bench/cg/run.hpp"
#include "bench/hyb/hyb.hpp"
#include "bench/suite.hpp"
#include "common/print.hpp"
#include <lacuna/solver/solve.hpp>

namespace lacuna::bench {

/// Time to a solution, beside the iteration rate.
struct cg_solution {
  std::string name, with; ///< preconditioner
  std::int64_t iterations = 0;
  double seconds = 0;
  bool right = false;
};

/// Lacuna's cg with any product.
template <class T, space S> class lacuna_cg : public cg_run<T, S> {
public:
  /// `keeps` lives as long as the operator that looks at it.
  lacuna_cg(const context<S>& ctx, csr_view<const T, index_t, offset_t, S> a,
            std::shared_ptr<void> keeps, linear_operator<T, S> op, std::string format,
            std::size_t bytes)
      : ctx_(ctx), a_(a), keeps_(std::move(keeps)), op_(std::move(op)), format_(std::move(format)),
        bytes_(bytes) {}
  cg_outcome run(vector_view<const T, S> b, vector_view<T, S> x, double tolerance,
                 std::int64_t most, cg_preconditioner with) override {
    fill(ctx_, 0, x);
    const stopping_rule stop{.relative = tolerance, .iterations = most, .stagnation = most + 1};
    if (with != cg_preconditioner::none) { // with its set-up, as a user would
      const char* const name = with == cg_preconditioner::jacobi ? "jacobi" : "ic0";
      const auto r =
          solve(ctx_, a_, b, x,
                solve_options<T, S>{
                    .stop = stop, .method = "cg", .preconditioner = name, .throws = false});
      return {r.iterations, r.converged};
    }
    const auto r = cg(ctx_, op_, b, x, krylov_options<T, S>{.stop = stop});
    return {r.iterations, r.converged};
  }
  [[nodiscard]] std::size_t format_bytes() const override { return bytes_; }
  [[nodiscard]] std::string format() const override { return format_; }

private:
  context<S> ctx_;
  csr_view<const T, index_t, offset_t, S> a_;
  std::shared_ptr<void> keeps_;
  linear_operator<T, S> op_;
  std::string format_;
  std::size_t bytes_;
};

template <class T, space S> struct cg_contestant {
  std::string name;
  role plays;
  bool solves; ///< takes part in the time to a solution, too
  std::function<std::unique_ptr<cg_run<T, S>>(problem_matrix<T, S>)> prepare;
};

namespace detail {

template <class T, space S> std::size_t csr_bytes(problem_matrix<T, S> a) {
  return problem<T, S>{suite::spmv, a, {}, {}}.csr_bytes();
}

template <class T, space S>
cg_contestant<T, S> planned_cg(const context<S>& ctx, const char* name, role plays,
                               const std::string& format, bool solves) {
  return {name, plays, solves, [=](problem_matrix<T, S> a) {
            using operator_type = planned_operator<T, index_t, offset_t, S>;
            auto op = std::make_shared<operator_type>(
                ctx, a, plan_hints{.multiplies = 1000, .format = format});
            linear_operator<T, S> linear(ctx, *op);
            const std::size_t bytes = op->format() == "csr" ? csr_bytes<T, S>(a) : op->bytes();
            const std::string made = op->format();
            return std::make_unique<lacuna_cg<T, S>>(ctx, a, op, std::move(linear), made, bytes);
          }};
}

template <class T, space S>
cg_contestant<T, S> hyb_cg(const context<S>& ctx, const char* name, role plays) {
  return {
      name, plays, false, [=](problem_matrix<T, S> a) {
        auto made = std::make_shared<hyb<T, S>>(to_hyb<T, S>(ctx, a));
        linear_operator<T, S> linear(
            {a.shape().row, a.shape().col},
            [made](const context<S>& on, dense_view<const T, S> x, dense_view<T, S> y) {
              multiply_hyb<T, S>(on, *made, {x.data(), x.shape().row}, {y.data(), y.shape().row});
            },
            true);
        return std::make_unique<lacuna_cg<T, S>>(ctx, a, made, std::move(linear), "hyb",
                                                 made->bytes());
      }};
}

/// Products by a contestant of spmv, which takes in one pair of vectors: one for each pair.
template <class T, space S>
cg_contestant<T, S> cg_with_products_of(const context<S>& ctx, const contestant<T, S>& by) {
  return {by.name + ", our vectors", role::peer, false, [ctx, by](problem_matrix<T, S> a) {
            using pair = std::pair<const T*, T*>;
            auto made = std::make_shared<std::map<pair, std::unique_ptr<prepared>>>();
            linear_operator<T, S> linear(
                {a.shape().row, a.shape().col},
                [=](const context<S>&, dense_view<const T, S> x, dense_view<T, S> y) {
                  auto& each = (*made)[{x.data(), y.data()}];
                  if (!each) each = by.prepare({suite::spmv, a, x, y});
                  each->run();
                });
            return std::make_unique<lacuna_cg<T, S>>(ctx, a, made, std::move(linear), "csr",
                                                     csr_bytes<T, S>(a));
          }};
}

/// |b - A x| / |b| by the reference.
template <class T> double plain_residual_of(const csr<T>& a, const array<T>& b, const array<T>& x) {
  const auto r =
      reference::multiply<T, index_t, offset_t>(a.view(), x.view(), false, -1, 1, b.view());
  double left = 0, size = 0;
  for (const double v : r.value) left += v * v;
  for (const T v : b) size += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(left / std::max(size, 1e-300));
}

} // namespace detail

/// Iterations that a rate is measured over.
inline constexpr std::int64_t cg_iterations = 50;

/// Vectors that an iteration reads or writes, the product's two included (docs/solvers.md).
inline constexpr double cg_vectors = 12;

/// Prints what only this suite has: shares of the contestants' own bytes, times to a solution.
void print_cg(const measured_problem& p, const std::vector<cg_solution>& solutions,
              double tolerance, nlohmann::ordered_json& out);

/// joins: its lines are among the report's problems, of which means are made.
template <class T, space S>
void measure_cg(const rig<S>& r, const stage<T, S>& on, const settings& s,
                const std::vector<cg_contestant<T, S>>& contestants, report& out,
                bool joins = true) {
  const host_context host;
  measured_problem m = on.facts();
  if (m.rows != m.cols) return out.skip(m.matrix, "it is not square");
  array<T> b_host(host, m.rows);
  app::fill_vector(b_host.view(), s.seed);
  const array<T, S> b = copy_to(r.ctx, b_host);
  array<T, S> x(r.ctx, m.rows);
  {
    const auto f = [&] {
      array<T> diagonal(host, m.rows);
      return lacuna::detail::cpu::look_at_system<T, index_t, offset_t>(host, on.on_host().view(),
                                                                       diagonal.view());
    }();
    if (!f.symmetric() || f.zero_diagonals + f.negative_diagonals > 0)
      return out.skip(m.matrix, "it is not symmetric with a positive diagonal");
  }
  const double n = static_cast<double>(m.rows), nnz = static_cast<double>(m.nnz);
  m.bytes = m.matrix_bytes + cg_vectors * n * sizeof(T);
  m.flops = 2 * nnz + 10 * n;
  const double tolerance = sizeof(T) == 8 ? 1e-8 : 1e-4;
  std::vector<cg_solution> solutions;
  std::vector<std::unique_ptr<cg_run<T, S>>> entrants;
  for (const auto& c : contestants) {
    result& line = m.results.emplace_back();
    line.name = c.name;
    line.plays = c.plays;
    entrants.emplace_back();
    try {
      const app::stopwatch watch;
      auto entrant = c.prepare(on.matrix());
      r.ctx.synchronize();
      line.prepare_seconds = watch.seconds();
      line.format_bytes = entrant->format_bytes();
      line.chose = {entrant->format(), {}};
      (void)entrant->run(b, x, 0, 3, cg_preconditioner::none); // kernels loaded, graphs recorded
      const auto solve_with = [&](cg_preconditioner with, const char* name) {
        const app::stopwatch solving;
        const cg_outcome o = entrant->run(b, x, tolerance, 20000, with);
        r.ctx.synchronize();
        const double seconds = solving.seconds();
        const double left = detail::plain_residual_of<T>(on.on_host(), b_host, copy_to(host, x));
        solutions.push_back(
            {c.name, name, o.iterations, seconds, o.converged && left <= 2 * tolerance});
        if (!solutions.back().right)
          line.trouble =
              fmt::format("{}: residual {:.1e} after {} iterations", name, left, o.iterations);
      };
      if (c.solves) {
        solve_with(cg_preconditioner::jacobi, "Jacobi");
        if constexpr (S == space::host)
          solve_with(cg_preconditioner::cholesky, "incomplete Cholesky");
      }
      if (line.trouble.empty()) entrants.back() = std::move(entrant);
    } catch (const std::exception& e) {
      line.trouble = e.what();
    }
  }
  std::vector<std::unique_ptr<prepared>> passes;
  for (const probe& each : r.probes) passes.push_back(each.make());
  std::vector<std::vector<double>> seconds(entrants.size()), probe_seconds(r.probes.size());
  const int rounds = s.repeat > 0 ? s.repeat : 5;
  for (m.rounds = 0; m.rounds < rounds; ++m.rounds) {
    for (std::size_t i = 0; i < entrants.size(); ++i) {
      if (!entrants[i]) continue;
      // The difference of many and few: what a solve costs once is not an iteration's.
      const app::stopwatch few;
      (void)entrants[i]->run(b, x, 0, 5, cg_preconditioner::none);
      r.ctx.synchronize();
      const double once = few.seconds();
      const app::stopwatch many;
      const cg_outcome o = entrants[i]->run(b, x, 0, 5 + cg_iterations, cg_preconditioner::none);
      r.ctx.synchronize();
      const double count = static_cast<double>(std::max<std::int64_t>(o.iterations - 5, 1));
      seconds[i].push_back(std::max(many.seconds() - once, 1e-9) / count);
    }
    for (std::size_t i = 0; i < r.probes.size(); ++i)
      probe_seconds[i].push_back(r.time(*passes[i]));
  }
  for (std::size_t i = 0; i < entrants.size(); ++i)
    if (entrants[i]) {
      m.results[i].seconds = app::median(seconds[i]);
      m.results[i].least_seconds = std::ranges::min(seconds[i]);
    }
  for (std::size_t i = 0; i < r.probes.size(); ++i)
    m.limits.push_back({r.probes[i].name, r.probes[i].bytes / app::median(probe_seconds[i]),
                        r.probes[i].bytes / std::ranges::min(probe_seconds[i])});
  if (joins) {
    out.add(m);
  } else {
    out.judge(m);
    print_heading(m);
  }
  print_cg(m, solutions, tolerance, out.figures());
}

template <class T, space S>
std::vector<cg_contestant<T, S>> cg_contestants(const context<S>& ctx, const peer_lists<S>& peers) {
  std::vector<cg_contestant<T, S>> all = {
      detail::planned_cg<T, S>(ctx, "Lacuna", role::lacuna, "", true),
      detail::planned_cg<T, S>(ctx, "Lacuna: csr", role::lacuna_too, "csr", false)};
  if constexpr (S == space::host) {
    (void)peers;
#ifdef LACUNA_BENCH_EIGEN
    all.push_back({"Eigen", role::peer, true, [threads = ctx.threads()](problem_matrix<T, S> a) {
                     return eigen_cg<T>(a, threads);
                   }});
#endif
  } else {
    for (const auto& each : peers.template contestants<T>())
      if (each.plays == role::peer &&
          std::ranges::find(each.suites, suite::spmv) != each.suites.end())
        all.push_back(detail::cg_with_products_of<T, S>(ctx, each));
  }
  return all;
}

template <space S>
void run_cg(const rig<S>& r, const host_context& host, const settings& s,
            const std::vector<matrix_source>& sources, const peer_lists<S>& peers, report& out) {
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    measure_cg<T, S>(r, on, s, cg_contestants<T, S>(r.ctx, peers), out);
  });
}

/// Figure 8 of paper 003: CG with the paper's rows in ELL and CSR, over CG with HYB and with CSR.
/// On the set of cg; where the user names matrices, on those of them that are systems for CG.
template <space S>
void run_figure_8(const rig<S>& r, const host_context& host, settings s, report& out) {
  s.what = suite::cg;
  const auto sources =
      choose_matrices(s, S == space::device ? size_class::large : size_class::small);
  app::print("\nFigure 8: conjugate gradients with each of these products\n");
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    measure_cg<T, S>(
        r, on, s,
        {detail::planned_cg<T, S>(r.ctx, "cg, ell_csr", role::lacuna, "ell_csr", false),
         detail::planned_cg<T, S>(r.ctx, "cg, csr", role::lacuna_too, "csr", false),
         detail::hyb_cg<T, S>(r.ctx, "cg, HYB", role::peer)},
        out, false);
  });
}

} // namespace lacuna::bench
