// ell_csr: made from CSR, multiplied with, and taken apart again.
//
//   auto e = to_ell_csr(ctx, a);            thresholds for this matrix and device
//   multiply(ctx, e, x, y);                 y = A x, one launch
//   auto b = to_csr(ctx, e);                a again, entry by entry
//
// Every row's sum has a fixed order: in its lanes entry by entry, then lane with lane, then piece
// by piece. So results are bitwise repeatable, for any number of threads; with one lane a row they
// are those of a plain loop.
#pragma once

#include <lacuna/format/csr.hpp>
#include <lacuna/format/ell_csr.hpp>
#include <lacuna/op/check.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/op/inspection.hpp>

namespace lacuna {

/// How rows are dealt out. The letters are those of Matam and Kothapalli.
struct ell_csr_options {
  static constexpr std::int64_t none = std::int64_t{1} << 62;

  std::int64_t long_row = 65;     ///< T: rows of so many entries or more get a warp, or several
  std::int64_t lane_entries = 64; ///< M: entries a lane takes at most; longer rows get more lanes
  std::int64_t piece = 2048;      ///< L: entries of a long row that one warp sums
  std::int64_t window = 8192;     ///< rows are put in order of length within so many; 1: never
  bool packed = true;             ///< false: columns with all their bits
};

/// The paper's thresholds, from the row lengths: T is the multiple of 32 just above the mean length
/// of the rows shorter than 256, at most 256; M that mean, held in 6 .. 32; L = 32 M, or 32 x 32
/// where no row is shorter than 256. `short_rows` and `short_entries` count rows shorter than 256.
LACUNA_EXPORT ell_csr_options paper_thresholds(std::int64_t short_rows, std::int64_t short_entries);

namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT ell_csr<T, I> csr_to_ell_csr(const host_context& ctx, csr_view<const T, I, O> a,
                                           const ell_csr_options& options);
template <class T, class I>
LACUNA_EXPORT csr<T, I, std::int64_t> ell_csr_to_csr(const host_context& ctx,
                                                     ell_csr_view<const T, I> a);
template <class T, class I>
LACUNA_EXPORT void check_ell_csr(const host_context& ctx, ell_csr_view<const T, I> a);
/// Several columns one after another: the matrix is read once for each.
template <class T, class I>
LACUNA_EXPORT void multiply_ell_csr(const host_context& ctx, T alpha, ell_csr_view<const T, I> a,
                                    dense_view<const T> x, T beta, dense_view<const T> z,
                                    dense_view<T> y);
} // namespace detail::cpu

namespace detail::gpu {
/// Waits twice, for sizes.
template <class T, class I, class O>
LACUNA_GPU_EXPORT ell_csr<T, I, space::device>
csr_to_ell_csr(const device_context& ctx, csr_view<const T, I, O, space::device> a,
               const ell_csr_options& options);
template <class T, class I>
LACUNA_GPU_EXPORT void
multiply_ell_csr(const device_context& ctx, T alpha, ell_csr_view<const T, I, space::device> a,
                 dense_view<const T, space::device> x, T beta, dense_view<const T, space::device> z,
                 dense_view<T, space::device> y);
} // namespace detail::gpu

/// Costs about 10 products; memory for the result and about 20 bytes a row. Throws bad_input if an
/// option is less than 1.
template <space S, class A>
auto to_ell_csr(const context<S>& ctx, const A& a, const ell_csr_options& options = {}) {
  const auto view = detail::const_view(a);
  using V = decltype(view);
  detail::require_same_space<S, V>();
  if (std::min({options.long_row, options.lane_entries, options.piece, options.window}) < 1)
    throw bad_input("to_ell_csr: every threshold must be at least 1");
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  if constexpr (S == space::host)
    return detail::cpu::csr_to_ell_csr<T, I, O>(ctx, view, options);
  else
    return detail::gpu::csr_to_ell_csr<T, I, O>(ctx, view, options);
}

template <space S, class T, class I, space From>
ell_csr<std::remove_const_t<T>, I, S> copy_to(const context<S>& ctx, ell_csr_view<T, I, From> a) {
  return {a.shape(),
          a.size(),
          copy_to(ctx, a.slices()),
          copy_to(ctx, a.steps()),
          copy_to(ctx, a.columns()),
          copy_to(ctx, a.values()),
          copy_to(ctx, a.rows()),
          copy_to(ctx, a.pieces()),
          a.even()};
}
template <space S, class T, class I, space From>
auto copy_to(const context<S>& ctx, const ell_csr<T, I, From>& a) {
  return copy_to(ctx, a.view());
}

namespace detail {
template <class T, class I, space S>
void multiply_format(const context<S>& ctx, T alpha, ell_csr_view<const T, I, S> a,
                     dense_view<const T, S> x, T beta, dense_view<const T, S> z,
                     dense_view<T, S> y) {
  if constexpr (S == space::host)
    detail::cpu::multiply_ell_csr<T, I>(ctx, alpha, a, x, beta, z, y);
  else
    detail::gpu::multiply_ell_csr<T, I>(ctx, alpha, a, x, beta, z, y);
}
/// Entries of each piece of a row of `entries`, a whole number of steps; the last may have fewer.
constexpr std::int64_t piece_length(std::int64_t entries, std::int64_t piece) {
  const std::int64_t count = (entries + piece - 1) / piece;
  const std::int64_t share = (entries + count - 1) / count;
  return (share + slice_lanes - 1) / slice_lanes * slice_lanes;
}
/// Binary logarithm of the lanes that a short row gets.
constexpr int log_lanes(std::int64_t entries, std::int64_t lane_entries) {
  int log = 0;
  while (log < 4 && entries > lane_entries << log) ++log;
  return log;
}
/// Bytes of one step's columns in all lanes.
constexpr std::int64_t step_column_bytes(packing kind, std::int64_t index_bytes) {
  return kind == packing::diagonal ? 0
                                   : slice_lanes * (kind == packing::bits8    ? 1
                                                    : kind == packing::bits16 ? 2
                                                                              : index_bytes);
}
/// The packing that a largest distance from the base asks for.
constexpr packing packing_for(std::int64_t spread) {
  return spread <= 0xff ? packing::bits8 : spread <= 0xffff ? packing::bits16 : packing::full;
}
/// Bytes of one step: its head, values and columns.
constexpr std::int64_t step_bytes(packing kind, std::int64_t value_bytes,
                                  std::int64_t index_bytes) {
  return 2 * index_bytes + slice_lanes * value_bytes + step_column_bytes(kind, index_bytes);
}
/// What one slice, or the largest of several, would have.
struct slice_widths {
  std::int64_t plain_steps = 0; ///< of the longest lane
  std::int64_t plain_kind = 0;  ///< the packing they need, bits8 or wider
  std::int64_t diagonals = 0;   ///< steps if stored by diagonals; too_many if that is no gain
  static constexpr std::int64_t too_many = std::int64_t{1} << 40;
};
/// Slices are made even where that adds at most a 32nd to their `bytes`.
constexpr even_slices choose_even(std::int64_t slices, std::int64_t bytes,
                                  const slice_widths& largest, std::int64_t value_bytes,
                                  std::int64_t index_bytes) {
  const std::int64_t most = bytes + bytes / 32;
  const auto fits = [&](const even_slices& even) {
    const std::int64_t step = step_bytes(even.kind, value_bytes, index_bytes);
    return even.width > 0 && even.width <= most / step && slices <= most / (step * even.width);
  };
  const even_slices diagonal{largest.diagonals, packing::diagonal};
  if (fits(diagonal)) return diagonal;
  const even_slices plain{largest.plain_steps, static_cast<packing>(largest.plain_kind)};
  return fits(plain) ? plain : even_slices{};
}
} // namespace detail

/// Tests the written invariants; throws bad_input. A matrix on a device is tested on the host, from
/// a copy.
template <class T, class I, space S>
void check(const context<S>& ctx, const ell_csr_view<const T, I, S>& a) {
  if constexpr (S == space::host) {
    detail::cpu::check_ell_csr<T, I>(ctx, a);
  } else {
    ctx.synchronize();
    const host_context host;
    const auto copy = copy_to(host, a);
    detail::cpu::check_ell_csr<T, I>(host, copy.view());
  }
}
template <class T, class I, space S> void check(const context<S>& ctx, const ell_csr<T, I, S>& a) {
  check(ctx, a.view());
}

/// The matrix it was made from, with offsets of 64 bits. From a device by way of the host.
template <class T, class I, space S>
csr<T, I, std::int64_t, S> to_csr(const context<S>& ctx, const ell_csr<T, I, S>& a) {
  if constexpr (S == space::host) {
    return detail::cpu::ell_csr_to_csr<T, I>(ctx, a.view());
  } else {
    ctx.synchronize();
    const host_context host;
    const auto copy = copy_to(host, a);
    return copy_to(ctx, detail::cpu::ell_csr_to_csr<T, I>(host, copy.view()));
  }
}

template <class A>
  requires(!detail::is_context<A>)
auto to_ell_csr(const A& a, const ell_csr_options& options = {}) {
  return to_ell_csr(detail::default_context_for<A>(), a, options);
}

} // namespace lacuna
