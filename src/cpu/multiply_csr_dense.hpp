// Internal: several columns of a product on the host.
#pragma once

#include <lacuna/op/multiply.hpp>

namespace lacuna::detail::cpu {

/// Y = alpha A X + beta Z; X, Z and Y may be vectors whose elements have gaps between them.
template <class T, class I, class O>
void multiply_csr_dense(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                        dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y);

} // namespace lacuna::detail::cpu
