// lacuna-bench amg: set-up and solution by CG with algebraic multigrid, beside PyAMG and figures
// published of others; and the part of paper:000 that is about AMG.
#pragma once

#include "bench/suite.hpp"
#include <lacuna/gen/generate.hpp>
#include <lacuna/op/galerkin.hpp>
#include <lacuna/plan/plan.hpp>
#include <lacuna/solver/amg.hpp>

namespace lacuna::bench {

/// One way to solve a system; seconds are medians.
struct amg_line {
  std::string name;
  double set_up = 0, solve = 0, update = 0; ///< update: of values alone; 0: not measured
  int iterations = 0;
  double complexity = 0; ///< of operators
  double bytes = 0;      ///< of the hierarchy; 0: unknown
  double residual = 0;   ///< relative, of what was returned
  std::string trouble = {};
  std::string formats = {}; ///< of A on each level
};
struct amg_problem {
  measured_problem facts;
  double tolerance = 1e-8;
  std::vector<amg_line> lines;
  std::string explained; ///< Lacuna's first hierarchy
};

/// PyAMG's two solvers with CG on the same system, by Python; one line with the reason if it is
/// not there. One thread: PyAMG has no others.
std::vector<amg_line> measure_pyamg(const csr<double>& a, double tolerance);
void print_amg(const std::vector<amg_problem>& all, bool device, nlohmann::ordered_json& out);

/// Table V and figure 6 of King et al. (2016).
struct king_amg {
  std::string name, spec;
  std::int64_t rows = 0, entries = 0;
  double set_up = 0;      ///< seconds
  double galerkin = 0;    ///< of them
  double adaptive = 0;    ///< all Galerkin products by Lacuna's spgemm
  double expand_sort = 0; ///< and by expansion and sorting
};
std::vector<std::pair<std::string, std::string>> king_poisson(size_class size,
                                                              bool all); ///< name, spec
void print_king_amg(const std::vector<king_amg>& all, nlohmann::ordered_json& out);

namespace amg_suite {

/// CG until the residual is `tolerance` of the right-hand side's length; at most 300 iterations.
template <class T, space S, class Operator>
std::pair<int, double> solve(const context<S>& ctx, const Operator& op,
                             const preconditioner<T, S>& m, const array<T, S>& b, array<T, S>& x,
                             double tolerance) {
  const std::int64_t n = b.size();
  array<T, S> r(ctx, n), z(ctx, n), p(ctx, n), q(ctx, n);
  fill(ctx, 0, x);
  axpby(ctx, 1, b, 0, r);
  m.apply(ctx, r, z);
  axpby(ctx, 1, z, 0, p);
  const double length = norm2(ctx, b);
  double rz = dot(ctx, r, z), now = 1;
  int k = 0;
  while (k < 300 && std::isfinite(now)) {
    ++k;
    op.multiply(p, q);
    const double alpha = rz / static_cast<double>(dot(ctx, p, q));
    axpby(ctx, alpha, p, 1, x);
    axpby(ctx, -alpha, q, 1, r);
    now = static_cast<double>(norm2(ctx, r)) / length;
    if (now <= tolerance) break;
    m.apply(ctx, r, z);
    const double next = dot(ctx, r, z);
    axpby(ctx, 1, z, next / rz, p);
    rz = next;
  }
  op.multiply(x, q);
  axpby(ctx, 1, b, -1, q);
  return {k, static_cast<double>(norm2(ctx, q)) / length};
}

inline const amg_report& report_of(const auto& m) {
  if constexpr (requires { m.report(); })
    return m.report();
  else
    return m.hierarchy().report();
}

template <class T, space S, class Make>
amg_line measure(const context<S>& ctx, const char* name, const csr<T, index_t, offset_t, S>& a,
                 const array<T, S>& b, double tolerance, int rounds, std::string* explained,
                 const Make& make) {
  amg_line line{name};
  const auto op = plan(ctx, a, {.multiplies = 20});
  array<T, S> x(ctx, b.size());
  std::vector<double> set_up, solving, updates;
  // A device loads kernels at their first launch: one round more, that does not count.
  for (int round = S == space::device ? -1 : 0; round < rounds; ++round) {
    ctx.synchronize();
    app::stopwatch watch;
    auto m = make(a);
    ctx.synchronize();
    const double made = watch.seconds();
    if constexpr (requires { m.explain(); })
      if (explained != nullptr) *explained = m.explain();
    watch = {};
    const auto [iterations, residual] = solve<T, S>(ctx, op, m, b, x, tolerance);
    const double solved = watch.seconds();
    line.iterations = iterations;
    line.residual = residual;
    line.complexity = report_of(m).operator_complexity;
    line.bytes = static_cast<double>(m.bytes());
    line.formats.clear();
    for (const auto& l : report_of(m).levels)
      line.formats += (line.formats.empty() ? "" : " ") + l.format;
    m.update_values(ctx, a); // makes what later ones need
    watch = {};
    m.update_values(ctx, a);
    ctx.synchronize();
    if (round < 0) continue;
    updates.push_back(watch.seconds());
    set_up.push_back(made);
    solving.push_back(solved);
  }
  line.set_up = app::median(set_up);
  line.solve = app::median(solving);
  line.update = app::median(updates);
  return line;
}

} // namespace amg_suite

template <space S>
void run_amg(const rig<S>& r, const host_context& host, const settings& s,
             const std::vector<matrix_source>& sources, report& out) {
  std::vector<amg_problem> all;
  const int rounds = s.repeat > 0 ? s.repeat : 3;
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    const context<S>& ctx = r.ctx;
    amg_problem p;
    p.facts = on.facts();
    if (p.facts.rows != p.facts.cols || p.facts.nnz == 0)
      return out.skip(p.facts.matrix, "it is not square, or has no entries");
    p.tolerance = sizeof(T) == 4 ? 1e-4 : 1e-8;
    const auto a = copy_to(ctx, on.on_host());
    array<T> right(host, p.facts.rows);
    app::fill_vector<T>(right, s.seed);
    const auto b = copy_to(ctx, right);
    const auto measured = [&](const char* name, amg_options o, std::string* explained = nullptr) {
      p.lines.push_back(
          amg_suite::measure<T, S>(ctx, name, a, b, p.tolerance, rounds, explained,
                                   [&](const auto& m) { return amg<T, S>(ctx, m, o); }));
    };
    measured("Lacuna: smoothed aggregation", {}, &p.explained);
    if constexpr (sizeof(T) == 8)
      p.lines.push_back(
          amg_suite::measure<T, S>(ctx, "Lacuna: the same in float", a, b, p.tolerance, rounds,
                                   nullptr, [&](const auto& m) { return amg_mixed<S>(ctx, m); }));
    measured("Lacuna: classical", {.kind = amg_kind::classical});
    // PyAMG takes seconds for a million entries.
    if constexpr (sizeof(T) == 8)
      if (S == space::host && p.facts.nnz <= 20'000'000)
        for (auto& line : measure_pyamg(on.on_host(), p.tolerance)) p.lines.push_back(line);
    for (const auto& line : p.lines)
      if (line.name.starts_with("Lacuna") && line.iterations < 300 &&
          !(line.residual <= 100 * p.tolerance))
        out.found_wrong();
    all.push_back(std::move(p));
  });
  out.progress("");
  print_amg(all, S == space::device, out.figures());
}

template <space S>
void run_king_amg(const rig<S>& r, const host_context& host, size_class size, bool whole,
                  report& out) {
  std::vector<king_amg> all;
  const context<S>& ctx = r.ctx;
  for (const auto& [name, spec] : king_poisson(size, whole)) {
    out.progress(name);
    const auto a = copy_to(ctx, gen::generate<double>(host, spec));
    king_amg f{name, spec, a.shape().row, a.size()};
    std::vector<double> set_up, galerkin_part;
    for (int round = 0; round < 3; ++round) {
      const amg<double, S> m(ctx, a);
      if (round == 0 && S == space::device) continue;
      set_up.push_back(m.report().seconds.total);
      galerkin_part.push_back(m.report().seconds.galerkin);
    }
    f.set_up = app::median(set_up);
    f.galerkin = app::median(galerkin_part);
    const amg<double, S> m(ctx, a);
    for (const auto method : {spgemm_method::adaptive, spgemm_method::expand_sort}) {
      std::vector<double> seconds;
      for (int round = 0; round < 3; ++round) {
        ctx.synchronize();
        const app::stopwatch watch;
        for (int k = 0; k + 1 < m.levels(); ++k) {
          const auto c =
              galerkin(ctx, m.restriction(k), m.matrix(k), m.prolongator(k), {.method = method});
        }
        ctx.synchronize();
        seconds.push_back(watch.seconds());
      }
      (method == spgemm_method::adaptive ? f.adaptive : f.expand_sort) = app::median(seconds);
    }
    all.push_back(f);
  }
  out.progress("");
  print_king_amg(all, out.figures());
}

} // namespace lacuna::bench
