// Internal: small products in one pass behind the analysis, with one wait: what a small product
// costs is waiting, not work. Neighbouring rows of C are expanded, sorted and summed together, a
// tile of up to 2048 products at a time; sums are formed in A's order, as everywhere else.
#pragma once

#include "gpu/parts/offsets.cuh"
#include "gpu/spgemm.cuh"

namespace lacuna::detail::gpu {

/// Products that a tile has room for, and how many a row without any counts as: a tile has up to
/// 512 rows.
inline constexpr int small_tile = 2048, small_row_cost = 4;
/// What rows cost that begin in a tile: the last may be the longest. 0: rows are too long.
__host__ __device__ constexpr std::int64_t small_tile_share(std::int64_t longest) {
  const std::int64_t share = small_tile - (longest + small_row_cost) + 1;
  return share < small_tile / 4 ? 0 : share;
}
__host__ __device__ constexpr std::int64_t small_cost(std::int64_t products, std::int64_t rows) {
  return products + small_row_cost * rows;
}
/// Products that sizes let expect; may be half or a few times as many.
inline double expected_products(const spgemm::factor_sizes& s) {
  return static_cast<double>(s.a_entries) * static_cast<double>(s.b_entries) /
         static_cast<double>(std::max<std::int64_t>(s.b_rows, 1));
}

/// Entries of C, row after row. Scratch: 12 bytes (double, int32) for each product that is
/// expected, and 8 for each row of A.
template <class T, class I> class small_product {
public:
  /// Whether sizes speak for it: keys of 32 bits are a row of a tile and a column, and a tile may
  /// have any number of A's entries that meet nothing.
  static bool may_be(const spgemm_thresholds& t, const spgemm::factor_sizes& s,
                     std::int64_t columns) {
    return s.a_rows > 0 && columns > 0 && columns <= std::int64_t{1} << 23 &&
           s.a_rows <= std::int64_t{1} << 22 && s.a_entries / 1000 < t.one_pass_products &&
           expected_products(s) <= 1e3 * static_cast<double>(t.one_pass_products);
  }
  /// Queues all of it behind the analysis, which has not been waited for. rowptr is C's.
  template <class O>
  small_product(const device_context& ctx, const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
                const spgemm::factor_sizes& sizes, row_facts<I, O>& facts, write_offsets rowptr);
  /// Whether C is there, by what the analysis has found by now; else make it another way.
  [[nodiscard]] bool is_made(const spgemm_totals& totals) const;
  /// The entries, once their number is known. Does not wait.
  std::pair<array<I, space::device>, array<T, space::device>> take(const device_context& ctx,
                                                                   std::int64_t entries) const;

private:
  std::int64_t rows_, tiles_;                       // tiles_: that there is room for
  array<unsigned long long, space::device> states_; // of tiles
  array<I, space::device> columns_;
  array<T, space::device> values_;
};

} // namespace lacuna::detail::gpu
