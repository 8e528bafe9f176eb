#include <lacuna/format/packed_csr.hpp>

#include <fmt/format.h>

#include "cpu/packed_kernels.hpp"

namespace lacuna::detail::cpu {
namespace {

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw bad_input("packed_csr: " + fmt::format(format, std::forward<Args>(args)...));
}

/// What unpacking relies on.
template <class T, class I, class O> void check_chunks(packed_csr_view<const T, I, O> a) {
  const auto chunks = a.chunks();
  const auto bytes = a.columns().size();
  if (chunks.size() != chunk_count(a.size()))
    fail("there are {} chunks, {} entries need {}", chunks.size(), a.size(), chunk_count(a.size()));
  if (chunks.data() == nullptr && !chunks.empty()) fail("chunks is null but nnz = {}", a.size());
  if (a.columns().data() == nullptr && bytes > 0) fail("columns is null but has {} bytes", bytes);
  std::int64_t byte = 0;
  for (std::int64_t c = 0; c < chunks.size(); ++c) {
    if ((1 << chunks[c].log_width()) > static_cast<int>(sizeof(I)))
      fail("chunk {} has {} bytes a column, {} are enough", c, 1 << chunks[c].log_width(),
           sizeof(I));
    if (chunks[c].first_byte() != byte)
      fail("chunk {} begins at byte {}, the one before it ends at {}", c, chunks[c].first_byte(),
           byte);
    byte += chunks[c].bytes();
  }
  if (byte != bytes) fail("the last chunk ends at byte {}, but columns has {}", byte, bytes);
}

} // namespace

template <class T, class I, class O>
void check_packed_csr(const host_context& ctx, packed_csr_view<const T, I, O> a) {
  detail::require_shape("packed_csr", a.shape().row, a.shape().col, a.size());
  check_chunks(a);
  const auto colind = unpack_columns(ctx, a);
  try {
    check_csr<T, I, O>(
        ctx, {a.values().data(), a.rowptr().data(), colind.data(), a.shape(), a.size(), a.order()});
  } catch (const bad_input& e) {
    fail("as {}", e.what());
  }
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void check_packed_csr<T, I, O>(const host_context&, packed_csr_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
