// Internal: how the rows of C = A B are dealt out to threads: in ranges of about equal work, and a
// row that holds most of it by ranges of columns.
#pragma once

#include <limits>

#include <lacuna/op/spgemm.hpp>

#include "core/kernel_offsets.hpp"
#include "cpu/rows.hpp"
#include "cpu/spgemm_factors.hpp"

namespace lacuna::detail::cpu {

/// What workers allocate, chosen once for a product.
struct spgemm_sizes {
  std::int64_t window = 0; ///< longest span of a dense row, in columns
  std::int64_t slots = 0;  ///< of the hash table, a power of two
  std::int64_t sorted = 0; ///< products that sorting has room for
  /// Of the accumulators of a thread, or of what it sorts with.
  template <class T, class I> [[nodiscard]] std::size_t bytes(bool sorting = false) const {
    if (sorting) return static_cast<std::size_t>(sorted) * 2 * (sizeof(I) + sizeof(T));
    return static_cast<std::size_t>(window + 128) * (sizeof(T) + 3) +
           2048 * (2 * sizeof(I) + sizeof(T) + 2) +
           static_cast<std::size_t>(window / 64 + 130) * 21 +
           static_cast<std::size_t>(slots) * (2 * sizeof(I) + sizeof(T)) +
           static_cast<std::size_t>(slots / 2 + 16) * 2 * sizeof(I);
  }
};

/// Columns [begin, end) of C; all of them, or a share where threads divide a row.
struct column_range {
  std::int64_t begin = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
};

/// Rows [first, last), or some columns of one row.
struct spgemm_unit {
  std::int64_t first = 0, last = 0;
  column_range columns;
  bool cut = false;
  std::int64_t products = 0; ///< where it is not cut
  // What the one-pass product leaves: entries, and where they are.
  bool made = false;
  std::int64_t entries = 0;
  int part = 0;
  std::int64_t chunk = 0, offset = 0;
};

/// Work below which another thread does not pay: about 100 us.
inline constexpr std::int64_t spgemm_grain = 1 << 15;

/// Who makes what of C, and with how much memory.
struct spgemm_schedule {
  spgemm_estimate estimate;
  spgemm_sizes sizes;
  int threads = 1;
  array<spgemm_unit> units;
};

/// Reads B's row pointers once for each entry of A. `units`: all is made; otherwise only the
/// estimate is.
template <class T, class I, class O>
spgemm_schedule schedule_spgemm(const host_context& ctx, const spgemm_factors<T, I, O>& f,
                                bool units);

/// First and last column of B's rows where their order is not stated and they are `needed`; those
/// of sorted rows are at hand.
template <class T, class I, class O> struct row_bounds {
  array<I> low, high;
  row_bounds(const host_context& ctx, csr_view<const T, I, O> b, spgemm_factors<T, I, O>& f,
             bool needed = true) {
    if (f.b_sorted || !needed) return;
    const std::int64_t rows = b.shape().row;
    low = array<I>(ctx, rows);
    high = array<I>(ctx, rows);
    for_each_range(ctx, rows, entry_grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const I *const first = f.b_col + f.b_rowptr[i], *const last = f.b_col + f.b_rowptr[i + 1];
        if (first == last) continue;
        const auto [least, most] = std::minmax_element(first, last);
        low[i] = *least;
        high[i] = *most;
      }
    });
    f.b_low = low.data();
    f.b_high = high.data();
  }
};

} // namespace lacuna::detail::cpu
