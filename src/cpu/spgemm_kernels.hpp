// Internal: the vector parts of SpGEMM's accumulators, compiled for several instruction sets by
// Highway; the best this machine has is picked at first use.
#pragma once

#include <cstdint>

namespace lacuna::detail::cpu {

/// Columns of a dense accumulator that hold something: 64 to a word.
struct marked_columns {
  std::int64_t words = 0; ///< with at least one
  std::int64_t count = 0; ///< columns
};

/// Most keys that `rank` takes. It compares each with each: 6 cycles a key for 64 of them on EPYC
/// (Zen 4), 25 for 256, where sorting would be as fast.
inline constexpr std::int64_t rank_limit = 256;

template <class T> struct spgemm_kernels {
  /// Finds the marks, which are bytes, among 64 * words of them, and clears them. place[i] and
  /// bits[i] are the i-th word that has one and its marks.
  marked_columns (*take_marks)(std::uint8_t* marks, std::int64_t words, std::uint32_t* place,
                               std::uint64_t* bits);
  /// rank[i] = how many of the keys are below keys[i]. Both arrays have room for 16 more.
  void (*rank)(std::int32_t* keys, std::int64_t count, std::int32_t* rank);
  /// sum[j] += s * b[j].
  void (*add_scaled)(T* sum, T s, const T* b, std::int64_t count);
  /// sum[4 * (col[k] - base) + r] += s[r] * b[k] for r = 0 .. 3, k in order.
  void (*add_four)(T* sum, const T* s, const T* b, const std::int32_t* col, std::int64_t base,
                   std::int64_t count);
  void (*add_four_wide)(T* sum, const T* s, const T* b, const std::int64_t* col, std::int64_t base,
                        std::int64_t count);
};

template <class T> const spgemm_kernels<T>& best_spgemm_kernels();

} // namespace lacuna::detail::cpu
