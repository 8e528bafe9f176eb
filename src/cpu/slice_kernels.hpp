// Internal: the inner loops of ell_csr multiplication, compiled for several instruction sets by
// Highway; the best this machine has is picked at first use.
#pragma once

#include <cstdint>

#include <lacuna/format/ell_csr.hpp>

namespace lacuna::detail::cpu {

/// y = alpha A x + beta z; vectors without gaps.
template <class T, class I> struct slice_arguments {
  const ell_slice* slices;
  const ell_step<I>* steps;
  const unsigned char* columns;
  const T* values;
  const I* rows; // may be null: lane l of slice s is row 32 s + l
  std::int64_t pieces;
  std::int64_t row_count;
  const T* x;
  const T* z; // not read if beta is 0; may be y
  T* y;
  T alpha;
  T beta;
};

template <class T, class I> struct slice_kernels {
  /// Rows of slices [first, last), none of them a piece.
  void (*rows)(const slice_arguments<T, I>&, std::int64_t first, std::int64_t last);
  /// Sum of a x over one piece.
  T (*piece)(const slice_arguments<T, I>&, std::int64_t slice);
};

/// The kernels for this machine.
template <class T, class I> const slice_kernels<T, I>& best_slice_kernels();

} // namespace lacuna::detail::cpu
