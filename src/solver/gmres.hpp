// GMRES(m) (Saad and Schultz 1986), preconditioned from the right; where M is no linear operator,
// the flexible form (Saad 1993), which keeps M's results too. Classical Gram-Schmidt, done twice:
// as orthogonal as the modified form done twice, and each of its four passes reads the basis once.
//
// The small least-squares problem is solved on the host by Givens rotations; on a device its column
// is read while the next iteration runs.
#pragma once

#include "solver/krylov_frame.hpp"

namespace lacuna::solving {

template <class T, space S> class gmres_solver {
public:
  gmres_solver(const context<S>& on, const linear_operator<T, S>& matrix,
               const preconditioner<T, S>* by, const stopping_rule& stop, solve_watch callback,
               int restart)
      : ctx(on), a(matrix), m(by), rule(stop), watch(std::move(callback)), rows(a.shape().row),
        most(static_cast<int>(
            std::clamp<std::int64_t>(restart, 1, std::max<std::int64_t>(rows, 1)))),
        flexible(m != nullptr && !m->is_linear()),
        seen(ctx, std::int64_t{2} * (most + 2) * (most + 1)),
        s(ctx, slots,
          (most + 1 + detail::scalar_block::most_sums) / detail::scalar_block::most_sums),
        one(ctx, slots), basis(ctx, checked_mul(rows, most + 1)),
        kept(ctx, flexible ? checked_mul(rows, most) : 0), r(ctx, rows),
        z(ctx, m != nullptr ? rows : 0), h1(ctx, most + 2), h2(ctx, most + 2) {}

  std::vector<double> history; ///< relative residuals

  solved_column solve(vector_view<const T, S> b, vector_view<T, S> x) {
    solved_column result;
    history.clear();
    b_norm = static_cast<double>(norm2(ctx, b));
    if (b_norm == 0) fill(ctx, 0, x);
    const double target = std::max(rule.relative * b_norm, rule.absolute);
    double norm = residual(b, x);
    history.push_back(relative(norm));
    double last_cycle = norm;
    for (;;) {
      result.residual = norm;
      if (!std::isfinite(norm) || !std::isfinite(b_norm)) {
        result.reason = stop_reason::nan;
      } else if (norm <= target) {
        result.reason = stop_reason::converged;
      } else {
        result.reason = cycle(x, norm, target, result.iterations);
        norm = residual(b, x);
        const bool stuck =
            !(norm < (1 - 1e-6) * last_cycle); // the next cycle would be like this one
        last_cycle = norm;
        if (std::isfinite(norm) && norm > target) {
          if (result.reason == stop_reason::none && result.iterations >= rule.iterations)
            result.reason = stop_reason::iteration_limit;
          if (result.reason == stop_reason::none && stuck) result.reason = stop_reason::stagnation;
          if (result.reason == stop_reason::breakdown_pivot && !stuck)
            result.reason = stop_reason::none;
        } else {
          result.reason = stop_reason::none;
        }
        if (result.reason == stop_reason::none) continue;
        result.residual = norm;
      }
      break;
    }
    result.converged = result.reason == stop_reason::converged;
    result.relative_residual = relative(result.residual);
    return result;
  }

private:
  enum : int { square, length, inverse, slots };
  static dense_view<T, S> column(T* data, std::int64_t rows) {
    return {data, {rows, 1}, layout::column_major};
  }
  T* vector(int j) { return basis.data() + j * rows; }
  [[nodiscard]] double relative(double norm) const { return b_norm > 0 ? norm / b_norm : norm; }

  double residual(vector_view<const T, S> b, vector_view<T, S> x) {
    a.multiply(ctx, detail::as_columns(vector_view<const T, S>(x)), column(r.data(), rows));
    axpby(ctx, 1, b, -1, r);
    return static_cast<double>(norm2(ctx, r));
  }

  detail::basis_arguments<T> arguments(T* v, int vectors, T* w, double* h, double* shown) {
    detail::basis_arguments<T> p;
    p.rows = p.ld = rows;
    p.v = v;
    p.vectors = vectors;
    p.w = w;
    p.h = h;
    p.h_seen = shown;
    return p;
  }
  void project(const detail::basis_arguments<T>& p) {
    if constexpr (S == space::host)
      detail::cpu::project<T>(ctx, p, s.block());
    else
      detail::gpu::project<T>(ctx, p, s.block());
  }
  void expand(const detail::basis_arguments<T>& p) {
    if constexpr (S == space::host)
      detail::cpu::expand<T>(ctx, p, s.block());
    else
      detail::gpu::expand<T>(ctx, p, s.block());
  }
  double* shown(int pass, int j) {
    return seen.data() + (std::int64_t{pass} * (most + 1) + j) * (most + 2);
  }

  /// Queues what makes direction j + 1 of directions 0 .. j.
  void extend(int j) {
    T* const w = vector(j + 1);
    T* from = vector(j);
    if (m != nullptr) {
      T* const to = flexible ? kept.data() + j * rows : z.data();
      m->apply(ctx, {from, rows}, {to, rows});
      from = to;
    }
    a.multiply(ctx, column(from, rows), column(w, rows));
    for (int pass = 0; pass < 2; ++pass) {
      double* const h = pass == 0 ? h1.data() : h2.data();
      const auto p = arguments(basis.data(), j + 1, w, h, shown(pass, j));
      project(p);
      expand(p);
    }
    const auto v = column(w, rows);
    dots<T, S>(ctx, one, {{v, v, square}},
               {step::square_root(length, square), step::divide(length, length, square)});
    combine<T, S>(ctx, one, {{v, {{v, times(length)}}}});
  }

  /// Up to `most` iterations from the residual r of length `norm`, and x with what they found. Why
  /// it ended before its time; none: the target was met, or the basis is full.
  stop_reason cycle(vector_view<T, S> x, double norm, double target, std::int64_t& iterations) {
    combine<T, S>(ctx, one,
                  {{column(vector(0), rows), {{column(r.data(), rows), {1 / norm, -1}}}}});
    std::vector<double> g = {norm}, cosine, sine;
    std::vector<std::vector<double>> upper; // columns of R
    stop_reason why = stop_reason::none;
    constexpr int behind = S == space::device ? 1 : 0;
    const std::int64_t room = std::min<std::int64_t>(most, rule.iterations - iterations);
    int queued = 0, done = 0;
    bool ended = false;
    while (!ended && done < room) {
      if (queued < room) {
        extend(queued++);
        seen.mark();
      }
      if (queued < room && queued - done <= behind) continue;
      seen.wait(queued - done - 1);
      const int j = done;
      std::vector<double> h(static_cast<std::size_t>(j) + 2);
      for (int i = 0; i <= j; ++i) h[static_cast<std::size_t>(i)] = shown(0, j)[i] + shown(1, j)[i];
      const double below = std::sqrt(shown(1, j)[j + 1]);
      h.back() = below;
      double size = 0;
      for (const double v : h) size += std::abs(v);
      if (!std::isfinite(size)) {
        why = stop_reason::nan;
        break;
      }
      for (int i = 0; i < j; ++i) rotate(cosine[i], sine[i], h[i], h[i + 1]);
      const double radius = std::hypot(h[j], h[j + 1]);
      // What is left of the column is rounding: A maps the basis to itself.
      const bool closed = below <= std::numeric_limits<T>::epsilon() * size;
      if (radius <= std::numeric_limits<T>::epsilon() * size || radius == 0) {
        why = stop_reason::breakdown_pivot; // singular on this basis
        break;
      }
      cosine.push_back(h[j] / radius);
      sine.push_back(h[j + 1] / radius);
      h[j] = radius;
      g.push_back(-sine.back() * g[j]);
      g[j] *= cosine.back();
      upper.push_back(std::move(h));
      ++done;
      ++iterations;
      const double estimate = std::abs(g.back());
      history.push_back(relative(estimate));
      if (watch && !watch({iterations, relative(estimate), clock.seconds()}))
        why = stop_reason::cancelled;
      else if (rule.seconds > 0 && clock.seconds() > rule.seconds)
        why = stop_reason::time_limit;
      ended = why != stop_reason::none || estimate <= target || closed;
    }
    seen.wait(0);
    if (done > 0) update(x, upper, g, done);
    return why;
  }

  static void rotate(double c, double s, double& first, double& second) {
    const double was = first;
    first = c * was + s * second;
    second = -s * was + c * second;
  }

  /// x += M^-1 V y with R y = g.
  void update(vector_view<T, S> x, const std::vector<std::vector<double>>& upper,
              const std::vector<double>& g, int count) {
    std::vector<double> y(static_cast<std::size_t>(count));
    for (int i = count - 1; i >= 0; --i) {
      double sum = g[i];
      for (int k = i + 1; k < count; ++k) sum -= upper[k][i] * y[k];
      y[i] = sum / upper[i][i];
    }
    detail::copy_bytes(ctx, h1.data(), y.data(), y.size() * sizeof(double), space::host);
    ctx.synchronize(); // y may go
    auto p = arguments(flexible ? kept.data() : basis.data(), count, x.data(), h1.data(), nullptr);
    p.factor = 1;
    if (m == nullptr || flexible) return expand(p);
    fill(ctx, 0, r);
    p.w = r.data();
    expand(p);
    m->apply(ctx, std::as_const(r).view(), z.view());
    axpby(ctx, 1, z, 1, x);
  }

  const context<S>& ctx;
  const linear_operator<T, S>& a;
  const preconditioner<T, S>* m;
  stopping_rule rule;
  solve_watch watch;
  std::int64_t rows;
  int most;
  bool flexible;
  solver_clock clock;
  detail::mirror<S> seen;
  scalars<S> s, one;
  array<T, S> basis, kept, r, z;
  array<double, S> h1, h2;
  double b_norm = 0;
};

} // namespace lacuna::solving
