// The contest: every contestant takes in the matrix, is verified once, and then all take turns,
// together with the probes that measure the limit, so that a noisy moment hits them alike.
#pragma once

#include <algorithm>
#include <functional>

#include "bench/lacuna_contestants.hpp"
#include "bench/matrices.hpp"
#include "bench/report.hpp"
#include "common/clock.hpp"
#include "common/vectors.hpp"
#include "reference/reference.hpp"
#include <lacuna/gen/generate.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/op/vector.hpp>

namespace lacuna::bench {

/// Measures what the memory can do. Its arrays are made anew beside each matrix: on virtual
/// machines memory that has been in use for seconds can be 1.7 times as fast as fresh memory.
struct probe {
  std::string name;
  double bytes; ///< moved by one run
  std::function<std::unique_ptr<prepared>()> make;
};

/// Where contestants run and how they are timed.
template <space S> struct rig {
  context<S> ctx;
  double cache_bytes;
  int repeat;
  std::function<double(prepared&)> time; ///< seconds of one run
  std::vector<probe> probes;             ///< the first is the limit
};

/// Peers of both precisions.
template <space S> struct peer_lists {
  std::vector<peer<double, S>> f64;
  std::vector<peer<float, S>> f32;
  template <class T> const std::vector<peer<T, S>>& of() const {
    if constexpr (std::is_same_v<T, double>)
      return f64;
    else
      return f32;
  }
};

namespace detail {

template <class T> csr<T> as_precision(const host_context& ctx, const csr<double>& a) {
  csr<T> result(ctx, a.shape(), a.size(), a.order());
  std::ranges::copy(a.rowptr(), result.rowptr().begin());
  std::ranges::copy(a.colind(), result.colind().begin());
  std::ranges::transform(a.values(), result.values().begin(),
                         [](double v) { return static_cast<T>(v); });
  return result;
}

/// Runs the contestant once on a result that is wrong everywhere and judges what it left.
template <class T, space S>
void verify(const rig<S>& r, const problem<T, S>& p, prepared& entrant,
            const reference::expected& expected, result& out) {
  // Not NaN: some peers compute 0 * y before they add to it.
  fill(r.ctx, 1e30, vector_view<T, S>(p.y.data(), p.y.shape().row * p.y.shape().col));
  entrant.run();
  r.ctx.synchronize();
  entrant.fetch();
  const host_context host;
  dense<T> y(host, p.y.shape(), p.y.order());
  lacuna::detail::copy_bytes(host, y.values().data(), p.y.data(), y.bytes(), S);
  out.verify_error = reference::worst_error<T>(std::as_const(y).view(), expected);
  if (!(out.verify_error <= 1))
    out.trouble = "WRONG RESULT, error " + std::to_string(out.verify_error) + " x its bound";
}

/// Fills in results and limits of `out`.
template <class T, space S>
void compete(const rig<S>& r, const problem<T, S>& p,
             const std::vector<contestant<T, S>>& contestants, const reference::expected& expected,
             measured_problem& out) {
  std::vector<std::unique_ptr<prepared>> entrants;
  for (const auto& c : contestants) {
    if (std::ranges::find(c.suites, p.what) == c.suites.end()) continue;
    result& line = out.results.emplace_back();
    line.name = c.name;
    line.plays = c.plays;
    auto& entrant = entrants.emplace_back();
    try {
      // A device loads kernels and maps memory the first time: no part of the work.
      if (S == space::device) (void)c.prepare(p);
      const app::stopwatch watch;
      entrant = c.prepare(p);
      line.prepare_seconds = watch.seconds();
      verify(r, p, *entrant, expected, line);
      line.extra_bytes = entrant->extra_bytes();
      line.explain = entrant->explain();
    } catch (const std::exception& e) {
      line.trouble = e.what();
    }
    if (!line.trouble.empty()) entrant.reset();
  }

  std::vector<std::unique_ptr<prepared>> passes;
  for (const probe& each : r.probes) passes.push_back(each.make());
  std::vector<std::vector<double>> seconds(entrants.size()), probe_seconds(r.probes.size());
  for (int round = 0; round < r.repeat; ++round) {
    for (std::size_t i = 0; i < entrants.size(); ++i)
      if (entrants[i]) seconds[i].push_back(r.time(*entrants[i]));
    for (std::size_t i = 0; i < r.probes.size(); ++i)
      probe_seconds[i].push_back(r.time(*passes[i]));
  }
  for (std::size_t i = 0; i < entrants.size(); ++i)
    if (entrants[i]) {
      out.results[i].seconds = app::median(seconds[i]);
      out.results[i].least_seconds = std::ranges::min(seconds[i]);
    }
  for (std::size_t i = 0; i < r.probes.size(); ++i)
    out.limits.push_back({r.probes[i].name, r.probes[i].bytes / app::median(probe_seconds[i]),
                          r.probes[i].bytes / std::ranges::min(probe_seconds[i])});
}

/// One matrix in one precision, every number of columns and layout asked for.
template <class T, space S>
void run_matrix(const rig<S>& r, const host_context& host, const settings& s,
                const peer_lists<S>& peers, const std::string& name, const csr<T>& a, report& out) {
  std::vector<contestant<T, S>> contestants = lacuna_contestants<T, S>(r.ctx);
  for (const auto& p : peers.template of<T>())
    contestants.insert(contestants.end(), p.contestants.begin(), p.contestants.end());

  const csr<T, index_t, offset_t, S> there = [&] {
    if constexpr (S == space::device)
      return copy_to(r.ctx, a);
    else
      return csr<T>();
  }();
  const csr_view<const T, index_t, offset_t, S> a_view = [&] {
    if constexpr (S == space::device)
      return there.view();
    else
      return a.view();
  }();

  measured_problem facts;
  facts.matrix = name;
  facts.values = std::is_same_v<T, double> ? "f64" : "f32";
  facts.rows = a.shape().row;
  facts.cols = a.shape().col;
  facts.nnz = a.size();
  for (std::int64_t i = 0; i < facts.rows; ++i)
    facts.longest_row =
        std::max<std::int64_t>(facts.longest_row, a.rowptr()[i + 1] - a.rowptr()[i]);
  facts.matrix_bytes = static_cast<double>(a.bytes());
  facts.cache_bytes = r.cache_bytes;

  const bool several = s.what == suite::spmm, transposed = s.what == suite::spmv_t;
  for (const std::int64_t columns : several ? s.columns : std::vector<std::int64_t>{1})
    for (const layout order : several ? s.layouts : std::vector{layout::column_major}) {
      const std::int64_t x_rows = transposed ? facts.rows : facts.cols;
      const std::int64_t y_rows = transposed ? facts.cols : facts.rows;
      dense<T> x_host(host, {x_rows, columns}, order);
      app::fill_vector(x_host.values(), s.seed);
      const auto expected = reference::multiply<T, index_t, offset_t>(
          a.view(), std::as_const(x_host).view(), transposed);
      const dense<T, S> x = copy_to(r.ctx, x_host);
      x_host = {};
      dense<T, S> y(r.ctx, {y_rows, columns}, order);
      const problem<T, S> p{s.what, a_view, x.view(), y.view()};
      measured_problem m = facts;
      m.columns = columns;
      m.order = order;
      m.bytes = p.bytes();
      m.flops = p.flops();
      compete(r, p, contestants, expected, m);
      out.add(m);
    }
}

} // namespace detail

/// All matrices of the suite, one after another.
template <space S>
void run_suite(const rig<S>& r, const host_context& host, const settings& s,
               const std::vector<std::string>& specs, const peer_lists<S>& peers, report& out) {
  const auto& listed = s.values == precision::f32 ? peers.f32.size() : peers.f64.size();
  for (std::size_t i = 0; i < listed; ++i) {
    const auto say = [&](const auto& p) {
      out.peer_found(p.name, p.about, !p.contestants.empty());
    };
    if (s.values == precision::f32)
      say(peers.f32[i]);
    else
      say(peers.f64[i]);
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    out.progress(std::to_string(i + 1) + "/" + std::to_string(specs.size()) + " " + specs[i] +
                 " …");
    const csr<double> a = gen::generate<double, index_t, offset_t>(host, specs[i]);
    if (s.values != precision::f32)
      detail::run_matrix<double, S>(r, host, s, peers, specs[i], a, out);
    if (s.values != precision::f64)
      detail::run_matrix<float, S>(r, host, s, peers, specs[i],
                                   detail::as_precision<float>(host, a), out);
  }
}

} // namespace lacuna::bench
