// Internal: sparse products whose rows become a dynamic CSR's where they were made.
#pragma once

#include "op/dynamic_layout.hpp"
#include <lacuna/op/spgemm.hpp>

namespace lacuna::detail::gpu {

/// C = alpha A B by spgemm_method::expand_sort. Throws as spgemm does. Waits.
template <class T, class I, class O>
LACUNA_GPU_EXPORT row_segments<T, I, O, space::device>
spgemm_segments(const device_context& ctx, T alpha, device_csr<T, I, O> a, device_csr<T, I, O> b,
                const spgemm_options& options);

} // namespace lacuna::detail::gpu
