#include <lacuna/plan/features.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "cpu/rows.hpp"
#include "plan/feature_sums.hpp"

namespace lacuna {
namespace detail {
namespace {

/// Hits in the `columns` most frequent columns.
std::int64_t hits_in_most_frequent(const hit_counts& hits, std::int64_t columns) {
  columns -= hits.many_columns;
  std::int64_t sum = hits.many_hits;
  for (int k = hit_counts::many - 1; k >= hit_counts::least && columns > 0; --k) {
    const std::int64_t taken = std::min(columns, hits.columns[static_cast<std::size_t>(k)]);
    sum += k * taken;
    columns -= taken;
  }
  return sum;
}

} // namespace

spmv_features finish(const feature_sums& sums, const hit_counts& hits, std::int64_t rows,
                     std::int64_t cols, std::int64_t entries) {
  spmv_features f = sums.features;
  f.rows = rows;
  f.cols = cols;
  f.entries = entries;
  f.row_length.empty = f.length_histogram[0];
  if (rows > 0) {
    const auto n = static_cast<double>(rows);
    const __int128 squares = (static_cast<__int128>(sums.squares_high) << 32) + sums.squares_low;
    const __int128 spread = rows * squares - static_cast<__int128>(entries) * entries;
    f.row_length.mean = static_cast<double>(entries) / n;
    f.row_length.deviation = std::sqrt(static_cast<double>(spread)) / n;
  }
  const even_sample groups = sample_groups(rows, entries);
  f.sampled_groups = groups.size;
  f.sampled_rows = groups.size * spmv_features::group_rows;
  if (groups.size > 0 && groups.place(groups.size - 1) == groups.all - 1)
    f.sampled_rows -= groups.all * spmv_features::group_rows - rows;
  f.sampled_steps = f.steps_8 + f.steps_16 + f.steps_full;
  f.sampled_columns = sample_entries(entries).size;
  if (f.sampled_columns > 0)
    f.hot_share_4096 = static_cast<double>(hits_in_most_frequent(hits, 4096)) /
                       static_cast<double>(f.sampled_columns);
  return f;
}

} // namespace detail

namespace detail::cpu {
namespace {

using detail::feature_sums;
constexpr int group_rows = spmv_features::group_rows;

std::size_t bits(std::int64_t n) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(n)));
}

/// Lengths of the rows of groups [begin, end).
template <class O>
void add_lengths(feature_sums& sums, const O* rowptr, std::int64_t rows, std::int64_t begin,
                 std::int64_t end) {
  // Rows by length, in four tables in turns: an increment would wait for the one before it.
  constexpr std::size_t counted = 512;
  std::array<std::array<std::int64_t, counted>, 4> rows_of{};
  spmv_features& f = sums.features;
  const auto add = [&](std::int64_t length, std::int64_t times) {
    f.length_histogram[bits(length)] += times;
    f.entries_by_length[bits(length)] += times * length;
    const auto square = static_cast<unsigned __int128>(length) * static_cast<std::uint64_t>(length);
    sums.squares_low += detail::low_half(square) * static_cast<std::uint64_t>(times);
    sums.squares_high += detail::high_half(square) * static_cast<std::uint64_t>(times);
  };
  // n: a constant but for the last group, for the compiler's sake.
  const auto add_group = [&](const O* first, auto n) {
    O longest = 0;
    for (int i = 0; i < n; ++i) longest = std::max<O>(longest, first[i + 1] - first[i]);
    if (longest < static_cast<O>(counted))
      for (int i = 0; i < n; ++i)
        ++rows_of[i % 4][static_cast<std::size_t>(first[i + 1] - first[i])];
    else
      for (int i = 0; i < n; ++i) add(first[i + 1] - first[i], 1);
    f.slice_steps += longest;
    f.row_length.longest = std::max<std::int64_t>(f.row_length.longest, longest);
  };
  const std::int64_t full_end = std::min(end, rows / group_rows);
  for (std::int64_t group = begin; group < full_end; ++group)
    add_group(rowptr + group * group_rows, std::integral_constant<int, group_rows>{});
  if (begin < end && full_end < end)
    add_group(rowptr + full_end * group_rows, static_cast<int>(rows % group_rows));
  for (std::size_t length = 0; length < counted; ++length)
    add(static_cast<std::int64_t>(length),
        rows_of[0][length] + rows_of[1][length] + rows_of[2][length] + rows_of[3][length]);
}

/// The rows of a sampled group, cut, one after the other.
template <class I> struct row_group {
  int rows = 0;
  int steps = 0;
  int begin[group_rows + 1] = {}; // of each row, and the end of the last
  std::int64_t whole_length[group_rows];
  I column[group_rows * spmv_features::longest_cut];

  [[nodiscard]] int entries() const { return begin[rows]; }
  [[nodiscard]] int length(int lane) const { return begin[lane + 1] - begin[lane]; }
  template <class O>
  void read(const O* rowptr, const I* colind, std::int64_t all_rows, std::int64_t first) {
    rows = static_cast<int>(std::min<std::int64_t>(group_rows, all_rows - first));
    steps = 0;
    for (int lane = 0; lane < rows; ++lane) {
      whole_length[lane] = rowptr[first + lane + 1] - rowptr[first + lane];
      const auto cut =
          static_cast<int>(std::min<std::int64_t>(whole_length[lane], spmv_features::longest_cut));
      std::copy_n(colind + rowptr[first + lane], cut, column + begin[lane]);
      begin[lane + 1] = begin[lane] + cut;
      steps = std::max(steps, cut);
    }
  }
};

/// Counts different numbers, up to 600 or so. Cleared in O(1).
template <class I> class distinct_numbers {
public:
  void clear() {
    ++round_;
    count_ = 0;
  }
  void insert(I number) {
    std::uint64_t slot = static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15U >> 54;
    for (; slots_[slot].round == round_; slot = (slot + 1) & 1023)
      if (slots_[slot].number == number) return;
    slots_[slot] = {number, round_};
    ++count_;
  }
  [[nodiscard]] int count() const { return count_; }

private:
  struct numbered {
    I number, round;
  };
  std::array<numbered, 1024> slots_{};
  I round_ = 0;
  int count_ = 0;
};

/// Sectors of x that a few columns touch; those of neighbours often are the same.
template <int sector_columns, class I> class touched_sectors {
public:
  explicit touched_sectors(distinct_numbers<I>& distinct) : distinct_(distinct) {
    distinct_.clear();
  }
  void add(I column) {
    const I sector = column / sector_columns;
    if (sector != last_) distinct_.insert(sector);
    last_ = sector;
  }
  [[nodiscard]] int count() const { return distinct_.count(); }

private:
  distinct_numbers<I>& distinct_;
  I last_ = -1;
};

/// Step by step: what sliced ELL would read.
template <int sector_columns, class I>
void add_steps(spmv_features& f, const row_group<I>& group, distinct_numbers<I>& distinct) {
  int widest = 0;
  int active[group_rows], count = group.rows; // lanes whose rows go on
  for (int lane = 0; lane < count; ++lane) active[lane] = lane;
  for (int j = 0; j < group.steps; ++j) {
    I least = std::numeric_limits<I>::max(), most = 0;
    touched_sectors<sector_columns, I> sectors(distinct);
    int left = 0;
    for (int i = 0; i < count; ++i) {
      const int lane = active[i];
      if (j >= group.length(lane)) continue;
      const I column = group.column[group.begin[lane] + j];
      least = std::min(least, column);
      most = std::max(most, column);
      sectors.add(column);
      active[left++] = lane;
    }
    count = left;
    f.sectors_by_row_lane += sectors.count();
    widest = std::max(widest, detail::width_class(most - least));
  }
  (widest == 0 ? f.steps_8 : widest == 1 ? f.steps_16 : f.steps_full) += group.steps;
}

/// Entry by entry: what CSR would read.
template <int sector_columns, class I>
void add_entries(spmv_features& f, const row_group<I>& group, distinct_numbers<I>& distinct) {
  const int entries = group.entries();
  f.sampled_entries += entries;
  for (int k = 0; k < entries; k += 64) {
    I least = group.column[k], most = least;
    for (int e = k + 1; e < std::min(k + 64, entries); ++e) {
      least = std::min(least, group.column[e]);
      most = std::max(most, group.column[e]);
    }
    const int width = detail::width_class(most - least);
    ++(width == 0 ? f.chunks_8 : width == 1 ? f.chunks_16 : f.chunks_full);
  }
  for (int k = 0; k < entries; k += 32) {
    touched_sectors<sector_columns, I> sectors(distinct);
    for (int e = k; e < std::min(k + 32, entries); ++e) sectors.add(group.column[e]);
    f.sectors_by_entry += sectors.count();
  }
  for (int lane = 0; lane < group.rows; ++lane)
    for (int k = group.begin[lane] + 1; k < group.begin[lane + 1]; ++k)
      f.following_entries += group.column[k] - group.column[k - 1] == 1 ? 1 : 0;
}

template <class I>
void add_diagonals(spmv_features& f, const row_group<I>& group, distinct_numbers<I>& distinct) {
  const int most = detail::most_diagonals(group.steps);
  distinct.clear();
  for (int lane = 0; lane < group.rows && distinct.count() < most; ++lane) {
    const I* const row = group.column + group.begin[lane];
    // Where the row before has the same diagonal in the same place, it is known.
    const int before = lane == 0 ? 0 : std::min(group.length(lane), group.length(lane - 1));
    for (int j = 0; j < group.length(lane) && distinct.count() < most; ++j)
      if (j >= before || row[j] - 1 != group.column[group.begin[lane - 1] + j])
        distinct.insert(row[j] - lane);
  }
  f.diagonal_steps += distinct.count();
}

template <class I> void add_twins(spmv_features& f, const row_group<I>& group) {
  for (int lane = 1; lane < group.rows; ++lane) {
    const I* const row = group.column + group.begin[lane];
    f.twin_rows += group.length(lane) > 0 &&
                           group.whole_length[lane] == group.whole_length[lane - 1] &&
                           std::equal(row, row + group.length(lane), row - group.length(lane))
                       ? 1
                       : 0;
  }
}

void join(feature_sums& all, const feature_sums& part) {
  spmv_features& f = all.features;
  const spmv_features& g = part.features;
  f.row_length.longest = std::max(f.row_length.longest, g.row_length.longest);
  for (std::size_t k = 0; k < 64; ++k) {
    f.length_histogram[k] += g.length_histogram[k];
    f.entries_by_length[k] += g.entries_by_length[k];
  }
  f.slice_steps += g.slice_steps;
  f.sampled_entries += g.sampled_entries;
  f.steps_8 += g.steps_8;
  f.steps_16 += g.steps_16;
  f.steps_full += g.steps_full;
  f.diagonal_steps += g.diagonal_steps;
  f.sectors_by_row_lane += g.sectors_by_row_lane;
  f.sectors_by_entry += g.sectors_by_entry;
  f.chunks_8 += g.chunks_8;
  f.chunks_16 += g.chunks_16;
  f.chunks_full += g.chunks_full;
  f.following_entries += g.following_entries;
  f.twin_rows += g.twin_rows;
  all.squares_low += part.squares_low;
  all.squares_high += part.squares_high;
}

/// A hash table of the sampled columns.
template <class I>
detail::hit_counts count_hits(const host_context& ctx, const I* colind, std::int64_t entries) {
  struct counted {
    I column, hits;
  };
  const detail::even_sample sample = detail::sample_entries(entries);
  array<counted> table(ctx, detail::table_slots(sample.size));
  std::fill(table.begin(), table.end(), counted{-1, 0});
  // Gathered some at a time: the table's branches would wait for one cache miss after the other.
  std::array<I, 256> columns;
  for (std::int64_t begin = 0; begin < sample.size; begin += 256) {
    const std::int64_t n = std::min<std::int64_t>(256, sample.size - begin);
    for (std::int64_t k = 0; k < n; ++k)
      columns[static_cast<std::size_t>(k)] = colind[sample.place(begin + k)];
    for (const I column : std::span(columns.data(), static_cast<std::size_t>(n))) {
      auto slot = static_cast<std::int64_t>(detail::slot_of(column, table.size()));
      while (table[slot].column != -1 && table[slot].column != column)
        slot = (slot + 1) & (table.size() - 1);
      table[slot] = {column, table[slot].hits + 1};
    }
  }
  detail::hit_counts counts;
  for (const auto& [column, n] : table) {
    if (n < detail::hit_counts::least) continue;
    if (n < detail::hit_counts::many) {
      ++counts.columns[static_cast<std::size_t>(n)];
    } else {
      ++counts.many_columns;
      counts.many_hits += n;
    }
  }
  return counts;
}

} // namespace

template <class T, class I, class O>
spmv_features find_features(const host_context& ctx, csr_view<const T, I, O> a) {
  const std::int64_t rows = a.shape().row, entries = a.size();
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  const detail::even_sample sample = detail::sample_groups(rows, entries);
  // A sampled group costs as much as the lengths of a thousand rows or more.
  const int parts = part_count(ctx, rows + 1000 * sample.size, entry_grain);
  std::vector<feature_sums> sums(static_cast<std::size_t>(parts));
  for_each_part(ctx, parts, 1, [&](int part, int) {
    feature_sums mine;
    add_lengths(mine, rowptr, rows, part_begin(sample.all, part, parts),
                part_begin(sample.all, part + 1, parts));
    distinct_numbers<I> distinct;
    row_group<I> group;
    const std::int64_t end = part_begin(sample.size, part + 1, parts);
    for (std::int64_t g = part_begin(sample.size, part, parts); g < end; ++g) {
      group.read(rowptr, colind, rows, sample.place(g) * group_rows);
      add_steps<detail::sector_columns<T>>(mine.features, group, distinct);
      add_entries<detail::sector_columns<T>>(mine.features, group, distinct);
      add_diagonals(mine.features, group, distinct);
      add_twins(mine.features, group);
    }
    sums[static_cast<std::size_t>(part)] = mine;
  });
  for (std::size_t part = 1; part < sums.size(); ++part) join(sums[0], sums[part]);
  return detail::finish(sums[0], count_hits(ctx, colind, entries), rows, a.shape().col, entries);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template spmv_features find_features(const host_context&, csr_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace detail::cpu
} // namespace lacuna
