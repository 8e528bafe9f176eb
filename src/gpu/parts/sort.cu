#include "gpu/parts/sort.cuh"

#include <bit>

#include <cub/device/device_radix_sort.cuh>

#include "gpu/parts/run_cub.cuh"

namespace lacuna::detail::gpu {

template <class Key, class Position>
int sort_stably(const device_context& ctx, Key* const (&keys)[2], Position* const (&positions)[2],
                std::int64_t n, int first_bit, int end_bit) {
  if (n < 2 || first_bit == end_bit) return 0;
  cub::DoubleBuffer<Key> key_buffers(keys[0], keys[1]);
  cub::DoubleBuffer<Position> position_buffers(positions[0], positions[1]);
  run_cub(ctx, "sort_stably", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, key_buffers, position_buffers, n,
                                           first_bit, end_bit, ctx.stream());
  });
  return key_buffers.selector;
}

template <class Key, class Position>
sorted_keys<Key, Position> sort_stably(const device_context& ctx,
                                       sorted_keys<Key, Position> unsorted, std::int64_t limit) {
  const std::int64_t n = unsorted.keys.size();
  if (n < 2 || limit < 2) return unsorted;
  sorted_keys<Key, Position> other{array<Key, space::device>(ctx, n),
                                   array<Position, space::device>(ctx, n)};
  const int bits = std::bit_width(static_cast<std::uint64_t>(limit - 1));
  if (sort_stably<Key, Position>(ctx, {unsorted.keys.data(), other.keys.data()},
                                 {unsorted.positions.data(), other.positions.data()}, n, 0,
                                 bits) == 1)
    return other;
  return unsorted;
}

#define LACUNA_INSTANTIATE(K, P)                                                                   \
  template int sort_stably<K, P>(const device_context&, K* const(&)[2], P* const(&)[2],            \
                                 std::int64_t, int, int);                                          \
  template sorted_keys<K, P> sort_stably<K, P>(const device_context&, sorted_keys<K, P>,           \
                                               std::int64_t);
LACUNA_INSTANTIATE(std::uint32_t, std::uint32_t)
LACUNA_INSTANTIATE(std::uint32_t, std::uint64_t)
LACUNA_INSTANTIATE(std::uint64_t, std::uint32_t)
LACUNA_INSTANTIATE(std::uint64_t, std::uint64_t)

} // namespace lacuna::detail::gpu
