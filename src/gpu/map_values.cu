#include "gpu/parts/cuda.cuh"
#include "op/value_function.hpp"

namespace lacuna::detail::gpu {

template <class T>
void map_array(const device_context& ctx, value_function f, T exponent,
               vector_view<T, space::device> values) {
  const device_guard guard(ctx.device());
  for_each(ctx, values.size(), "map_values",
           [f, exponent, v = values.data()] __device__(std::int64_t k) {
             v[k] = value_of(f, v[k], exponent);
           });
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template void map_array(const device_context&, value_function, T, vector_view<T, space::device>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
