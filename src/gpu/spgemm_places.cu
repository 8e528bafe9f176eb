// Refilling by kept places. A group of lanes owns a row and walks A's row as the numeric pass does,
// so sums have the same bits; no column is read, nothing is searched or sorted.
#include <lacuna/op/kept_pattern.hpp>

#include "gpu/parts/fork.cuh"
#include "gpu/parts/scan.cuh"
#include "gpu/spgemm_places.cuh"
#include "gpu/spgemm_walk.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Places that a byte numbers.
constexpr int most_narrow_places = 256;
/// Rows of C in a class have up to 16 << c entries; those that threads merge, in class 0, as many
/// as they have products.
constexpr bool has_wide_places(int c) { return spgemm::slots_of(c) > most_narrow_places; }

struct note_place_bytes {
  std::uint32_t each;
  const std::uint32_t* products;
  read_offsets rowptr;
  std::int64_t* bytes;
  int* longest;
  __device__ void operator()(std::int64_t row) const {
    bytes[row] = (std::int64_t{products[row]} * each + 3) / 4 * 4;
    const auto entries = static_cast<int>(rowptr[row + 1] - rowptr[row]);
    if (entries > *longest) atomicMax(longest, entries);
  }
};
/// Sums of whole numbers: the order of the additions does not matter.
template <class I>
__global__ void __launch_bounds__(block_threads)
    stamp_columns_kernel(const I* __restrict__ columns, std::int64_t n, unsigned long long* sum) {
  unsigned long long mine = 0;
  for (std::int64_t k = thread_index(); k < n; k += std::int64_t{gridDim.x} * blockDim.x)
    mine += static_cast<unsigned long long>(columns[k]) *
            detail::stamp_weight(static_cast<std::uint64_t>(k));
  __syncwarp();
  mine = warp_sum(mine);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

/// Calls take(place, column, product) for the products of a row of A, in their order, each group of
/// lanes those of its own row: `place` counts them from 0 on. Columns are read if they are asked
/// for.
template <bool columns, class P, class I, class O, class Values, class Take>
__device__ void walk_places(const spgemm_factors<I, O>& f, const Values& v, const lane_group& g,
                            O begin, O left, const P* places, const Take& take) {
  using T = typename Values::scalar_type;
  int first = 0; // products of the entries before these
  for (; __any_sync(whole_warp, left > 0); left -= g.size, begin += g.size) {
    O b = 0;
    int length = 0;
    T factor{0};
    if (g.lane < left) {
      const I j = f.a_colind[begin + g.lane];
      factor = v.factor(begin + g.lane);
      b = f.b_rowptr[j];
      length = static_cast<int>(f.b_rowptr[j + 1] - b);
    }
    int before = length; // up to this entry's last product, then before its first
    for (int step = 1; step < g.size; step *= 2) {
      const int other = __shfl_up_sync(whole_warp, before, step, g.size);
      if (g.lane >= step) before += other;
    }
    const int all = g.from(before, g.size - 1);
    before += first - length;
    first += all;
    const int count = __reduce_max_sync(
        whole_warp, static_cast<int>(max(O{0}, min(static_cast<O>(g.size), left))));
    O next = 0;
    int next_left = 0, next_place = 0;
    I column = 0;
    T value{0};
    P place = 0;
    const auto load = [&](O at, int its_place) {
      if constexpr (columns)
        column = __ldg(f.b_colind + at);
      else
        place = __ldg(places + its_place);
      value = v.value(at);
    };
    const auto ask = [&](int t) {
      next = g.from(b, t) + g.lane;
      next_place = g.from(before, t) + g.lane;
      next_left = g.from(length, t) - g.lane;
      if (next_left > 0) load(next, next_place);
    };
    ask(0);
    for (int t = 0; t < count; ++t) {
      T scale{0};
      if constexpr (Values::has_values) scale = g.from(factor, t);
      O at = next;
      int number = next_place, now_left = next_left;
      I now_column = column;
      T now_value = value;
      P now_place = place;
      if (t + 1 < count) ask(t + 1);
      while (__any_sync(whole_warp, now_left > 0)) {
        const int its_number = number;
        const I its_column = now_column;
        const P its_place = now_place;
        const T product = rounded_product(scale, now_value);
        if (now_left > g.size) {
          at += g.size;
          number += g.size;
          if constexpr (columns)
            now_column = __ldg(f.b_colind + at);
          else
            now_place = __ldg(places + number);
          now_value = v.value(at);
        }
        if (now_left > 0) {
          if constexpr (columns)
            take(its_number, its_column);
          else
            take(its_place, product);
        }
        now_left -= g.size;
      }
      __syncwarp(); // the next row of B finds these sums
    }
  }
}

/// A row of a list, for the group of lanes that owns it.
template <class I, class O> struct listed_row {
  std::int64_t row = 0, to = 0, start = 0;
  O begin = 0, length = 0;
  int count = 0; // entries of C
  __device__ listed_row(const spgemm_factors<I, O>& f, const row_list<I>& list, std::int64_t i,
                        const read_offsets& rowptr, const std::int64_t* starts) {
    if (i >= list.count) return;
    row = list[i];
    begin = f.a_rowptr[row];
    length = f.a_rowptr[row + 1] - begin;
    to = rowptr[row];
    count = static_cast<int>(rowptr[row + 1] - to);
    start = starts[row];
  }
};

template <class P, class I, class O>
__global__ void __launch_bounds__(block_threads)
    find_places_kernel(const spgemm_factors<I, O> f, row_list<I> list, int lanes, int pitch,
                       read_offsets rowptr, const I* colind, const std::int64_t* starts,
                       std::uint8_t* places, int* wrong) {
  extern __shared__ __align__(16) unsigned char shared[];
  const lane_group g(lanes);
  const int groups = static_cast<int>(blockDim.x) / lanes;
  const int group = static_cast<int>(threadIdx.x) / lanes;
  I* const columns = reinterpret_cast<I*>(shared) + group * pitch;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * groups;
  const std::int64_t rounds = (list.count + stride - 1) / stride;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * groups + group;
  for (std::int64_t round = 0; round < rounds; ++round, i += stride) {
    const listed_row<I, O> own(f, list, i, rowptr, starts);
    for (int s = g.lane; s < own.count; s += lanes) columns[s] = colind[own.to + s];
    __syncwarp();
    P* const to = reinterpret_cast<P*>(places + own.start);
    bool missing = false;
    walk_places<true, P>(f, columns_only{}, g, own.begin, own.length,
                         static_cast<const P*>(nullptr), [&](int number, I column) {
                           const int place = first_from(columns, 0, own.count, column);
                           if (place < own.count && columns[place] == column)
                             to[number] = static_cast<P>(place);
                           else
                             missing = true;
                         });
    if (missing) atomicOr(wrong, 1);
    __syncwarp();
  }
}

template <class P, class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    refill_rows_kernel(const spgemm_factors<I, O> f, const spgemm_values<T> v, row_list<I> list,
                       int lanes, int pitch, read_offsets rowptr, const std::int64_t* starts,
                       const std::uint8_t* places, T* values) {
  extern __shared__ __align__(16) unsigned char shared[];
  const lane_group g(lanes);
  const int groups = static_cast<int>(blockDim.x) / lanes;
  const int group = static_cast<int>(threadIdx.x) / lanes;
  T* const sums = reinterpret_cast<T*>(shared) + group * pitch;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * groups;
  const std::int64_t rounds = (list.count + stride - 1) / stride;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * groups + group;
  for (std::int64_t round = 0; round < rounds; ++round, i += stride) {
    const listed_row<I, O> own(f, list, i, rowptr, starts);
    for (int s = g.lane; s < own.count; s += lanes) sums[s] = no_product<T>();
    __syncwarp();
    walk_places<false, P>(f, v, g, own.begin, own.length,
                          reinterpret_cast<const P*>(places + own.start),
                          [&](P place, T product) { sums[place] += product; });
    for (int s = g.lane; s < own.count; s += lanes) values[own.to + s] = sums[s];
    __syncwarp();
  }
}

/// Lanes per row and threads per block, for `slot_bytes` per entry of C.
group_shape shape_for_places(const spgemm_thresholds& thresholds, int pitch, std::size_t slot_bytes,
                             const class_totals& of, unsigned long long longest_b) {
  // 7 KB a warp leave 32 of them on a multiprocessor.
  const auto row_bytes = static_cast<unsigned>(pitch) * static_cast<unsigned>(slot_bytes);
  const int least = std::clamp(static_cast<int>(std::bit_ceil(row_bytes / (7 * 32))), 4, 32);
  const double rows = static_cast<double>(of.rows), entries = static_cast<double>(of.entries);
  const int lanes =
      thresholds.lanes > 0
          ? std::clamp(static_cast<int>(std::bit_floor(static_cast<unsigned>(thresholds.lanes))),
                       least, 32)
          : spgemm::choose_group(entries > 0 ? static_cast<double>(of.products) / entries : 1,
                                 static_cast<double>(longest_b), rows > 0 ? entries / rows : 1,
                                 least);
  return {lanes, block_threads, static_cast<std::size_t>(row_bytes) * (block_threads / lanes),
          false};
}
/// Odd, so that neighbouring groups begin in different banks.
int pitch_for(int longest) { return longest | 1; }

} // namespace

template <class I>
void stamp_columns(const device_context& ctx, const I* columns, std::int64_t n,
                   unsigned long long* sum) {
  if (n == 0) return;
  stamp_columns_kernel<<<resident_blocks(ctx, n, 8), block_threads, 0, ctx.stream()>>>(columns, n,
                                                                                       sum);
  check_launch("stamp_columns_kernel");
}

template <class I, class O>
product_places<I, O>::product_places(const device_context& ctx, const spgemm_factors<I, O>& f,
                                     const known_rows<I, O>& known, const spgemm_totals& totals,
                                     const fill_bins<I>& rows, read_offsets rowptr, const I* colind,
                                     std::int64_t entries, std::size_t limit) {
  const row_bins<I>& bins = rows.bins;
  // A machine's file may have threads merge longer rows than `lacuna tune` ever does.
  if (bins[0].count > 0 && known.thresholds.merged_products > most_narrow_places) return;
  // Columns of broad rows are compared as those are made, which is after the stamp is: it would be
  // that of a C that may be wrong there.
  if (rows.split.matching.count > 0) return;
  struct found_places {
    refill_found found;
    int longest[spgemm::fill_classes];
  };
  array<found_places, space::device> found(ctx, 1);
  array<std::int64_t, space::device> bytes(ctx, f.rows), starts(ctx, f.rows + 1);
  check(cudaMemsetAsync(found.data(), 0, found.bytes(), ctx.stream()), "product_places");
  check(cudaMemsetAsync(bytes.data(), 0, bytes.bytes(), ctx.stream()), "product_places");
  for (int c = 0; c < spgemm::fill_classes; ++c) {
    const row_list<I> list = bins[c];
    for_each(ctx, list.count, "product_places",
             for_listed<I, note_place_bytes>{list,
                                             {has_wide_places(c) ? 2u : 1u, known.products, rowptr,
                                              bytes.data(), found.data()->longest + c}});
  }
  heavy_places<I, O> heavy(ctx, f, known, totals, rows.split.others, bytes.data());
  exclusive_sums(ctx, f.rows, std::as_const(bytes).data(), starts.data());
  std::int64_t all = 0;
  read_back(ctx, &all, std::as_const(starts).data() + f.rows, 1);
  const std::size_t kept = static_cast<std::size_t>(all) + starts.bytes() +
                           (heavy.exist() ? 4 * static_cast<std::size_t>(totals.a_entries) : 0);
  if (all == 0 || kept > limit || heavy.exist() != (rows.split.others.count > 0)) return;
  found_places read{};
  read_back(ctx, &read, std::as_const(found).data(), 1);
  array<std::uint8_t, space::device> places(ctx, all);
  for (int c = 0; c < spgemm::fill_classes; ++c) {
    const row_list<I> list = bins[c];
    if (list.count == 0) continue;
    longest_[c] = read.longest[c];
    const int pitch = pitch_for(longest_[c]);
    const group_shape shape =
        shape_for_places(known.thresholds, pitch, sizeof(I), bins.totals(c), totals.longest_b);
    auto* const kernel = has_wide_places(c) ? find_places_kernel<std::uint16_t, I, O>
                                            : find_places_kernel<std::uint8_t, I, O>;
    allow_shared(kernel, shape.bytes);
    kernel<<<blocks_of_groups(ctx, list.count, shape), shape.threads, shape.bytes, ctx.stream()>>>(
        f, list, shape.lanes, pitch, rowptr, colind, std::as_const(starts).data(), places.data(),
        &found.data()->found.wrong);
    check_launch("find_places_kernel");
  }
  heavy.find(ctx, f, known, totals, rowptr, colind, std::as_const(starts).data(), places.data(),
             &found.data()->found.wrong);
  stamp_columns(ctx, colind, entries, &found.data()->found.stamp);
  read_back(ctx, &read, std::as_const(found).data(), 1);
  if (read.found.wrong != 0)
    throw bad_input("multiply_refill: C has other columns than the product");
  stamp_ = read.found.stamp;
  heavy_ = std::move(heavy);
  starts_ = std::move(starts);
  places_ = std::move(places);
}

template <class I, class O>
template <class T>
bool product_places<I, O>::refill(const device_context& ctx, const spgemm_factors<I, O>& f,
                                  const spgemm_values<T>& v, const known_rows<I, O>& known,
                                  const spgemm_totals& totals, const fill_bins<I>& rows,
                                  read_offsets rowptr, std::int64_t entries,
                                  const fill_target<T, I>& target) const {
  array<refill_found, space::device> found(ctx, 1);
  check(cudaMemsetAsync(found.data(), 0, found.bytes(), ctx.stream()), "product_places");
  const row_bins<I>& bins = rows.bins;
  launch_fork fork(ctx, bins.launches() + 1);
  heavy_.refill(f, v, known, rowptr, starts_.data(), places_.data(), target.values, fork);
  for (int c = spgemm::fill_classes - 1; c >= 0; --c) {
    const row_list<I> list = bins[c];
    if (list.count == 0) continue;
    const int pitch = pitch_for(longest_[c]);
    const group_shape shape =
        shape_for_places(known.thresholds, pitch, sizeof(T), bins.totals(c), totals.longest_b);
    auto* const kernel = has_wide_places(c) ? refill_rows_kernel<std::uint16_t, T, I, O>
                                            : refill_rows_kernel<std::uint8_t, T, I, O>;
    allow_shared(kernel, shape.bytes);
    kernel<<<blocks_of_groups(ctx, list.count, shape), shape.threads, shape.bytes, fork.next()>>>(
        f, v, list, shape.lanes, pitch, rowptr, starts_.data(), places_.data(), target.values);
    check_launch("refill_rows_kernel");
  }
  fork.join();
  stamp_columns(ctx, static_cast<const I*>(target.colind), entries, &found.data()->stamp);
  refill_found read{};
  read_back(ctx, &read, std::as_const(found).data(), 1);
  return read.stamp == stamp_;
}

template void stamp_columns<std::int32_t>(const device_context&, const std::int32_t*, std::int64_t,
                                          unsigned long long*);
template void stamp_columns<std::int64_t>(const device_context&, const std::int64_t*, std::int64_t,
                                          unsigned long long*);
#define LACUNA_INSTANTIATE(I, O) template class product_places<I, O>;
LACUNA_FOR_EACH_KERNEL_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template bool product_places<I, O>::refill<T>(                                                   \
      const device_context&, const spgemm_factors<I, O>&, const spgemm_values<T>&,                 \
      const known_rows<I, O>&, const spgemm_totals&, const fill_bins<I>&, read_offsets,            \
      std::int64_t, const fill_target<T, I>&) const;
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
