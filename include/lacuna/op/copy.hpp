// copy_to(ctx, a): a new owner in the context's space.
//
// To the device: queued on its stream; from pageable host memory CUDA has read the source when the
// call returns. To the host: waits once, for all work on the device that holds the data, whichever
// stream it was queued on, then copies. docs/streams.md has the rules.
#pragma once

#include <cstring>

#include <lacuna/op/operand.hpp>

namespace lacuna {

namespace detail {
/// Any pair of spaces; bytes may be 0. Host to host and to the host: done when it returns, from the
/// device without waiting for queued work. To the device: queued on ctx's stream.
LACUNA_EXPORT void copy_bytes(const host_context& ctx, void* to, const void* from,
                              std::size_t bytes, space from_space);
LACUNA_EXPORT void copy_bytes(const device_context& ctx, void* to, const void* from,
                              std::size_t bytes, space from_space);
/// Waits for all work on the device that holds `data`; data may be null.
LACUNA_EXPORT void wait_for_device_of(const void* data);
/// Before the arrays of one object are copied: what the copies must wait for, once.
template <space To, space From, class T> void settle(const T* data) {
  if constexpr (To == space::host && From == space::device) wait_for_device_of(data);
}
template <space S, class T, space From>
array<std::remove_const_t<T>, S> copy_settled(const context<S>& ctx, vector_view<T, From> v) {
  array<std::remove_const_t<T>, S> result(ctx, v.size());
  copy_bytes(ctx, result.data(), v.data(), result.bytes(), From);
  return result;
}
} // namespace detail

template <space S, class T, space From>
array<std::remove_const_t<T>, S> copy_to(const context<S>& ctx, vector_view<T, From> v) {
  detail::settle<S, From>(v.data());
  return detail::copy_settled(ctx, v);
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
  detail::settle<S, From>(a.rowptr().data());
  return {a.shape(), detail::copy_settled(ctx, a.rowptr()), detail::copy_settled(ctx, a.colind()),
          detail::copy_settled(ctx, a.values()), a.order()};
}
template <space S, class T, class I, class O, space From>
csc<std::remove_const_t<T>, I, O, S> copy_to(const context<S>& ctx, csc_view<T, I, O, From> a) {
  return csc<std::remove_const_t<T>, I, O, S>(copy_to(ctx, a.transpose()));
}
template <space S, class T, class I, class O, space From>
coo<std::remove_const_t<T>, I, O, S> copy_to(const context<S>& ctx, coo_view<T, I, O, From> a) {
  detail::settle<S, From>(a.values().data());
  return {a.shape(), detail::copy_settled(ctx, a.rowind()), detail::copy_settled(ctx, a.colind()),
          detail::copy_settled(ctx, a.values()), a.order()};
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
  detail::settle<S, From>(a.values().data());
  dense<T, S> result(ctx, a.shape(), a.layout());
  detail::copy_bytes(ctx, result.values().data(), a.values().data(), result.bytes(), From);
  return result;
}

} // namespace lacuna
