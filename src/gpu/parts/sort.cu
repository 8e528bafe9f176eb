#include "gpu/parts/sort.cuh"

#include <bit>

#include <cub/device/device_radix_sort.cuh>

#include "gpu/parts/run_cub.cuh"

namespace lacuna::detail::gpu {

template <class Key, class Position>
sorted_keys<Key, Position> sort_stably(const device_context& ctx,
                                       sorted_keys<Key, Position> unsorted, std::int64_t limit) {
  const std::int64_t n = unsorted.keys.size();
  if (n < 2 || limit < 2) return unsorted;
  sorted_keys<Key, Position> other{array<Key, space::device>(ctx, n),
                                   array<Position, space::device>(ctx, n)};
  cub::DoubleBuffer<Key> keys(unsorted.keys.data(), other.keys.data());
  cub::DoubleBuffer<Position> positions(unsorted.positions.data(), other.positions.data());
  const int bits = std::bit_width(static_cast<std::uint64_t>(limit - 1));
  run_cub(ctx, "sort_stably", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, positions, n, 0, bits,
                                           ctx.stream());
  });
  if (keys.Current() == other.keys.data()) unsorted.keys.swap(other.keys);
  if (positions.Current() == other.positions.data()) unsorted.positions.swap(other.positions);
  return unsorted;
}

#define LACUNA_INSTANTIATE(K, P)                                                                   \
  template sorted_keys<K, P> sort_stably<K, P>(const device_context&, sorted_keys<K, P>,           \
                                               std::int64_t);
LACUNA_INSTANTIATE(std::uint32_t, std::uint32_t)
LACUNA_INSTANTIATE(std::uint32_t, std::uint64_t)
LACUNA_INSTANTIATE(std::uint64_t, std::uint32_t)
LACUNA_INSTANTIATE(std::uint64_t, std::uint64_t)

} // namespace lacuna::detail::gpu
