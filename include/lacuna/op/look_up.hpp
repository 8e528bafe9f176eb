// Entries, rows and row sizes of a dynamic matrix or of a snapshot. In a kernel of your own use the
// view's row_size, for_each_in_row and find.
#pragma once

#include <optional>

#include <lacuna/format/dynamic_csr.hpp>

namespace lacuna {

/// A row's entries, on the host. Columns ascend.
template <class T, class I> struct row_entries {
  array<I> columns;
  array<T> values;
};

namespace detail {
template <class T, class I, class O, space S>
LACUNA_EXPORT std::optional<T> find_entry(const context<S>& ctx,
                                          const dynamic_csr_view<const T, I, O, S>& m,
                                          std::int64_t row, std::int64_t col);
template <class T, class I, class O, space S>
LACUNA_EXPORT row_entries<T, I>
copy_row(const context<S>& ctx, const dynamic_csr_view<const T, I, O, S>& m, std::int64_t row);

template <class M> inline constexpr bool is_dynamic = false;
template <class T, class I, class O, space S>
inline constexpr bool is_dynamic<dynamic_csr<T, I, O, S>> = true;
template <class T, class I, class O, space S>
inline constexpr bool is_dynamic<dynamic_csr_snapshot<T, I, O, S>> = true;
/// A dynamic_csr or a snapshot of one, in the context's space.
template <class M, space S>
concept dynamic_in = is_dynamic<M> && M::memory_space == S;
} // namespace detail

/// The value of an entry, if there is one; one of them where `append` left several. O(k log row).
/// Throws bad_input if it is outside. Of a device, waits.
template <space S, detail::dynamic_in<S> M>
std::optional<typename M::scalar_type> entry(const context<S>& ctx, const M& m, std::int64_t row,
                                             std::int64_t col) {
  return detail::find_entry(ctx, m.view(), row, col);
}
/// A copy of a row. O(row log k). Throws bad_input if it is outside. Of a device, waits.
template <space S, detail::dynamic_in<S> M>
row_entries<typename M::scalar_type, typename M::index_type> row(const context<S>& ctx, const M& m,
                                                                 std::int64_t i) {
  return detail::copy_row(ctx, m.view(), i);
}
/// Entries of every row, in the matrix's space: a graph's degrees. A copy of O(rows), queued.
template <space S, detail::dynamic_in<S> M>
array<typename M::offset_type, S> row_sizes(const context<S>& ctx, const M& m) {
  const auto v = m.view();
  array<typename M::offset_type, S> result(ctx, v.extent.row);
  detail::copy_bytes(ctx, result.data(), v.sizes, result.bytes(), S);
  return result;
}

} // namespace lacuna
