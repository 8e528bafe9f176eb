// New values for matrices that are kept in another order than CSR's: where an entry goes follows
// from the row pointers and the format's own structure, so no map is kept and no column is read.
#include <lacuna/format/ell_csr.hpp>

#include <bit>
#include <cstring>

#include "plan/value_map.hpp"
#include "cpu/rows.hpp"
#include "cpu/stream.hpp"

namespace lacuna::detail::cpu {
namespace {

constexpr std::int64_t step_grain = 512; // steps for one more thread
constexpr int batch = 8;                 // steps that are filled at once
constexpr int gather_tile = 64;          // values that are gathered before they are written

template <class T> bool is_streamed(std::int64_t count) {
  return count * std::int64_t{sizeof(T)} >= streamed_bytes;
}

/// New values in CSR's order, or where a map says that they are. fetch(k) asks for the k-th early:
/// the 32 rows of a slice are more streams than a chip's prefetchers follow.
template <class T> struct plain_values {
  const T* values;
  std::int64_t size;
  T operator()(std::int64_t k) const { return values[k]; }
  void fetch(std::int64_t k) const {
    __builtin_prefetch(values + std::clamp<std::int64_t>(k, 0, size));
  }
};
template <class T, class O> struct mapped_values {
  const T* values;
  const O* from;
  T operator()(std::int64_t k) const { return values[from[k]]; }
  void fetch(std::int64_t) const {}
};

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
    const int log = std::countr_zero(static_cast<unsigned>(stride));
    for (int l = 0; l < slice_lanes; ++l) {
      std::int64_t row = first + (l >> log);
      if (!to.rows().empty())
        row = to.rows()[row];
      else if (row >= to.shape().row)
        row = -1;
      at[l] = row < 0 ? 0 : rowptr[row] + (l & (stride - 1));
      end[l] = row < 0 ? 0 : rowptr[row + 1];
    }
  }
};

/// Byte l of the result has as bit u the bit l of byte u.
std::uint64_t transposed_bits(std::uint64_t x) {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAU;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCU;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0U;
  return x ^ t ^ (t << 28);
}
/// Bit u of present[l]: lane l has an entry in step u.
template <class I>
void find_steps_of_lanes(const ell_step<I>* steps, int count, unsigned char* present) {
  static_assert(batch == 8 && std::endian::native == std::endian::little);
  for (int group = 0; group < slice_lanes; group += 8) {
    std::uint64_t bits = 0;
    for (int u = 0; u < count; ++u)
      bits |= static_cast<std::uint64_t>(steps[u].mask >> group & 0xffU) << (8 * u);
    bits = transposed_bits(bits);
    std::memcpy(present + group, &bits, sizeof bits);
  }
}

/// f(count); for whole batches and the last steps of common stencils the compiler knows the count.
template <class F> auto with_fixed_count(int count, F f) {
  switch (count) {
  case 8: return f(std::integral_constant<int, 8>{});
  case 7: return f(std::integral_constant<int, 7>{});
  case 5: return f(std::integral_constant<int, 5>{});
  case 3: return f(std::integral_constant<int, 3>{});
  default: return f(count);
  }
}

/// v, or 0 if not `on`, without a branch: where rows differ, which steps a lane has is as good as
/// random.
template <class T> T value_if(bool on, T v) {
  using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  return std::bit_cast<T>(std::bit_cast<bits>(v) & (bits{0} - bits{on}));
}

/// The next entries of a lane, in the steps that `present` has bits for; where those are all, with
/// lengths that the compiler knows. Reads no entry from `end` on, where the lane's row ends.
/// Returns the place of the entry after them.
template <class T, class Value, class Stride>
std::int64_t fill_lane(T* tile, unsigned present, int count, std::int64_t at, std::int64_t end,
                       Stride stride, Value value) {
  const auto fill = [&](auto steps) {
    for (int u = 0; u < steps; ++u) tile[slice_lanes * u] = value(at + u * stride);
    return at + steps * stride;
  };
  const auto fill_some = [&](auto steps) {
    for (int u = 0; u < steps; ++u) {
      const std::int64_t on = present >> u & 1U;
      tile[slice_lanes * u] = value_if(on != 0, value(at));
      at += on * stride;
    }
    return at;
  };
  if (present == (1U << count) - 1 && at + (count - 1) * stride < end)
    return with_fixed_count(count, fill);
  if (at + count * stride < end) return with_fixed_count(count, fill_some); // it looks one ahead
  for (int u = 0; u < count; ++u) {
    const bool on = (present >> u & 1U) != 0 && at < end;
    tile[slice_lanes * u] = on ? value(at) : T{0};
    if (on) at += stride;
  }
  return at;
}

/// Whether 32 rows that follow one another have an entry in every step: stencils away from their
/// grid's boundary, bands, rows of one length.
template <class T, class I, class O>
bool is_full(ell_csr_view<T, I> to, const O* rowptr, std::int64_t slice) {
  const std::int64_t row = (slice - to.pieces().size()) * slice_lanes;
  if (row < 0 || row + slice_lanes > to.shape().row || !to.rows().empty() ||
      to.slices()[slice].row_lanes() != 1)
    return false;
  const std::int64_t begin = to.slices()[slice].step, end = to.slices()[slice + 1].step;
  if (rowptr[row + slice_lanes] - rowptr[row] != (end - begin) * slice_lanes) return false;
  std::uint32_t all = ~std::uint32_t{0};
  for (std::int64_t k = begin; k < end; ++k) all &= static_cast<std::uint32_t>(to.steps()[k].mask);
  return all == ~std::uint32_t{0};
}

/// Such a slice is a block of values that is transposed, tile by tile.
template <class T, class I, class O, class Value>
void fill_full_slice(ell_csr_view<T, I> to, const O* rowptr, std::int64_t slice,
                     const tile_writer& writer, Value value) {
  alignas(64) T tile[batch * slice_lanes];
  const std::int64_t begin = to.slices()[slice].step;
  const std::int64_t steps = to.slices()[slice + 1].step - begin;
  const std::int64_t first = rowptr[(slice - to.pieces().size()) * slice_lanes];
  const std::int64_t ahead = steps * slice_lanes;
  for (std::int64_t k = 0; k < steps; k += batch) {
    const int count = static_cast<int>(std::min<std::int64_t>(batch, steps - k));
    const auto fill = [&](auto steps_here) {
      for (int l = 0; l < slice_lanes; ++l) {
        const std::int64_t at = first + l * steps + k;
        value.fetch(at + ahead);
        for (int u = 0; u < steps_here; ++u) tile[slice_lanes * u + l] = value(at + u);
      }
    };
    with_fixed_count(count, fill);
    writer.write(tile, count * slice_lanes, to.values().data() + slice_lanes * (begin + k));
  }
}

/// Fills a slice batch by batch, each in a tile that is written at once.
template <class T, class I, class O, class Value>
void fill_slice(ell_csr_view<T, I> to, const O* rowptr, std::int64_t slice,
                const tile_writer& writer, Value value) {
  if (is_full(to, rowptr, slice)) return fill_full_slice(to, rowptr, slice, writer, value);
  alignas(64) T tile[batch * slice_lanes];
  unsigned char present[slice_lanes];
  lane_places<I, O> lanes(to, rowptr, slice);
  const std::int64_t ahead = lanes.end[slice_lanes - 1] - lanes.at[0];
  const std::int64_t end = to.slices()[slice + 1].step;
  for (std::int64_t k = to.slices()[slice].step; k < end; k += batch) {
    const int count = static_cast<int>(std::min<std::int64_t>(batch, end - k));
    find_steps_of_lanes(to.steps().data() + k, count, present);
    const auto fill = [&](auto stride) {
      for (int l = 0; l < slice_lanes; ++l) value.fetch(lanes.at[l] + ahead);
      for (int l = 0; l < slice_lanes; ++l)
        lanes.at[l] =
            fill_lane(tile + l, present[l], count, lanes.at[l], lanes.end[l], stride, value);
    };
    if (lanes.stride == 1)
      fill(std::integral_constant<int, 1>{});
    else
      fill(lanes.stride);
    writer.write(tile, count * slice_lanes, to.values().data() + slice_lanes * k);
  }
}

/// to[k] = values[from[k]] for k in [begin, end); begin is a multiple of a tile.
template <class T, class O>
void gather(const O* from, const T* values, T* to, std::int64_t begin, std::int64_t end,
            const tile_writer& writer) {
  alignas(64) T tile[gather_tile];
  std::int64_t k = begin;
  for (; k + gather_tile <= end; k += gather_tile) {
    for (int i = 0; i < gather_tile; ++i) tile[i] = values[from[k + i]];
    writer.write(tile, gather_tile, to + k);
  }
  for (; k < end; ++k) to[k] = values[from[k]];
}

} // namespace

template <class T, class O>
void place_values(const host_context& ctx, const O* from, vector_view<const T> values,
                  vector_view<T> to) {
  if (from == nullptr)
    return for_each_range(ctx, to.size(), entry_grain, [=](std::int64_t begin, std::int64_t end) {
      std::copy(values.data() + begin, values.data() + end, to.data() + begin);
    });
  const std::int64_t tiles = (to.size() + gather_tile - 1) / gather_tile;
  const bool streams = is_streamed<T>(to.size());
  for_each_range(ctx, tiles, entry_grain / gather_tile, [=](std::int64_t begin, std::int64_t end) {
    gather(from, values.data(), to.data(), begin * gather_tile,
           std::min(end * gather_tile, to.size()), tile_writer(streams));
  });
}

template <class T, class I, class O>
void place_in_ell_csr(const host_context& ctx, vector_view<const O> rowptr, const O* from,
                      vector_view<const T> values, ell_csr_view<T, I> to) {
  if (values.empty()) return;
  const auto slices = to.slices();
  const bool streams = is_streamed<T>(to.values().size());
  for_each_part(ctx, to.steps().size(), step_grain, [=](int part, int parts) {
    const auto first_slice = [&](int of) { // of a share of equal steps
      const std::int64_t target = part_begin(to.steps().size(), of, parts);
      return std::partition_point(slices.begin(), slices.begin() + to.slice_count(),
                                  [=](const ell_slice& s) { return s.step < target; }) -
             slices.begin();
    };
    const std::int64_t end = part + 1 == parts ? to.slice_count() : first_slice(part + 1);
    const tile_writer writer(streams);
    for (std::int64_t s = first_slice(part); s < end; ++s) {
      if (from == nullptr)
        fill_slice(to, rowptr.data(), s, writer, plain_values<T>{values.data(), values.size()});
      else
        fill_slice(to, rowptr.data(), s, writer, mapped_values<T, O>{values.data(), from});
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
                                          vector_view<const T>, ell_csr_view<T, I>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
