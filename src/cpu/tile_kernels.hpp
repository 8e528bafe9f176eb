// Internal: small dense blocks turned from rows to columns and back, compiled for several
// instruction sets by Highway; the best this machine has is picked at first use.
#pragma once

#include <cstdint>

namespace lacuna::detail::cpu {

template <class T> struct tile_kernels {
  /// to[c * to_stride + r] = from[r * from_stride + c] for r < rows, c < cols. `streams`: written
  /// past the caches where alignment allows; call finish_streaming() then.
  void (*transpose)(const T* from, std::int64_t from_stride, std::int64_t rows, std::int64_t cols,
                    T* to, std::int64_t to_stride, bool streams);
};

template <class T> const tile_kernels<T>& best_tile_kernels();

} // namespace lacuna::detail::cpu
