// What a linear system's matrix says about how to solve it.
#pragma once

#include <cstdint>

#include <lacuna/core/array.hpp>
#include <lacuna/format/csr.hpp>

namespace lacuna {

struct system_features {
  std::int64_t rows = 0, entries = 0;
  std::int64_t unmatched = 0;      ///< entries (i, j) for which there is no (j, i)
  std::int64_t unsymmetric = 0;    ///< entries that differ from their (j, i) by more than rounding
  std::int64_t zero_diagonals = 0; ///< missing, or 0
  std::int64_t negative_diagonals = 0;
  std::int64_t dominant_rows = 0; ///< whose diagonal is at least the sum of the others
  std::int64_t not_finite = 0;    ///< entries that are NaN or Inf

  [[nodiscard]] bool symmetric() const { return unmatched == 0 && unsymmetric == 0; }
};

namespace detail::cpu {
/// diagonal: duplicates added up, 0 where there is none. A is square.
template <class T, class I, class O>
LACUNA_EXPORT system_features look_at_system(const host_context& ctx, csr_view<const T, I, O> a,
                                             vector_view<T> diagonal);
} // namespace detail::cpu
namespace detail::gpu {
/// Waits.
template <class T, class I, class O>
LACUNA_GPU_EXPORT system_features look_at_system(const device_context& ctx,
                                                 csr_view<const T, I, O, space::device> a,
                                                 vector_view<T, space::device> diagonal);
} // namespace detail::gpu

} // namespace lacuna
