// csr to packed_csr and back. One warp per chunk finds its base and width, a scan where its columns
// begin, and one warp per chunk writes them. Waits for their size and for the row lengths.
#include "gpu/packed_columns.cuh"
#include "gpu/parts/scan.cuh"
#include <lacuna/format/packed_csr.hpp>

namespace lacuna::detail::gpu {
namespace {

/// Columns of lanes `lane` and `lane + 32` of a chunk, the last of the matrix perhaps not full.
template <class I> struct column_pair { I first, second; };
template <class I>
__device__ column_pair<I> load_pair(const I* colind, std::int64_t nnz, std::int64_t chunk, int lane,
                                    I missing) {
  const std::int64_t k = chunk * chunk_entries + lane;
  return {k < nnz ? colind[k] : missing, k + 32 < nnz ? colind[k + 32] : missing};
}

template <class I>
void find_heads(const device_context& ctx, const I* colind, std::int64_t nnz,
                array<packed_chunk<I>, space::device>& chunks,
                array<std::uint8_t, space::device>& units) {
  using word = std::make_unsigned_t<I>;
  for_each(ctx, chunks.size() * 32, "to_packed_csr: heads",
           [colind, nnz, chunks = chunks.data(), units = units.data()] __device__(std::int64_t i) {
             const std::int64_t chunk = i / 32;
             const int lane = static_cast<int>(i % 32);
             const auto [first, second] =
                 load_pair(colind, nnz, chunk, lane, colind[chunk * chunk_entries]);
             I low = min(first, second), high = max(first, second);
             for (int step = 16; step > 0; step /= 2) {
               low = min(low, __shfl_xor_sync(0xffffffffu, low, step));
               high = max(high, __shfl_xor_sync(0xffffffffu, high, step));
             }
             if (lane != 0) return;
             const std::uint64_t spread = static_cast<word>(high) - static_cast<word>(low);
             const int log_width = spread <= 0xff         ? 0
                                   : spread <= 0xffff     ? 1
                                   : spread <= 0xffffffff ? 2
                                                          : 3;
             chunks[chunk] = {low, static_cast<word>(log_width)};
             units[chunk] = static_cast<std::uint8_t>(1 << log_width);
           });
}

template <class U>
__device__ void store_distance(std::uint8_t* to, int place, std::uint64_t distance) {
  reinterpret_cast<U*>(to)[place] = static_cast<U>(distance);
}

template <class I>
void fill_columns(const device_context& ctx, const I* colind, std::int64_t nnz,
                  const std::int64_t* first_units, array<packed_chunk<I>, space::device>& chunks,
                  array<std::uint8_t, space::device>& columns) {
  using word = std::make_unsigned_t<I>;
  for_each(ctx, chunks.size() * 32, "to_packed_csr: columns",
           [colind, nnz, first_units, chunks = chunks.data(),
            columns = columns.data()] __device__(std::int64_t i) {
             const std::int64_t chunk = i / 32;
             const int lane = static_cast<int>(i % 32);
             packed_chunk<I> head = chunks[chunk]; // its width only
             const auto [first, second] = load_pair(colind, nnz, chunk, lane, head.base);
             head.place += static_cast<word>(first_units[chunk]) << 2;
             std::uint8_t* to = columns + head.first_byte();
             const auto store = [&](int place, I column) {
               const word distance = static_cast<word>(column) - static_cast<word>(head.base);
               switch (head.log_width()) {
               case 0: return store_distance<std::uint8_t>(to, place, distance);
               case 1: return store_distance<std::uint16_t>(to, place, distance);
               case 2: return store_distance<std::uint32_t>(to, place, distance);
               default: return store_distance<std::uint64_t>(to, place, distance);
               }
             };
             store(lane, first);
             store(lane + 32, second);
             __syncwarp(); // all lanes have read the head
             if (lane == 0) chunks[chunk] = head;
           });
}

} // namespace

template <class T, class I, class O>
packed_csr<T, I, O, space::device> csr_to_packed_csr(const device_context& ctx,
                                                     device_csr<T, I, O> a) {
  const device_guard guard(ctx.device());
  const I* const colind = a.colind().data();
  const std::int64_t nnz = a.size(), count = (nnz + chunk_entries - 1) / chunk_entries;
  array<packed_chunk<I>, space::device> chunks(ctx, count);
  array<std::uint8_t, space::device> units(ctx, count);
  array<std::int64_t, space::device> first_units(ctx, count + 1);
  find_heads(ctx, colind, nnz, chunks, units);
  exclusive_sums(ctx, count, units.data(), first_units.data());
  std::int64_t all_units = 0;
  read_back(ctx, &all_units, first_units.data() + count, 1);
  (void)checked_cast<I>(2 * all_units, "to_packed_csr: columns in units of 32 bytes");

  array<std::uint8_t, space::device> columns(ctx, checked_mul(all_units, chunk_entries));
  fill_columns(ctx, colind, nnz, first_units.data(), chunks, columns);
  auto inspected = std::make_shared<multiply_inspection<T, I, O, space::device>>();
  inspect_csr<T, I, O>(ctx, a, *inspected);
  return {a.shape(),           copy_to(ctx, a.rowptr()), std::move(chunks),
          std::move(columns),  copy_to(ctx, a.values()), a.order(),
          std::move(inspected)};
}

template <class T, class I, class O>
csr_d<T, I, O> packed_csr_to_csr(const device_context& ctx, device_packed_csr<T, I, O> a) {
  const device_guard guard(ctx.device());
  return {a.shape(), copy_to(ctx, a.rowptr()), unpack_columns(ctx, a), copy_to(ctx, a.values()),
          a.order()};
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template packed_csr<T, I, O, space::device> csr_to_packed_csr<T, I, O>(const device_context&,    \
                                                                         device_csr<T, I, O>);     \
  template csr_d<T, I, O> packed_csr_to_csr<T, I, O>(const device_context&,                        \
                                                     device_packed_csr<T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
