// New values for matrices that are kept in another order than CSR's: where an entry goes follows
// from the row pointers and the format's own structure, so no map is kept and no column is read.
#include <lacuna/op/update_values.hpp>

#include "cpu/rows.hpp"

namespace lacuna::cpu {
namespace {

constexpr std::int64_t step_grain = 512; // steps for one more thread
constexpr int batch = 8;                 // steps that are filled row by row where all have entries

/// The next entry of each lane of a slice, and where its row ends.
template <class I, class O> struct lane_places {
  std::int64_t stride;
  std::int64_t at[slice_lanes], end[slice_lanes];

  template <class T>
  lane_places(ell_csr_view<T, I> to, const O* rowptr, std::int64_t slice)
      : stride(to.slices()[slice].row_lanes()) {
    const std::int64_t pieces = to.pieces().size();
    if (slice < pieces) {
      // Pieces before this one are full, so the first tells how long they are.
      const row_piece<I> p = to.pieces()[slice];
      const std::int64_t steps = to.slices()[p.first + 1].step - to.slices()[p.first].step;
      for (int l = 0; l < slice_lanes; ++l) {
        at[l] = rowptr[p.row] + (slice - p.first) * steps * slice_lanes + l;
        end[l] = rowptr[p.row + 1];
      }
      return;
    }
    const std::int64_t first = (slice - pieces) * slice_lanes;
    for (int l = 0; l < slice_lanes; ++l) {
      std::int64_t row = first + l / stride;
      if (!to.rows().empty())
        row = to.rows()[row];
      else if (row >= to.shape().row)
        row = -1;
      at[l] = row < 0 ? 0 : rowptr[row] + l % stride;
      end[l] = row < 0 ? 0 : rowptr[row + 1];
    }
  }
  /// Whether every lane has `batch` entries more.
  [[nodiscard]] bool all_have_batch() const {
    for (int l = 0; l < slice_lanes; ++l)
      if (at[l] + (batch - 1) * stride >= end[l]) return false;
    return true;
  }
};

template <class T, class I, class O, class Value>
void fill_slice(ell_csr_view<T, I> to, const O* rowptr, std::int64_t slice, Value value) {
  lane_places<I, O> lanes(to, rowptr, slice);
  const std::int64_t end = to.slices()[slice + 1].step;
  for (std::int64_t k = to.slices()[slice].step; k < end;) {
    T* const out = to.values().data() + slice_lanes * k;
    const ell_step<I>* const steps = to.steps().data() + k;
    const auto full = [](const ell_step<I>& s) { return s.mask == 0xffffffffU; };
    if (k + batch <= end && std::all_of(steps, steps + batch, full) && lanes.all_have_batch()) {
      for (int l = 0; l < slice_lanes; ++l) {
        for (int u = 0; u < batch; ++u)
          out[slice_lanes * u + l] = value(lanes.at[l] + u * lanes.stride);
        lanes.at[l] += batch * lanes.stride;
      }
      k += batch;
      continue;
    }
    for (int l = 0; l < slice_lanes; ++l) {
      const bool on = (steps->mask >> l & 1U) != 0 && lanes.at[l] < lanes.end[l];
      out[l] = on ? value(lanes.at[l]) : T{0};
      if (on) lanes.at[l] += lanes.stride;
    }
    ++k;
  }
}

} // namespace

template <class T, class O>
void place_values(const host_context& ctx, const O* from, vector_view<const T> values,
                  vector_view<T> to) {
  for_each_range(ctx, to.size(), entry_grain, [=](std::int64_t begin, std::int64_t end) {
    if (from == nullptr)
      std::copy(values.data() + begin, values.data() + end, to.data() + begin);
    else
      for (std::int64_t k = begin; k < end; ++k) to[k] = values[from[k]];
  });
}

template <class T, class I, class O>
void place_in_ell_csr(const host_context& ctx, vector_view<const O> rowptr, const O* from,
                      vector_view<const T> values, ell_csr_view<T, I> to) {
  const auto slices = to.slices();
  for_each_part(ctx, to.steps().size(), step_grain, [=](int part, int parts) {
    const auto first_slice = [&](int of) { // of a share of equal steps
      const std::int64_t target = part_begin(to.steps().size(), of, parts);
      return std::partition_point(slices.begin(), slices.begin() + to.slice_count(),
                                  [=](const ell_slice& s) { return s.step < target; }) -
             slices.begin();
    };
    const std::int64_t end = part + 1 == parts ? to.slice_count() : first_slice(part + 1);
    for (std::int64_t s = first_slice(part); s < end; ++s) {
      if (from == nullptr)
        fill_slice(to, rowptr.data(), s, [=](std::int64_t k) { return values[k]; });
      else
        fill_slice(to, rowptr.data(), s, [=](std::int64_t k) { return values[from[k]]; });
    }
  });
}

template <class T, class I, class O>
void place_in_hyb(const host_context& ctx, csr_view<const T, I, O> a, hyb_view<T, I, O> to) {
  const std::int64_t rows = a.shape().row, width = to.width(), stride = to.stride();
  const O* const rowptr = a.rowptr().data();
  const T* const values = a.values().data();
  const auto rest = to.rest();
  for_each_part(ctx, rows + a.size(), entry_grain, [=](int part, int parts) {
    const std::int64_t end = first_row(rowptr, rows, part + 1, parts);
    for (std::int64_t i = first_row(rowptr, rows, part, parts); i < end; ++i) {
      const std::int64_t first = rowptr[i], length = rowptr[i + 1] - first;
      const std::int64_t in_ell = std::min(length, width), place = rest.rowptr()[i];
      for (std::int64_t k = 0; k < in_ell; ++k) to.values()[k * stride + i] = values[first + k];
      const std::int64_t beyond =
          std::min<std::int64_t>(length - in_ell, rest.rowptr()[i + 1] - place);
      std::copy_n(values + first + in_ell, beyond, rest.values().data() + place);
    }
  });
}

void number_entries(const host_context& ctx, vector_view<double> numbers) {
  for_each_range(ctx, numbers.size(), entry_grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) numbers[k] = static_cast<double>(k);
  });
}
template <class O>
void as_offsets(const host_context& ctx, vector_view<const double> numbers,
                vector_view<O> offsets) {
  for_each_range(ctx, numbers.size(), entry_grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) offsets[k] = static_cast<O>(numbers[k]);
  });
}
template void as_offsets<std::int32_t>(const host_context&, vector_view<const double>,
                                       vector_view<std::int32_t>);
template void as_offsets<std::int64_t>(const host_context&, vector_view<const double>,
                                       vector_view<std::int64_t>);

#define LACUNA_INSTANTIATE(T, O)                                                                   \
  template void place_values<T, O>(const host_context&, const O*, vector_view<const T>,            \
                                   vector_view<T>);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void place_in_ell_csr<T, I, O>(const host_context&, vector_view<const O>, const O*,     \
                                          vector_view<const T>, ell_csr_view<T, I>);               \
  template void place_in_hyb<T, I, O>(const host_context&, csr_view<const T, I, O>,                \
                                      hyb_view<T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::cpu
