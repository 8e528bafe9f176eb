// The device context of a build without CUDA: it says so.
#include <cstring>

#include <lacuna/core/context.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/core/streams.hpp>
#include <lacuna/op/copy.hpp>

namespace lacuna {
namespace {
[[noreturn]] void absent() {
  throw unsupported("this Lacuna was built without CUDA: no device can be used");
}
} // namespace

struct device_context::state {};

int device_count() noexcept { return 0; }
device_context::context(device_options) { absent(); }
int device_context::device() const noexcept { return -1; }
CUstream_st* device_context::stream() const noexcept { return nullptr; }
const device_properties& device_context::properties() const noexcept {
  static const device_properties none;
  return none;
}
void device_context::synchronize() const { absent(); }
void device_context::trim() const { absent(); }
void* device_context::allocate(std::size_t) const { absent(); }
void device_context::deallocate(void*, std::size_t) const noexcept {}
void order_streams(int, CUstream_st*, CUstream_st*) { absent(); }
int device_of(const void*) { absent(); }
template <> const device_context& default_context<space::device>() { absent(); }

namespace detail {
void copy_bytes(const host_context&, void* to, const void* from, std::size_t bytes,
                space from_space) {
  if (from_space == space::device) absent();
  if (bytes != 0) std::memcpy(to, from, bytes);
}
void wait_for_device_of(const void*) { absent(); }
void copy_bytes(const device_context&, void*, const void*, std::size_t, space) { absent(); }
} // namespace detail

} // namespace lacuna
