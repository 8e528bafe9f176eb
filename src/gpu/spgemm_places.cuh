// Internal: what a second refill need not find again: the place of each product in its row of C, a
// byte or two. Values then are loads, one addition in shared memory for each product, and stores.
#pragma once

#include "gpu/spgemm_split.cuh"

namespace lacuna::detail::gpu {

/// What a refill finds out on the device.
struct refill_found {
  unsigned long long stamp; // of C's columns
  int wrong;
};

/// Places of the products of all rows that are merged or have tables.
template <class I, class O> class product_places {
public:
  /// By the columns of C, whose rows begin at `rowptr`. Kept: 8 bytes per row, and one or two per
  /// product, at most `limit` bytes together; none if that is not enough. Throws bad_input if C
  /// lacks a column. Waits.
  product_places(const device_context& ctx, const spgemm_factors<I, O>& f,
                 const known_rows<I, O>& known, const spgemm_totals& totals,
                 const row_bins<I>& bins, read_offsets rowptr, const I* colind,
                 std::int64_t entries, std::size_t limit);
  /// None: rows are made as at first.
  [[nodiscard]] bool exist() const { return !places_.empty(); }
  [[nodiscard]] std::size_t bytes() const { return starts_.bytes() + places_.bytes(); }

  /// Values of C: those of heavy rows as in fill_rows, which compares their columns. Waits; false
  /// if C has other columns than it had.
  template <class T>
  [[nodiscard]] bool
  refill(const device_context& ctx, const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
         const known_rows<I, O>& known, const spgemm_totals& totals, const fill_bins<I>& rows,
         read_offsets rowptr, std::int64_t entries, const fill_target<T, I>& target) const;

private:
  unsigned long long stamp_ = 0;
  int longest_[spgemm::fill_classes] = {};    // entries of a row of C, in each class
  array<std::int64_t, space::device> starts_; // of each row's places, in bytes
  array<std::uint8_t, space::device> places_; // in A's order
};

} // namespace lacuna::detail::gpu
