// Entries of a batch in the order of their rows and columns, on the host.
#pragma once

#include <bit>
#include <vector>

#include <lacuna/format/coo.hpp>

#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {

/// Entries of a batch for which another thread pays.
inline constexpr std::int64_t batch_grain = std::int64_t{1} << 13;

/// An entry of a batch, and its place there.
template <class I> struct batch_key {
  I row, col;
  std::int64_t place;
  constexpr bool same_entry(const batch_key& other) const {
    return row == other.row && col == other.col;
  }
};

/// Sorts keys by row and column; equal ones stay in their order. From the highest bits down: one
/// pass deals n keys out to about n / 8 buckets where they are spread evenly, and what is left in a
/// bucket is a handful.
template <class I> class batch_sorter {
public:
  using key = batch_key<I>;

  /// Of indices below these.
  batch_sorter(std::int64_t rows, std::int64_t cols)
      : col_bits_(std::bit_width(static_cast<std::uint64_t>(cols - 1))),
        bits_(col_bits_ + std::bit_width(static_cast<std::uint64_t>(rows - 1))) {}

  /// The result is in `keys`; `spare` has as many places.
  void sort(const host_context& ctx, key* keys, key* spare, std::int64_t n) const {
    const int parts = part_count(ctx, n, batch_grain);
    if (parts == 1) return sort_run(keys, spare, n, bits_, false);
    const int width = digit_width(n, bits_, 11), shift = bits_ - width;
    const std::size_t buckets = std::size_t{1} << width;
    std::vector<std::int64_t> next(buckets * static_cast<std::size_t>(parts)); // part by part
    const auto counts_of = [&](int part) {
      return next.data() + buckets * static_cast<std::size_t>(part);
    };
    for_each_part(ctx, parts, 1, [&](int part, int) {
      std::int64_t* const count = counts_of(part);
      for (std::int64_t k = part_begin(n, part, parts); k < part_begin(n, part + 1, parts); ++k)
        ++count[digit(keys[k], shift, width)];
    });
    std::vector<std::int64_t> starts(buckets + 1);
    std::int64_t before = 0;
    for (std::size_t b = 0; b < buckets; ++b) {
      starts[b] = before;
      for (int part = 0; part < parts; ++part) {
        const std::int64_t count = counts_of(part)[b];
        counts_of(part)[b] = before;
        before += count;
      }
    }
    starts[buckets] = n;
    for_each_part(ctx, parts, 1, [&](int part, int) {
      std::int64_t* const to = counts_of(part);
      for (std::int64_t k = part_begin(n, part, parts); k < part_begin(n, part + 1, parts); ++k)
        spare[to[digit(keys[k], shift, width)]++] = keys[k];
    });
    // Buckets are taken some at a time, for those of a batch with hubs are unlike.
    const int shares = static_cast<int>(std::min<std::size_t>(buckets, 64));
    for_each_dynamic(parts, shares, [&](int share) {
      const auto first = static_cast<std::size_t>(part_begin(buckets, share, shares));
      const auto last = static_cast<std::size_t>(part_begin(buckets, share + 1, shares));
      for (std::size_t b = first; b < last; ++b)
        sort_run(spare + starts[b], keys + starts[b], starts[b + 1] - starts[b], shift, true);
    });
  }

private:
  static int digit_width(std::int64_t n, int bits, int most) {
    return std::min(
        bits,
        std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))) - 4, 3, most));
  }
  /// `width` bits of row and column, one behind the other, from bit `shift` on.
  std::size_t digit(const key& k, int shift, int width) const {
    const auto row = static_cast<std::uint64_t>(k.row), col = static_cast<std::uint64_t>(k.col);
    const std::uint64_t all =
        shift >= col_bits_ ? row >> (shift - col_bits_) : col >> shift | row << (col_bits_ - shift);
    return static_cast<std::size_t>(all & ((std::uint64_t{1} << width) - 1));
  }
  /// Keys that are alike above their last `bits`; the result is in `to` if `moved`, else in `from`.
  void sort_run(key* from, key* to, std::int64_t n, int bits, bool moved) const {
    if (n <= 24 || bits == 0) {
      if (bits > 0) insertion_sort(from, n);
      if (moved) std::copy_n(from, n, to);
      return;
    }
    const int width = digit_width(n, bits, 8), shift = bits - width;
    std::int64_t starts[257] = {};
    for (std::int64_t k = 0; k < n; ++k) ++starts[digit(from[k], shift, width) + 1];
    const int buckets = 1 << width;
    if (std::find(starts + 1, starts + buckets + 1, n) != starts + buckets + 1)
      return sort_run(from, to, n, shift, moved);
    for (int b = 0; b < buckets; ++b) starts[b + 1] += starts[b];
    for (std::int64_t k = 0; k < n; ++k) to[starts[digit(from[k], shift, width)]++] = from[k];
    std::int64_t first = 0; // starts[b] is where bucket b ends by now
    for (int b = 0; b < buckets; first = starts[b++])
      if (starts[b] > first) sort_run(to + first, from + first, starts[b] - first, shift, !moved);
  }
  static void insertion_sort(key* keys, std::int64_t n) {
    for (std::int64_t k = 1; k < n; ++k) {
      const key moving = keys[k];
      std::int64_t to = k;
      for (; to > 0 && (keys[to - 1].row > moving.row ||
                        (keys[to - 1].row == moving.row && keys[to - 1].col > moving.col));
           --to)
        keys[to] = keys[to - 1];
      keys[to] = moving;
    }
  }

  int col_bits_, bits_;
};

/// The batch in order; `outside`: the first entry that is not inside rows x cols, or -1.
template <class T, class I, class O>
array<batch_key<I>> sorted_batch(const host_context& ctx, coo_view<const T, I, O> batch,
                                 std::int64_t rows, std::int64_t cols, std::int64_t& outside) {
  const std::int64_t n = batch.size();
  array<batch_key<I>> keys(ctx, n);
  const int parts = part_count(ctx, n, batch_grain);
  struct share {
    std::int64_t outside;
    bool in_order;
  };
  std::vector<share> shares(static_cast<std::size_t>(parts), share{n, true});
  const I *const row_at = batch.rowind().data(), *const col_at = batch.colind().data();
  for_each_part(ctx, parts, 1, [&](int part, int) {
    share mine{n, true};
    const std::int64_t end = part_begin(n, part + 1, parts);
    for (std::int64_t k = part_begin(n, part, parts); k < end; ++k) {
      const I row = row_at[k], col = col_at[k];
      if (row < 0 || row >= rows || col < 0 || col >= cols)
        mine.outside = std::min(mine.outside, k);
      keys[k] = {row, col, k};
      if (k > 0 && (row < row_at[k - 1] || (row == row_at[k - 1] && col < col_at[k - 1])))
        mine.in_order = false;
    }
    shares[static_cast<std::size_t>(part)] = mine;
  });
  bool sorted = true;
  outside = n;
  for (const share& s : shares) {
    outside = std::min(outside, s.outside);
    sorted = sorted && s.in_order;
  }
  if (outside == n) outside = -1;
  if (outside >= 0 || sorted) return keys;
  array<batch_key<I>> spare(ctx, n);
  batch_sorter<I>(rows, cols).sort(ctx, keys.data(), spare.data(), n);
  return keys;
}

/// First key of a part whose rows are all its own.
template <class I> std::int64_t part_of_rows(const array<batch_key<I>>& keys, int part, int parts) {
  std::int64_t k = part_begin(keys.size(), part, parts);
  while (k > 0 && k < keys.size() && keys[k].row == keys[k - 1].row) ++k;
  return k;
}

} // namespace lacuna::detail::cpu
