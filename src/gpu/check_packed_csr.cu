// Invariants of packed_csr on the device: one pass says whether the heads of all chunks are
// right. If so, the columns can be unpacked and tested as CSR's; if not, the matrix comes to the
// host, whose check finds the place and writes the message.
#include "gpu/packed_columns.cuh"
#include "gpu/parts/any_of.cuh"
#include <lacuna/format/packed_csr.hpp>

namespace lacuna::detail::gpu {
namespace {

template <class I> struct chunk_is_broken {
  const packed_chunk<I>* chunks;
  std::int64_t count, bytes;
  __device__ bool operator()(std::int64_t c) const {
    const packed_chunk<I> chunk = chunks[c];
    const std::int64_t end = chunk.first_byte() + chunk.bytes();
    const std::int64_t next = c + 1 < count ? chunks[c + 1].first_byte() : bytes;
    return (1u << chunk.log_width()) > sizeof(I) || end != next ||
           (c == 0 && chunk.first_byte() != 0);
  }
};
/// Whether the arrays have the sizes that the format asks for.
template <class T, class I, class O> bool sizes_hold(device_packed_csr<T, I, O> a) {
  const std::int64_t count = a.chunks().size(), bytes = a.columns().size();
  return a.shape().row >= 0 && a.shape().col >= 0 && a.size() >= 0 &&
         count == (std::int64_t{a.size()} + chunk_entries - 1) / chunk_entries &&
         (count == 0 || a.chunks().data() != nullptr) &&
         (bytes == 0 || a.columns().data() != nullptr);
}

} // namespace

template <class T, class I, class O>
void check_packed_csr(const device_context& ctx, device_packed_csr<T, I, O> a) {
  const device_guard guard(ctx.device());
  const host_context host;
  const auto chunks = a.chunks();
  const auto columns = a.columns();
  if (!sizes_hold(a)) // the host's check stops before it reads an element
    return detail::cpu::check_packed_csr<T, I, O>(host, {a.values().data(),
                                                         a.rowptr().data(),
                                                         {chunks.data(), chunks.size()},
                                                         {columns.data(), columns.size()},
                                                         a.shape(),
                                                         a.size()});
  const bool broken =
      chunks.empty() ? !columns.empty()
                     : any_of(ctx, chunks.size(), "check: packed_csr",
                              chunk_is_broken<I>{chunks.data(), chunks.size(), columns.size()});
  if (broken) {
    ctx.synchronize();
    const auto copy = copy_to(host, a);
    return detail::cpu::check_packed_csr<T, I, O>(host, copy.view());
  }
  const auto colind = unpack_columns(ctx, a);
  try {
    check_csr<T, I, O>(
        ctx, {a.values().data(), a.rowptr().data(), colind.data(), a.shape(), a.size(), a.order()});
  } catch (const bad_input& e) {
    throw bad_input(std::string("packed_csr: as ") + e.what());
  }
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void check_packed_csr<T, I, O>(const device_context&, device_packed_csr<T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
