// One cycle of a hierarchy. Nothing is allocated and nothing waited for, so that a cycle can be
// captured; every visit of a level is a handful of launches.
#include "solver/amg_hierarchy.hpp"

namespace lacuna::detail {
namespace {

using namespace amg_rows;

/// Sweeps in place of a direct solution where the coarsest matrix is large.
constexpr int coarse_sweeps = 4;

template <class T, space S> class cycling {
public:
  using in = vector_view<const T, S>;
  using out = vector_view<T, S>;
  using level = amg_level<T, S>;

  cycling(const context<S>& ctx, const amg_hierarchy<T, S>& h)
      : ctx_(ctx), h_(h), options_(h.options) {}

  /// x = M^-1 b on a level and those below it.
  void visit(std::size_t k, in b, out x) const {
    const level& l = h_.levels[k];
    if (k + 1 == h_.levels.size()) return coarsest(l, b, x);
    smooth(l, b, x, options_.pre_sweeps, false, true);
    residual(l, b, x);
    const level& next = h_.levels[k + 1];
    const out coarse_b = to_write(next.b), coarse_x = to_write(next.x);
    multiply(ctx_, l.with_r, l.r.view(), l.residual.view(), coarse_b);
    if (k + 2 == h_.levels.size() || options_.cycle == amg_cycle::v)
      visit(k + 1, coarse_b, coarse_x);
    else if (options_.cycle == amg_cycle::w)
      twice(k + 1, coarse_b, coarse_x);
    else
      krylov(k + 1, coarse_b, coarse_x);
    multiply(ctx_, l.with_p, l.p.view(), in(coarse_x), scaled(1.0, in(x)), x);
    smooth(l, b, x, options_.post_sweeps, true, false);
  }

private:
  /// Scratch belongs to the hierarchy, which one caller at a time may use.
  template <class U> static vector_view<U, S> to_write(const array<U, S>& a) {
    return {const_cast<U*>(a.data()), a.size()};
  }

  void residual(const level& l, in b, out x) const {
    amg_multiply<T, S>(ctx_, l, -1, x, 1, b, to_write(l.residual));
  }

  void smooth(const level& l, in b, out x, int sweeps, bool backwards, bool from_zero) const {
    if (sweeps == 0 && from_zero) fill(ctx_, 0, x);
    for (int sweep = 0; sweep < sweeps; ++sweep, from_zero = false) {
      if (options_.smoother == amg_smoother::chebyshev)
        chebyshev(l, b, x, from_zero);
      else if (options_.smoother == amg_smoother::gauss_seidel)
        gauss_seidel(l, b, x, backwards, from_zero);
      else
        jacobi(l, b, x, from_zero);
    }
  }
  void jacobi(const level& l, in b, out x, bool from_zero) const {
    if (from_zero)
      return amg_each(ctx_, l.rows(), jacobi_first<T>{l.scale.data(), b.data(), x.data()});
    residual(l, b, x);
    amg_each(ctx_, l.rows(), jacobi_next<T>{l.scale.data(), l.residual.data(), x.data()});
  }
  void chebyshev(const level& l, in b, out x, bool from_zero) const {
    const double rho = l.spectral_radius > 0 ? l.spectral_radius : 1;
    const double centre = 0.5 * rho * (1 + options_.chebyshev_lower),
                 radius = 0.5 * rho * (1 - options_.chebyshev_lower);
    T* const direction = to_write(l.direction).data();
    const T* before = nullptr;
    double alpha = 1 / centre, beta = 0, last = radius / centre;
    for (int k = 0; k < options_.degree; ++k) {
      if (!from_zero) residual(l, b, x);
      if (k > 0) {
        const double now = 1 / (2 * centre / radius - last);
        alpha = 2 * now / radius;
        beta = now * last;
        last = now;
      }
      // The first direction from 0 is x itself; the last one nobody wants.
      T* const next = from_zero || k + 1 == options_.degree ? nullptr : direction;
      amg_each(ctx_, l.rows(),
               chebyshev_step<T>{l.scale.data(), from_zero ? b.data() : l.residual.data(),
                                 static_cast<T>(alpha), static_cast<T>(beta), from_zero, before,
                                 next, x.data()});
      before = from_zero ? x.data() : direction;
      from_zero = false;
    }
  }
  void gauss_seidel(const level& l, in b, out x, bool backwards, bool from_zero) const {
    if (from_zero) fill(ctx_, 0, x);
    const int colours = static_cast<int>(l.colours.size()) - 1;
    for (int k = 0; k < colours; ++k) {
      const auto c = static_cast<std::size_t>(backwards ? colours - 1 - k : k);
      amg_each(ctx_, l.colours[c + 1] - l.colours[c],
               relax_rows<T>{l.rows_of_a(), l.coloured_rows.data() + l.colours[c], l.scale.data(),
                             b.data(), x.data()});
    }
  }

  void coarsest(const level& l, in b, out x) const {
    if (l.rows() == 0) return;
    if (l.inverse.size() > 0)
      return amg_dense<T, S>(ctx_, l.rows(), l.inverse.data(), b.data(), x.data());
    smooth(l, b, x, coarse_sweeps, false, true);
    smooth(l, b, x, coarse_sweeps, true, false);
  }

  /// A second cycle for what the first left.
  void twice(std::size_t k, in b, out x) const {
    const level& l = h_.levels[k];
    const out rest = to_write(l.rest), second = to_write(l.second);
    visit(k, b, x);
    amg_multiply<T, S>(ctx_, l, -1, x, 1, b, rest);
    visit(k, rest, second);
    axpby(ctx_, 1, in(second), 1, x);
  }

  /// Two steps of flexible CG (Notay's K-cycle).
  void krylov(std::size_t k, in b, out x) const {
    const level& l = h_.levels[k];
    const std::int64_t n = l.rows();
    const out c = to_write(l.first), d = to_write(l.second), v = to_write(l.product_1),
              w = to_write(l.product_2), rest = to_write(l.rest);
    T* const s = to_write(l.scalars).data();
    double* const sums = to_write(l.sums).data();
    visit(k, b, c);
    amg_multiply<T, S>(ctx_, l, 1, c, 0, c, v);
    amg_dots<T, S>(ctx_, n, c.data(), v.data(), b.data(), nullptr, sums, s);
    amg_each(ctx_, n, krylov_residual<T>{s, b.data(), v.data(), rest.data()});
    visit(k, rest, d);
    amg_multiply<T, S>(ctx_, l, 1, d, 0, d, w);
    amg_dots<T, S>(ctx_, n, d.data(), v.data(), w.data(), rest.data(), sums, s + 2);
    amg_each(ctx_, n, krylov_solution<T>{s, c.data(), d.data(), x.data()});
  }

  const context<S>& ctx_;
  const amg_hierarchy<T, S>& h_;
  const amg_options& options_;
};

} // namespace

template <class T, space S>
void amg_allocate_vectors(const context<S>& ctx, amg_hierarchy<T, S>& h) {
  for (std::size_t k = 0; k < h.levels.size(); ++k) {
    amg_level<T, S>& l = h.levels[k];
    const std::int64_t n = l.rows();
    l.residual = array<T, S>(ctx, n);
    if (h.options.smoother == amg_smoother::chebyshev) l.direction = array<T, S>(ctx, n);
    if (k == 0) continue;
    l.x = array<T, S>(ctx, n);
    l.b = array<T, S>(ctx, n);
    if (h.options.cycle == amg_cycle::v || k + 1 == h.levels.size()) continue;
    l.second = array<T, S>(ctx, n);
    l.rest = array<T, S>(ctx, n);
    if (h.options.cycle == amg_cycle::w) continue;
    l.first = array<T, S>(ctx, n);
    l.product_1 = array<T, S>(ctx, n);
    l.product_2 = array<T, S>(ctx, n);
    l.scalars = array<T, S>(ctx, 5);
    l.sums = array<double, S>(ctx, amg_dots_scratch);
  }
}

template <class T, space S>
void amg_apply(const context<S>& ctx, const amg_hierarchy<T, S>& h, vector_view<const T, S> b,
               vector_view<T, S> x) {
  cycling<T, S>(ctx, h).visit(0, b, x);
}

#define LACUNA_INSTANTIATE_ON(T, S)                                                                \
  template void amg_allocate_vectors(const context<S>&, amg_hierarchy<T, S>&);                     \
  template void amg_apply(const context<S>&, const amg_hierarchy<T, S>&, vector_view<const T, S>,  \
                          vector_view<T, S>);
#define LACUNA_INSTANTIATE(T)                                                                      \
  LACUNA_INSTANTIATE_ON(T, space::host)                                                            \
  LACUNA_INSTANTIATE_ON(T, space::device)
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail
