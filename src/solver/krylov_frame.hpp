// Internal: what Krylov methods share. A method is a struct with the slots it needs, start() and
// iterate(), written against the verbs of op/scalars.hpp; the frame has its vectors, its scalars
// and the loop around it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

#include <lacuna/core/repeated.hpp>
#include <lacuna/op/vector.hpp>
#include <lacuna/solver/krylov.hpp>

#include "solver/mirror.hpp"

namespace lacuna::solving {

class solver_clock {
public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The rule with its defaults filled in.
template <class T>
stopping_rule filled_rule(stopping_rule rule, std::int64_t rows, bool never_grows) {
  if (rule.relative < 0) rule.relative = sizeof(T) == 4 ? 1e-5 : 1e-8;
  if (rule.iterations <= 0)
    rule.iterations =
        std::clamp<std::int64_t>(10 * std::min<std::int64_t>(rows, 50'000), 1000, 50'000);
  if (rule.stagnation <= 0)
    rule.stagnation =
        never_grows ? std::max<std::int64_t>(1000, rule.iterations / 10) : rule.iterations + 1;
  return rule;
}

/// Column j of a block of columns.
template <class T, space S> vector_view<T, S> column_of(dense_view<T, S> v, std::int64_t j) {
  return {v.data() + j * v.col_stride(), v.shape().row};
}

/// A block of columns and who owns it.
template <class T, space S> class work_vectors {
public:
  work_vectors() = default;
  work_vectors(const context<S>& ctx, std::int64_t rows, std::int64_t columns)
      : memory_(ctx, checked_mul(rows, columns)), rows_(rows), columns_(columns) {}
  [[nodiscard]] dense_view<T, S> view() {
    return {memory_.data(), {rows_, columns_}, layout::column_major};
  }

private:
  array<T, S> memory_;
  std::int64_t rows_ = 0, columns_ = 0;
};

template <class T, space S> struct krylov_frame {
  using in = dense_view<const T, S>;
  using out = dense_view<T, S>;

  const context<S>& ctx;
  const linear_operator<T, S>& a;
  const preconditioner<T, S>* m; ///< null: none
  in b;
  out x; ///< columns contiguous
  stopping_rule rule;
  solve_watch watch;
  std::int64_t rows, columns;
  solver_clock clock;

  detail::mirror<S> seen;
  scalars<S> s;
  std::vector<work_vectors<T, S>> memory;
  out r, q; ///< the residual; a product
  std::vector<double> b_norm, target;
  std::vector<solved_column> outcome;
  std::int64_t restarts = 0, told = 0;
  bool cancelled = false, late = false;

  krylov_frame(const context<S>& on, const linear_operator<T, S>& matrix,
               const preconditioner<T, S>* by, in right, out solution, const stopping_rule& stop,
               solve_watch callback, int slots)
      : ctx(on), a(matrix), m(by), b(right), x(solution), rule(stop), watch(std::move(callback)),
        rows(x.shape().row), columns(x.shape().col),
        seen(ctx, columns * detail::scalar_block::mirrored),
        s(ctx, slots, columns, std::min<std::int64_t>(rule.iterations, 1 << 20) + 2, seen.data()),
        outcome(static_cast<std::size_t>(columns)) {
    r = vectors();
    q = vectors();
  }

  out vectors() {
    memory.emplace_back(ctx, rows, columns);
    return memory.back().view();
  }
  void multiply(in p, out y) { a.multiply(ctx, p, y); }
  /// z = M^-1 v.
  void precondition(in v, out z) {
    for (std::int64_t j = 0; j < columns; ++j) m->apply(ctx, column_of(v, j), column_of(z, j));
  }
  void clear(out v) { // its columns are contiguous
    fill(ctx, 0, vector_view<T, S>(v.data(), rows * columns));
  }

  /// r = b - A x, and its length in every column. Waits.
  std::vector<double> true_residual() {
    multiply(x, q);
    for (std::int64_t j = 0; j < columns; ++j) {
      const auto to = column_of(r, j);
      detail::copy_bytes(ctx, to.data(), column_of(b, j).data(),
                         static_cast<std::size_t>(rows) * sizeof(T), S);
      axpby(ctx, -1, column_of(in(q), j), 1, to);
    }
    std::vector<double> norm;
    for (std::int64_t j = 0; j < columns; ++j)
      norm.push_back(static_cast<double>(norm2(ctx, column_of(in(r), j))));
    return norm;
  }

  /// Whether the column has nothing left to do.
  [[nodiscard]] bool is_settled(std::size_t j) const {
    return outcome[j].reason != stop_reason::none;
  }
  [[nodiscard]] double relative(std::size_t j, double norm) const {
    return b_norm[j] > 0 ? norm / b_norm[j] : norm;
  }

  /// Slots of the stopping rule for a (new) start from residuals of these lengths.
  void write_rule(const std::vector<double>& norm, const std::vector<double>& aim) {
    const int per = s.block().per_column;
    std::vector<double> slots(static_cast<std::size_t>(per) * norm.size(), 0.0);
    for (std::size_t j = 0; j < norm.size(); ++j) {
      double* const c = slots.data() + j * static_cast<std::size_t>(per);
      c[rule_slot::phase] = is_settled(j) ? 2 : 0;
      c[rule_slot::iteration] = static_cast<double>(outcome[j].iterations);
      c[rule_slot::norm] = c[rule_slot::best] = norm[j];
      c[rule_slot::target] = aim[j];
      c[rule_slot::limit] = static_cast<double>(rule.iterations);
      c[rule_slot::window] = static_cast<double>(rule.stagnation);
      double* const show = seen.data() + j * detail::scalar_block::mirrored;
      show[0] = c[rule_slot::phase];
      show[1] = 0;
      show[2] = c[rule_slot::iteration];
    }
    s.write(ctx, slots);
    ctx.synchronize(); // the host's copy may go
  }

  /// What the mirror shows by now: tells the callback. Whether all columns have ended.
  bool look() {
    bool all = true;
    std::int64_t least = 0, most = 0;
    for (std::int64_t j = 0; j < columns; ++j) {
      const volatile double* const show = seen.data() + j * detail::scalar_block::mirrored;
      const auto at = static_cast<std::int64_t>(show[2]);
      most = std::max(most, at);
      least = j == 0 ? at : std::min(least, at);
      all = all && show[0] >= 1;
    }
    for (; watch && told < most && !cancelled; ++told) {
      double worst = 0;
      for (std::int64_t j = 0; j < columns; ++j) {
        const volatile double* const show = seen.data() + j * detail::scalar_block::mirrored;
        const auto at = std::min(told + 1, static_cast<std::int64_t>(show[2]));
        worst = std::max(worst, relative(static_cast<std::size_t>(j),
                                         show[3 + at % detail::scalar_block::ring]));
      }
      cancelled = !watch({told + 1, worst, clock.seconds()});
    }
    return all;
  }

  /// Iterations until every column has ended, or the time is up, or the caller says so.
  template <class Method> void iterate(Method& method) {
    // Enough to hide a launch behind the iterations before it.
    constexpr int ahead = S == space::device ? 4 : 0;
    repeated<S> step(
        ctx, [&] { method.iterate(); }, a.is_recordable());
    bool recordable = a.is_recordable();
    for (;;) {
      if (!recordable && a.is_recordable()) { // planned by now
        recordable = true;
        step = repeated<S>(
            ctx, [&] { method.iterate(); }, true);
      }
      step();
      seen.mark();
      seen.wait(ahead);
      if (look() || cancelled) break;
      late = rule.seconds > 0 && clock.seconds() > rule.seconds;
      if (late) break;
    }
    seen.wait(0);
    look();
  }

  /// Outcomes of columns that run, from the slots after iterate() and the true residual.
  template <class Method> void solve(Method& method) {
    constexpr std::int64_t most_restarts = 20;
    b_norm.clear();
    for (std::int64_t j = 0; j < columns; ++j)
      b_norm.push_back(static_cast<double>(norm2(ctx, column_of(b, j))));
    for (std::size_t j = 0; j < b_norm.size(); ++j) {
      target.push_back(std::max(rule.relative * b_norm[j], rule.absolute));
      if (b_norm[j] == 0) fill(ctx, 0, column_of(x, static_cast<std::int64_t>(j)));
    }
    std::vector<double> norm = true_residual(), aim = target;
    first = norm;
    for (;;) {
      for (std::size_t j = 0; j < norm.size(); ++j) {
        outcome[j].residual = norm[j];
        if (is_settled(j)) continue;
        if (!std::isfinite(norm[j]) || !std::isfinite(b_norm[j]))
          outcome[j].reason = stop_reason::nan;
        else if (norm[j] <= target[j])
          outcome[j].reason = stop_reason::converged;
      }
      if (all_settled()) break;
      write_rule(norm, aim);
      method.start();
      iterate(method);
      const std::vector<double> before = norm;
      norm = true_residual();
      const auto slots = s.read(ctx);
      bool again = false;
      for (std::size_t j = 0; j < norm.size(); ++j) {
        if (is_settled(j)) continue;
        const double* const c = slots.data() + j * static_cast<std::size_t>(s.block().per_column);
        const auto said = static_cast<stop_reason>(static_cast<int>(c[rule_slot::reason]));
        outcome[j].iterations = static_cast<std::int64_t>(c[rule_slot::iteration]);
        outcome[j].reason = judge(j, said, before[j], norm[j]);
        again = again || outcome[j].reason == stop_reason::none;
        if (said == stop_reason::converged && outcome[j].reason == stop_reason::none)
          aim[j] = std::min(aim[j], target[j]) * std::clamp(target[j] / norm[j], 0.1, 0.9);
      }
      if (again && ++restarts > most_restarts)
        for (auto& c : outcome)
          if (c.reason == stop_reason::none) c.reason = stop_reason::stagnation;
      if (!again) {
        for (std::size_t j = 0; j < norm.size(); ++j) outcome[j].residual = norm[j];
        break;
      }
    }
    for (std::size_t j = 0; j < outcome.size(); ++j) {
      outcome[j].relative_residual = relative(j, outcome[j].residual);
      outcome[j].converged = outcome[j].reason == stop_reason::converged;
    }
  }

  /// Why the column ends; none: it starts again from its x.
  stop_reason judge(std::size_t j, stop_reason said, double before, double now) const {
    if (!std::isfinite(now)) return stop_reason::nan;
    if (now <= target[j]) return stop_reason::converged;
    if (cancelled) return stop_reason::cancelled;
    if (late) return stop_reason::time_limit;
    const bool progress = now < 0.9 * before;
    switch (said) {
    case stop_reason::converged: // by a recurrence that has drifted
    case stop_reason::breakdown_rho:
    case stop_reason::breakdown_omega: // by bad luck; a new start has other directions
      if (outcome[j].iterations >= rule.iterations) return stop_reason::iteration_limit;
      if (progress) return stop_reason::none;
      return said == stop_reason::converged ? stop_reason::stagnation : said;
    default: return said == stop_reason::none ? stop_reason::iteration_limit : said;
    }
  }

  [[nodiscard]] bool all_settled() const {
    for (std::size_t j = 0; j < outcome.size(); ++j)
      if (!is_settled(j)) return false;
    return true;
  }

  /// The largest relative residual of each iteration; a column that has ended counts by its last.
  std::vector<double> history() const {
    std::int64_t most = 0;
    for (const auto& c : outcome) most = std::max(most, c.iterations);
    const std::int64_t capacity = s.block().capacity;
    most = std::min(most, capacity - 1);
    std::vector<double> worst(static_cast<std::size_t>(most) + 1, 0.0);
    const auto all = copy_to(default_context<space::host>(), s.history());
    for (std::size_t j = 0; j < outcome.size(); ++j) {
      double norm = first[j];
      for (std::int64_t i = 0; i <= most; ++i) {
        if (i > 0 && i <= outcome[j].iterations)
          norm = all[static_cast<std::int64_t>(j) * capacity + i];
        auto& w = worst[static_cast<std::size_t>(i)];
        const double v = relative(j, norm);
        w = std::isnan(v) || v > w ? v : w;
      }
    }
    return worst;
  }

  std::vector<double> first; ///< residuals at the start
};

/// One report of all columns.
inline void summarise(solve_report& report, std::vector<solved_column> columns) {
  report.converged = true;
  report.reason = stop_reason::converged;
  for (const solved_column& c : columns) {
    report.iterations = std::max(report.iterations, c.iterations);
    if (!(c.residual <= report.residual)) report.residual = c.residual;
    if (!(c.relative_residual <= report.relative_residual))
      report.relative_residual = c.relative_residual;
    if (c.converged || !report.converged) continue;
    report.converged = false;
    report.reason = c.reason;
  }
  report.columns = std::move(columns);
}

} // namespace lacuna::solving
