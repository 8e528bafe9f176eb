// CSR to ell_csr on the host: rows are dealt out to slices, each slice is looked at once
// to find its steps and packing, and once more to fill it. Slices are shared out to threads.
#include <vector>

#include "cpu/ell_csr_slices.hpp"
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

/// The steps and packing of one slice, in the place of its offsets.
ell_slice choose_packing(const detail::slice_widths& widths, bool packed) {
  if (!packed) return {widths.plain_steps, static_cast<std::int64_t>(packing::full)};
  if (widths.diagonals < detail::slice_widths::too_many)
    return {widths.diagonals, static_cast<std::int64_t>(packing::diagonal)};
  return {widths.plain_steps, widths.plain_kind};
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
    for (std::int64_t s = begin; s < end; ++s) {
      const ell_slice& slice = result.slices[s];
      fill_slice(slice_lanes_of<T, I, O>(a, of, s, options.piece), slice.kind(),
                 slice_places<T, I>{result.slices[s + 1].step - slice.step,
                                    result.steps.data() + slice.step,
                                    result.columns.data() + slice.first_byte(),
                                    result.values.data() + slice_lanes * slice.step});
    }
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
