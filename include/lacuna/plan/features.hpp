// What a plan for many multiplications is chosen from: the row lengths, by one pass over the row
// pointers, and where the columns lie, by a sample of the entries. Costs a fraction of a
// multiplication.
#pragma once

#include <array>
#include <cstdint>

#include <lacuna/format/csr.hpp>
#include <lacuna/op/inspection.hpp>

namespace lacuna {

inline bool operator==(const row_statistics& a, const row_statistics& b) {
  return a.mean == b.mean && a.deviation == b.deviation && a.longest == b.longest &&
         a.empty == b.empty;
}

/// Rows go in groups of 32 neighbours, the lanes of a warp. The entries j of all rows of a group
/// are a step: what 32 lanes, one per row, read at once.
struct spmv_features {
  static constexpr int group_rows = 32;
  static constexpr int longest_cut = 256; ///< entries that are looked at in a row of the sample

  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t entries = 0; ///< stored ones: duplicates and explicit zeros count

  // Of all rows.
  row_statistics row_length; ///< mean, deviation (of all rows), longest, empty
  /// Rows by length: [0] empty ones, [k] those of 2^(k-1) to 2^k - 1 entries.
  std::array<std::int64_t, 64> length_histogram{};
  std::array<std::int64_t, 64> entries_by_length{}; ///< entries that lie in those rows
  /// Steps of all groups, each as many as its longest row has entries: 32 times this is what
  /// unsorted sliced ELL stores.
  std::int64_t slice_steps = 0;

  // Of sampled groups, spread evenly over the rows, and in each row of its first 256 entries.
  std::int64_t sampled_groups = 0;
  std::int64_t sampled_rows = 0; ///< in those groups; the last may have fewer than 32
  std::int64_t sampled_entries = 0;
  std::int64_t sampled_steps = 0;
  /// Steps in groups whose steps all span (largest - smallest column) at most 8 bits, 16 bits,
  /// more.
  std::int64_t steps_8 = 0;
  std::int64_t steps_16 = 0;
  std::int64_t steps_full = 0;
  /// Different values of column - lane in each group: its steps if it were stored by diagonals. No
  /// more than 2 x steps + 8 are counted in a group.
  std::int64_t diagonal_steps = 0;
  /// 32-byte sectors of x, where x begins with one, that each step touches.
  std::int64_t sectors_by_row_lane = 0;
  /// The same for 32 neighbouring entries of CSR, from the beginning of the group on.
  std::int64_t sectors_by_entry = 0;
  /// The entries of a group 64 at a time, by the span of their columns: 8 bits, 16 bits, more.
  std::int64_t chunks_8 = 0;
  std::int64_t chunks_16 = 0;
  std::int64_t chunks_full = 0;
  /// Entries one column after the entry before them in their row: runs, as of dense blocks.
  std::int64_t following_entries = 0;
  /// Rows with the columns of the row before them in the group, in the same order; of longer rows
  /// the first 256 and the length are compared. Empty rows are none, nor are groups' first rows.
  std::int64_t twin_rows = 0;

  // Of single entries sampled from all of the matrix.
  std::int64_t sampled_columns = 0;
  /// Share of the sampled entries in the 4096 most frequent columns, of those hit at least 4 times.
  double hot_share_4096 = 0;

  friend bool operator==(const spmv_features&, const spmv_features&) = default;
};

namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT spmv_features find_features(const host_context& ctx, csr_view<const T, I, O> a);
} // namespace detail::cpu
namespace detail::gpu {
template <class T, class I, class O>
LACUNA_GPU_EXPORT spmv_features find_features(const device_context& ctx,
                                              csr_view<const T, I, O, space::device> a);
} // namespace detail::gpu

/// Bit by bit the same for any number of threads and on host and device. Reads all row pointers, no
/// values, and the columns of a 64th of the groups (up to 1024, 16 or more unless rows are long)
/// and of a 64th of the entries (up to 32768, 2048 or more). Rows need not be sorted. Scratch: up
/// to 1 MiB. On the device it waits, once.
template <class T, class I, class O>
spmv_features find_features(const host_context& ctx, csr_view<const T, I, O> a) {
  return detail::cpu::find_features<T, I, O>(ctx, a);
}
template <class T, class I, class O>
spmv_features find_features(const device_context& ctx, csr_view<const T, I, O, space::device> a) {
  return detail::gpu::find_features<T, I, O>(ctx, a);
}
template <class T, class I, class O, space S>
spmv_features find_features(const context<S>& ctx, const csr<T, I, O, S>& a) {
  return find_features(ctx, a.view());
}

} // namespace lacuna
