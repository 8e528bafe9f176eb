#include <lacuna/solver/jacobi.hpp>

#include <cmath>

#include <fmt/format.h>

namespace lacuna {

namespace detail {

template <class T, space S>
divisors invert_diagonal(const context<S>& ctx, const char* op, double damping,
                         vector_view<const T, S> d, vector_view<T, S> inverse) {
  divisors found;
  if constexpr (S == space::host)
    found = detail::cpu::divide_by_elements<T>(ctx, static_cast<T>(damping), d, inverse);
  else
    found = detail::gpu::divide_by_elements<T>(ctx, static_cast<T>(damping), d, inverse);
  if (found.bad >= 0)
    throw bad_input(
        fmt::format("{}: the diagonal of row {} is not stored, 0 or not finite", op, found.bad));
  return found;
}

void require_damping(double damping) {
  if (!(damping > 0) || !std::isfinite(damping))
    throw bad_input(fmt::format("jacobi: damping = {} is not positive", damping));
}

} // namespace detail

template <class T, space S> void jacobi<T, S>::set(const context<S>& ctx, array<T, S> d) {
  detail::invert_diagonal<T, S>(ctx, "jacobi", options_.damping, d.view(), d.view());
  inverse_ = std::move(d);
}

template <class T, space S>
void jacobi<T, S>::apply(const context<S>& ctx, vector_view<const T, S> r,
                         vector_view<T, S> z) const {
  multiply_elements(ctx, inverse_, r, z);
}

#define LACUNA_INSTANTIATE_IN(T, S)                                                                \
  template class LACUNA_EXPORT jacobi<T, S>;                                                       \
  template detail::divisors detail::invert_diagonal<T, S>(                                         \
      const context<S>&, const char*, double, vector_view<const T, S>, vector_view<T, S>);
#define LACUNA_INSTANTIATE(T)                                                                      \
  LACUNA_INSTANTIATE_IN(T, space::host) LACUNA_INSTANTIATE_IN(T, space::device)
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna
