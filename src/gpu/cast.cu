// Converts an array to another type. Waits only where a value may not fit.
#include "gpu/parts/cuda.cuh"
#include <lacuna/op/cast.hpp>

namespace lacuna::detail::gpu {

template <class From, class To>
std::int64_t cast_array(const device_context& ctx, vector_view<const From, space::device> from,
                        vector_view<To, space::device> to) {
  const device_guard guard(ctx.device());
  if constexpr (std::is_floating_point_v<To> || sizeof(To) >= sizeof(From)) {
    for_each(ctx, from.size(), "cast",
             [from = from.data(), to = to.data()] __device__(std::int64_t k) {
               to[k] = static_cast<To>(from[k]);
             });
    return -1;
  } else {
    using place = unsigned long long;
    array<place, space::device> first(ctx, 1);
    check(cudaMemsetAsync(first.data(), 0xff, first.bytes(), ctx.stream()), "cast");
    for_each(ctx, from.size(), "cast",
             [from = from.data(), to = to.data(), most = detail::narrow_limit(),
              first = first.data()] __device__(std::int64_t k) {
               if (from[k] < 0 || from[k] > most) atomicMin(first, static_cast<place>(k));
               to[k] = static_cast<To>(from[k]);
             });
    place misfit = 0;
    read_back(ctx, &misfit, first.data(), 1);
    return misfit == ~place{0} ? -1 : static_cast<std::int64_t>(misfit);
  }
}

#define LACUNA_INSTANTIATE(From, To)                                                               \
  template std::int64_t cast_array<From, To>(const device_context&,                                \
                                             vector_view<const From, space::device>,               \
                                             vector_view<To, space::device>);
LACUNA_INSTANTIATE(float, double)
LACUNA_INSTANTIATE(double, float)
LACUNA_INSTANTIATE(std::int32_t, std::int64_t)
LACUNA_INSTANTIATE(std::int64_t, std::int32_t)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::detail::gpu
