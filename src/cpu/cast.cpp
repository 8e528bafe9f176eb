#include <lacuna/op/cast.hpp>

#include <atomic>
#include <limits>

#include <fmt/format.h>

#include "cpu/parallel.hpp"
#include "cpu/rows.hpp"

namespace lacuna {
namespace detail::cpu {

template <class From, class To>
std::int64_t cast_array(const host_context& ctx, vector_view<const From> from, vector_view<To> to) {
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first{none};
  for_each_range(ctx, from.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t misfit = none;
    for (std::int64_t k = end; k-- > begin;) {
      if constexpr (std::is_integral_v<To>)
        if (!fits<To>(from[k])) misfit = k;
      to[k] = static_cast<To>(from[k]);
    }
    std::int64_t seen = first.load();
    while (misfit < seen && !first.compare_exchange_weak(seen, misfit)) {
    }
  });
  return first == none ? -1 : first.load();
}

#define LACUNA_INSTANTIATE(From, To)                                                               \
  template std::int64_t cast_array<From, To>(const host_context&, vector_view<const From>,         \
                                             vector_view<To>);
LACUNA_INSTANTIATE(float, double)
LACUNA_INSTANTIATE(double, float)
LACUNA_INSTANTIATE(std::int32_t, std::int64_t)
LACUNA_INSTANTIATE(std::int64_t, std::int32_t)
#undef LACUNA_INSTANTIATE

} // namespace detail::cpu

void detail::throw_does_not_fit_at(const char* what, std::int64_t at) {
  throw bad_input(
      fmt::format("cast: {}[{}] does not fit 32-bit indices; use 64-bit ones", what, at));
}

} // namespace lacuna
