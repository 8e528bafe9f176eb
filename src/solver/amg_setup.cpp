// The levels of a hierarchy, one from another, and again for new values.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "solver/amg_hierarchy.hpp"
#include <lacuna/core/error.hpp>

namespace lacuna::detail {
namespace {

using namespace amg_rows;

/// Steps of Lanczos' process: 8 find the largest eigenvalue of D^-1 A within some 3 % on Poisson
/// matrices and their coarse levels, which the factor makes up for.
constexpr int lanczos_steps = 8;
constexpr double lanczos_safety = 1.03;
/// Rows up to which a coarsest matrix is inverted whatever was asked for: 0.2 s.
constexpr std::int64_t most_inverted = 600;
/// A level with more rows than this share of the one above is not worth its work.
constexpr double least_coarsening = 0.85;

/// The largest eigenvalue of a symmetric tridiagonal matrix, by bisection.
double largest_eigenvalue(const std::vector<double>& diagonal, const std::vector<double>& beside) {
  double low = -std::numeric_limits<double>::infinity(), high = 0;
  for (std::size_t k = 0; k < diagonal.size(); ++k) {
    const double around = (k > 0 ? beside[k - 1] : 0) + (k + 1 < diagonal.size() ? beside[k] : 0);
    low = std::max(low, diagonal[k]);
    high = std::max(high, diagonal[k] + around);
  }
  for (int step = 0; step < 60 && high - low > 1e-12 * std::abs(high); ++step) {
    const double middle = 0.5 * (low + high);
    // All pivots of T - middle are negative: middle is above every eigenvalue.
    bool above = true;
    double pivot = -1;
    for (std::size_t k = 0; k < diagonal.size() && above; ++k) {
      const double b = k > 0 ? beside[k - 1] : 0;
      pivot = diagonal[k] - middle - (k > 0 ? b * b / pivot : 0);
      above = pivot < 0;
    }
    (above ? high : low) = middle;
  }
  return high;
}

template <class T, space S> class set_up {
public:
  set_up(const context<S>& ctx, amg_hierarchy<T, S>& h) : ctx_(ctx), h_(h) {}

  void build(amg_view<T, S> a) {
    const amg_stopwatch watch(h_.report.seconds.total);
    start(a);
    for (;;) {
      amg_level<T, S>& l = h_.levels.back();
      const bool last = l.rows() <= h_.options.coarse_rows ||
                        static_cast<int>(h_.levels.size()) >= h_.options.most_levels;
      if (l.rows() > h_.options.coarse_rows || h_.levels.size() == 1) make_plan(l);
      inspect(l);
      if (last || !coarsen(l)) break;
    }
    finish();
    amg_allocate_vectors(ctx_, h_);
    if (h_.options.value_updates) prepare_updates();
    ctx_.synchronize();
  }

  void rebuild(amg_view<T, S> a) {
    h_.levels.front().a = a; // what was there may be gone
    prepare_updates();
    for (std::size_t k = 0; k < h_.levels.size(); ++k) {
      amg_level<T, S>& l = h_.levels[k];
      if (l.op) l.op->update_values(l.a);
      inspect(l);
      if (k + 1 == h_.levels.size()) break;
      amg_interpolate(ctx_, h_.options, l, h_.levels[k + 1].rows());
      transpose_refill(ctx_, l.transposition, l.p, l.r);
      l.product.refill(ctx_, std::as_const(l.r).view(), l.a, std::as_const(l.p).view(),
                       h_.levels[k + 1].own);
    }
    finish();
    ctx_.synchronize();
  }

private:
  void start(amg_view<T, S> a) {
    h_.levels.emplace_back();
    amg_level<T, S>& l = h_.levels.back();
    l.a = a;
    const amg_options& o = h_.options;
    l.unknowns = o.kind == amg_kind::classical ? 1 : o.unknowns_per_node;
    const std::int64_t n = l.rows();
    if (o.kind == amg_kind::classical) return;
    if (n % l.unknowns != 0)
      throw bad_input(
          fmt::format("amg: {} rows are no multiple of {} unknowns a node", n, l.unknowns));
    std::vector<T> near(o.near_null_space.begin(), o.near_null_space.end());
    if (near.empty() && l.unknowns > 1) {
      near.assign(static_cast<std::size_t>(n * l.unknowns), T{0});
      for (std::int64_t i = 0; i < n; ++i)
        near[static_cast<std::size_t>(i % l.unknowns * n + i)] = T{1};
    }
    if (near.empty() || n == 0) return;
    if (static_cast<std::int64_t>(near.size()) % n != 0)
      throw size_mismatch(
          fmt::format("amg: near_null_space has {} elements, which is no multiple of A's {} rows",
                      near.size(), n));
    l.vectors = static_cast<int>(static_cast<std::int64_t>(near.size()) / n);
    l.near = copy_to(ctx_, near);
  }

  /// What a device's products with a matrix are to know; nothing on a host.
  operation_info_t known_of(amg_view<T, S> a) const {
    if constexpr (S == space::host)
      return {};
    else
      return multiply_inspect(ctx_, a, vector_view<const T, S>(nullptr, a.shape().col),
                              vector_view<const T, S>(nullptr, a.shape().row));
  }

  void make_plan(amg_level<T, S>& l) {
    const amg_stopwatch watch(h_.report.seconds.plans);
    if (h_.options.planned_entries == 0 || l.a.size() < h_.options.planned_entries) {
      l.with_a = known_of(l.a);
      return;
    }
    // Ten iterations of a cycle's four products, and those of the spectral radius.
    l.op.emplace(ctx_, l.a,
                 plan_hints{.multiplies = 40.0 + lanczos_steps,
                            .value_updates = h_.options.value_updates ? 10.0 : 0.0});
  }

  /// Diagonal and spectral radius; whether all values are finite.
  void inspect(amg_level<T, S>& l) {
    const std::int64_t n = l.rows();
    if (l.diagonal.size() != n) l.diagonal = array<T, S>(ctx_, n);
    largest_ = array<T, S>(ctx_, n);
    array<T, S> ratio(ctx_, n);
    double bound = 0;
    {
      const amg_stopwatch watch(h_.report.seconds.strength);
      amg_each(ctx_, n,
               row_facts<T>{l.rows_of_a(), h_.options.kind == amg_kind::classical,
                            l.diagonal.data(), largest_.data(), ratio.data()});
      bound = static_cast<double>(norm_inf(ctx_, ratio));
    }
    if (!std::isfinite(bound)) refuse(ratio);
    const amg_stopwatch watch(h_.report.seconds.spectral_radius);
    l.spectral_radius =
        std::min(bound, lanczos_safety * spectral_radius(l, bound / lanczos_safety));
  }
  [[noreturn]] void refuse(const array<T, S>& ratio) {
    const host_context here({1});
    const auto copy = copy_to(here, ratio);
    std::int64_t row = 0;
    while (row + 1 < copy.size() && std::isfinite(static_cast<double>(copy[row]))) ++row;
    throw bad_input(fmt::format("amg: row {} of {} has a value that is not finite", row,
                                h_.levels.size() == 1 ? "A" : "a coarse matrix"));
  }

  /// Largest eigenvalue of D^-1 A, from below; ends as soon as it has found `enough`.
  double spectral_radius(amg_level<T, S>& l, double enough) {
    const std::int64_t n = l.rows();
    if (n == 0) return 0;
    array<T, S> w(ctx_, n), q(ctx_, n), before(ctx_, n), y(ctx_, n);
    // w = D^-1 t of a random t
    amg_each(ctx_, n, random_start<T>{y.data()});
    amg_each(ctx_, n,
             lanczos_step<T>{y.data(), y.data(), l.diagonal.data(), T{1}, T{0}, T{0}, q.data(),
                             w.data()});
    double length = std::sqrt(static_cast<double>(dot(ctx_, w, q))), last_length = 0;
    std::vector<double> diagonal, beside;
    const int steps = static_cast<int>(std::min<std::int64_t>(lanczos_steps, n));
    for (int k = 0; k < steps && length > 0 && std::isfinite(length); ++k) {
      // w and q are length times too long, `before` last_length times.
      amg_multiply<T, S>(ctx_, l, 1, w.view(), 0, w.view(), y.view());
      const double along = static_cast<double>(dot(ctx_, w, y)) / (length * length);
      diagonal.push_back(along);
      if (largest_eigenvalue(diagonal, beside) >= enough) break;
      const double back = k > 0 ? length / last_length : 0;
      amg_each(ctx_, n,
               lanczos_step<T>{y.data(), q.data(), l.diagonal.data(), static_cast<T>(1 / length),
                               static_cast<T>(along / length), static_cast<T>(back), before.data(),
                               w.data()});
      std::swap(q, before);
      last_length = length;
      length = std::sqrt(static_cast<double>(dot(ctx_, w, q)));
      beside.push_back(length);
      if (length < 1e-6 * std::abs(along)) break;
    }
    return diagonal.empty() ? 0 : largest_eigenvalue(diagonal, beside);
  }

  /// The next level; false if it would not be much smaller.
  bool coarsen(amg_level<T, S>& l) {
    const int level = static_cast<int>(h_.levels.size()) - 1;
    const std::int64_t found = amg_coarsen(ctx_, h_, level, largest_);
    if (found == 0 ||
        static_cast<double>(found) > least_coarsening * static_cast<double>(l.rows())) {
      forget_coarse(l);
      return false;
    }
    {
      const amg_stopwatch watch(h_.report.seconds.prolongator);
      amg_interpolate(ctx_, h_.options, l, found);
    }
    {
      const amg_stopwatch watch(h_.report.seconds.transposition);
      l.r = transpose(ctx_, l.p);
    }
    {
      const amg_stopwatch watch(h_.report.seconds.plans);
      l.with_p = known_of(std::as_const(l.p).view());
      l.with_r = known_of(std::as_const(l.r).view());
    }
    const amg_stopwatch watch(h_.report.seconds.galerkin);
    amg_matrix<T, S> product =
        l.product.make(ctx_, std::as_const(l.r).view(), l.a, std::as_const(l.p).view(), l.vectors,
                       h_.options.value_updates);
    h_.levels.emplace_back();
    amg_level<T, S>& next = h_.levels.back();
    next.own = std::move(product);
    next.a = std::as_const(next.own).view();
    next.vectors = l.vectors;
    next.unknowns = next.vectors;
    next.near = std::move(l.coarse_near);
    return true;
  }
  static void forget_coarse(amg_level<T, S>& l) {
    for (auto* m : {&l.p, &l.tentative, &l.smoothing}) *m = {};
    for (auto* v : {&l.aggregate, &l.coarse, &l.number, &l.list_at, &l.list, &l.count}) *v = {};
    l.strong = {};
    l.coarse_near = {};
  }

  void finish() {
    for (amg_level<T, S>& l : h_.levels) prepare_smoother(l);
    const amg_stopwatch watch(h_.report.seconds.coarse_solve);
    invert(h_.levels.back());
  }

  void prepare_smoother(amg_level<T, S>& l) {
    const std::int64_t n = l.rows();
    if (l.scale.size() != n) l.scale = array<T, S>(ctx_, n);
    const double rho = l.spectral_radius > 0 ? l.spectral_radius : 1;
    switch (h_.options.smoother) {
    case amg_smoother::l1_jacobi:
      return amg_each(ctx_, n, inverse_l1<T>{l.rows_of_a(), l.scale.data()});
    case amg_smoother::jacobi:
      return amg_each(ctx_, n,
                      inverse_of<T>{l.diagonal.data(), static_cast<T>(h_.options.relaxation / rho),
                                    l.scale.data()});
    case amg_smoother::gauss_seidel:
      if (l.colours.empty()) colour(l);
      [[fallthrough]];
    case amg_smoother::chebyshev:
      amg_each(ctx_, n, inverse_of<T>{l.diagonal.data(), T{1}, l.scale.data()});
    }
  }

  /// Rows by colours: no two of one colour are neighbours. A's pattern is symmetric.
  void colour(amg_level<T, S>& l) {
    const std::int64_t n = l.rows();
    const host_context here({1});
    array<int> found(here, n), rows(here, n);
    for (int& c : found) c = -1;
    array<int, S> now = copy_to(ctx_, found), next(ctx_, n), flag(ctx_, 1);
    int left = 1;
    while (n > 0 && left != 0) {
      left = 0;
      copy_bytes(ctx_, flag.data(), &left, sizeof(int), space::host);
      amg_each(ctx_, n,
               colour_round{l.a.rowptr().data(), l.a.colind().data(), now.data(), next.data(),
                            flag.data()});
      std::swap(now, next);
      settle<space::host, S>(flag.data());
      copy_bytes(here, &left, flag.data(), sizeof(int), S);
    }
    found = copy_to(here, now);
    int most = 0;
    for (const int c : found) most = std::max(most, c + 1);
    std::vector<std::int64_t> starts(static_cast<std::size_t>(most) + 1, 0);
    for (const int c : found) ++starts[static_cast<std::size_t>(c) + 1];
    for (int c = 0; c < most; ++c) starts[c + 1] += starts[c];
    std::vector<std::int64_t> at(starts);
    for (std::int64_t i = 0; i < n; ++i)
      rows[at[static_cast<std::size_t>(found[i])]++] = static_cast<int>(i);
    l.colours = std::move(starts);
    l.coloured_rows = copy_to(ctx_, rows);
  }

  void invert(amg_level<T, S>& l) {
    const std::int64_t n = l.rows();
    if (n > std::max<std::int64_t>(most_inverted, h_.options.coarse_rows)) return;
    const host_context here({1});
    const auto a = copy_to(here, l.a);
    std::vector<double> full(static_cast<std::size_t>(n * n), 0.0);
    for (std::int64_t i = 0; i < n; ++i)
      for (int k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
        full[static_cast<std::size_t>(i * n + a.colind()[k])] += static_cast<double>(a.values()[k]);
    // With a diagonal of ones, so that what counts as 0 does not depend on jumps in A.
    std::vector<double> scale(static_cast<std::size_t>(n), 1.0);
    for (std::int64_t i = 0; i < n; ++i) {
      const double d = std::abs(full[static_cast<std::size_t>(i * n + i)]);
      if (d > 0) scale[static_cast<std::size_t>(i)] = 1 / std::sqrt(d);
    }
    const auto scale_entries = [&] {
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          full[static_cast<std::size_t>(i * n + j)] *=
              scale[static_cast<std::size_t>(i)] * scale[static_cast<std::size_t>(j)];
    };
    scale_entries();
    // What rounding leaves of a pivot that is 0 grows with the rows.
    const double rounding = 4 * static_cast<double>(n) * std::numeric_limits<T>::epsilon();
    cpu::dense_inverse(static_cast<int>(n), full,
                       std::max(sizeof(T) == 4 ? 1e-6 : 1e-12, rounding));
    scale_entries();
    std::vector<T> by_columns(full.size());
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        by_columns[static_cast<std::size_t>(j * n + i)] =
            static_cast<T>(full[static_cast<std::size_t>(i * n + j)]);
    if (l.inverse.size() == n * n && n > 0) { // graphs that were captured look at it
      copy_bytes(ctx_, l.inverse.data(), by_columns.data(), l.inverse.bytes(), space::host);
      ctx_.synchronize();
    } else {
      l.inverse = copy_to(ctx_, by_columns);
      ctx_.synchronize();
    }
  }

  void prepare_updates() {
    for (std::size_t k = 0; k + 1 < h_.levels.size(); ++k) {
      amg_level<T, S>& l = h_.levels[k];
      l.product.prepare(ctx_, std::as_const(l.r).view(), l.a, std::as_const(l.p).view(), l.vectors);
      if (l.transposition.inspection() == nullptr)
        l.transposition = transpose_inspect(ctx_, l.p, l.r);
    }
  }

  const context<S>& ctx_;
  amg_hierarchy<T, S>& h_;
  array<T, S> largest_;
};

} // namespace

template <class T, space S>
void amg_build(const context<S>& ctx, amg_hierarchy<T, S>& h, amg_view<T, S> a) {
  set_up<T, S>(ctx, h).build(a);
}
template <class T, space S>
void amg_rebuild(const context<S>& ctx, amg_hierarchy<T, S>& h, amg_view<T, S> a) {
  set_up<T, S>(ctx, h).rebuild(a);
}

#define LACUNA_INSTANTIATE_ON(T, S)                                                                \
  template void amg_build(const context<S>&, amg_hierarchy<T, S>&, amg_view<T, S>);                \
  template void amg_rebuild(const context<S>&, amg_hierarchy<T, S>&, amg_view<T, S>);
#define LACUNA_INSTANTIATE(T)                                                                      \
  LACUNA_INSTANTIATE_ON(T, space::host)                                                            \
  LACUNA_INSTANTIATE_ON(T, space::device)
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail
