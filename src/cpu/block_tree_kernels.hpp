// Internal: a leaf of a block tree times a vector, in either direction; compiled for several
// instruction sets by Highway, the best this machine has is picked at first use.
#pragma once

#include <cstdint>

namespace lacuna::detail::cpu {

/// One leaf, and where its part of x and of the sums begins.
template <class T> struct leaf_work {
  std::uint64_t node;
  const T* x;
  T* sums;
  std::int64_t rows, cols; ///< of a dense leaf
};

template <class T> struct leaf_kernels {
  /// sums += A x for `count` leaves in turn; transposed: sums += A^T x.
  void (*plain)(const unsigned char* pool, const leaf_work<T>* work, int count);
  void (*transposed)(const unsigned char* pool, const leaf_work<T>* work, int count);
};

template <class T> const leaf_kernels<T>& best_leaf_kernels();

} // namespace lacuna::detail::cpu
