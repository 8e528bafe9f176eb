// Internal: what a second refill need not find again: the place of each product in its row of C, a
// byte or two. Values then are loads, one addition in shared memory for each product, and stores.
#pragma once

#include <optional>

#include "gpu/spgemm_heavy.cuh"

namespace lacuna::detail::gpu {

/// What a refill finds out on the device.
struct refill_found {
  unsigned long long stamp; // of C's columns
  int wrong;
};

/// Adds up the stamp of so many columns, on top of what is there.
template <class I>
void stamp_columns(const device_context& ctx, const I* columns, std::int64_t n,
                   unsigned long long* sum);

/// Calls f(row) for the rows of a list.
template <class I, class F> struct for_listed {
  row_list<I> rows;
  F f;
  __device__ void operator()(std::int64_t i) const { f(rows[i]); }
};

/// Those of heavy rows: two bytes or four per product, and 4 per entry of A.
template <class I, class O> class heavy_places {
public:
  heavy_places() = default;
  /// Notes how many bytes each row's places take; none where rows have too many products.
  heavy_places(const device_context& ctx, const spgemm_factors<I, O>& f,
               const known_rows<I, O>& known, const spgemm_totals& totals, row_list<I> rows,
               std::int64_t* bytes);
  [[nodiscard]] bool exist() const { return rows_.count > 0; }
  [[nodiscard]] std::size_t bytes() const {
    return before_.bytes() + (split_ ? split_->bytes() : 0);
  }
  void find(const device_context& ctx, const spgemm_factors<I, O>& f, const known_rows<I, O>& known,
            const spgemm_totals& totals, read_offsets rowptr, const I* colind,
            const std::int64_t* starts, std::uint8_t* places, int* wrong);
  template <class T>
  void refill(const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
              const known_rows<I, O>& known, read_offsets rowptr, const std::int64_t* starts,
              const std::uint8_t* places, T* values, launch_fork& fork) const;

private:
  row_list<I> rows_{nullptr, 0};
  std::int64_t longest_ = 0; // entries of a row of C, at most
  double mean_length_ = 0;   // of the rows of B that products come from
  int each_ = 0;             // bytes of a place
  spgemm::range_sizes sizes_{};
  std::optional<row_split<I>> split_;          // rows with many products, others
  array<std::uint32_t, space::device> before_; // products of a row before each entry of A's
};

/// Places of the products of all rows, as long as the rows' bins stay.
template <class I, class O> class product_places {
public:
  /// By the columns of C, whose rows begin at `rowptr`. Kept: 8 bytes per row, and one to four per
  /// product, at most `limit` bytes together; none if that is not enough, or there are broad rows.
  /// Throws bad_input if C lacks a column. Waits.
  product_places(const device_context& ctx, const spgemm_factors<I, O>& f,
                 const known_rows<I, O>& known, const spgemm_totals& totals,
                 const fill_bins<I>& rows, read_offsets rowptr, const I* colind,
                 std::int64_t entries, std::size_t limit);
  /// None: rows are made as at first.
  [[nodiscard]] bool exist() const { return !places_.empty(); }
  [[nodiscard]] std::size_t bytes() const {
    return starts_.bytes() + places_.bytes() + heavy_.bytes();
  }

  /// Values of C. Waits; false if C has other columns than it had.
  template <class T>
  [[nodiscard]] bool
  refill(const device_context& ctx, const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
         const known_rows<I, O>& known, const spgemm_totals& totals, const fill_bins<I>& rows,
         read_offsets rowptr, std::int64_t entries, const fill_target<T, I>& target) const;

private:
  heavy_places<I, O> heavy_;
  unsigned long long stamp_ = 0;
  int longest_[spgemm::fill_classes] = {};    // entries of a row of C, in each class
  array<std::int64_t, space::device> starts_; // of each row's places, in bytes
  array<std::uint8_t, space::device> places_; // in A's order
};

} // namespace lacuna::detail::gpu
