// Internal: the ways that values go to storage in another order. What numbers a matrix's entries
// tells afterwards where they went.
#pragma once

#include <lacuna/core/array.hpp>

namespace lacuna::detail::cpu {
/// numbers[k] = k; and numbers as offsets.
LACUNA_EXPORT void number_entries(const host_context& ctx, vector_view<double> numbers);
template <class O>
LACUNA_EXPORT void as_offsets(const host_context& ctx, vector_view<const double> numbers,
                              vector_view<O> offsets);
} // namespace lacuna::detail::cpu

namespace lacuna::detail::gpu {
/// Queued, as is the next.
LACUNA_GPU_EXPORT void number_entries(const device_context& ctx,
                                      vector_view<double, space::device> numbers);
template <class O>
LACUNA_GPU_EXPORT void as_offsets(const device_context& ctx,
                                  vector_view<const double, space::device> numbers,
                                  vector_view<O, space::device> offsets);
} // namespace lacuna::detail::gpu
