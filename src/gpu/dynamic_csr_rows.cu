// Rows of a batch under other numbers, on the device.
#include "op/dynamic_rows.hpp"

#include "gpu/parts/cuda.cuh"

namespace lacuna::detail::gpu {

template <class I>
void rename_rows(const device_context& ctx, vector_view<const I, space::device> names,
                 vector_view<I, space::device> rowind) {
  const device_guard guard(ctx.device());
  const I* const name = names.data();
  I* const row = rowind.data();
  for_each(ctx, rowind.size(), "rename_rows",
           [=] __device__(std::int64_t k) { row[k] = name[row[k]]; });
}

template void rename_rows(const device_context&, vector_view<const std::int32_t, space::device>,
                          vector_view<std::int32_t, space::device>);
template void rename_rows(const device_context&, vector_view<const std::int64_t, space::device>,
                          vector_view<std::int64_t, space::device>);

} // namespace lacuna::detail::gpu
