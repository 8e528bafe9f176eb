// Internal: what both engines share of batches into a dynamic CSR: the rows as they are written to,
// and what becomes of a row, so that both make the same segments.
#pragma once

#include <optional>

#include <lacuna/format/dynamic_csr.hpp>

namespace lacuna::detail {

/// A matrix as it is written to.
template <class T, class I, class O> struct dynamic_rows {
  O *begin, *end, *sizes, *room;
  std::uint8_t* counts;
  I* colind;
  T* values;
  I *mid_rows, *long_rows;
  std::int64_t rows, cols, pitch;
  int segments;

  constexpr O& first(int s, std::int64_t row) const { return begin[s * pitch + row]; }
  constexpr O& last(int s, std::int64_t row) const { return end[s * pitch + row]; }
  /// The first place in [low, high) whose column is not below.
  constexpr O lower(O low, O high, I column) const {
    while (low < high) {
      const O middle = low + (high - low) / 2;
      if (colind[middle] < column)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
  /// The place of an entry; -1: none.
  constexpr std::int64_t find(std::int64_t row, I column) const {
    for (int s = 0; s < counts[row]; ++s) {
      const O at = lower(first(s, row), last(s, row), column);
      if (at < last(s, row) && colind[at] == column) return at;
    }
    return -1;
  }
};

/// What happens to entries that are there. touch: nothing, but their rows are made ready to be
/// written to.
enum class batch_rule { add, replace, keep, append, touch };

/// Rows of more than mid_row, and of more than long_row, entries.
struct listed_rows {
  std::int64_t mid_rows = 0, long_rows = 0;
};
/// A list of rows: how many there are, and may be.
struct row_list {
  std::int64_t count, capacity;
};
/// What a batch may use.
struct batch_limits {
  std::int64_t used, capacity; ///< of the pool
  std::int64_t frozen;         ///< places below must stay as they are: a snapshot reads them
  segment_slack slack;
  row_list mid_rows, long_rows;
};
struct batch_outcome {
  std::int64_t inserted = 0, changed = 0;
  std::int64_t used = 0;     ///< of the pool; beyond its capacity: nothing was changed
  std::int64_t outside = -1; ///< the first entry outside of the matrix: nothing was changed
  std::int64_t mid_rows = 0, long_rows = 0;
  int segments = 0; ///< of a row that was changed, at most
};

/// How new entries get into a row.
enum class row_change : std::uint8_t { none, in_place, new_segment, rewritten };
struct row_decision {
  row_change change = row_change::none;
  std::int64_t places = 0; ///< of the pool, free ones included
};
/// For `added` new entries; `changes`: others of the row get new values.
template <class T, class I, class O>
constexpr row_decision decide_row(const dynamic_rows<T, I, O>& m, std::int64_t row,
                                  std::int64_t added, bool changes, const batch_limits& limits) {
  const int count = m.counts[row];
  const std::int64_t size = m.sizes[row];
  const auto rewritten = [&]() -> row_decision {
    return {row_change::rewritten, size + added + limits.slack.of(size + added, size + added)};
  };
  if (changes && limits.frozen > 0)
    for (int s = 0; s < count; ++s)
      if (m.first(s, row) < limits.frozen) return rewritten();
  if (added == 0) return {};
  if (count > 0) {
    const std::int64_t begin = m.first(count - 1, row), length = m.last(count - 1, row) - begin;
    if (begin >= limits.frozen && m.room[row] >= added && length + added <= most_in_place)
      return {row_change::in_place, 0};
  }
  if (count == m.segments) return rewritten();
  return {row_change::new_segment, added + limits.slack.of(added, size + added)};
}

/// The table of a row after its entries were written.
template <class T, class I, class O>
constexpr void finish_row(const dynamic_rows<T, I, O>& m, std::int64_t row, row_decision decision,
                          std::int64_t added, std::int64_t place) {
  const auto entries = static_cast<O>(added);
  switch (decision.change) {
  case row_change::none: return;
  case row_change::in_place:
    m.last(m.counts[row] - 1, row) += entries;
    m.room[row] -= entries;
    break;
  case row_change::new_segment:
    m.first(m.counts[row], row) = static_cast<O>(place);
    m.last(m.counts[row], row) = static_cast<O>(place + added);
    m.room[row] = static_cast<O>(decision.places - added);
    ++m.counts[row];
    break;
  case row_change::rewritten:
    m.first(0, row) = static_cast<O>(place);
    m.last(0, row) = static_cast<O>(place) + m.sizes[row] + entries;
    m.room[row] = static_cast<O>(decision.places) - m.sizes[row] - entries;
    m.counts[row] = 1;
    break;
  }
  m.sizes[row] += entries;
}

/// The same value by a rule; several of a batch are combined in its order.
template <class T> constexpr T combined(batch_rule rule, T before, T value) {
  return rule == batch_rule::add ? before + value : rule == batch_rule::replace ? value : before;
}

namespace cpu {
/// Puts a batch in, or changes nothing. Device: waits for the outcome.
template <class T, class I, class O>
batch_outcome apply_batch(const host_context& ctx, const dynamic_rows<T, I, O>& m,
                          coo_view<const T, I, O> batch, batch_rule rule,
                          const batch_limits& limits);
/// The outcome's `changed` were erased, all below `used` in the pool; those of the batch that are
/// not there are left out. Nothing is where an entry is outside. Device: waits.
template <class T, class I, class O>
batch_outcome erase_batch(const host_context& ctx, const dynamic_rows<T, I, O>& m,
                          coo_view<const T, I, O> batch, std::int64_t used);
template <class T, class I, class O>
std::int64_t erase_columns(const host_context& ctx, const dynamic_rows<T, I, O>& m,
                           vector_view<const I> columns);
/// Returns how many entries they had. Their places are nobody's then.
template <class T, class I, class O>
std::int64_t erase_rows(const host_context& ctx, const dynamic_rows<T, I, O>& m,
                        vector_view<const I> rows);
template <class T, class I, class O>
void scale_rows(const host_context& ctx, const dynamic_rows<T, I, O>& m,
                vector_view<const T> factors);
/// Index k becomes names[k].
template <class I>
void rename_rows(const host_context& ctx, vector_view<const I> names, vector_view<I> rowind);
/// starts[i] = the entries of rows 0 .. i - 1, i up to rows.
template <class O>
void place_rows(const host_context& ctx, const O* sizes, std::int64_t rows, O* starts);
/// Row i is one segment of sizes[i] entries (null: all places) from starts[i] up to starts[i + 1].
template <class T, class I, class O>
void set_rows(const host_context& ctx, const dynamic_rows<T, I, O>& m, const O* starts,
              const O* sizes);
/// All entries, row i's from starts[i] on, columns ascending.
template <class T, class I, class O>
void gather_rows(const host_context& ctx, const dynamic_rows<T, I, O>& from, const O* starts,
                 I* colind, T* values, std::int64_t entries);
} // namespace cpu
namespace gpu {
/// Puts a batch in, or changes nothing. Device: waits for the outcome.
template <class T, class I, class O>
LACUNA_GPU_EXPORT batch_outcome apply_batch(const device_context& ctx,
                                            const dynamic_rows<T, I, O>& m,
                                            coo_view<const T, I, O, space::device> batch,
                                            batch_rule rule, const batch_limits& limits);
/// The outcome's `changed` were erased, all below `used` in the pool; those of the batch that are
/// not there are left out. Nothing is where an entry is outside. Device: waits.
template <class T, class I, class O>
LACUNA_GPU_EXPORT batch_outcome erase_batch(const device_context& ctx,
                                            const dynamic_rows<T, I, O>& m,
                                            coo_view<const T, I, O, space::device> batch,
                                            std::int64_t used);
template <class T, class I, class O>
LACUNA_GPU_EXPORT std::int64_t erase_columns(const device_context& ctx,
                                             const dynamic_rows<T, I, O>& m,
                                             vector_view<const I, space::device> columns);
/// Returns how many entries they had. Their places are nobody's then.
template <class T, class I, class O>
LACUNA_GPU_EXPORT std::int64_t erase_rows(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                                          vector_view<const I, space::device> rows);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void scale_rows(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                                  vector_view<const T, space::device> factors);
/// Index k becomes names[k].
template <class I>
LACUNA_GPU_EXPORT void rename_rows(const device_context& ctx,
                                   vector_view<const I, space::device> names,
                                   vector_view<I, space::device> rowind);
/// starts[i] = the entries of rows 0 .. i - 1, i up to rows.
template <class O>
LACUNA_GPU_EXPORT void place_rows(const device_context& ctx, const O* sizes, std::int64_t rows,
                                  O* starts);
/// Row i is one segment of sizes[i] entries (null: all places) from starts[i] up to starts[i + 1].
/// Lists the middle and the long ones; waits.
template <class T, class I, class O>
LACUNA_GPU_EXPORT listed_rows set_rows(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                                       const O* starts, const O* sizes);
/// All entries, row i's from starts[i] up to starts[i + 1], columns ascending.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void gather_rows(const device_context& ctx, const dynamic_rows<T, I, O>& from,
                                   const O* starts, I* colind, T* values, std::int64_t entries);
/// The lists of middle and long rows, in any order. Allocates nothing. Waits.
template <class I, class O>
LACUNA_GPU_EXPORT listed_rows list_rows(const device_context& ctx, const O* sizes,
                                        std::int64_t rows, I* mid_rows, I* long_rows);
/// A batch in the order of rows and columns, as soon as the device gets to it.
struct batch_in_order {
  array<char, space::device> order, state;
  const std::uint64_t* keys = nullptr; ///< null: too many bits
  const std::uint32_t* positions = nullptr;
  int col_bits = 0;
};
template <class T, class I, class O>
LACUNA_GPU_EXPORT batch_in_order order_batch(const device_context& ctx,
                                             const dynamic_rows<T, I, O>& m,
                                             coo_view<const T, I, O, space::device> batch);
/// Puts a batch into a compact matrix of so many entries by writing it anew, to arrays that have
/// room for all of both, its table included. Nothing: it can not be done this way. Waits.
template <class T, class I, class O>
LACUNA_GPU_EXPORT std::optional<batch_outcome>
merge_batch(const device_context& ctx, const dynamic_rows<T, I, O>& m, std::int64_t entries,
            coo_view<const T, I, O, space::device> batch, const batch_in_order& sorted,
            batch_rule rule, const dynamic_rows<T, I, O>& to);
} // namespace gpu

} // namespace lacuna::detail
