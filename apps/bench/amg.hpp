// lacuna-bench amg: set-up and solution by CG with algebraic multigrid, beside PETSc, hypre,
// AMGCL, PyAMG and figures published of others; and the part of paper:000 that is about AMG.
#pragma once

#include "bench/suite.hpp"
#include <lacuna/gen/generate.hpp>
#include <lacuna/op/galerkin.hpp>
#include <lacuna/plan/plan.hpp>
#include <lacuna/solver/amg.hpp>
#include <lacuna/solver/krylov.hpp>

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

/// What a system has beside its matrix: for elasticity three unknowns a node and the translations
/// and rotations of its points, which everyone is given who takes them.
struct amg_system {
  int unknowns_per_node = 1;
  std::vector<double> near_null_space = {}; ///< vectors one after another; empty: constant
};
/// By the specification of a generated matrix.
amg_system system_of(const std::string& spec);
/// A graph's Laplacian with 1e-4 added to its diagonal, of its adjacency matrix; empty if the
/// matrix is none: an entry on the diagonal, or a pattern that is not symmetric.
csr<double> laplacian_of(const host_context& ctx, const csr<double>& a);

/// PETSc's GAMG and hypre's BoomerAMG (as many ranks as `threads`), AMGCL (threads) and PyAMG (one
/// thread) with CG on the same system, each in a process of its own, several configurations of
/// each; one line with the reason for those that are not there. Residuals are computed here.
std::vector<amg_line> measure_others(const csr<double>& a, const array<double>& b,
                                     const amg_system& with, double tolerance, int rounds,
                                     int threads);
void print_amg(const amg_problem& p, bool device, nlohmann::ordered_json& out);

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

inline const amg_report& report_of(const auto& m) {
  if constexpr (requires { m.report(); })
    return m.report();
  else
    return m.hierarchy().report();
}

/// How CG multiplies with A: in the storage of the finest level, or, if that is in float, by a plan
/// that counts as set-up.
template <class T, space S>
linear_operator<T, S> operator_of(const context<S>&, const csr<T, index_t, offset_t, S>&,
                                  const amg<T, S>& m) {
  return {{m.size(), m.size()},
          [&m](const context<S>& on, dense_view<const T, S> x, dense_view<T, S> y) {
            m.multiply(on, {x.data(), x.shape().row}, {y.data(), y.shape().row});
          },
          true};
}
template <class T, space S>
linear_operator<T, S> operator_of(const context<S>& ctx, const csr<T, index_t, offset_t, S>& a,
                                  const amg_mixed<S>&) {
  const auto op =
      std::make_shared<planned_operator<T, index_t, offset_t, S>>(plan(ctx, a, {.multiplies = 20}));
  return {
      {a.shape().row, a.shape().col},
      [op](const context<S>&, dense_view<const T, S> x, dense_view<T, S> y) { op->multiply(x, y); },
      true};
}

template <class T, space S, class Make>
amg_line measure(const context<S>& ctx, const char* name, const csr<T, index_t, offset_t, S>& a,
                 const array<T, S>& b, double tolerance, int rounds, std::string* explained,
                 const Make& make) {
  amg_line line{name};
  array<T, S> x(ctx, b.size());
  std::vector<double> set_up, solving, updates;
  // A device loads kernels at their first launch: one round more, that does not count.
  for (int round = S == space::device ? -1 : 0; round < rounds; ++round) {
    ctx.synchronize();
    app::stopwatch watch;
    auto m = std::make_shared<std::remove_cvref_t<decltype(make(a))>>(make(a));
    const auto op = operator_of<T, S>(ctx, a, *m);
    ctx.synchronize();
    const double made = watch.seconds();
    if constexpr (requires { m->explain(); })
      if (explained != nullptr) *explained = m->explain();
    watch = {};
    fill(ctx, 0, x);
    const solve_report solved = cg(
        ctx, op, b, x, {.stop = {.relative = tolerance, .iterations = 300}, .preconditioner = m});
    const double seconds = watch.seconds();
    line.iterations = static_cast<int>(solved.iterations);
    line.residual = solved.relative_residual;
    line.complexity = report_of(*m).operator_complexity;
    line.bytes = static_cast<double>(m->bytes());
    line.formats.clear();
    for (const auto& l : report_of(*m).levels)
      line.formats += (line.formats.empty() ? "" : " ") + l.format;
    m->update_values(ctx, a); // makes what later ones need
    watch = {};
    m->update_values(ctx, a);
    ctx.synchronize();
    if (round < 0) continue;
    updates.push_back(watch.seconds());
    set_up.push_back(made);
    solving.push_back(seconds);
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
  const int rounds = s.repeat > 0 ? s.repeat : 3;
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    const context<S>& ctx = r.ctx;
    amg_problem p;
    p.facts = on.facts();
    if (p.facts.rows != p.facts.cols || p.facts.nnz == 0)
      return out.skip(p.facts.matrix, "it is not square, or has no entries");
    p.tolerance = sizeof(T) == 4 ? 1e-4 : 1e-8;
    const csr<double> laplacian = [&] {
      if constexpr (sizeof(T) == 8) return laplacian_of(host, on.on_host());
      return csr<double>{};
    }();
    if (laplacian.size() > 0) {
      p.facts.matrix += ", Laplacian";
      p.facts.nnz = laplacian.size();
    }
    const auto& on_host = [&]() -> const csr<T>& {
      if constexpr (sizeof(T) == 8)
        if (laplacian.size() > 0) return laplacian;
      return on.on_host();
    }();
    const amg_system with = system_of(p.facts.matrix);
    amg_options options;
    options.unknowns_per_node = with.unknowns_per_node;
    options.near_null_space = with.near_null_space;
    const auto a = copy_to(ctx, on_host);
    array<T> right(host, p.facts.rows);
    app::fill_vector<T>(right, s.seed);
    const auto b = copy_to(ctx, right);
    const auto measured = [&](const char* name, amg_options o, std::string* explained = nullptr) {
      p.lines.push_back(
          amg_suite::measure<T, S>(ctx, name, a, b, p.tolerance, rounds, explained,
                                   [&](const auto& m) { return amg<T, S>(ctx, m, o); }));
    };
    measured("Lacuna: smoothed aggregation", options, &p.explained);
    if constexpr (sizeof(T) == 8)
      p.lines.push_back(amg_suite::measure<T, S>(
          ctx, "Lacuna: the same in float", a, b, p.tolerance, rounds, nullptr,
          [&](const auto& m) { return amg_mixed<S>(ctx, m, options); }));
    if (with.unknowns_per_node == 1) measured("Lacuna: classical", {.kind = amg_kind::classical});
    // PyAMG takes seconds for a million entries.
    if constexpr (sizeof(T) == 8 && S == space::host)
      if (p.facts.nnz <= 20'000'000)
        for (auto& line : measure_others(on_host, right, with, p.tolerance, rounds, ctx.threads()))
          p.lines.push_back(line);
    for (const auto& line : p.lines)
      if (line.name.starts_with("Lacuna") && line.iterations < 300 &&
          !(line.residual <= 100 * p.tolerance))
        out.found_wrong();
    out.progress("");
    print_amg(p, S == space::device, out.figures());
  });
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
