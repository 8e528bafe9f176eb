#include <limits>

#include "core/system_row.hpp"
#include "gpu/parts/cuda.cuh"
#include <lacuna/solver/features.hpp>

namespace lacuna::detail::gpu {

template <class T, class I, class O>
system_features look_at_system(const device_context& ctx, csr_view<const T, I, O, space::device> a,
                               vector_view<T, space::device> diagonal) {
  const device_guard guard(ctx.device());
  const std::int64_t rows = a.shape().row;
  const system_arrays<T, I, O> arrays{a.rowptr().data(), a.colind().data(), a.values().data(),
                                      a.order().sorted};
  // Whole numbers, whose sum does not depend on the order.
  array<unsigned long long, space::device> counts(ctx, row_findings::count);
  check(cudaMemsetAsync(counts.data(), 0, counts.bytes(), ctx.stream()), "look_at_system");
  for_each(ctx, rows, "diagonal", [arrays, d = diagonal.data()] __device__(std::int64_t i) {
    d[i] = diagonal_of(arrays, i);
  });
  for_each(ctx, rows, "look_at_system",
           [arrays, d = diagonal.data(), to = counts.data(),
            epsilon = std::numeric_limits<T>::epsilon()] __device__(std::int64_t i) {
             const row_findings f = look_at_row(arrays, static_cast<const T*>(d), i, epsilon);
#pragma unroll
             for (int k = 0; k < row_findings::count; ++k)
               if (f.of[k] != 0) atomicAdd(to + k, static_cast<unsigned long long>(f.of[k]));
           });
  unsigned long long found[row_findings::count] = {};
  read_back(ctx, found, counts.data(), row_findings::count);
  const auto number = [&](int k) { return static_cast<std::int64_t>(found[k]); };
  return {rows,
          a.size(),
          number(row_findings::unmatched),
          number(row_findings::unsymmetric),
          number(row_findings::zero),
          number(row_findings::negative),
          number(row_findings::dominant),
          number(row_findings::not_finite)};
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template system_features look_at_system<T, I, O>(const device_context&,                          \
                                                   csr_view<const T, I, O, space::device>,         \
                                                   vector_view<T, space::device>);
LACUNA_INSTANTIATE(float, std::int32_t, std::int32_t)
LACUNA_INSTANTIATE(double, std::int32_t, std::int32_t)
LACUNA_INSTANTIATE(float, std::int64_t, std::int64_t)
LACUNA_INSTANTIATE(double, std::int64_t, std::int64_t)

} // namespace lacuna::detail::gpu
