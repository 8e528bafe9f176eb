// One triangle of a sparse matrix as solves keep it: its rows in an order in which none comes
// before one that it needs, cut into levels. What triangular_solve_inspect, ilu0 and ic0 own.
//
// Level 0 are the rows that need no other, level k those that need one of level k - 1 and none
// later: rows of one level can be solved side by side, levels one after another.
#pragma once

#include <cstdint>
#include <string>

#include <lacuna/op/kept_pattern.hpp>

namespace lacuna {

/// How a kept triangle is solved.
enum class triangular_schedule : std::int32_t {
  automatic, ///< what the costs of choose_triangular_schedule make cheapest
  serial,    ///< host: one thread, rows in their order; device: all levels inside one block
  levels,    ///< host: wide levels by all threads, runs of narrow ones by one; device: a launch for
             ///< each wide level, runs of narrow ones inside one block
  waiting,   ///< device: rows wait for the values they need, no barrier; host: as `levels`
};

/// How a triangle falls into levels.
struct level_statistics {
  std::int64_t rows = 0;
  std::int64_t entries = 0; ///< beside the diagonal
  std::int64_t levels = 0;
  std::int64_t widest = 0; ///< rows of the widest level
  [[nodiscard]] double mean_width() const {
    return levels == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(levels);
  }
  [[nodiscard]] double mean_row() const {
    return rows == 0 ? 0 : static_cast<double>(entries) / static_cast<double>(rows);
  }
};

/// Levels that are solved in one way, one after another: a launch on a
/// device, a step of the host's threads.
struct level_run {
  enum kind_t : std::int32_t { one_worker, side_by_side, waiting };
  std::int32_t first_level, last_level; ///< [first, last)
  std::int32_t first_slot, last_slot;   ///< their rows
  kind_t kind;
};

namespace detail {

inline constexpr std::uint32_t no_entry = ~std::uint32_t{0};

/// The pattern of a triangle, rows by level (host, serial: in their order). A *slot* is a row's
/// place in that order. 32 bits throughout: kernels are compiled for one width.
template <space S> struct triangle_pattern {
  level_statistics statistics;
  bool upper = false, unit = false;
  triangular_schedule schedule = triangular_schedule::serial;
  int lanes = 1;                    ///< device: that share a row; they fix the order of its sum
  array<std::int32_t, S> order;     ///< the row of each slot
  array<std::int32_t, S> start;     ///< first entry of each slot, and one more
  array<std::int32_t, S> column;    ///< host: rows; device: slots
  array<std::uint32_t, S> from;     ///< where in A's values each entry is
  array<std::uint32_t, S> diagonal; ///< where the diagonal is; no_entry: nowhere
  array<std::int32_t, S> diagonal_start; ///< of each slot in `diagonal`; empty: one each
  array<std::int32_t, S> level_begin;    ///< device: first slot of each level, and one more
  array<level_run> runs;

  [[nodiscard]] std::size_t bytes() const {
    return order.bytes() + start.bytes() + column.bytes() + from.bytes() + diagonal.bytes() +
           diagonal_start.bytes() + level_begin.bytes();
  }
};

/// Values of a triangle in the order of its pattern; `inverse` of the diagonal, empty if implicit.
template <class T, space S> struct triangle_values {
  array<T, S> entries, inverse;
  [[nodiscard]] std::size_t bytes() const { return entries.bytes() + inverse.bytes(); }
};

/// What a device's solve writes beside x: x by slots, and counters that are 0 between solves. One
/// solve at a time. The host needs none.
template <class T, space S> struct triangle_scratch {
  array<T, S> x;
  array<std::uint32_t, S> tickets;
  [[nodiscard]] std::size_t bytes() const { return x.bytes() + tickets.bytes(); }
};

/// Whether a triangle can be kept: rows and entries of A that 32 bits can number.
inline bool can_keep_triangle(std::int64_t rows, std::int64_t entries) {
  return rows <= narrow_limit() && entries <= narrow_limit();
}

/// The choice for host threads: `serial` or `levels`.
LACUNA_EXPORT triangular_schedule choose_triangular_schedule(const level_statistics& s,
                                                             int threads);
/// Rows of a level that a thread of the host takes at a time: about 1.5 us. Levels of less than two
/// such pieces run on one thread.
LACUNA_EXPORT std::int64_t level_piece(double mean_row);
/// Lanes of a device that share a row of this mean length: 1, 4 or 16.
LACUNA_EXPORT int choose_triangular_lanes(double mean_row);
/// Cuts levels into runs: `schedule` as asked for, automatic: the cheapest by the costs that are
/// in the source. level_begin has levels + 1 elements. Sets `chosen` to what most rows are in.
LACUNA_EXPORT array<level_run> cut_levels(const host_context& ctx, bool on_device,
                                          vector_view<const std::int32_t> level_begin,
                                          double mean_row, int lanes, triangular_schedule schedule,
                                          triangular_schedule& chosen);
LACUNA_EXPORT std::string explain_triangle(const level_statistics& s, bool on_device,
                                           triangular_schedule schedule, int lanes,
                                           const array<level_run>& runs, bool values_stay,
                                           std::size_t bytes);
[[noreturn]] LACUNA_EXPORT void throw_no_diagonal(std::int64_t row);

} // namespace detail

namespace detail::cpu {
/// `through`: null, or for a transposed pattern where in A its entries are. O(nnz), one thread.
template <class I, class O>
LACUNA_EXPORT detail::triangle_pattern<space::host>
analyse_triangle(const host_context& ctx, detail::pattern_arrays<I, O, space::host> a,
                 const O* through, bool upper, bool unit, triangular_schedule schedule);
/// Fills `to`, whose arrays are there, from A's values. Returns the first row whose diagonal is
/// not stored, or has no finite inverse; -1 if there is none or the diagonal is implicit.
template <class T>
LACUNA_EXPORT std::int64_t
gather_triangle(const host_context& ctx, const detail::triangle_pattern<space::host>& p,
                const T* values, detail::triangle_values<T, space::host>& to);
/// x = inv(T) beta b, T = alpha times what is stored. x may be b.
template <class T>
LACUNA_EXPORT void solve_triangle(const host_context& ctx,
                                  const detail::triangle_pattern<space::host>& p,
                                  const detail::triangle_values<T, space::host>& v, T alpha, T beta,
                                  dense_view<const T> b, dense_view<T> x,
                                  const detail::triangle_scratch<T, space::host>& scratch);
} // namespace detail::cpu
namespace detail::gpu {
/// Waits for the number of levels.
template <class I, class O>
LACUNA_GPU_EXPORT detail::triangle_pattern<space::device>
analyse_triangle(const device_context& ctx, detail::pattern_arrays<I, O, space::device> a,
                 const O* through, bool upper, bool unit, triangular_schedule schedule);
/// Waits if the diagonal is explicit and `check_diagonal`.
template <class T>
LACUNA_GPU_EXPORT std::int64_t
gather_triangle(const device_context& ctx, const detail::triangle_pattern<space::device>& p,
                const T* values, detail::triangle_values<T, space::device>& to,
                bool check_diagonal = true);
/// Queued; allocates nothing.
template <class T>
LACUNA_GPU_EXPORT void
solve_triangle(const device_context& ctx, const detail::triangle_pattern<space::device>& p,
               const detail::triangle_values<T, space::device>& v, T alpha, T beta,
               dense_view<const T, space::device> b, dense_view<T, space::device> x,
               const detail::triangle_scratch<T, space::device>& scratch);
/// Room for solves with up to `columns` right-hand sides.
template <class T>
LACUNA_GPU_EXPORT detail::triangle_scratch<T, space::device>
make_triangle_scratch(const device_context& ctx, std::int64_t rows, std::int64_t columns);
} // namespace detail::gpu

namespace detail {

template <class I, class O, space S>
triangle_pattern<S> analyse_triangle(const context<S>& ctx, pattern_arrays<I, O, S> a,
                                     const O* through, bool upper, bool unit,
                                     triangular_schedule schedule) {
  if constexpr (S == space::host)
    return detail::cpu::analyse_triangle<I, O>(ctx, a, through, upper, unit, schedule);
  else
    return detail::gpu::analyse_triangle<I, O>(ctx, a, through, upper, unit, schedule);
}
template <class T, space S>
triangle_values<T, S> make_triangle_values(const context<S>& ctx, const triangle_pattern<S>& p) {
  triangle_values<T, S> v;
  v.entries = array<T, S>(ctx, p.column.size());
  v.inverse = array<T, S>(ctx, p.unit ? 0 : p.order.size());
  return v;
}
/// See cpu::gather_triangle.
template <class T, space S>
std::int64_t gather_triangle(const context<S>& ctx, const triangle_pattern<S>& p, const T* values,
                             triangle_values<T, S>& to) {
  if constexpr (S == space::host)
    return detail::cpu::gather_triangle<T>(ctx, p, values, to);
  else
    return detail::gpu::gather_triangle<T>(ctx, p, values, to, true);
}
template <class T, space S>
void solve_triangle(const context<S>& ctx, const triangle_pattern<S>& p,
                    const triangle_values<T, S>& v, T alpha, T beta, dense_view<const T, S> b,
                    dense_view<T, S> x, const triangle_scratch<T, S>& scratch) {
  if constexpr (S == space::host)
    detail::cpu::solve_triangle<T>(ctx, p, v, alpha, beta, b, x, scratch);
  else
    detail::gpu::solve_triangle<T>(ctx, p, v, alpha, beta, b, x, scratch);
}
template <class T, space S>
triangle_scratch<T, S> make_triangle_scratch(const context<S>& ctx, std::int64_t rows,
                                             std::int64_t columns) {
  if constexpr (S == space::device)
    return detail::gpu::make_triangle_scratch<T>(ctx, rows, columns);
  else
    return {};
}

} // namespace detail
} // namespace lacuna
