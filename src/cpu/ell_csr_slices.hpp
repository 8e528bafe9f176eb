// Internal: one slice of an ell_csr matrix, measured and filled from CSR. A lane's entries lie in a
// row of memory and are read in that order wherever lanes are rows; what a step compares over lanes
// is kept for some steps at a time.
#pragma once

#include <limits>

#include "plan/ell_csr_layout.hpp"
#include "cpu/ell_csr_rows.hpp"

namespace lacuna::detail::cpu {

/// The entries that the lanes of a slice read: length[l] of them, at[l], at[l] + stride, …
template <class T, class I, class O> struct slice_lanes_of {
  csr_view<const T, I, O> a;
  std::int64_t stride = 1;
  std::int64_t at[slice_lanes], length[slice_lanes];

  slice_lanes_of(csr_view<const T, I, O> matrix, const slice_rows<I>& of, std::int64_t slice,
                 std::int64_t piece)
      : a(matrix) {
    const auto* rowptr = a.rowptr().data();
    const std::int64_t pieces = of.pieces.size(), rows = a.shape().row;
    if (slice < pieces) {
      const row_piece<I> p = of.pieces[slice];
      const std::int64_t begin = rowptr[p.row], last = rowptr[p.row + 1];
      const std::int64_t entries = detail::piece_length(last - begin, piece);
      const std::int64_t from = begin + (slice - p.first) * entries;
      stride = slice_lanes;
      for (int l = 0; l < slice_lanes; ++l) put(l, 5, from + l, std::min(from + entries, last));
      return;
    }
    slice -= pieces;
    const int log = of.logs.empty() ? 0 : of.logs[slice];
    stride = std::int64_t{1} << log;
    for (int l = 0; l < slice_lanes; ++l) {
      std::int64_t row = slice * slice_lanes + (l >> log);
      if (!of.rows.empty())
        row = of.rows[row];
      else if (row >= rows)
        row = -1;
      if (row < 0)
        put(l, log, 0, 0);
      else
        put(l, log, rowptr[row] + l % stride, rowptr[row + 1]);
    }
  }
  void put(int l, int log_stride, std::int64_t first, std::int64_t end) {
    at[l] = first;
    length[l] = std::max<std::int64_t>(end - first + stride - 1, 0) >> log_stride;
  }

  [[nodiscard]] std::int64_t longest() const {
    return *std::max_element(length, length + slice_lanes);
  }
  /// Of lanes that are rows.
  [[nodiscard]] const I* columns(int l) const { return a.colind().data() + at[l]; }
  /// Whether 32 rows follow one another and each has the columns of the one before, one further.
  [[nodiscard]] bool is_regular() const {
    const std::int64_t each = length[0];
    if (stride != 1 || each == 0) return false;
    std::int64_t unlike = 0;
    for (int l = 0; l < slice_lanes; ++l) unlike |= (at[l] - at[0] - l * each) | (length[l] - each);
    if (unlike != 0) return false;
    const I* const column = columns(0);
    std::make_unsigned_t<I> differ = 0; // unsigned: of columns that are far apart it wraps
    for (std::int64_t k = 0; k < (slice_lanes - 1) * each; ++k)
      differ |= static_cast<std::make_unsigned_t<I>>(column[k + each]) -
                static_cast<std::make_unsigned_t<I>>(column[k]) - 1U;
    return differ == 0;
  }
};

/// What some steps of a slice without diagonals have in common over lanes: the least column of each
/// and the largest.
template <class I> struct step_block {
  static constexpr std::int64_t most = 32;
  I least[most], largest[most];

  /// stride: that of the lanes, a constant where it is 1.
  template <class T, class O, class S>
  step_block(const slice_lanes_of<T, I, O>& of, S stride, std::int64_t first, std::int64_t count) {
    std::fill_n(least, count, std::numeric_limits<I>::max());
    std::fill_n(largest, count, I{0});
    for (int l = 0; l < slice_lanes; ++l) {
      const std::int64_t mine = std::min(of.length[l] - first, count);
      if (mine <= 0) continue;
      const I* const column = of.columns(l) + first * stride;
      for (std::int64_t k = 0; k < mine; ++k) {
        least[k] = std::min(least[k], column[k * stride]);
        largest[k] = std::max(largest[k], column[k * stride]);
      }
    }
  }
};

/// The largest distance of a column from its step's least.
template <class T, class I, class O, class S>
std::int64_t plain_spread(const slice_lanes_of<T, I, O>& of, S stride, std::int64_t steps) {
  std::int64_t spread = 0;
  for (std::int64_t first = 0; first < steps; first += step_block<I>::most) {
    const std::int64_t count = std::min(step_block<I>::most, steps - first);
    const step_block<I> block(of, stride, first, count);
    for (std::int64_t k = 0; k < count; ++k)
      spread = std::max<std::int64_t>(spread, std::int64_t{block.largest[k]} - block.least[k]);
  }
  return spread;
}

/// Entries of a slice by diagonals (column - lane), step by step, of rows in any order: a step is
/// the smallest diagonal that a lane has next.
template <class T, class I, class O> struct diagonal_walk {
  static constexpr I none = std::numeric_limits<I>::max(); // no column is: shapes end there
  slice_lanes_of<T, I, O> of;
  I key[slice_lanes];

  explicit diagonal_walk(const slice_lanes_of<T, I, O>& lanes) : of(lanes) {
    for (int l = 0; l < slice_lanes; ++l) look(l);
  }
  void look(int l) { key[l] = of.length[l] > 0 ? static_cast<I>(*of.columns(l) - l) : none; }
  /// No lanes: all is read.
  [[nodiscard]] ell_step<std::int64_t> next() const {
    I base = none;
    for (int l = 0; l < slice_lanes; ++l) base = std::min(base, key[l]);
    ell_step<std::int64_t> step{base, 0};
    for (int l = 0; l < slice_lanes; ++l)
      step.mask |= std::uint64_t{key[l] == base && base != none} << l;
    return step;
  }
  void advance(std::uint64_t lanes) {
    for (int l = 0; l < slice_lanes; ++l)
      if ((lanes >> l & 1U) != 0) {
        ++of.at[l];
        --of.length[l];
        look(l);
      }
  }
};

/// The diagonals of a slice whose rows are sorted and have no column twice, in order. Rows that lie
/// on those of the row before, as most do, cost one comparison per entry.
template <class I> struct diagonal_set {
  static constexpr std::int64_t most = 512;
  I diagonal[most], merged[2 * most];
  std::int64_t count = 0;

  /// False where there are more than `limit`, which is `most` at most.
  template <class T, class O> bool find(const slice_lanes_of<T, I, O>& of, std::int64_t limit) {
    for (int l = 0; l < slice_lanes; ++l) {
      const std::int64_t length = of.length[l];
      if (length > limit) return false;
      if (follows(of, l)) continue;
      const I* const column = of.columns(l);
      std::int64_t i = 0, j = 0, n = 0;
      while (i < count && j < length) {
        const I mine = diagonal[i], other = static_cast<I>(column[j] - l);
        merged[n++] = std::min(mine, other);
        i += mine <= other ? 1 : 0;
        j += other <= mine ? 1 : 0;
      }
      for (; i < count; ++i) merged[n++] = diagonal[i];
      for (; j < length; ++j) merged[n++] = static_cast<I>(column[j] - l);
      if (n > limit) return false;
      if (n > count) std::copy_n(merged, n, diagonal);
      count = n;
    }
    return true;
  }
  /// Whether lane l has the diagonals of the lane before.
  template <class T, class O> static bool follows(const slice_lanes_of<T, I, O>& of, int l) {
    if (l == 0 || of.length[l] != of.length[l - 1]) return false;
    const I *const before = of.columns(l - 1), *const column = of.columns(l);
    const std::int64_t length = of.length[l];
    std::make_unsigned_t<I> differ = 0;
    for (std::int64_t k = 0; k < length; ++k)
      differ |= static_cast<std::make_unsigned_t<I>>(column[k]) -
                static_cast<std::make_unsigned_t<I>>(before[k]) - 1U;
    return differ == 0;
  }
};

template <class T, class I, class O>
detail::slice_widths measure_slice(const slice_lanes_of<T, I, O>& of) {
  detail::slice_widths widths;
  widths.plain_steps = of.longest();
  const bool regular = of.is_regular();
  std::int64_t spread = slice_lanes - 1;
  if (!regular)
    spread = of.stride == 1
                 ? plain_spread(of, std::integral_constant<std::int64_t, 1>(), widths.plain_steps)
                 : plain_spread(of, of.stride, widths.plain_steps);
  widths.plain_kind = static_cast<std::int64_t>(detail::packing_for(spread));
  const auto bytes = [](packing kind) { return detail::step_bytes(kind, sizeof(T), sizeof(I)); };
  const std::int64_t most = widths.plain_steps * bytes(detail::packing_for(spread));
  // Diagonals that take fewer bytes than that.
  const std::int64_t limit = most > 0 ? (most - 1) / bytes(packing::diagonal) : 0;
  if (regular) {
    widths.diagonals = widths.plain_steps;
  } else if (of.stride != 1) {
    widths.diagonals = most > 0 ? detail::slice_widths::too_many : 0;
  } else if (of.a.order().sorted && of.a.order().unique && limit <= diagonal_set<I>::most) {
    diagonal_set<I> set;
    widths.diagonals = set.find(of, limit) ? set.count : detail::slice_widths::too_many;
  } else {
    diagonal_walk<T, I, O> walk(of);
    for (auto step = walk.next(); step.mask != 0; step = walk.next()) {
      if (++widths.diagonals > limit) {
        widths.diagonals = detail::slice_widths::too_many;
        break;
      }
      walk.advance(step.mask);
    }
  }
  return widths;
}

/// Where a slice goes: its steps, their values and the columns of those that have any.
template <class T, class I> struct slice_places {
  std::int64_t steps;
  ell_step<I>* step;
  unsigned char* columns;
  T* values;

  void put_step(std::int64_t k, I base, std::uint64_t mask) const {
    step[k] = {base, static_cast<std::make_unsigned_t<I>>(mask)};
  }
  /// Steps from k on that were added to make slices even.
  void pad(std::int64_t k, packing kind) const {
    for (std::int64_t s = k; s < steps; ++s) put_step(s, 0, 0);
    std::fill(values + slice_lanes * k, values + slice_lanes * steps, T{0});
    const std::int64_t bytes = detail::step_column_bytes(kind, sizeof(I));
    std::fill(columns + bytes * k, columns + bytes * steps, static_cast<unsigned char>(0));
  }
};

/// Steps [first, first + count) of columns of one width D, lane by lane: lanes that are rows are
/// read one after the other. stride: a constant where it is 1.
template <class D, class T, class I, class O, class S>
void fill_block(const slice_lanes_of<T, I, O>& of, S stride, std::int64_t first, std::int64_t count,
                const slice_places<T, I>& to) {
  const step_block<I> block(of, stride, first, count);
  std::uint64_t masks[step_block<I>::most] = {};
  for (int l = 0; l < slice_lanes; ++l) {
    const std::int64_t mine = std::clamp<std::int64_t>(of.length[l] - first, 0, count);
    const std::int64_t from = of.at[l] + first * stride;
    const T* const values = of.a.values().data();
    const I* const columns = of.a.colind().data();
    T* const value = to.values + slice_lanes * first + l;
    D* const distance = reinterpret_cast<D*>(to.columns) + slice_lanes * first + l;
    for (std::int64_t k = 0; k < mine; ++k) {
      value[slice_lanes * k] = values[from + k * stride];
      distance[slice_lanes * k] = static_cast<D>(columns[from + k * stride] - block.least[k]);
    }
    for (std::int64_t k = 0; k < mine; ++k) masks[k] |= std::uint64_t{1} << l;
    for (std::int64_t k = mine; k < count; ++k) {
      value[slice_lanes * k] = T{0};
      distance[slice_lanes * k] = 0;
    }
  }
  for (std::int64_t k = 0; k < count; ++k) to.put_step(first + k, block.least[k], masks[k]);
}

template <class D, class T, class I, class O>
void fill_plain(const slice_lanes_of<T, I, O>& of, packing kind, const slice_places<T, I>& to) {
  const std::int64_t steps = of.longest(), each = step_block<I>::most;
  std::int64_t first = 0;
  if (of.stride == slice_lanes) { // a piece of a row: 32 entries are a step
    const T* const values = of.a.values().data();
    const I* const columns = of.columns(0);
    auto* const distances = reinterpret_cast<D*>(to.columns);
    for (; first < of.length[slice_lanes - 1]; ++first) {
      const std::int64_t k = first * slice_lanes;
      const I least = *std::min_element(columns + k, columns + k + slice_lanes);
      for (int l = 0; l < slice_lanes; ++l) {
        to.values[k + l] = values[of.at[0] + k + l];
        distances[k + l] = static_cast<D>(columns[k + l] - least);
      }
      to.put_step(first, least, ~std::uint64_t{0} >> (64 - slice_lanes));
    }
  }
  for (; first < steps; first += each) {
    const std::int64_t count = std::min(each, steps - first);
    if (of.stride == 1)
      fill_block<D>(of, std::integral_constant<std::int64_t, 1>(), first, count, to);
    else
      fill_block<D>(of, of.stride, first, count, to);
  }
  to.pad(steps, kind);
}

template <class T, class I, class O>
void fill_regular(const slice_lanes_of<T, I, O>& of, const slice_places<T, I>& to) {
  const std::int64_t each = of.length[0];
  const T* const values = of.a.values().data() + of.at[0];
  for (std::int64_t k = 0; k < each; ++k) {
    to.put_step(k, of.columns(0)[k], ~std::uint64_t{0} >> (64 - slice_lanes));
    for (int l = 0; l < slice_lanes; ++l) to.values[slice_lanes * k + l] = values[l * each + k];
  }
  to.pad(each, packing::diagonal);
}

/// Diagonals of rows that are sorted.
template <class T, class I, class O>
void fill_diagonals(const slice_lanes_of<T, I, O>& of, const slice_places<T, I>& to) {
  diagonal_set<I> set;
  (void)set.find(of, diagonal_set<I>::most);
  std::uint64_t masks[diagonal_set<I>::most];
  std::fill_n(masks, set.count, std::uint64_t{0});
  to.pad(0, packing::diagonal); // most steps of such a slice have gaps
  const T* const values = of.a.values().data();
  std::int64_t step[diagonal_set<I>::most]; // of a lane's entries
  for (int l = 0, next = 0; l < slice_lanes; l = next) {
    const std::int64_t length = of.length[l];
    for (std::int64_t k = 0, s = 0; k < length; ++k, ++s) {
      while (set.diagonal[s] != static_cast<I>(of.columns(l)[k] - l)) ++s;
      step[k] = s;
    }
    next = l + 1;
    while (next < slice_lanes && set.follows(of, next)) ++next; // they have the same steps
    const std::uint64_t lanes = (std::uint64_t{1} << next) - (std::uint64_t{1} << l);
    for (std::int64_t k = 0; k < length; ++k) masks[step[k]] |= lanes;
    for (int lane = l; lane < next; ++lane)
      for (std::int64_t k = 0; k < length; ++k)
        to.values[slice_lanes * step[k] + lane] = values[of.at[lane] + k];
  }
  for (std::int64_t k = 0; k < set.count; ++k) to.put_step(k, set.diagonal[k], masks[k]);
}

/// Diagonals of rows in any order.
template <class T, class I, class O>
void fill_by_walk(const slice_lanes_of<T, I, O>& of, const slice_places<T, I>& to) {
  diagonal_walk<T, I, O> walk(of);
  const T* const from = of.a.values().data();
  std::int64_t k = 0;
  for (auto step = walk.next(); step.mask != 0; step = walk.next(), ++k) {
    to.put_step(k, static_cast<I>(step.base), step.mask);
    for (int l = 0; l < slice_lanes; ++l)
      to.values[slice_lanes * k + l] = (step.mask >> l & 1U) != 0 ? from[walk.of.at[l]] : T{0};
    walk.advance(step.mask);
  }
  to.pad(k, packing::diagonal);
}

template <class T, class I, class O>
void fill_slice(const slice_lanes_of<T, I, O>& of, packing kind, const slice_places<T, I>& to) {
  switch (kind) {
  case packing::bits8: return fill_plain<std::uint8_t>(of, kind, to);
  case packing::bits16: return fill_plain<std::uint16_t>(of, kind, to);
  case packing::full: return fill_plain<std::make_unsigned_t<I>>(of, kind, to);
  case packing::diagonal: break;
  }
  if (of.is_regular()) return fill_regular(of, to);
  if (of.a.order().sorted && of.a.order().unique && to.steps <= diagonal_set<I>::most)
    return fill_diagonals(of, to);
  fill_by_walk(of, to);
}

} // namespace lacuna::detail::cpu
