// Internal: dynamic CSRs whose rows lie in other orders than that of their numbers, or apart.
#pragma once

#include "op/dynamic_rows.hpp"

namespace lacuna::detail {

/// Rows that lie anywhere in a pool, each in one piece with ascending columns, none twice.
template <class T, class I, class O, space S> struct row_segments {
  array<I, S> colind;
  array<T, S> values;
  array<O, S> begins, sizes;
  std::int64_t used = 0, entries = 0; ///< places that rows lie in; entries of all rows
};
/// Takes the pool over: no entry moves.
template <class T, class I, class O, space S>
dynamic_csr<T, I, O, S> take_segments(const context<S>& ctx, index<I> shape,
                                      row_segments<T, I, O, S>&& made,
                                      const dynamic_csr_options& options);

namespace cpu {
/// Where rows begin that lie one after the other, each with its slack behind it; shortest: in the
/// order of their sizes, else of their numbers. Returns the places they take. Device: waits.
template <class O>
std::int64_t lay_rows(const host_context& ctx, const O* sizes, std::int64_t rows,
                      segment_slack slack, bool shortest_first, O* begins);
/// Row i is one segment of sizes[i] entries from begins[i] on, with its slack behind it.
template <class T, class I, class O>
void set_rows_at(const host_context& ctx, const dynamic_rows<T, I, O>& m, const O* begins,
                 const O* sizes, segment_slack slack);
} // namespace cpu
namespace gpu {
/// Where rows begin that lie one after the other, each with its slack behind it; shortest: in the
/// order of their sizes, else of their numbers. Returns the places they take. Device: waits.
template <class O>
LACUNA_GPU_EXPORT std::int64_t lay_rows(const device_context& ctx, const O* sizes,
                                        std::int64_t rows, segment_slack slack, bool shortest_first,
                                        O* begins);
/// Row i is one segment of sizes[i] entries from begins[i] on, with its slack behind it.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void set_rows_at(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                                   const O* begins, const O* sizes, segment_slack slack);
/// All entries, row i's from begins[i] on, wherever that is; columns ascending.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void scatter_rows(const device_context& ctx, const dynamic_rows<T, I, O>& from,
                                    const O* begins, I* colind, T* values, std::int64_t entries);
} // namespace gpu

template <class O, space S>
std::int64_t lay_rows_on(const context<S>& ctx, const O* sizes, std::int64_t rows,
                         segment_slack slack, bool shortest_first, O* begins) {
  if constexpr (S == space::host)
    return cpu::lay_rows<O>(ctx, sizes, rows, slack, shortest_first, begins);
  else
    return gpu::lay_rows<O>(ctx, sizes, rows, slack, shortest_first, begins);
}
template <class T, class I, class O, space S>
void set_rows_at_on(const context<S>& ctx, const dynamic_rows<T, I, O>& m, const O* begins,
                    const O* sizes, segment_slack slack) {
  if constexpr (S == space::host)
    cpu::set_rows_at<T, I, O>(ctx, m, begins, sizes, slack);
  else
    gpu::set_rows_at<T, I, O>(ctx, m, begins, sizes, slack);
}

template <class T, class I, class O, space S>
void scatter_rows_on(const context<S>& ctx, const dynamic_rows<T, I, O>& from, const O* begins,
                     I* colind, T* values, std::int64_t entries) {
  if constexpr (S == space::host)
    cpu::gather_rows<T, I, O>(ctx, from, begins, colind, values, entries);
  else
    gpu::scatter_rows<T, I, O>(ctx, from, begins, colind, values, entries);
}

} // namespace lacuna::detail
