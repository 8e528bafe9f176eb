// A dynamic CSR in parts on devices: rows dealt out, batches split, results gathered, and what
// orders streams and copies between devices.
#include "op/dynamic_parts.hpp"

#include "gpu/parts/sort.cuh"

namespace lacuna::detail::gpu {

namespace {

template <class position, class I, class O>
void deal_by_length(const device_context& ctx, const O* rowptr, std::int64_t rows, O entries,
                    I* slots) {
  using key = std::make_unsigned_t<O>;
  sorted_keys<key, position> order{array<key, space::device>(ctx, rows),
                                   array<position, space::device>(ctx, rows)};
  for_each(ctx, rows, "deal_rows: keys",
           [rowptr, entries, keys = order.keys.data(),
            positions = order.positions.data()] __device__(std::int64_t i) {
             keys[i] = static_cast<key>(entries - (rowptr[i + 1] - rowptr[i]));
             positions[i] = static_cast<position>(i);
           });
  order = sort_stably(ctx, std::move(order), std::int64_t{entries} + 1);
  for_each(ctx, rows, "deal_rows: slots",
           [slots, positions = order.positions.data()] __device__(std::int64_t k) {
             slots[positions[k]] = static_cast<I>(k);
           });
}

/// found: where parts begin, and behind them the first entry outside, all ones if there is none.
template <class position, class T, class I>
void split_into(const device_context& ctx, const batch_to_split<T, I>& batch, bool by_row,
                split_batch<T, I, space::device>& result, unsigned long long* found) {
  using key = std::make_unsigned_t<I>;
  const std::int64_t size = batch.size;
  unsigned long long* const outside = found + batch.parts + 1;
  check(cudaMemsetAsync(outside, 0xff, sizeof(*outside), ctx.stream()), "split");
  sorted_keys<key, position> order{array<key, space::device>(ctx, size),
                                   array<position, space::device>(ctx, size)};
  for_each(ctx, size, "split: keys",
           [batch, by_row, outside, keys = order.keys.data(),
            positions = order.positions.data()] __device__(std::int64_t k) {
             const bool out = batch.is_outside(k);
             if (out) atomicMin(outside, static_cast<unsigned long long>(k));
             keys[k] = out ? key{0} : static_cast<key>(batch.key(k, by_row));
             positions[k] = static_cast<position>(k);
           });
  order = sort_stably(ctx, std::move(order), batch.keys(by_row));
  for_each(ctx, batch.parts + 1, "split: starts",
           [batch, by_row, found, keys = order.keys.data(), size] __device__(std::int64_t p) {
             found[p] = static_cast<unsigned long long>(
                 lower_bound(keys, size, static_cast<key>(batch.first_key(p, by_row))));
           });
  for_each(ctx, size, "split: entries",
           [batch, positions = order.positions.data(), rowind = result.rowind.data(),
            colind = result.colind.data(),
            values = result.values.data()] __device__(std::int64_t k) {
             const auto from = static_cast<std::int64_t>(positions[k]);
             if (batch.is_outside(from)) return; // it has no slot, and the batch is refused
             rowind[k] = static_cast<I>(batch.slot(from) / batch.parts);
             colind[k] = batch.colind[from];
             if (values != nullptr) values[k] = batch.values[from];
           });
}

} // namespace

template <class I, class O>
void deal_rows(const device_context& ctx, const O* rowptr, std::int64_t rows, I* slots) {
  const device_guard guard(ctx.device());
  O entries = 0;
  read_back(ctx, &entries, rowptr + rows, 1);
  with_position_type(rows, [&](auto position) {
    deal_by_length<decltype(position)>(ctx, rowptr, rows, entries, slots);
  });
}

template <class I>
void invert_slots(const device_context& ctx, const I* slots, std::int64_t rows, I* to) {
  const device_guard guard(ctx.device());
  for_each(ctx, rows, "invert_slots", [slots, to] __device__(std::int64_t i) {
    to[slots == nullptr ? i : std::int64_t{slots[i]}] = static_cast<I>(i);
  });
}

template <class T, class I>
split_batch<T, I, space::device> split_by_part(const device_context& ctx,
                                               const batch_to_split<T, I>& batch, bool by_row) {
  const device_guard guard(ctx.device());
  const std::int64_t n = batch.parts, size = batch.size;
  split_batch<T, I, space::device> result;
  result.rowind = array<I, space::device>(ctx, size);
  result.colind = array<I, space::device>(ctx, size);
  if (batch.values != nullptr) result.values = array<T, space::device>(ctx, size);
  array<unsigned long long, space::device> found(ctx, n + 2);
  with_position_type(size, [&](auto position) {
    split_into<decltype(position)>(ctx, batch, by_row, result, found.data());
  });
  std::vector<unsigned long long> there(static_cast<std::size_t>(n) + 2);
  read_back(ctx, there.data(), found.data(), n + 2);
  if (there.back() != ~0ull) result.outside = static_cast<std::int64_t>(there.back());
  result.starts.assign(there.begin(), there.end() - 1);
  return result;
}

template <class I>
void number_rows(const device_context& ctx, const I* row_of_slot, std::int64_t n, std::int64_t p,
                 I* rowind, std::int64_t size) {
  const device_guard guard(ctx.device());
  for_each(ctx, size, "number_rows", [row_of_slot, n, p, rowind] __device__(std::int64_t k) {
    rowind[k] = row_of_slot[rowind[k] * n + p];
  });
}

template <class T, class I>
void gather_parts(const device_context& ctx, const T* results, const I* slots, std::int64_t rows,
                  std::int64_t n, T* y) {
  const device_guard guard(ctx.device());
  for_each(ctx, rows, "gather_parts", [results, slots, rows, n, y] __device__(std::int64_t i) {
    y[i] = results[place_of_slot(slots[i], rows, n)];
  });
}

void put_in_order(const device_context& earlier, const device_context& later) {
  if (earlier.device() == later.device() && earlier.stream() == later.stream()) return;
  const device_guard guard(earlier.device());
  cudaEvent_t reached = nullptr;
  check(cudaEventCreateWithFlags(&reached, cudaEventDisableTiming), "cudaEventCreate");
  cudaError_t status = cudaEventRecord(reached, earlier.stream());
  if (status == cudaSuccess) {
    const device_guard there(later.device());
    status = cudaStreamWaitEvent(later.stream(), reached, 0);
  }
  (void)cudaEventDestroy(reached); // goes when it has been reached
  check(status, "put_in_order");
}

void copy_between(const device_context& ctx, void* to, int to_device, const void* from,
                  int from_device, std::size_t bytes) {
  if (bytes == 0) return;
  const device_guard guard(ctx.device());
  check(cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, ctx.stream()),
        "cudaMemcpyPeerAsync");
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template void deal_rows<I, O>(const device_context&, const O*, std::int64_t, I*);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template split_batch<T, I, space::device> split_by_part<T, I>(                                   \
      const device_context&, const batch_to_split<T, I>&, bool);                                   \
  template void gather_parts<T, I>(const device_context&, const T*, const I*, std::int64_t,        \
                                   std::int64_t, T*);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(I)                                                                      \
  template void invert_slots<I>(const device_context&, const I*, std::int64_t, I*);                \
  template void number_rows<I>(const device_context&, const I*, std::int64_t, std::int64_t, I*,    \
                               std::int64_t);
LACUNA_INSTANTIATE(std::int32_t)
LACUNA_INSTANTIATE(std::int64_t)

} // namespace lacuna::detail::gpu
