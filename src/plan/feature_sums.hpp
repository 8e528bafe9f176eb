// Internal: what host and device share when they find features, so that both find the same ones.
// Functions are constexpr to be callable from kernels, too.
#pragma once

#include <algorithm>

#include <lacuna/plan/features.hpp>

namespace lacuna::detail {

/// What is added up, on the device in any order: whole numbers only.
struct feature_sums {
  spmv_features features; ///< without mean and deviation, and without the hot columns
  /// Squares of the row lengths, the lower 32 bits of each and the rest: sums of neither pass 64
  /// bits for what fits a memory.
  std::uint64_t squares_low = 0;
  std::uint64_t squares_high = 0;
};
constexpr std::uint64_t low_half(unsigned __int128 square) {
  return static_cast<std::uint32_t>(square);
}
constexpr std::uint64_t high_half(unsigned __int128 square) {
  return static_cast<std::uint64_t>(square >> 32);
}

/// How often the sampled columns were hit.
struct hit_counts {
  static constexpr int least = 4, many = 1024;
  std::array<std::int64_t, many> columns{}; ///< [k]: hit k times, least <= k < many
  std::int64_t many_columns = 0;            ///< hit more often: 32 at most
  std::int64_t many_hits = 0;
};

/// The features, once everything is added up. O(1).
spmv_features finish(const feature_sums& sums, const hit_counts& hits, std::int64_t rows,
                     std::int64_t cols, std::int64_t entries);

/// Scatters: the finaliser of splitmix64.
constexpr std::uint64_t scatter(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// One of each `stride` neighbours, somewhere among them: a fixed place would meet the same part of
/// every line of a grid, or the same entry of every row.
struct even_sample {
  std::int64_t all, stride = 1, size = 0;
  /// A 64th, to stay well below a multiplication's cost, but at most `most` and at least half of
  /// `least`, or all.
  constexpr even_sample(std::int64_t all_there_are, std::int64_t least, std::int64_t most)
      : all(all_there_are) {
    if (all == 0) return;
    const std::int64_t wanted = std::min(all, std::clamp(all / 64, least, most));
    stride = (all + wanted - 1) / wanted;
    size = (all + stride - 1) / stride;
  }
  /// Which one the m-th is.
  [[nodiscard]] constexpr std::int64_t place(std::int64_t m) const {
    const std::int64_t begin = m * stride;
    const auto width = static_cast<std::uint64_t>(std::min(stride, all - begin));
    const std::uint64_t random = scatter(static_cast<std::uint64_t>(m) + 1) >> 32;
    return begin + static_cast<std::int64_t>(random * width >> 32);
  }
};

/// The groups of rows that are looked at: up to 1024, and 16 or more, fewer if rows are long.
constexpr even_sample sample_groups(std::int64_t rows, std::int64_t entries) {
  const std::int64_t mean =
      std::clamp<std::int64_t>(rows == 0 ? 0 : entries / rows, 1, spmv_features::longest_cut);
  const std::int64_t groups = (rows + spmv_features::group_rows - 1) / spmv_features::group_rows;
  return {groups, std::clamp<std::int64_t>(512 / mean, 4, 32), 1024};
}
/// The entries whose columns are counted.
constexpr even_sample sample_entries(std::int64_t entries) { return {entries, 4096, 32768}; }

/// Slots of a hash table of n: a power of 2, half of it or more stays free.
constexpr std::int64_t table_slots(std::int64_t n) {
  std::int64_t slots = 1;
  while (slots < 2 * n) slots *= 2;
  return slots;
}
constexpr std::uint64_t slot_of(std::int64_t key, std::int64_t slots) {
  return scatter(static_cast<std::uint64_t>(key)) & static_cast<std::uint64_t>(slots - 1);
}

/// Columns of x, of type T, that share a sector.
template <class T> inline constexpr int sector_columns = static_cast<int>(32 / sizeof(T));

/// 0, 1, 2: differences up to span fit 8 bits, 16 bits, neither.
constexpr int width_class(std::int64_t span) { return span < 256 ? 0 : span < 65536 ? 1 : 2; }

constexpr int most_diagonals(int steps) { return 2 * steps + 8; }

} // namespace lacuna::detail
