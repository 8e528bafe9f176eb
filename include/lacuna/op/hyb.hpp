// hyb: made from CSR, multiplied with, and taken apart again.
//
//   auto h = to_hyb(ctx, a);                the width by Bell and Garland's rule
//   multiply(ctx, h, x, y);                 y = A x: the ELL part, then the rest
//   auto b = to_csr(ctx, h);                a again, entry by entry
//
// It is here to be compared with; plan() does not choose it. Every sum has a fixed order, so
// results are bitwise repeatable: on the host for any number of threads, on the device for the
// same device.
#pragma once

#include <lacuna/format/hyb.hpp>
#include <lacuna/op/check.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/update_values.hpp>

namespace lacuna {

struct hyb_options {
  std::int64_t width = 0; ///< K: entries of a row in ELL; 0: the rule
};

/// Bell and Garland's rule: the largest width that a third of the rows fill, and 4096 rows: ELL is
/// taken to be 3 times as fast as the rest. rows_of_length[n] counts the rows of n entries.
LACUNA_EXPORT std::int64_t choose_hyb_width(std::int64_t rows,
                                            std::span<const std::int64_t> rows_of_length);

namespace detail {
inline constexpr std::int64_t hyb_relative_speed = 3;
inline constexpr std::int64_t hyb_least_rows = 4096;

/// The widest ELL part that has at most 3 places an entry. The rule never exceeds it: rows of more
/// entries may be counted as if they had one more than this.
constexpr std::int64_t hyb_widest(std::int64_t rows, std::int64_t entries) {
  return rows == 0 ? 0 : hyb_relative_speed * entries / rows;
}
constexpr std::int64_t hyb_stride(std::int64_t rows) { return (rows + 31) / 32 * 32; }
} // namespace detail

namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT hyb<T, I, O> csr_to_hyb(const host_context& ctx, csr_view<const T, I, O> a,
                                      const hyb_options& options);
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> hyb_to_csr(const host_context& ctx, hyb_view<const T, I, O> a);
template <class T, class I, class O>
LACUNA_EXPORT void check_hyb(const host_context& ctx, hyb_view<const T, I, O> a);
/// Several columns one after another in the ELL part: it is read once for each.
template <class T, class I, class O>
LACUNA_EXPORT void multiply_hyb(const host_context& ctx, T alpha, hyb_view<const T, I, O> a,
                                dense_view<const T> x, T beta, dense_view<const T> z,
                                dense_view<T> y);
} // namespace detail::cpu

namespace detail::gpu {
/// Waits for the row lengths, if the rule is asked for, and for the size of the rest.
template <class T, class I, class O>
LACUNA_GPU_EXPORT hyb<T, I, O, space::device> csr_to_hyb(const device_context& ctx,
                                                         csr_view<const T, I, O, space::device> a,
                                                         const hyb_options& options);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void
multiply_hyb(const device_context& ctx, T alpha, hyb_view<const T, I, O, space::device> a,
             dense_view<const T, space::device> x, T beta, dense_view<const T, space::device> z,
             dense_view<T, space::device> y);
} // namespace detail::gpu

/// The ELL part has at most 3 places for each entry of the matrix: a width that asks for more is
/// lowered. Throws bad_input if it is negative.
template <space S, class A>
auto to_hyb(const context<S>& ctx, const A& a, const hyb_options& options = {}) {
  const auto view = detail::const_view(a);
  using V = decltype(view);
  detail::require_same_space<S, V>();
  if (options.width < 0) throw bad_input("to_hyb: the width must not be negative");
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  if constexpr (S == space::host)
    return detail::cpu::csr_to_hyb<T, I, O>(ctx, view, options);
  else
    return detail::gpu::csr_to_hyb<T, I, O>(ctx, view, options);
}

template <space S, class T, class I, class O, space From>
hyb<std::remove_const_t<T>, I, O, S> copy_to(const context<S>& ctx, hyb_view<T, I, O, From> a) {
  return {a.shape(),
          a.size(),
          a.width(),
          a.stride(),
          copy_to(ctx, a.columns()),
          copy_to(ctx, a.values()),
          copy_to(ctx, a.rest())};
}
template <space S, class T, class I, class O, space From>
auto copy_to(const context<S>& ctx, const hyb<T, I, O, From>& a) {
  return copy_to(ctx, a.view());
}

namespace detail {
template <class T, class I, class O, space S>
void multiply_format(const context<S>& ctx, T alpha, hyb_view<const T, I, O, S> a,
                     dense_view<const T, S> x, T beta, dense_view<const T, S> z,
                     dense_view<T, S> y) {
  if constexpr (S == space::host)
    detail::cpu::multiply_hyb<T, I, O>(ctx, alpha, a, x, beta, z, y);
  else
    detail::gpu::multiply_hyb<T, I, O>(ctx, alpha, a, x, beta, z, y);
}
} // namespace detail

/// Tests the written invariants; throws bad_input. A matrix on a device is tested on the host, from
/// a copy.
template <class T, class I, class O, space S>
void check(const context<S>& ctx, const hyb_view<const T, I, O, S>& a) {
  if constexpr (S == space::host) {
    detail::cpu::check_hyb<T, I, O>(ctx, a);
  } else {
    ctx.synchronize();
    const host_context host;
    const auto copy = copy_to(host, a);
    detail::cpu::check_hyb<T, I, O>(host, copy.view());
  }
}
template <class T, class I, class O, space S>
void check(const context<S>& ctx, const hyb<T, I, O, S>& a) {
  check(ctx, a.view());
}

/// The matrix it was made from; nothing is stated about its order. From a device by way of the
/// host.
template <class T, class I, class O, space S>
csr<T, I, O, S> to_csr(const context<S>& ctx, const hyb<T, I, O, S>& a) {
  if constexpr (S == space::host) {
    return detail::cpu::hyb_to_csr<T, I, O>(ctx, a.view());
  } else {
    ctx.synchronize();
    const host_context host;
    const auto copy = copy_to(host, a);
    return copy_to(ctx, detail::cpu::hyb_to_csr<T, I, O>(host, copy.view()));
  }
}

namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT void place_in_hyb(const host_context& ctx, csr_view<const T, I, O> a,
                                hyb_view<T, I, O> to);
} // namespace detail::cpu
namespace detail::gpu {
/// Queued.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void place_in_hyb(const device_context& ctx,
                                    csr_view<const T, I, O, space::device> a,
                                    hyb_view<T, I, O, space::device> to);
} // namespace detail::gpu

template <class T, class I, class O, space S, class A>
void update_values(const context<S>& ctx, hyb<T, I, O, S>& to, const A& a) {
  const auto from = detail::new_values_of<T, I, S>(to, a);
  static_assert(std::is_same_v<typename decltype(from)::offset_type, O>,
                "lacuna: operands differ in the width of their offsets");
  const hyb_view<T, I, O, S> view(to.extent, to.nnz, to.width, to.stride, to.columns.view(),
                                  to.values.view(), to.rest.view());
  if constexpr (S == space::host)
    detail::cpu::place_in_hyb<T, I, O>(ctx, from, view);
  else
    detail::gpu::place_in_hyb<T, I, O>(ctx, from, view);
}

} // namespace lacuna
