// Internal: several vectors times a dynamic CSR on the device.
#pragma once

#include <lacuna/format/dynamic_csr.hpp>

namespace lacuna::detail::gpu {

/// Y = alpha A X + beta Z, one pass over A for 32 columns of X in either layout. Queued.
template <class T, class I, class O>
void multiply_dynamic_dense(const device_context& ctx, T alpha,
                            dynamic_csr_view<const T, I, O, space::device> a,
                            dense_view<const T, space::device> x, T beta,
                            dense_view<const T, space::device> z, dense_view<T, space::device> y);

} // namespace lacuna::detail::gpu
