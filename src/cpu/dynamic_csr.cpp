// Batches into a dynamic CSR on the host: sorted by row and column, looked up, then row by row.
// O(b log b) for a batch of b entries, and what the rows it hits are long; the matrix's size does
// not matter.
#include "op/dynamic_rows.hpp"

#include <numeric>
#include <vector>

#include "cpu/batch_order.hpp"

namespace lacuna::detail::cpu {
namespace {

/// A row of the matrix that a batch hits.
struct hit_row {
  std::int64_t key;   // its first in the batch
  std::int64_t added; // its first among new entries
  std::int64_t place; // in the pool, from where the part's places begin
  row_change change;
};

/// Asks for what a look-up reads, so that a batch does not wait for memory row by row: first for a
/// row's numbers in the table, some keys later for its first segment, then for the others. Inlined,
/// because GCC leaves out calls of functions that do nothing but prefetch.
template <class T, class I, class O> class row_prefetch {
public:
  /// values: the batch's, or null.
  row_prefetch(const dynamic_rows<T, I, O>& m, const array<batch_key<I>>& keys, const T* values,
               std::int64_t begin, std::int64_t end)
      : m_(m), keys_(keys), values_(values), end_(end) {
    for (std::int64_t k = begin - table_ahead; k < begin; ++k) ask(k, begin);
  }
  /// Key k comes next.
  [[gnu::always_inline]] void operator()(std::int64_t k) const { ask(k, 0); }

private:
  static constexpr std::int64_t table_ahead = 48, first_ahead = 24, rest_ahead = 8;

  [[gnu::always_inline]] void ask(std::int64_t k, std::int64_t begin) const {
    if (k + table_ahead < end_) {
      const batch_key<I>& key = keys_[k + table_ahead];
      __builtin_prefetch(m_.counts + key.row);
      __builtin_prefetch(m_.sizes + key.row);
      __builtin_prefetch(m_.room + key.row);
      __builtin_prefetch(&m_.first(0, key.row));
      __builtin_prefetch(&m_.last(0, key.row));
      if (values_ != nullptr) __builtin_prefetch(values_ + key.place);
    }
    if (k + first_ahead >= begin && k + first_ahead < end_) {
      const I row = keys_[k + first_ahead].row;
      if (m_.counts[row] > 0) segment(0, row);
      for (int s = 1; s < m_.counts[row]; ++s) {
        __builtin_prefetch(&m_.first(s, row));
        __builtin_prefetch(&m_.last(s, row));
      }
    }
    if (k + rest_ahead >= begin && k + rest_ahead < end_) {
      const I row = keys_[k + rest_ahead].row;
      for (int s = 1; s < m_.counts[row]; ++s) segment(s, row);
    }
  }
  /// All of a short segment, where a search begins in a long one.
  [[gnu::always_inline]] void segment(int s, I row) const {
    const O begin = m_.first(s, row), length = m_.last(s, row) - begin;
    const O step = std::max<O>(length / 4, 64 / sizeof(I));
    for (O k = 0; k < length; k += step) __builtin_prefetch(m_.colind + begin + k);
    if (length > 0) __builtin_prefetch(m_.colind + begin + length - 1);
  }

  const dynamic_rows<T, I, O>& m_;
  const array<batch_key<I>>& keys_;
  const T* values_;
  std::int64_t end_;
};

/// Asks for what a change of a row is going to write to, but for new places of the pool.
template <class T, class I, class O>
[[gnu::always_inline]] inline void prefetch_change(const dynamic_rows<T, I, O>& m, std::int64_t row,
                                                   row_change change) {
  const int count = m.counts[row];
  if (change == row_change::new_segment) {
    __builtin_prefetch(&m.first(count, row), 1);
    __builtin_prefetch(&m.last(count, row), 1);
  } else if (count > 0) {
    const O end = m.last(count - 1, row);
    __builtin_prefetch(m.colind + end, 1);
    __builtin_prefetch(m.values + end, 1);
  }
}

/// Entries [0, added) of the batch's new ones are merged into the last segment, from its end on.
template <class T, class I, class O>
void merge_in_place(const dynamic_rows<T, I, O>& m, std::int64_t row, const I* columns,
                    const T* values, std::int64_t added) {
  const int s = m.counts[row] - 1;
  const std::int64_t begin = m.first(s, row);
  std::int64_t from = m.last(s, row) - 1, to = from + added;
  for (std::int64_t j = added - 1; j >= 0; --to) {
    const bool old = from >= begin && m.colind[from] > columns[j];
    m.colind[to] = old ? m.colind[from] : columns[j];
    m.values[to] = old ? m.values[from] : values[j];
    old ? --from : --j;
  }
}

/// A row's segments, and more entries behind them, in one ascending run at `to`. Equal columns stay
/// in the order of their segments.
template <class T, class I, class O>
void merge_segments(const dynamic_rows<T, I, O>& m, std::int64_t row, const I* columns,
                    const T* values, std::int64_t added, I* to_columns, T* to_values) {
  struct run {
    const I* columns;
    const T* values;
    std::int64_t left;
  };
  run runs[65];
  int count = 0;
  for (int s = 0; s < m.counts[row]; ++s) {
    const std::int64_t begin = m.first(s, row), length = m.last(s, row) - begin;
    if (length > 0) runs[count++] = {m.colind + begin, m.values + begin, length};
  }
  if (added > 0) runs[count++] = {columns, values, added};
  while (count > 1) {
    int least = 0;
    for (int r = 1; r < count; ++r)
      if (*runs[r].columns < *runs[least].columns) least = r;
    *to_columns++ = *runs[least].columns++;
    *to_values++ = *runs[least].values++;
    if (--runs[least].left == 0) {
      std::copy(runs + least + 1, runs + count, runs + least);
      --count;
    }
  }
  if (count == 1) {
    std::copy_n(runs[0].columns, runs[0].left, to_columns);
    std::copy_n(runs[0].values, runs[0].left, to_values);
  }
}

/// Takes the entries that keys [first, last) name out of their row; returns how many. Reads what it
/// moves, and O(log row) for each key.
template <class T, class I, class O>
std::int64_t erase_keys(const dynamic_rows<T, I, O>& m, const batch_key<I>* first,
                        const batch_key<I>* last) {
  const std::int64_t row = first->row;
  std::int64_t erased = 0;
  for (int s = 0; s < m.counts[row]; ++s) {
    const O begin = m.first(s, row), end = m.last(s, row);
    O kept = begin, from = begin, at = begin; // what stays before `from` is in [begin, kept)
    const auto keep_up_to = [&](O next) {
      if (kept != from) {
        std::copy(m.colind + from, m.colind + next, m.colind + kept);
        std::copy(m.values + from, m.values + next, m.values + kept);
      }
      kept += next - from;
    };
    for (const batch_key<I>* key = first; key != last && at < end; ++key) {
      at = m.lower(at, end, key->col);
      if (at == end || m.colind[at] != key->col) continue;
      keep_up_to(at);
      while (at < end && m.colind[at] == key->col) ++at;
      from = at;
    }
    keep_up_to(end);
    m.last(s, row) = kept;
    erased += end - kept;
    if (s == m.counts[row] - 1) m.room[row] += end - kept;
  }
  m.sizes[row] -= static_cast<O>(erased);
  return erased;
}

/// Takes entries out that `gone` names, segment by segment; returns how many.
template <class T, class I, class O, class Gone>
std::int64_t erase_in_row(const dynamic_rows<T, I, O>& m, std::int64_t row, Gone&& gone) {
  std::int64_t erased = 0;
  for (int s = 0; s < m.counts[row]; ++s) {
    const O begin = m.first(s, row), end = m.last(s, row);
    O kept = begin;
    for (O k = begin; k < end; ++k) {
      if (gone(m.colind[k], k)) continue;
      m.colind[kept] = m.colind[k];
      m.values[kept] = m.values[k];
      ++kept;
    }
    m.last(s, row) = kept;
    erased += end - kept;
    if (s == m.counts[row] - 1) m.room[row] += end - kept;
  }
  m.sizes[row] -= static_cast<O>(erased);
  return erased;
}

} // namespace

template <class T, class I, class O>
batch_outcome apply_batch(const host_context& ctx, const dynamic_rows<T, I, O>& m,
                          coo_view<const T, I, O> batch, batch_rule rule,
                          const batch_limits& limits) {
  batch_outcome outcome;
  outcome.used = limits.used;
  outcome.mid_rows = limits.mid_rows.count;
  outcome.long_rows = limits.long_rows.count;
  const auto keys = sorted_batch(ctx, batch, m.rows, m.cols, outcome.outside);
  if (outcome.outside >= 0) return outcome;

  // Look up; entries that are new are collected in the order of the keys, by part.
  const std::int64_t n = keys.size();
  const int parts = part_count(ctx, n, batch_grain);
  array<I> new_columns(ctx, n);
  array<T> new_values(ctx, n);
  array<std::int64_t> places(ctx, n);  // of the first key of each that is there, else -1
  array<hit_row> hits(ctx, n + parts); // and the end of each part's
  struct share {
    std::int64_t hits = 0, added = 0, changed = 0, needed = 0;
    int segments = 0;
  };
  std::vector<share> shares(parts);
  const auto value_of = [&](std::int64_t key) {
    return rule == batch_rule::touch ? T{0} : batch.values()[keys[key].place];
  };
  for_each_part(ctx, parts, 1, [&](int part, int) {
    share mine;
    const std::int64_t begin = part_of_rows(keys, part, parts);
    const std::int64_t end = part_of_rows(keys, part + 1, parts);
    const row_prefetch prefetch(
        m, keys, rule == batch_rule::touch ? nullptr : batch.values().data(), begin, end);
    for (std::int64_t k = begin; k < end;) {
      const std::int64_t row = keys[k].row, first_added = begin + mine.added, first = k;
      bool changes = false;
      while (k < end && keys[k].row == row) {
        const std::int64_t head = k;
        const std::int64_t place = rule == batch_rule::append ? -1 : m.find(row, keys[k].col);
        places[head] = place;
        prefetch(k);
        T value = value_of(k++);
        if (rule != batch_rule::append)
          for (; k < end && keys[k].same_entry(keys[head]); ++k) {
            prefetch(k);
            places[k] = -1;
            value = combined(rule, value, value_of(k));
          }
        if (place >= 0) {
          changes = changes || rule != batch_rule::keep;
          mine.changed += rule == batch_rule::keep ? 0 : 1;
        } else if (rule != batch_rule::touch) {
          new_columns[begin + mine.added] = keys[head].col;
          new_values[begin + mine.added++] = value;
        }
      }
      const std::int64_t added = begin + mine.added - first_added;
      const row_decision decision = decide_row(m, row, added, changes, limits);
      if (decision.change != row_change::none) {
        hits[begin + part + mine.hits++] = {first, first_added, mine.needed, decision.change};
        mine.needed += decision.places;
      }
    }
    hits[begin + part + mine.hits] = {end, begin + mine.added, mine.needed, row_change::none};
    shares[part] = mine;
  });
  for (share& s : shares) {
    const std::int64_t needed = s.needed;
    s.needed = outcome.used;
    outcome.used += needed;
    outcome.inserted += s.added;
    outcome.changed += s.changed;
  }
  if (outcome.used > limits.capacity) return outcome;

  // Nothing can fail from here on. Places of entries are as they were looked up until rows move.
  const auto change_values = [&](bool moved) {
    if (rule != batch_rule::add && rule != batch_rule::replace) return;
    for_each_part(ctx, parts, 1, [&](int part, int) {
      const std::int64_t end = part_of_rows(keys, part + 1, parts);
      for (std::int64_t k = part_of_rows(keys, part, parts); k < end; ++k) {
        if (k + 8 < end && places[k + 8] >= 0) __builtin_prefetch(m.values + places[k + 8], 1);
        if (k + 8 < end) __builtin_prefetch(batch.values().data() + keys[k + 8].place);
        if (places[k] < 0) continue;
        const std::int64_t place = moved ? m.find(keys[k].row, keys[k].col) : places[k];
        T value = value_of(k);
        for (std::int64_t j = k + 1; j < end && keys[j].same_entry(keys[k]); ++j)
          value = combined(rule, value, value_of(j));
        m.values[place] = combined(rule, m.values[place], value);
      }
    });
  };
  const bool frozen = limits.frozen > 0;
  if (!frozen) change_values(false);
  for_each_part(ctx, parts, 1, [&](int part, int) {
    const std::int64_t pool_begin = shares[part].needed;
    const hit_row* hit = hits.data() + part_of_rows(keys, part, parts) + part;
    const hit_row* const last = hit + shares[part].hits;
    int segments = 0;
    for (; hit != last; ++hit) {
      if (last - hit > 8) prefetch_change(m, keys[hit[8].key].row, hit[8].change);
      const std::int64_t row = keys[hit->key].row, added = hit[1].added - hit->added;
      const std::int64_t place = pool_begin + hit->place;
      const I* columns = new_columns.data() + hit->added;
      const T* values = new_values.data() + hit->added;
      if (hit->change == row_change::in_place) {
        merge_in_place(m, row, columns, values, added);
      } else if (hit->change == row_change::new_segment) {
        std::copy_n(columns, added, m.colind + place);
        std::copy_n(values, added, m.values + place);
      } else {
        merge_segments(m, row, columns, values, added, m.colind + place, m.values + place);
      }
      finish_row(m, row, {hit->change, hit[1].place - hit->place}, added, place);
      segments = std::max(segments, int{m.counts[row]});
    }
    shares[part].segments = segments;
  });
  if (frozen) change_values(true);
  for (const share& s : shares) outcome.segments = std::max(outcome.segments, s.segments);
  return outcome;
}

template <class T, class I, class O>
batch_outcome erase_batch(const host_context& ctx, const dynamic_rows<T, I, O>& m,
                          coo_view<const T, I, O> batch, std::int64_t) {
  batch_outcome outcome;
  const auto keys = sorted_batch(ctx, batch, m.rows, m.cols, outcome.outside);
  if (outcome.outside >= 0) return outcome;
  const int parts = part_count(ctx, keys.size(), batch_grain);
  std::vector<std::int64_t> erased(parts);
  for_each_part(ctx, parts, 1, [&](int part, int) {
    const std::int64_t begin = part_of_rows(keys, part, parts);
    const std::int64_t end = part_of_rows(keys, part + 1, parts);
    const row_prefetch<T, I, O> prefetch(m, keys, nullptr, begin, end);
    std::int64_t sum = 0;
    for (std::int64_t k = begin; k < end;) {
      const std::int64_t first = k;
      do prefetch(k++);
      while (k < end && keys[k].row == keys[first].row);
      sum += erase_keys(m, keys.data() + first, keys.data() + k);
    }
    erased[part] = sum;
  });
  outcome.changed = std::accumulate(erased.begin(), erased.end(), std::int64_t{0});
  return outcome;
}

template <class T, class I, class O>
std::int64_t erase_columns(const host_context& ctx, const dynamic_rows<T, I, O>& m,
                           vector_view<const I> columns) {
  array<char> gone(ctx, m.cols);
  std::fill(gone.begin(), gone.end(), char{0});
  for (const I column : columns) gone[column] = 1;
  const int parts = part_count(ctx, m.rows, entry_grain / 16);
  std::vector<std::int64_t> erased(parts);
  for_each_part(ctx, parts, 1, [&](int part, int) {
    for (std::int64_t row = part_begin(m.rows, part, parts);
         row < part_begin(m.rows, part + 1, parts); ++row)
      erased[part] += erase_in_row(m, row, [&](I column, O) { return gone[column] != 0; });
  });
  return std::accumulate(erased.begin(), erased.end(), std::int64_t{0});
}

template <class T, class I, class O>
std::int64_t erase_rows(const host_context&, const dynamic_rows<T, I, O>& m,
                        vector_view<const I> rows) {
  std::int64_t erased = 0;
  for (const I row : rows) {
    erased += m.sizes[row];
    m.sizes[row] = m.room[row] = 0;
    m.counts[row] = 0;
  }
  return erased;
}

template <class T, class I, class O>
void scale_rows(const host_context& ctx, const dynamic_rows<T, I, O>& m,
                vector_view<const T> factors) {
  for_each_range(ctx, m.rows, entry_grain / 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (int s = 0; s < m.counts[row]; ++s)
        for (O k = m.first(s, row); k < m.last(s, row); ++k) m.values[k] *= factors[row];
  });
}

template <class I>
void rename_rows(const host_context& ctx, vector_view<const I> names, vector_view<I> rowind) {
  for_each_range(ctx, rowind.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) rowind[k] = names[rowind[k]];
  });
}

template <class O>
void place_rows(const host_context&, const O* sizes, std::int64_t rows, O* starts) {
  starts[0] = 0;
  std::inclusive_scan(sizes, sizes + rows, starts + 1);
}

template <class T, class I, class O>
void set_rows(const host_context& ctx, const dynamic_rows<T, I, O>& m, const O* starts,
              const O* sizes) {
  for_each_range(ctx, m.rows, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const O size = sizes == nullptr ? starts[row + 1] - starts[row] : sizes[row];
      m.first(0, row) = starts[row];
      m.last(0, row) = starts[row] + size;
      m.sizes[row] = size;
      m.room[row] = starts[row + 1] - starts[row] - size;
      m.counts[row] = starts[row + 1] > starts[row] ? 1 : 0;
    }
  });
  m.first(0, m.rows) = starts[m.rows];
}

template <class T, class I, class O>
void gather_rows(const host_context& ctx, const dynamic_rows<T, I, O>& from, const O* starts,
                 I* colind, T* values, std::int64_t entries) {
  constexpr std::int64_t share_rows = 1024;
  const auto shares = static_cast<int>((from.rows + share_rows - 1) / share_rows);
  for_each_dynamic(part_count(ctx, from.rows + entries, entry_grain), shares, [&](int share) {
    const std::int64_t last = std::min(from.rows, (share + 1) * share_rows);
    for (std::int64_t row = share * share_rows; row < last; ++row)
      merge_segments<T, I, O>(from, row, nullptr, nullptr, 0, colind + starts[row],
                              values + starts[row]);
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template batch_outcome apply_batch<T, I, O>(const host_context&, const dynamic_rows<T, I, O>&,   \
                                              coo_view<const T, I, O>, batch_rule,                 \
                                              const batch_limits&);                                \
  template batch_outcome erase_batch<T, I, O>(const host_context&, const dynamic_rows<T, I, O>&,   \
                                              coo_view<const T, I, O>, std::int64_t);              \
  template std::int64_t erase_columns<T, I, O>(const host_context&, const dynamic_rows<T, I, O>&,  \
                                               vector_view<const I>);                              \
  template std::int64_t erase_rows<T, I, O>(const host_context&, const dynamic_rows<T, I, O>&,     \
                                            vector_view<const I>);                                 \
  template void scale_rows<T, I, O>(const host_context&, const dynamic_rows<T, I, O>&,             \
                                    vector_view<const T>);                                         \
  template void set_rows<T, I, O>(const host_context&, const dynamic_rows<T, I, O>&, const O*,     \
                                  const O*);                                                       \
  template void gather_rows<T, I, O>(const host_context&, const dynamic_rows<T, I, O>&, const O*,  \
                                     I*, T*, std::int64_t);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
template void rename_rows(const host_context&, vector_view<const std::int32_t>,
                          vector_view<std::int32_t>);
template void rename_rows(const host_context&, vector_view<const std::int64_t>,
                          vector_view<std::int64_t>);
template void place_rows(const host_context&, const std::int32_t*, std::int64_t, std::int32_t*);
template void place_rows(const host_context&, const std::int64_t*, std::int64_t, std::int64_t*);

} // namespace lacuna::detail::cpu
