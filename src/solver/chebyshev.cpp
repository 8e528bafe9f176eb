#include <lacuna/solver/chebyshev.hpp>

#include <cmath>

#include <fmt/format.h>

#include <lacuna/op/vector.hpp>
#include <lacuna/plan/plan.hpp>

namespace lacuna {

namespace detail {
namespace {

template <class T, class I, class O, space S>
class planned_matrix final : public kept_matrix<T, S> {
public:
  planned_matrix(const context<S>& ctx, csr_view<const T, I, O, S> a) : a_(a), op_(plan(ctx, a)) {}
  void multiply(const context<S>& ctx, double alpha, vector_view<const T, S> x, double beta,
                vector_view<T, S> y) const override {
    if constexpr (S == space::device)
      if (ctx.stream() != op_.where().stream()) // a plan keeps to its own stream
        return lacuna::multiply(ctx, scaled(alpha, a_), x, scaled(beta, y), y);
    op_.multiply(alpha, x, beta, y);
  }
  [[nodiscard]] std::size_t bytes() const override { return op_.bytes(); }
  void update(csr_view<const T, I, O, S> a) {
    op_.update_values(a);
    a_ = a;
  }

private:
  csr_view<const T, I, O, S> a_;
  planned_operator<T, I, O, S> op_;
};

} // namespace

template <class T, class I, class O, space S>
std::unique_ptr<kept_matrix<T, S>> keep_matrix(const context<S>& ctx,
                                               csr_view<const T, I, O, S> a) {
  return std::make_unique<planned_matrix<T, I, O, S>>(ctx, a);
}
template <class T, class I, class O, space S>
void update_kept(kept_matrix<T, S>& kept, csr_view<const T, I, O, S> a) {
  auto* const own = dynamic_cast<planned_matrix<T, I, O, S>*>(&kept);
  if (own == nullptr)
    throw bad_input("chebyshev: update_values: A has other index types than the matrix before");
  own->update(a);
}

} // namespace detail

template <class T, space S> void chebyshev<T, S>::require(const chebyshev_options& options) {
  if (options.degree < 1)
    throw bad_input(fmt::format("chebyshev: degree = {} is below 1", options.degree));
  if (!(options.lower_fraction > 0 && options.lower_fraction < 1))
    throw bad_input(fmt::format("chebyshev: lower_fraction = {} is not between 0 and 1",
                                options.lower_fraction));
  if (!(options.radius >= 0) || !std::isfinite(options.radius))
    throw bad_input(fmt::format("chebyshev: radius = {} is not positive", options.radius));
}

/// Per application, bytes per row: 3 vectors once, 5 and the product's for each further degree.
template <class T, space S>
void chebyshev<T, S>::apply(const context<S>& ctx, vector_view<const T, S> r,
                            vector_view<T, S> z) const {
  detail::require_same_size("chebyshev", "r", r.size(), "rows of A", size());
  detail::require_same_size("chebyshev", "z", z.size(), "rows of A", size());
  const double upper = 1.1 * (radius_ > 0 ? radius_ : 1), lower = options_.lower_fraction * upper;
  const double center = (upper + lower) / 2, half = (upper - lower) / 2;
  multiply_elements(ctx, 1 / center, inverse_, r, 0, z);
  if (options_.degree == 1) return;
  axpby(ctx, 1, z, 0, step_);
  axpby(ctx, 1, r, 0, residual_);
  double rho = half / center;
  for (int k = 1; k < options_.degree; ++k) {
    const double next = 1 / (2 * center / half - rho);
    matrix_->multiply(ctx, -1, step_.view(), 1, residual_.view());
    const T by_residual = static_cast<T>(2 * next / half), by_step = static_cast<T>(next * rho);
    if constexpr (S == space::host)
      detail::cpu::step_elements<T>(ctx, by_residual, inverse_.view(), residual_.view(), by_step,
                                    step_.view(), z);
    else
      detail::gpu::step_elements<T>(ctx, by_residual, inverse_.view(), residual_.view(), by_step,
                                    step_.view(), z);
    rho = next;
  }
}

#define LACUNA_INSTANTIATE_FOR(T, I, S)                                                            \
  template std::unique_ptr<detail::kept_matrix<T, S>> detail::keep_matrix<T, I, I, S>(             \
      const context<S>&, csr_view<const T, I, I, S>);                                              \
  template void detail::update_kept<T, I, I, S>(detail::kept_matrix<T, S>&,                        \
                                                csr_view<const T, I, I, S>);
#define LACUNA_INSTANTIATE(T, I)                                                                   \
  LACUNA_INSTANTIATE_FOR(T, I, space::host) LACUNA_INSTANTIATE_FOR(T, I, space::device)
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)
template class LACUNA_EXPORT chebyshev<float, space::host>;
template class LACUNA_EXPORT chebyshev<double, space::host>;
template class LACUNA_EXPORT chebyshev<float, space::device>;
template class LACUNA_EXPORT chebyshev<double, space::device>;

} // namespace lacuna
