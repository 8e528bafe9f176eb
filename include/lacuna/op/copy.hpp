// copy_to(ctx, a): a new owner in the context's space. To the device: queued on its stream (from
// pageable host memory CUDA has read the source when the call returns). To the host: waits for
// all work on the device, then copies.
#pragma once

#include <cstring>

#include <lacuna/op/operand.hpp>

namespace lacuna {

namespace detail {
/// Any pair of spaces; bytes may be 0. Device to device is queued on ctx's stream.
LACUNA_EXPORT void copy_bytes(const host_context& ctx, void* to, const void* from,
                              std::size_t bytes, space from_space);
LACUNA_EXPORT void copy_bytes(const device_context& ctx, void* to, const void* from,
                              std::size_t bytes, space from_space);
} // namespace detail

template <space S, class T, space From>
array<std::remove_const_t<T>, S> copy_to(const context<S>& ctx, vector_view<T, From> v) {
  array<std::remove_const_t<T>, S> result(ctx, v.size());
  detail::copy_bytes(ctx, result.data(), v.data(), result.bytes(), From);
  return result;
}
template <space S, class T, space From>
array<T, S> copy_to(const context<S>& ctx, const array<T, From>& a) {
  return copy_to(ctx, a.view());
}
/// std::vector and other host ranges.
template <space S, std::ranges::contiguous_range R>
auto copy_to(const context<S>& ctx, const R& r) {
  return copy_to(ctx, detail::const_view(r));
}

template <space S, class T, class I, class O, space From>
csr<std::remove_const_t<T>, I, O, S> copy_to(const context<S>& ctx, csr_view<T, I, O, From> a) {
  return {a.shape(), copy_to(ctx, a.rowptr()), copy_to(ctx, a.colind()), copy_to(ctx, a.values()),
          a.order()};
}
template <space S, class T, class I, class O, space From>
csc<std::remove_const_t<T>, I, O, S> copy_to(const context<S>& ctx, csc_view<T, I, O, From> a) {
  return csc<std::remove_const_t<T>, I, O, S>(copy_to(ctx, a.transpose()));
}
template <space S, class T, class I, class O, space From>
coo<std::remove_const_t<T>, I, O, S> copy_to(const context<S>& ctx, coo_view<T, I, O, From> a) {
  return {a.shape(), copy_to(ctx, a.rowind()), copy_to(ctx, a.colind()), copy_to(ctx, a.values()),
          a.order()};
}
template <space S, class T, class I, class O, space From>
auto copy_to(const context<S>& ctx, const csr<T, I, O, From>& a) {
  return copy_to(ctx, a.view());
}
template <space S, class T, class I, class O, space From>
auto copy_to(const context<S>& ctx, const csc<T, I, O, From>& a) {
  return copy_to(ctx, a.view());
}
template <space S, class T, class I, class O, space From>
auto copy_to(const context<S>& ctx, const coo<T, I, O, From>& a) {
  return copy_to(ctx, a.view());
}
template <space S, class T, space From>
dense<T, S> copy_to(const context<S>& ctx, const dense<T, From>& a) {
  dense<T, S> result(ctx, a.shape(), a.order());
  detail::copy_bytes(ctx, result.values().data(), a.values().data(), result.bytes(), From);
  return result;
}

} // namespace lacuna
