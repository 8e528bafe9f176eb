// The contest: every contestant takes in the matrix, is verified once, and then all take turns,
// together with the probes that measure the limit, so that a noisy moment hits them alike.
#pragma once

#include <algorithm>
#include <functional>

#include "bench/lacuna_contestants.hpp"
#include "bench/matrices.hpp"
#include "bench/memory_peak.hpp"
#include "bench/report.hpp"
#include "common/clock.hpp"
#include "common/vectors.hpp"
#include "reference/reference.hpp"
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
  /// Rounds end after so long, three at least being done.
  double most_seconds = std::numeric_limits<double>::infinity();

  /// For the many short contests of a sweep, whose lines are compared with each other alone: a few
  /// rounds, and no limit is measured.
  [[nodiscard]] rig briefly() const {
    rig brief = *this;
    brief.repeat = std::min(repeat, 5);
    brief.probes.clear();
    return brief;
  }
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
  /// Their contestants, all in one list.
  template <class T> std::vector<contestant<T, S>> contestants() const {
    std::vector<contestant<T, S>> result;
    for (const auto& p : of<T>())
      result.insert(result.end(), p.contestants.begin(), p.contestants.end());
    return result;
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

/// Name, sizes and row lengths.
template <class T> measured_problem facts_of(const matrix_source& source, const csr<T>& a) {
  measured_problem facts;
  facts.matrix = source.name;
  facts.stands_for = source.stands_for;
  facts.values = std::is_same_v<T, double> ? "f64" : "f32";
  facts.rows = a.shape().row;
  facts.cols = a.shape().col;
  facts.nnz = a.size();
  const auto rows = static_cast<double>(std::max<std::int64_t>(facts.rows, 1));
  const double mean = static_cast<double>(facts.nnz) / rows;
  for (std::int64_t i = 0; i < facts.rows; ++i) {
    const std::int64_t length = a.rowptr()[i + 1] - a.rowptr()[i];
    facts.longest_row = std::max(facts.longest_row, length);
    facts.row_variance +=
        (static_cast<double>(length) - mean) * (static_cast<double>(length) - mean) / rows;
  }
  facts.matrix_bytes = static_cast<double>(a.bytes());
  return facts;
}

/// Runs the contestant once on a result that is wrong everywhere and judges what it left.
template <class T, space S>
void verify(const rig<S>& r, const problem<T, S>& p, prepared& entrant,
            const reference::expected& expected, result& out) {
  // Not NaN: some peers compute 0 * y before they add to it.
  fill(r.ctx, 1e30, vector_view<T, S>(p.y.data(), p.y.shape().row * p.y.shape().col));
  const peak_meter meter(S, S == space::host && makes_matrix(p.what));
  entrant.run();
  r.ctx.synchronize();
  if (makes_matrix(p.what)) out.peak_bytes = meter.bytes();
  entrant.fetch();
  entrant.forget();
  const host_context host;
  dense<T> y(host, p.y.shape(), p.y.layout());
  lacuna::detail::copy_bytes(host, y.values().data(), p.y.data(), y.bytes(), S);
  out.verify_error = reference::worst_error<T>(std::as_const(y).view(), expected);
  if (!(out.verify_error <= 1))
    out.trouble = "WRONG RESULT, error " + std::to_string(out.verify_error) + " x its bound";
}

/// The contestant with the matrix taken in, and verified; null with the reason in `line`.
template <class T, space S>
std::unique_ptr<prepared> enter(const rig<S>& r, const problem<T, S>& p, const contestant<T, S>& c,
                                const reference::expected& expected, result& line) {
  line.name = c.name;
  line.plays = c.plays;
  try {
    // A device loads kernels and maps memory the first time: no part of the work.
    if (S == space::device) (void)c.prepare(p);
    r.ctx.synchronize();
    const app::stopwatch watch;
    auto entrant = c.prepare(p);
    r.ctx.synchronize();
    line.prepare_seconds = watch.seconds();
    verify(r, p, *entrant, expected, line);
    line.extra_bytes = entrant->extra_bytes();
    line.format_bytes = entrant->format_bytes();
    line.chose = entrant->explain();
    if (line.trouble.empty()) return entrant;
  } catch (const refusal& e) {
    line.refused = e.what();
  } catch (const std::exception& e) {
    line.trouble = e.what();
  }
  return nullptr;
}

/// Fills in results and limits of `out`.
template <class T, space S>
void compete(const rig<S>& r, const problem<T, S>& p,
             const std::vector<contestant<T, S>>& contestants, const reference::expected& expected,
             measured_problem& out) {
  std::vector<std::unique_ptr<prepared>> entrants;
  for (const auto& c : contestants)
    if (std::ranges::find(c.suites, p.what) != c.suites.end() && p.a.size() <= c.most_entries)
      entrants.push_back(enter(r, p, c, expected, out.results.emplace_back()));

  std::vector<std::unique_ptr<prepared>> passes;
  for (const probe& each : r.probes) passes.push_back(each.make());
  std::vector<std::vector<double>> seconds(entrants.size()), probe_seconds(r.probes.size());
  const app::stopwatch watch;
  while (out.rounds < r.repeat && (out.rounds < 3 || watch.seconds() < r.most_seconds)) {
    ++out.rounds;
    for (std::size_t k = 0; k < entrants.size(); ++k) {
      // Each is the first in its turn: what ran before leaves its marks in the caches.
      const std::size_t i = (k + static_cast<std::size_t>(out.rounds)) % entrants.size();
      if (!entrants[i]) continue;
      try {
        seconds[i].push_back(r.time(*entrants[i]));
      } catch (const std::exception& e) {
        out.results[i].trouble = e.what();
        entrants[i].reset();
      }
    }
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

} // namespace detail

/// Which product of a matrix is measured.
struct product_shape {
  suite what = suite::spmv;
  std::int64_t columns = 1;
  layout order = layout::column_major;
};

/// One matrix in one precision where contestants run: on the host the caller's, on a device a copy.
template <class T, space S> class stage {
public:
  stage(const rig<S>& r, const host_context& host, const matrix_source& source, const csr<T>& a)
      : rig_(r), host_(host), a_(a), facts_(detail::facts_of(source, a)) {
    if constexpr (S == space::device) on_device_ = copy_to(r.ctx, a);
    facts_.cache_bytes = r.cache_bytes;
  }
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  [[nodiscard]] const measured_problem& facts() const { return facts_; }
  [[nodiscard]] const csr<T>& on_host() const { return a_; }
  [[nodiscard]] problem_matrix<T, S> matrix() const {
    if constexpr (S == space::device)
      return on_device_.view();
    else
      return a_.view();
  }

  [[nodiscard]] measured_problem measure(const product_shape& shape, std::uint64_t seed,
                                         const std::vector<contestant<T, S>>& contestants) const {
    const bool transposed = shape.what == suite::spmv_t;
    const std::int64_t x_rows = transposed ? facts_.rows : facts_.cols;
    const std::int64_t y_rows = transposed ? facts_.cols : facts_.rows;
    dense<T> x_host(host_, {x_rows, shape.columns}, shape.order);
    app::fill_vector(x_host.values(), seed);
    const auto expected = reference::multiply<T, index_t, offset_t>(
        a_.view(), std::as_const(x_host).view(), transposed);
    const dense<T, S> x = copy_to(rig_.ctx, x_host);
    x_host = {};
    dense<T, S> y(rig_.ctx, {y_rows, shape.columns}, shape.order);
    const problem<T, S> p{shape.what, matrix(), x.view(), y.view()};
    measured_problem m = facts_;
    m.columns = shape.columns;
    m.order = shape.order;
    m.bytes = p.bytes();
    m.flops = p.flops();
    detail::compete(rig_, p, contestants, expected, m);
    return m;
  }

private:
  const rig<S>& rig_;
  const host_context& host_;
  const csr<T>& a_;
  csr<T, index_t, offset_t, S> on_device_;
  measured_problem facts_;
};

/// Hands the matrix to `run` as a stage, in the precisions asked for.
template <space S, class Run>
void on_stages(const rig<S>& r, const host_context& host, const settings& s,
               const matrix_source& source, const csr<double>& a, Run& run) {
  if (s.values != precision::f32) run(stage<double, S>(r, host, source, a));
  if (s.values != precision::f64) {
    const auto a_float = detail::as_precision<float>(host, a);
    run(stage<float, S>(r, host, source, a_float));
  }
}

/// Loads the matrices one after another and hands each to `run` as a stage, in the precisions asked
/// for. What --real found and cannot be used is left out by name.
template <space S, class Run>
void for_each_matrix(const rig<S>& r, const host_context& host, const settings& s,
                     const std::vector<matrix_source>& sources, report& out, Run run) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const matrix_source& source = sources[i];
    out.progress(std::to_string(i + 1) + "/" + std::to_string(sources.size()) + " " + source.name +
                 " …");
    csr<double> a;
    try {
      a = load(host, source);
    } catch (const error& e) {
      if (!source.optional) throw;
      out.skip(source.name, e.what());
      continue;
    }
    if (source.optional && a.size() < s.real_least) {
      out.skip(source.name, {});
      continue;
    }
    on_stages(r, host, s, source, a, run);
  }
}

/// Every peer that was looked for, with the reason if it is not there.
template <space S> void introduce(const settings& s, const peer_lists<S>& peers, report& out) {
  const auto say = [&](const auto& list) {
    for (const auto& p : list) out.peer_found(p.name, p.about, !p.contestants.empty());
  };
  if (s.values == precision::f32)
    say(peers.f32);
  else
    say(peers.f64);
}

/// spmv, spmv-t and spmm: all matrices of the suite, every number of columns and layout asked for.
template <space S>
void run_products(const rig<S>& r, const host_context& host, const settings& s,
                  const std::vector<matrix_source>& sources, const peer_lists<S>& peers,
                  report& out) {
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    auto contestants = lacuna_contestants<T, S>(r.ctx, s.every_format);
    for (auto& each : peers.template contestants<T>()) contestants.push_back(std::move(each));
    if (s.what != suite::spmm) return out.add(on.measure({s.what}, s.seed, contestants));
    for (const std::int64_t columns : s.columns)
      for (const layout order : s.layouts)
        out.add(on.measure({s.what, columns, order}, s.seed, contestants));
  });
}

} // namespace lacuna::bench
