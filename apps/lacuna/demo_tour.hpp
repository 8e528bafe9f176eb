// The tour on one engine: the main operations on one matrix, judged by the reference loops.
#pragma once

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <random>

#include "common/clock.hpp"
#include "common/text.hpp"
#include "common/vectors.hpp"
#include "lacuna/demo_log.hpp"
#include "reference/reference.hpp"
#include <lacuna/lacuna.hpp>
#include <lacuna/op/add.hpp>
#include <lacuna/op/reorder.hpp>
#include <lacuna/op/spgemm_phases.hpp>
#include <lacuna/op/verify_product.hpp>
#include <lacuna/plan/plan.hpp>
#include <lacuna/plan/statistics.hpp>
#include <lacuna/solver/solve.hpp>

namespace lacuna::app {

/// Seconds that the verdict speaks of; 0 where a step was left out.
struct demo_times {
  std::string format;
  double plain = 0, planned = 0, eight_vectors = 0, square = 0, shuffled = 0, reordered = 0;
};

template <class T, space S> class demo_tour {
public:
  /// `a` and `log` must outlive the tour.
  demo_tour(const context<S>& ctx, const csr<T>& a, std::uint64_t seed, demo_log& log)
      : ctx_(ctx), host_a_(a), a_(copy_to(ctx, a)), log_(log) {
    const auto [rows, cols] = a.shape();
    x_ = random(cols, seed);
    z_ = random(rows, seed + 1);
    x_on_engine_ = copy_to(ctx, x_);
    z_on_engine_ = copy_to(ctx, z_);
  }

  demo_times run() {
    formats();
    products();
    several_vectors();
    matrices();
    changes();
    if constexpr (S == space::host) reordering();
    vectors();
    solving();
    return times_;
  }

private:
  void formats() {
    const auto entries = reference::entries<T, index_t, offset_t>(host_a_.view());
    const double size = static_cast<double>(a_.bytes());
    bool holds = false;
    exact(
        "check A's invariants", 0, [&] { holds = passes_check(); }, [&] { return holds; });
    coo<T, index_t, offset_t, S> c;
    exact(
        "csr → coo", 0, [&] { c = to_coo(ctx_, a_); }, [&] { return entries_of(c) == entries; });
    csr<T, index_t, offset_t, S> r;
    exact(
        "coo → csr", 0, [&] { r = to_csr(ctx_, c); }, [&] { return entries_of(r) == entries; });
    csc<T, index_t, offset_t, S> k;
    exact(
        "csr → csc", 0, [&] { k = to_csc(ctx_, r); },
        [&] { return reference::sort(entries_of(k)) == reference::sort(entries); });
    csr<T, index_t, offset_t, S> t;
    exact(
        "B = Aᵀ", 2 * size, [&] { t = transpose(ctx_, a_); },
        [&] { return entries_of(t) == reference::transpose(entries); });
    auto scaled_copy = copy_to(ctx_, a_);
    exact(
        "A = A / 2", 2.0 * sizeof(T) * static_cast<double>(a_.size()),
        [&] { scale(ctx_, 0.5, scaled_copy); },
        [&] {
          auto half = entries;
          for (auto& v : half.value) v /= 2; // exact in binary
          return entries_of(scaled_copy) == half;
        });
  }

  void products() {
    array<T, S> y(ctx_, a_.shape().row);
    const double bytes = product_bytes(1);
    const auto plain = reference::multiply<T, index_t, offset_t>(host_a_.view(), view(x_));
    times_.plain = numeric(
        "y = A x", bytes, [&] { multiply(ctx_, a_, x_on_engine_, y); },
        [&] { return error_of(y, plain); });
    const stopwatch planning;
    auto op = plan(ctx_, a_, {.multiplies = 1000});
    ctx_.synchronize();
    const double planned_in = planning.seconds();
    times_.planned = numeric(
        "y = A x, planned", bytes, [&] { op.multiply(x_on_engine_, y); },
        [&] { return error_of(y, plain); });
    times_.format = op.format();
    log_.remark(fmt::format("{:.2f} times as fast as plain CSR; planned for 1000 products in {}",
                            times_.plain / times_.planned, human_seconds(planned_in)));
    log_.remark(fmt::format("stored as {}, kernel {}, because", times_.format, op.kernel()));
    for (const std::string& reason : op.decision().reasons) log_.remark("- " + reason);
    auto twice = copy_to(ctx_, a_);
    scale(ctx_, 2, twice);
    numeric(
        "new values in the same plan", 0, [&] { op.update_values(twice); },
        [&] {
          op.multiply(x_on_engine_, y);
          return error_of(
              y, reference::multiply<T, index_t, offset_t>(host_a_.view(), view(x_), false, 2));
        });
    numeric(
        "y = 2 A x - z / 2", bytes + sizeof(T) * static_cast<double>(y.size()),
        [&] { multiply(ctx_, scaled(2, a_), x_on_engine_, scaled(-0.5, z_on_engine_), y); },
        [&] {
          return error_of(y, reference::multiply<T, index_t, offset_t>(host_a_.view(), view(x_),
                                                                       false, 2, -0.5, view(z_)));
        });
    array<T, S> w(ctx_, a_.shape().col);
    const auto transposed_info =
        multiply_inspect(ctx_, transposed(a_), z_on_engine_, w, {.values_stay = true});
    numeric(
        "y = Aᵀ x, inspected", bytes,
        [&] { multiply(ctx_, transposed_info, transposed(a_), z_on_engine_, w); },
        [&] {
          return error_of(
              w, reference::multiply<T, index_t, offset_t>(host_a_.view(), view(z_), true));
        });
  }

  void several_vectors() {
    constexpr std::int64_t vectors = 8;
    for (const layout order : {layout::row_major, layout::column_major}) {
      dense<T> x(host_, {a_.shape().col, vectors}, order);
      fill_vector(x.values(), 3);
      const auto x_on_engine = copy_to(ctx_, x);
      dense<T, S> y(ctx_, {a_.shape().row, vectors}, order);
      const bool by_row = order == layout::row_major;
      const double seconds = numeric(
          by_row ? "Y = A X, 8 vectors, row-major" : "Y = A X, 8 vectors, column-major",
          product_bytes(vectors), [&] { multiply(ctx_, a_, x_on_engine, y); },
          [&] {
            const auto expected =
                reference::multiply<T, index_t, offset_t>(host_a_.view(), std::as_const(x).view());
            const auto result = copy_to(host_, y);
            return reference::worst_error<T>(result.view(), expected);
          });
      log_.remark(fmt::format("8 products take {:.1f} times as long", 8 * times_.plain / seconds));
      if (by_row) times_.eight_vectors = seconds;
    }
  }

  /// Results that are sparse matrices.
  void matrices() {
    csr<T, index_t, offset_t, S> c;
    if (a_.shape().row == a_.shape().col)
      exact(
          "C = A + Aᵀ", 0, [&] { c = add(ctx_, a_, transposed(a_)); },
          [&] {
            const auto entries = reference::entries<T, index_t, offset_t>(host_a_.view());
            return reference::sort(entries_of(c)) ==
                   reference::sort(reference::add<T>(1, entries, 1, reference::transpose(entries)));
          });
    constexpr std::int64_t most = std::int64_t{1} << 28; // seconds on a CPU
    if (const auto before = estimate(ctx_, a_, transposed(a_)); before.products > most)
      return log_.remark(
          fmt::format("C = A Aᵀ is left out: it has {} products", human_count(before.products)));
    times_.square = numeric(
        "C = A Aᵀ", 0, [&] { c = multiply(ctx_, a_, transposed(a_)); },
        [&] { return verify_product(ctx_, 1, a_, transposed(a_), c).worst; });
    log_.remark(human_count(c.size()) + " entries");
  }

  /// Entries go into the matrix where it is: as many as 1 in 500 that it has.
  void changes() {
    const auto [rows, cols] = a_.shape();
    if (rows == 0 || cols == 0) return;
    coo<T> batch(host_, {rows, cols}, a_.size() / 500 + 1);
    std::mt19937_64 random(7);
    for (std::int64_t k = 0; k < batch.size(); ++k) {
      batch.rowind()[k] = static_cast<index_t>(random() % static_cast<std::uint64_t>(rows));
      batch.colind()[k] = static_cast<index_t>(random() % static_cast<std::uint64_t>(cols));
    }
    fill_vector(batch.values(), 8);
    const auto entries = copy_to(ctx_, batch);
    auto m = to_dynamic_csr(ctx_, a_);
    exact(
        "A += E, in place", 0, [&] { insert(ctx_, m, entries); },
        [&] {
          const auto sum = reference::add<T>(
              1, reference::entries<T, index_t, offset_t>(host_a_.view()), 1, entries_of(entries));
          return entries_of(to_csr(ctx_, m)) == sum;
        });
    log_.remark(fmt::format("{} entries, {} of them new", human_count(batch.size()),
                            human_count(m.size() - a_.size())));
    const auto now = copy_to(host_, to_csr(ctx_, m));
    array<T, S> y(ctx_, rows);
    numeric(
        "y = A x, after that", product_bytes(1), [&] { multiply(ctx_, m, x_on_engine_, y); },
        [&] {
          return error_of(y, reference::multiply<T, index_t, offset_t>(now.view(), view(x_)));
        });
  }

  /// Somebody else's numbering, and what an ordering makes of it. The host's alone.
  void reordering() requires(S == space::host) {
    const std::int64_t n = a_.shape().row;
    if (n != a_.shape().col) return;
    array<index_t> order(ctx_, n);
    std::iota(order.begin(), order.end(), index_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(5));
    const permutation<index_t> shuffle(ctx_, std::move(order));
    const auto shuffled = permute(ctx_, a_, shuffle);
    const auto plain = reference::multiply<T, index_t, offset_t>(host_a_.view(), view(x_));
    array<T> from(ctx_, n), to(ctx_, n), y(ctx_, n);
    const auto back = [&](const permutation<index_t>& p) {
      permute_back(ctx_, p, to, y);
      return error_of(y, plain);
    };
    permute(ctx_, shuffle, x_, from);
    times_.shuffled = numeric(
        "y = A x, rows shuffled", product_bytes(1), [&] { multiply(ctx_, shuffled, from, to); },
        [&] { return back(shuffle); });
    permutation<index_t> p;
    csr<T> b;
    numeric(
        "reordered (Cuthill-McKee)", 0,
        [&] {
          const auto rcm = reverse_cuthill_mckee(ctx_, shuffled);
          b = permute(ctx_, shuffled, rcm);
          p = compose(ctx_, shuffle, rcm);
        },
        [&] {
          permute(ctx_, p, x_, from);
          multiply(ctx_, b, from, to);
          return back(p);
        },
        1);
    log_.remark(fmt::format("bandwidth {} before, {} after",
                            human_count(statistics(ctx_, shuffled).bandwidth()),
                            human_count(statistics(ctx_, b).bandwidth())));
    times_.reordered = numeric(
        "y = A x, reordered", product_bytes(1), [&] { multiply(ctx_, b, from, to); },
        [&] { return back(p); });
    log_.remark(
        fmt::format("{:.2f} times as fast as shuffled", times_.shuffled / times_.reordered));
  }

  void vectors() {
    const double bytes = sizeof(T) * static_cast<double>(z_.size());
    const auto z = view(z_);
    T result = 0;
    numeric(
        "dot", bytes, [&] { result = dot(ctx_, z_on_engine_, z_on_engine_); },
        [&] { return reference::worst_error(result, reference::dot<T>(z, z)); });
    numeric(
        "1-norm", bytes, [&] { result = norm1(ctx_, z_on_engine_); },
        [&] { return reference::worst_error(result, reference::norm1<T>(z)); });
    numeric(
        "2-norm", bytes, [&] { result = norm2(ctx_, z_on_engine_); },
        [&] { return reference::worst_error(result, reference::norm2<T>(z)); });
    numeric(
        "largest element", bytes, [&] { result = norm_inf(ctx_, z_on_engine_); },
        [&] { return reference::worst_error(result, reference::norm_inf<T>(z)); });
    auto y = copy_to(ctx_, z_);
    numeric(
        "y = 3 x - y / 4", 3 * bytes, [&] { axpby(ctx_, 3, z_on_engine_, -0.25, y); },
        [&] { return error_of(y, reference::axpby<T>(3, z, -0.25, z)); });
    numeric(
        "Frobenius norm of A", sizeof(T) * static_cast<double>(a_.size()),
        [&] { result = matrix_frob_norm(ctx_, a_); },
        [&] { return reference::worst_error(result, reference::norm2<T>(host_a_.values())); });
    numeric(
        "largest row sum of A", 0, [&] { result = matrix_inf_norm(ctx_, a_); },
        [&] {
          return reference::worst_error(
              result, reference::matrix_inf_norm<T, index_t, offset_t>(host_a_.view()));
        });
  }

  /// A system, where the matrix is one that converges soon; once.
  void solving() {
    if (a_.shape().row != a_.shape().col || a_.shape().row == 0) return;
    const double tolerance = sizeof(T) == 8 ? 1e-6 : 1e-4;
    solve_options<T, S> how{.stop = {.relative = tolerance, .iterations = 1000, .seconds = 2}};
    how.throws = false;
    array<T, S> x(ctx_, a_.shape().col);
    fill(ctx_, 0, x);
    const stopwatch watch;
    const solve_report r = solve(ctx_, a_, z_on_engine_, x, how);
    const double seconds = watch.seconds();
    if (!r.converged)
      return log_.remark(
          fmt::format("A x = b is no system for a quick {}: {}", r.method, in_words(r.reason)));
    // The residual by the reference's product, in units of what was asked for.
    const auto solved = copy_to(host_, x);
    const auto left = reference::multiply<T, index_t, offset_t>(host_a_.view(), solved.view(),
                                                                false, -1, 1, view(z_));
    double square = 0, size = 0;
    for (const double v : left.value) square += v * v;
    for (const T v : z_) size += static_cast<double>(v) * static_cast<double>(v);
    log_.step("A x = b", seconds, 0, std::sqrt(square / size) / (1.1 * tolerance), false);
    log_.remark(fmt::format("{} with preconditioner {}, {} iterations: {}", r.method,
                            r.preconditioner, r.iterations, r.choice.front()));
  }

  /// Runs once, judges, then runs again for the median time, which is returned: a step may change
  /// its operands.
  template <class Run, class Error>
  double measure(const char* name, double bytes, Run run, Error error, bool is_exact, int repeat) {
    run();
    ctx_.synchronize();
    const double worst = error();
    std::vector<double> seconds;
    for (int i = 0; i < repeat; ++i) {
      const stopwatch watch;
      run();
      ctx_.synchronize();
      seconds.push_back(watch.seconds());
    }
    log_.step(name, median(seconds), bytes, worst, is_exact);
    return median(seconds);
  }
  template <class Run, class Error>
  double numeric(const char* name, double bytes, Run run, Error error, int repeat = 5) {
    return measure(name, bytes, run, error, false, repeat);
  }
  template <class Run, class Same> void exact(const char* name, double bytes, Run run, Same same) {
    const auto error = [&] { return same() ? 0 : std::numeric_limits<double>::infinity(); };
    measure(name, bytes, run, error, true, 3);
  }

  [[nodiscard]] bool passes_check() const {
    try {
      check(ctx_, a_);
      return true;
    } catch (const bad_input&) {
      return false;
    }
  }
  array<T> random(std::int64_t size, std::uint64_t seed) const {
    array<T> v(host_, size);
    fill_vector(v.view(), seed);
    return v;
  }
  static vector_view<const T> view(const array<T>& v) { return v.view(); }
  double error_of(const array<T, S>& computed, const reference::expected& e) const {
    const auto result = copy_to(host_, computed);
    return reference::worst_error<T>(result.view(), e);
  }
  /// Entries of a matrix of any format, brought to the host.
  template <class A> reference::triplets entries_of(const A& a) const {
    const auto copy = copy_to(host_, a);
    return reference::entries<T, index_t, offset_t>(copy.view());
  }
  [[nodiscard]] double product_bytes(std::int64_t vectors) const {
    const auto elements = static_cast<double>(a_.shape().row) + static_cast<double>(a_.shape().col);
    return static_cast<double>(a_.bytes()) + elements * static_cast<double>(vectors) * sizeof(T);
  }

  host_context host_;
  context<S> ctx_;
  const csr<T>& host_a_;
  csr<T, index_t, offset_t, S> a_;
  array<T> x_, z_;
  array<T, S> x_on_engine_, z_on_engine_;
  demo_log& log_;
  demo_times times_;
};

} // namespace lacuna::app
