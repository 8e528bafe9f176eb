#include "gpu/parts/scan.cuh"

#include <cub/device/device_partition.cuh>
#include <cub/device/device_scan.cuh>

#include "gpu/parts/run_cub.cuh"

namespace lacuna::detail::gpu {

template <class Count, class Sum>
void exclusive_sums(const device_context& ctx, std::int64_t n, const Count* counts, Sum* sums) {
  // Inclusive sums one place further on: a scan of n + 1 elements would read past the last count.
  check(cudaMemsetAsync(sums, 0, sizeof(Sum), ctx.stream()), "exclusive_sums");
  if (n == 0) return;
  run_cub(ctx, "exclusive_sums", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveScanInit(scratch, bytes, counts, sums + 1, cuda::std::plus<>{},
                                              Sum{0}, n, ctx.stream());
  });
}

namespace {
struct larger_of {
  __host__ __device__ std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return a < b ? b : a;
  }
};
} // namespace

void running_maxima(const device_context& ctx, std::int64_t n, const std::int64_t* from,
                    std::int64_t* maxima) {
  if (n == 0) return;
  run_cub(ctx, "running_maxima", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveScanInit(scratch, bytes, from, maxima, larger_of{},
                                              std::int64_t{0}, n, ctx.stream());
  });
}

template <class I>
std::int64_t partition(const device_context& ctx, std::int64_t n, const I* from, const char* flags,
                       I* to) {
  array<std::int64_t, space::device> selected(ctx, 1);
  run_cub(ctx, "partition", [&](void* scratch, std::size_t& bytes) {
    return cub::DevicePartition::Flagged(scratch, bytes, from, flags, to, selected.data(), n,
                                         ctx.stream());
  });
  std::int64_t count = 0;
  read_back(ctx, &count, selected.data(), 1);
  return count;
}

#define LACUNA_INSTANTIATE(Count, Sum)                                                             \
  template void exclusive_sums<Count, Sum>(const device_context&, std::int64_t, const Count*, Sum*);
LACUNA_INSTANTIATE(char, std::int64_t)
LACUNA_INSTANTIATE(std::uint8_t, std::int64_t)
LACUNA_INSTANTIATE(int, std::int64_t)
LACUNA_INSTANTIATE(int, std::int32_t)
LACUNA_INSTANTIATE(unsigned, std::int64_t)
LACUNA_INSTANTIATE(std::int64_t, std::int64_t)
LACUNA_INSTANTIATE(std::int64_t, std::int32_t)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(I)                                                                      \
  template std::int64_t partition<I>(const device_context&, std::int64_t, const I*, const char*,   \
                                     I*);
LACUNA_INSTANTIATE(std::int32_t)
LACUNA_INSTANTIATE(std::int64_t)

} // namespace lacuna::detail::gpu
