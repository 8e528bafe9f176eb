// CSR to ell_csr on the host: rows are dealt out to slices, each slice is looked at once
// to find its steps and packing, and once more to fill it. Slices are shared out to threads.
#include <cstring>
#include <limits>
#include <vector>

#include "plan/ell_csr_layout.hpp"
#include "cpu/ell_csr_rows.hpp"
#include "cpu/rows.hpp"
#include "cpu/scatter.hpp"

namespace lacuna {

ell_csr_options paper_thresholds(std::int64_t short_rows, std::int64_t short_entries) {
  ell_csr_options o;
  o.window = ell_csr_options::none;
  if (short_rows == 0) {
    o.long_row = 1;
    o.piece = std::int64_t{32} * 32;
    return o;
  }
  const std::int64_t mean = short_entries / short_rows;
  o.long_row = std::min<std::int64_t>(mean / 32 * 32 + 32, 256);
  o.lane_entries = std::clamp<std::int64_t>(mean, 6, 32);
  o.piece = 32 * o.lane_entries;
  return o;
}

namespace detail::cpu {
namespace {

constexpr std::int64_t slice_grain = 64; // slices for one more thread

/// The entries that the lanes of a slice read: at[l], at[l] + stride, … below end[l].
template <class T, class I, class O> struct slice_lanes_of {
  csr_view<const T, I, O> a;
  std::int64_t stride = 1;
  std::int64_t at[slice_lanes], end[slice_lanes];

  slice_lanes_of(csr_view<const T, I, O> matrix, const slice_rows<I>& of, std::int64_t slice,
                 std::int64_t piece)
      : a(matrix) {
    const auto* rowptr = a.rowptr().data();
    const std::int64_t pieces = of.pieces.size(), rows = a.shape().row;
    if (slice < pieces) {
      const row_piece<I> p = of.pieces[slice];
      const std::int64_t begin = rowptr[p.row], last = rowptr[p.row + 1];
      const std::int64_t length = detail::piece_length(last - begin, piece);
      const std::int64_t from = begin + (slice - p.first) * length;
      stride = slice_lanes;
      for (int l = 0; l < slice_lanes; ++l) {
        at[l] = from + l;
        end[l] = std::min(from + length, last);
      }
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
      at[l] = row < 0 ? 0 : rowptr[row] + l % stride;
      end[l] = row < 0 ? 0 : rowptr[row + 1];
    }
  }
};

/// Goes through them step by step. What a step compares is kept for each lane, its next column or
/// diagonal (column - lane), so that most of the loops over lanes are the compiler's to vectorise.
template <class T, class I, class O> struct slice_walk {
  static constexpr I none = std::numeric_limits<I>::max(); // no column is: shapes end there
  static constexpr std::uint64_t all_lanes = (std::uint64_t{1} << slice_lanes) - 1;
  slice_lanes_of<T, I, O> of;
  bool diagonal;
  I key[slice_lanes];

  slice_walk(const slice_lanes_of<T, I, O>& lanes, bool by_diagonals)
      : of(lanes), diagonal(by_diagonals) {
    for (int l = 0; l < slice_lanes; ++l) look(l);
  }
  void look(int l) {
    key[l] = of.at[l] < of.end[l]
                 ? static_cast<I>(of.a.colind().data()[of.at[l]] - (diagonal ? l : 0))
                 : none;
  }

  /// The next step: its base, which is the smallest key that is left, and its lanes: all that have
  /// an entry, or those on that diagonal. No lanes: all is read.
  [[nodiscard]] ell_step<std::int64_t> next() const {
    I base = none;
    for (int l = 0; l < slice_lanes; ++l) base = std::min(base, key[l]);
    ell_step<std::int64_t> step{base, 0};
    if (base == none) return step;
    int on = 0;
    for (int l = 0; l < slice_lanes; ++l)
      on += (diagonal ? key[l] == base : key[l] != none) ? 1 : 0;
    step.mask = all_lanes;
    if (on < slice_lanes) {
      step.mask = 0;
      for (int l = 0; l < slice_lanes; ++l)
        step.mask |= std::uint64_t{diagonal ? key[l] == base : key[l] != none} << l;
    }
    return step;
  }
  void advance(std::uint64_t lanes) {
    for (int l = 0; l < slice_lanes; ++l)
      if ((lanes >> l & 1U) != 0) {
        of.at[l] += of.stride;
        look(l);
      }
  }
};

/// Steps of a slice without diagonals, and the largest distance of a column from its step's least.
template <class T, class I, class O>
std::int64_t plain_spread(const slice_lanes_of<T, I, O>& of, std::int64_t& steps) {
  steps = 0;
  for (int l = 0; l < slice_lanes; ++l)
    if (of.at[l] < of.end[l])
      steps = std::max(steps, (of.end[l] - of.at[l] + of.stride - 1) / of.stride);
  const I* const column = of.a.colind().data();
  std::int64_t spread = 0;
  for (std::int64_t k = 0; k < steps; ++k) {
    I least = std::numeric_limits<I>::max(), largest = 0;
    for (int l = 0; l < slice_lanes; ++l) {
      const std::int64_t at = of.at[l] + k * of.stride;
      if (at >= of.end[l]) continue;
      least = std::min(least, column[at]);
      largest = std::max(largest, column[at]);
    }
    spread = std::max<std::int64_t>(spread, std::int64_t{largest} - least);
  }
  return spread;
}

template <class T, class I, class O>
detail::slice_widths measure_slice(const slice_lanes_of<T, I, O>& of) {
  detail::slice_widths widths;
  const std::int64_t spread = plain_spread(of, widths.plain_steps);
  widths.plain_kind = static_cast<std::int64_t>(detail::packing_for(spread));
  const auto bytes = [](packing kind) { return detail::step_bytes(kind, sizeof(T), sizeof(I)); };
  const std::int64_t most = widths.plain_steps * bytes(detail::packing_for(spread));
  if (of.stride == 1) {
    slice_walk<T, I, O> walk(of, true);
    while (widths.diagonals * bytes(packing::diagonal) < most) {
      const auto step = walk.next();
      if (step.mask == 0) return widths;
      walk.advance(step.mask);
      ++widths.diagonals;
    }
  }
  if (most > 0) widths.diagonals = detail::slice_widths::too_many;
  return widths;
}

/// The steps and packing of one slice, in the place of its offsets.
ell_slice choose_packing(const detail::slice_widths& widths, bool packed) {
  if (!packed) return {widths.plain_steps, static_cast<std::int64_t>(packing::full)};
  if (widths.diagonals < detail::slice_widths::too_many)
    return {widths.diagonals, static_cast<std::int64_t>(packing::diagonal)};
  return {widths.plain_steps, widths.plain_kind};
}

template <class D> void put_columns(unsigned char* to, const std::uint64_t* distance) {
  for (int l = 0; l < slice_lanes; ++l) {
    const D d = static_cast<D>(distance[l]);
    std::memcpy(to + static_cast<std::size_t>(l) * sizeof d, &d, sizeof d);
  }
}

template <class T, class I, class O>
void fill_slice(const slice_lanes_of<T, I, O>& of, const ell_slice& slice, std::int64_t end,
                ell_step<I>* steps, unsigned char* columns, T* values) {
  const packing kind = slice.kind();
  slice_walk<T, I, O> walk(of, kind == packing::diagonal);
  const T* const from = of.a.values().data();
  unsigned char* to = columns + slice.first_byte();
  for (std::int64_t k = slice.step; k < end; ++k) {
    auto step = walk.next();
    if (step.mask == 0) step.base = 0; // a step added to make slices even
    steps[k] = {static_cast<I>(step.base), static_cast<std::make_unsigned_t<I>>(step.mask)};
    T* const put = values + slice_lanes * k;
    for (int l = 0; l < slice_lanes; ++l)
      put[l] = (step.mask >> l & 1U) != 0 ? from[walk.of.at[l]] : T{0};
    if (kind != packing::diagonal) {
      std::uint64_t distance[slice_lanes];
      for (int l = 0; l < slice_lanes; ++l)
        distance[l] =
            (step.mask >> l & 1U) != 0 ? static_cast<std::uint64_t>(walk.key[l] - step.base) : 0;
      if (kind == packing::bits8) put_columns<std::uint8_t>(to, distance);
      if (kind == packing::bits16) put_columns<std::uint16_t>(to, distance);
      if (kind == packing::full) put_columns<std::make_unsigned_t<I>>(to, distance);
    }
    to += detail::step_column_bytes(kind, sizeof(I));
    walk.advance(step.mask);
  }
}

/// Turns the steps and packings of slices into places; makes slices even where that costs little.
template <class T, class I>
void place_slices(ell_csr<T, I>& result, const std::vector<detail::slice_widths>& parts,
                  bool may_be_even) {
  const std::int64_t count = result.slices.size() - 1;
  const auto bytes_of = [](const ell_slice& s) {
    return s.step * detail::step_bytes(s.kind(), sizeof(T), sizeof(I));
  };
  if (may_be_even) {
    std::int64_t bytes = 0;
    for (std::int64_t s = 0; s < count; ++s) bytes += bytes_of(result.slices[s]);
    detail::slice_widths largest;
    for (const auto& part : parts) {
      largest.plain_steps = std::max(largest.plain_steps, part.plain_steps);
      largest.plain_kind = std::max(largest.plain_kind, part.plain_kind);
      largest.diagonals = std::max(largest.diagonals, part.diagonals);
    }
    result.even = detail::choose_even(count, bytes, largest, sizeof(T), sizeof(I));
  }
  const even_slices even = result.even;
  std::int64_t steps = 0, bytes = 0;
  for (std::int64_t s = 0; s < count; ++s) {
    ell_slice& slice = result.slices[s];
    if (even.width > 0) slice = {even.width, static_cast<std::int64_t>(even.kind)};
    const std::int64_t column_bytes =
        slice.step * detail::step_column_bytes(slice.kind(), sizeof(I));
    steps += std::exchange(slice.step, steps);
    slice.columns += bytes;
    bytes += column_bytes;
  }
  result.slices[count] = {steps, bytes};
}

} // namespace

template <class T, class I, class O>
ell_csr<T, I> csr_to_ell_csr(const host_context& ctx, csr_view<const T, I, O> a,
                             const ell_csr_options& options) {
  slice_rows<I> of = arrange_rows<I, O>(ctx, a.rowptr(), options);
  const std::int64_t pieces = of.pieces.size();
  ell_csr<T, I> result;
  result.extent = a.shape();
  result.nnz = a.size();
  result.slices = array<ell_slice>(ctx, of.slices + 1);
  std::vector<detail::slice_widths> largest(static_cast<std::size_t>(ctx.threads()));
  for_each_part(ctx, of.slices, slice_grain, [&](int part, int parts) {
    detail::slice_widths& mine = largest[static_cast<std::size_t>(part)];
    const std::int64_t end = part_begin(of.slices, part + 1, parts);
    for (std::int64_t s = part_begin(of.slices, part, parts); s < end; ++s) {
      const auto widths = measure_slice(slice_lanes_of<T, I, O>(a, of, s, options.piece));
      mine.plain_steps = std::max(mine.plain_steps, widths.plain_steps);
      mine.plain_kind = std::max(mine.plain_kind, widths.plain_kind);
      mine.diagonals = std::max(mine.diagonals, widths.diagonals);
      const int log = s < pieces ? 5 : of.logs.empty() ? 0 : of.logs[s - pieces];
      result.slices[s] = choose_packing(widths, options.packed);
      result.slices[s].columns += 4 * log;
    }
  });
  place_slices(result, largest, of.rows.empty() && pieces == 0 && options.packed);
  const std::int64_t steps = result.slices[of.slices].step;
  const std::int64_t bytes = result.slices[of.slices].columns;
  result.steps = array<ell_step<I>>(ctx, steps);
  result.columns = array<unsigned char>(ctx, bytes);
  result.values = array<T>(ctx, checked_mul(steps, slice_lanes));
  for_each_range(ctx, of.slices, slice_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s)
      fill_slice(slice_lanes_of<T, I, O>(a, of, s, options.piece), result.slices[s],
                 result.slices[s + 1].step, result.steps.data(), result.columns.data(),
                 result.values.data());
  });
  result.rows = std::move(of.rows);
  result.pieces = std::move(of.pieces);
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template ell_csr<T, I> csr_to_ell_csr<T, I, O>(const host_context&, csr_view<const T, I, O>,     \
                                                 const ell_csr_options&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace detail::cpu
} // namespace lacuna
