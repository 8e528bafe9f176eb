// Internal: products of matrices that lack no entry. Their values are dense matrices as they lie, C
// has no pattern to be found, and each entry's products are added in A's order, as everywhere else.
#pragma once

#include "gpu/spgemm.cuh"

namespace lacuna::detail::gpu {

struct dense_product {
  std::int64_t rows, inner, columns; ///< rows of C, of B; columns of C
  [[nodiscard]] std::int64_t entries() const { return rows * columns; }
  [[nodiscard]] std::int64_t products() const { return rows * inner * columns; }
};

/// Whether factors of these sizes, sorted and without duplicates, lack no entry and have products
/// enough to fill tiles.
inline bool is_dense_product(const spgemm_thresholds& t, const spgemm::factor_sizes& s,
                             std::int64_t columns) {
  constexpr std::int64_t least = 16, most = 1 << 20; // of rows and columns; products fit 64 bits
  const auto fits = [](std::int64_t n) { return n >= least && n <= most; };
  return fits(s.a_rows) && fits(s.b_rows) && fits(columns) && s.a_entries == s.a_rows * s.b_rows &&
         s.b_entries == s.b_rows * columns &&
         s.a_rows * s.b_rows * columns / 1000 >= t.dense_products;
}

/// rowptr of C.
template <class OC>
void number_dense_rows(const device_context& ctx, const dense_product& p, OC* rowptr);

/// All of C, or its values alone: fill_target.
template <class T, class I>
void fill_dense(const device_context& ctx, const dense_product& p, const spgemm_values<T>& v,
                const fill_target<T, I>& target, int* wrong);

} // namespace lacuna::detail::gpu
