// Dynamic CSR: who owns what, when the pool grows or is compacted, and what a snapshot keeps. The
// engines do the rest (src/cpu/dynamic_csr.cpp, src/gpu/dynamic_csr.cu).
#include <lacuna/op/update.hpp>

#include <limits>

#include <fmt/format.h>

#include "op/dynamic_rows.hpp"

namespace lacuna {
namespace detail {

template <class T, class I, class O, space S> struct dynamic_access {
  using matrix = dynamic_csr<T, I, O, S>;
  using table_t = dynamic_table<I, O, S>;
  using pool_t = dynamic_pool<T, I, S>;

  static constexpr std::int64_t most_entries = std::numeric_limits<O>::max();

  static std::shared_ptr<table_t> make_table(const context<S>& ctx, std::int64_t rows, int segments,
                                             std::int64_t pitch) {
    auto table = std::make_shared<table_t>();
    const std::int64_t places = checked_mul(segments, pitch) + 1;
    table->begin = array<O, S>(ctx, places);
    table->end = array<O, S>(ctx, places);
    table->sizes = array<O, S>(ctx, rows);
    table->room = array<O, S>(ctx, rows);
    table->counts = array<std::uint8_t, S>(ctx, rows);
    return table;
  }
  static std::shared_ptr<pool_t> make_pool(const context<S>& ctx, std::int64_t capacity) {
    auto pool = std::make_shared<pool_t>();
    pool->colind = array<I, S>(ctx, capacity);
    pool->values = array<T, S>(ctx, capacity);
    pool->long_rows = array<I, S>(ctx, 2 * (capacity / long_row + 1)); // see trim_long_rows
    pool->counter = array<std::int64_t, S>(ctx, 1);
    return pool;
  }
  /// A row's places for that many rows: at least rows + 1, in whole lines.
  static std::int64_t pitch_for(std::int64_t rows, const dynamic_csr_options& o) {
    const std::int64_t line = 128 / static_cast<std::int64_t>(sizeof(O));
    return std::max(o.pitch, (rows + line) / line * line);
  }
  static void check_options(std::int64_t rows, const dynamic_csr_options& o) {
    if (o.segments < 1 || o.segments > 64)
      throw bad_input(fmt::format("dynamic_csr: a row has 1 to 64 segments, not {}", o.segments));
    if (o.slack < -1 || o.width < 0 || !(o.slack_share >= 0) || o.slack_share > 1)
      throw bad_input(fmt::format("dynamic_csr: slack {}, slack_share {} and width {} must not be "
                                  "negative (slack -1: the mean row length), and a share is at "
                                  "most 1",
                                  o.slack, o.slack_share, o.width));
    if (o.pitch != 0 && o.pitch < rows + 1)
      throw bad_input(fmt::format("dynamic_csr: a pitch of {} is too small for {} rows; it is at "
                                  "least one more",
                                  o.pitch, rows));
  }
  static void require_offsets(std::int64_t places) {
    if (places > most_entries)
      throw unsupported(fmt::format("dynamic_csr: {} places do not fit offsets of {} bits; use a "
                                    "matrix with 64-bit offsets",
                                    places, 8 * sizeof(O)));
  }

  static dynamic_rows<T, I, O> rows_of(matrix& m) {
    table_t& t = *m.table;
    return {
        t.begin.data(),     t.end.data(),          t.sizes.data(),        t.room.data(),
        t.counts.data(),    m.pool->colind.data(), m.pool->values.data(), m.pool->long_rows.data(),
        m.state.extent.row, m.state.extent.col,    m.state.pitch,         m.options_.segments};
  }
  /// For reading alone.
  static dynamic_rows<T, I, O> rows_of(const dynamic_csr_view<const T, I, O, S>& v) {
    return {const_cast<O*>(v.begin),
            const_cast<O*>(v.end),
            const_cast<O*>(v.sizes),
            const_cast<O*>(v.room),
            const_cast<std::uint8_t*>(v.counts),
            const_cast<I*>(v.colind),
            const_cast<T*>(v.values),
            nullptr,
            v.extent.row,
            v.extent.col,
            v.pitch,
            v.segments};
  }
  /// The view that readers get, after arrays or sizes changed.
  static void publish(matrix& m) {
    auto& v = m.state;
    v.begin = m.table->begin.data();
    v.end = m.table->end.data();
    v.sizes = m.table->sizes.data();
    v.room = m.table->room.data();
    v.counts = m.table->counts.data();
    v.colind = m.pool->colind.data();
    v.values = m.pool->values.data();
    v.long_rows = m.pool->long_rows.data();
    v.segments = m.options_.segments;
  }
  static segment_slack slack_of(const matrix& m) {
    const dynamic_csr_options& o = m.options_;
    const std::int64_t rows = std::max<std::int64_t>(m.state.extent.row, 1);
    return {o.slack >= 0 ? o.slack : (m.state.nnz + rows - 1) / rows, o.slack_share};
  }

  // The engines.
  static batch_outcome apply(const context<S>& ctx, matrix& m, coo_view<const T, I, O, S> batch,
                             batch_rule rule) {
    const batch_limits limits{
        m.state.used, m.capacity(),           m.pool.use_count() > 1 ? m.frozen_ : 0,
        slack_of(m),  m.state.long_row_count, m.pool->long_rows.size()};
    if constexpr (S == space::host)
      return cpu::apply_batch<T, I, O>(ctx, rows_of(m), batch, rule, limits);
    else
      return gpu::apply_batch<T, I, O>(ctx, rows_of(m), batch, rule, limits);
  }
  static std::int64_t place(const context<S>& ctx, const O* sizes, std::int64_t rows, O* starts) {
    if constexpr (S == space::host)
      return cpu::place_rows<O>(ctx, sizes, rows, starts);
    else
      return gpu::place_rows<O>(ctx, sizes, rows, starts);
  }
  static void set(const context<S>& ctx, const dynamic_rows<T, I, O>& m, const O* starts,
                  const O* sizes) {
    if constexpr (S == space::host)
      cpu::set_rows<T, I, O>(ctx, m, starts, sizes);
    else
      gpu::set_rows<T, I, O>(ctx, m, starts, sizes);
  }
  static void gather(const context<S>& ctx, const dynamic_rows<T, I, O>& from, const O* starts,
                     I* colind, T* values, std::int64_t entries) {
    if constexpr (S == space::host)
      cpu::gather_rows<T, I, O>(ctx, from, starts, colind, values, entries);
    else
      gpu::gather_rows<T, I, O>(ctx, from, starts, colind, values, entries);
  }
  static std::int64_t long_rows(const context<S>& ctx, const O* sizes, std::int64_t rows,
                                pool_t& to) {
    if constexpr (S == space::host)
      return cpu::find_long_rows<I, O>(ctx, sizes, rows, to.long_rows.data(), to.long_rows.size(),
                                       to.counter.data());
    else
      return gpu::find_long_rows<I, O>(ctx, sizes, rows, to.long_rows.data(), to.long_rows.size(),
                                       to.counter.data());
  }
  template <class E>
  static void copy(const context<S>& ctx, array<E, S>& to, const E* from, std::int64_t n,
                   std::int64_t at = 0) {
    copy_bytes(ctx, to.data() + at, from, static_cast<std::size_t>(n) * sizeof(E), S);
  }

  static matrix make(const context<S>& ctx, index<I> shape, const csr_view<const T, I, O, S>* a,
                     const dynamic_csr_options& options) {
    require_shape("dynamic_csr", shape.row, shape.col, 0);
    check_options(shape.row, options);
    const std::int64_t rows = shape.row, nnz = a == nullptr ? 0 : std::int64_t{a->size()};
    const std::int64_t taken = a == nullptr ? checked_mul(rows, options.width) : nnz;
    require_offsets(taken);
    matrix m;
    m.options_ = options;
    m.state.extent = shape;
    m.state.nnz = nnz;
    m.state.used = taken;
    m.state.pitch = pitch_for(rows, options);
    m.table = make_table(ctx, rows, options.segments, m.state.pitch);
    m.pool = make_pool(ctx, std::min(taken + taken / 4, most_entries));
    publish(m);
    if (a != nullptr) {
      copy(ctx, m.pool->colind, a->colind().data(), nnz);
      copy(ctx, m.pool->values, a->values().data(), nnz);
      set(ctx, rows_of(m), a->rowptr().data(), nullptr);
      m.state.compact = true;
      m.state.unique = a->order().unique;
      m.state.long_row_count = long_rows(ctx, m.table->sizes.data(), rows, *m.pool);
    } else {
      const host_context host;
      array<O> starts(host, rows + 1), sizes(host, rows);
      for (std::int64_t i = 0; i <= rows; ++i) starts[i] = static_cast<O>(i * options.width);
      std::fill(sizes.begin(), sizes.end(), O{0});
      const auto there = copy_to(ctx, std::as_const(starts).view());
      const auto empty = copy_to(ctx, std::as_const(sizes).view());
      set(ctx, rows_of(m), there.data(), empty.data());
      m.state.compact = taken == 0;
      m.state.unique = true;
    }
    m.segments_max_ = taken > 0 ? 1 : 0;
    return m;
  }

  /// The table and the parts of the pool that are written to are not a snapshot's afterwards.
  static void own_table(const context<S>& ctx, matrix& m) {
    if (m.table.use_count() == 1) return;
    resize_table(ctx, m, m.state.extent.row, m.state.pitch);
  }
  /// New rows have no segment.
  static void resize_table(const context<S>& ctx, matrix& m, std::int64_t rows,
                           std::int64_t pitch) {
    const std::int64_t before = m.state.extent.row, old_pitch = m.state.pitch;
    auto table = make_table(ctx, rows, m.options_.segments, pitch);
    for (int s = 0; s < m.options_.segments; ++s) {
      copy(ctx, table->begin, m.table->begin.data() + s * old_pitch, before, s * pitch);
      copy(ctx, table->end, m.table->end.data() + s * old_pitch, before, s * pitch);
    }
    if (m.state.compact) copy(ctx, table->begin, m.table->begin.data() + before, 1, before);
    copy(ctx, table->sizes, m.table->sizes.data(), before);
    copy(ctx, table->room, m.table->room.data(), before);
    copy(ctx, table->counts, m.table->counts.data(), before);
    if (rows > before) {
      const host_context host;
      array<O> zeros(host, rows - before);
      array<std::uint8_t> none(host, rows - before);
      std::fill(zeros.begin(), zeros.end(), O{0});
      std::fill(none.begin(), none.end(), std::uint8_t{0});
      const auto put = [&](auto& to, const auto& from) {
        copy_bytes(ctx, to.data() + before, from.data(), from.bytes(), space::host);
      };
      put(table->sizes, zeros);
      put(table->room, zeros);
      put(table->counts, none);
      ctx.synchronize(); // the zeros go
    }
    m.table = std::move(table);
    m.state.pitch = pitch;
    if (rows > before) m.state.compact = false;
    m.state.extent.row = static_cast<I>(rows);
    publish(m);
  }

  /// A larger pool with the same entries in the same places.
  static void grow(const context<S>& ctx, matrix& m, std::int64_t capacity) {
    auto pool = make_pool(ctx, capacity);
    copy(ctx, pool->colind, m.pool->colind.data(), m.state.used);
    copy(ctx, pool->values, m.pool->values.data(), m.state.used);
    copy(ctx, pool->long_rows, m.pool->long_rows.data(), m.state.long_row_count);
    m.pool = std::move(pool);
    publish(m);
  }
  static void compact(const context<S>& ctx, matrix& m, std::int64_t capacity) {
    const std::int64_t rows = m.state.extent.row;
    array<O, S> starts(ctx, rows + 1);
    const std::int64_t taken = place(ctx, m.table->sizes.data(), rows, starts.data());
    matrix next; // complete before m is touched
    next.options_ = m.options_;
    next.state = m.state;
    next.pool = make_pool(ctx, std::max(taken, capacity));
    next.table = make_table(ctx, rows, m.options_.segments, m.state.pitch);
    gather(ctx, rows_of(m), starts.data(), next.pool->colind.data(), next.pool->values.data(),
           taken);
    set(ctx, rows_of(next), starts.data(), m.table->sizes.data());
    next.state.used = taken;
    next.state.compact = true;
    next.state.long_row_count = long_rows(ctx, m.table->sizes.data(), rows, *next.pool);
    next.segments_max_ = taken > 0 ? 1 : 0;
    next.compactions_ = m.compactions_ + 1;
    publish(next);
    m = std::move(next);
  }
  /// For a batch that would need `needed` places: more than a third of the pool is free or left
  /// behind: it is compacted. Else it grows by half.
  static void make_room(const context<S>& ctx, matrix& m, std::int64_t needed) {
    const std::int64_t more = needed - m.state.used;
    const std::int64_t after = m.state.nnz + more;
    if (after + after / 2 <= m.capacity()) return compact(ctx, m, m.capacity());
    if (needed > most_entries) {
      require_offsets(after);
      return compact(ctx, m, std::min(after + after / 4, most_entries));
    }
    const std::int64_t generous =
        std::min(std::max(needed, m.capacity() + m.capacity() / 2), most_entries);
    try {
      grow(ctx, m, generous);
    } catch (const out_of_memory&) {
      // What the old pool takes is needed while the new one is filled: the least that will do.
      compact(ctx, m, after);
    }
  }
  /// A row that was long, became short and is long again is listed again. The list is made anew
  /// where it is half full: what one batch adds fits the other half.
  static void trim_long_rows(const context<S>& ctx, matrix& m) {
    if (m.state.long_row_count <= m.pool->long_rows.size() / 2) return;
    if (m.pool.use_count() > 1) grow(ctx, m, m.capacity()); // a snapshot reads the list
    m.state.long_row_count = long_rows(ctx, m.table->sizes.data(), m.state.extent.row, *m.pool);
  }
  static batch_outcome apply_with_room(const context<S>& ctx, matrix& m,
                                       coo_view<const T, I, O, S> batch, batch_rule rule) {
    own_table(ctx, m);
    for (;;) {
      trim_long_rows(ctx, m);
      const batch_outcome outcome = apply(ctx, m, batch, rule);
      if (outcome.outside >= 0 || outcome.used <= m.capacity()) {
        if (outcome.outside >= 0) return outcome;
        if (outcome.used != m.state.used || outcome.inserted > 0) m.state.compact = false;
        m.state.used = outcome.used;
        m.state.nnz += outcome.inserted;
        m.state.long_row_count = outcome.long_rows;
        m.segments_max_ = std::max(m.segments_max_, outcome.segments);
        return outcome;
      }
      make_room(ctx, m, outcome.used);
    }
  }
  [[noreturn]] static void throw_outside(const char* what, const matrix& m,
                                         coo_view<const T, I, O, S> batch, std::int64_t k) {
    const host_context host;
    const auto row = copy_to(host, vector_view<const I, S>(batch.rowind().data() + k, 1));
    const auto col = copy_to(host, vector_view<const I, S>(batch.colind().data() + k, 1));
    throw bad_input(fmt::format("{}: entry {} of the batch is at ({}, {}), outside of {} x {}; "
                                "nothing was changed",
                                what, k, row[0], col[0], m.state.extent.row, m.state.extent.col));
  }
  static update_counts insert(const context<S>& ctx, matrix& m, coo_view<const T, I, O, S> batch,
                              const insert_options& options) {
    const index<I> before = m.state.extent;
    if (options.outside == outside::grow) {
      const index<I> shape(std::max(before.row, batch.shape().row),
                           std::max(before.col, batch.shape().col));
      if (shape.row > before.row) {
        dynamic_csr_options o = m.options_;
        o.pitch = 0;
        // Rows that come one batch after the other are foreseen: the table grows by a half.
        const std::int64_t most = std::max<std::int64_t>(shape.row, before.row + before.row / 2);
        resize_table(ctx, m, shape.row,
                     shape.row < m.state.pitch ? m.state.pitch : pitch_for(most, o));
      }
      m.state.extent.col = shape.col;
    }
    if (batch.size() == 0) return {};
    try {
      const auto rule = static_cast<batch_rule>(options.existing);
      const batch_outcome outcome = apply_with_room(ctx, m, batch, rule);
      if (outcome.outside >= 0) throw_outside("insert", m, batch, outcome.outside);
      if (options.existing == existing::append) m.state.unique = false;
      return {outcome.inserted, outcome.changed, 0};
    } catch (...) {
      m.state.extent = before; // rows that were added have no entries
      throw;
    }
  }
  /// After so many entries have gone.
  static update_counts take_out(matrix& m, std::int64_t erased) {
    m.state.nnz -= erased;
    if (erased > 0) m.state.compact = false;
    return {0, 0, erased};
  }
  static update_counts erase(const context<S>& ctx, matrix& m, coo_view<const T, I, O, S> batch) {
    if (batch.size() == 0) return {};
    own_table(ctx, m);
    batch_outcome outcome;
    // Rows of a snapshot are copied first.
    if (m.pool.use_count() > 1) outcome = apply_with_room(ctx, m, batch, batch_rule::touch);
    if (outcome.outside < 0) {
      if constexpr (S == space::host)
        outcome = cpu::erase_batch<T, I, O>(ctx, rows_of(m), batch, m.state.used);
      else
        outcome = gpu::erase_batch<T, I, O>(ctx, rows_of(m), batch, m.state.used);
    }
    if (outcome.outside >= 0) throw_outside("erase", m, batch, outcome.outside);
    return take_out(m, outcome.changed);
  }
  static void require_inside(const char* what, vector_view<const I, S> list, std::int64_t limit) {
    const host_context host;
    const auto copy = copy_to(host, list);
    for (std::int64_t k = 0; k < copy.size(); ++k)
      if (copy[k] < 0 || copy[k] >= limit)
        throw bad_input(
            fmt::format("{}: {} at place {} is outside of [0, {})", what, copy[k], k, limit));
  }
  /// All entries may be written to: they are no snapshot's.
  static void own_all(const context<S>& ctx, matrix& m) {
    own_table(ctx, m);
    if (m.pool.use_count() > 1) grow(ctx, m, m.capacity());
  }
  static update_counts erase_rows(const context<S>& ctx, matrix& m, vector_view<const I, S> rows) {
    require_inside("erase_rows", rows, m.state.extent.row);
    own_table(ctx, m);
    if constexpr (S == space::host)
      return take_out(m, cpu::erase_rows<T, I, O>(ctx, rows_of(m), rows));
    else
      return take_out(m, gpu::erase_rows<T, I, O>(ctx, rows_of(m), rows));
  }
  static update_counts erase_columns(const context<S>& ctx, matrix& m,
                                     vector_view<const I, S> columns) {
    require_inside("erase_columns", columns, m.state.extent.col);
    own_all(ctx, m);
    if constexpr (S == space::host)
      return take_out(m, cpu::erase_columns<T, I, O>(ctx, rows_of(m), columns));
    else
      return take_out(m, gpu::erase_columns<T, I, O>(ctx, rows_of(m), columns));
  }
  static update_counts erase_vertices(const context<S>& ctx, matrix& m,
                                      vector_view<const I, S> vertices) {
    if (m.state.extent.row != m.state.extent.col)
      throw bad_input(fmt::format("erase_vertices: a graph's matrix is square, not {} x {}",
                                  m.state.extent.row, m.state.extent.col));
    const auto before = m.snapshot();
    try {
      const std::int64_t out = erase_rows(ctx, m, vertices).erased;
      return {0, 0, out + erase_columns(ctx, m, vertices).erased};
    } catch (...) {
      m.restore(before);
      throw;
    }
  }
  static void scale_rows(const context<S>& ctx, matrix& m, vector_view<const T, S> factors) {
    if (factors.size() != m.state.extent.row)
      throw size_mismatch(
          fmt::format("scale_rows: {} factors for {} rows", factors.size(), m.state.extent.row));
    own_all(ctx, m);
    if constexpr (S == space::host)
      cpu::scale_rows<T, I, O>(ctx, rows_of(m), factors);
    else
      gpu::scale_rows<T, I, O>(ctx, rows_of(m), factors);
  }
  static void compact(const context<S>& ctx, matrix& m, const compact_options& options) {
    if (options.merge && !m.state.unique) {
      const auto merged = merge_duplicates(ctx, dynamic_to_csr<T, I, O, S>(ctx, m.view()));
      const auto view = merged.view();
      matrix other = make(ctx, m.state.extent, &view, m.options_);
      other.compactions_ = m.compactions_ + 1;
      m = std::move(other);
      return;
    }
    compact(ctx, m, std::int64_t{0});
  }
};

template <class T, class I, class O, space S>
dynamic_csr<T, I, O, S> make_dynamic(const context<S>& ctx, index<I> shape,
                                     const csr_view<const T, I, O, S>* a,
                                     const dynamic_csr_options& options) {
  return dynamic_access<T, I, O, S>::make(ctx, shape, a, options);
}
template <class T, class I, class O, space S>
csr<T, I, O, S> dynamic_to_csr(const context<S>& ctx, dynamic_csr_view<const T, I, O, S> a) {
  using access = dynamic_access<T, I, O, S>;
  csr<T, I, O, S> result(ctx, a.extent, static_cast<O>(a.nnz), facts{true, a.unique});
  if (a.compact) {
    copy_bytes(ctx, result.rowptr().data(), a.begin,
               (static_cast<std::size_t>(a.extent.row) + 1) * sizeof(O), S);
    copy_bytes(ctx, result.colind().data(), a.colind, static_cast<std::size_t>(a.nnz) * sizeof(I),
               S);
    copy_bytes(ctx, result.values().data(), a.values, static_cast<std::size_t>(a.nnz) * sizeof(T),
               S);
    return result;
  }
  access::place(ctx, a.sizes, a.extent.row, result.rowptr().data());
  access::gather(ctx, access::rows_of(a), result.rowptr().data(), result.colind().data(),
                 result.values().data(), a.nnz);
  return result;
}

} // namespace detail

template <class T, class I, class O, space S>
update_counts insert(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                     std::type_identity_t<coo_view<const T, I, O, S>> batch,
                     const insert_options& options) {
  return detail::dynamic_access<T, I, O, S>::insert(ctx, m, batch, options);
}
template <class T, class I, class O, space S>
update_counts insert(const context<S>& ctx, dynamic_csr<T, I, O, S>& m, const csr<T, I, O, S>& b,
                     const insert_options& options) {
  const auto entries = to_coo(ctx, b);
  return insert<T, I, O, S>(ctx, m, entries.view(), options);
}
template <class T, class I, class O, space S>
update_counts erase(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                    std::type_identity_t<coo_view<const T, I, O, S>> batch) {
  return detail::dynamic_access<T, I, O, S>::erase(ctx, m, batch);
}
template <class T, class I, class O, space S>
update_counts erase_rows(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                         std::type_identity_t<vector_view<const I, S>> rows) {
  return detail::dynamic_access<T, I, O, S>::erase_rows(ctx, m, rows);
}
template <class T, class I, class O, space S>
update_counts erase_columns(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                            std::type_identity_t<vector_view<const I, S>> columns) {
  return detail::dynamic_access<T, I, O, S>::erase_columns(ctx, m, columns);
}
template <class T, class I, class O, space S>
update_counts erase_vertices(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                             std::type_identity_t<vector_view<const I, S>> vertices) {
  return detail::dynamic_access<T, I, O, S>::erase_vertices(ctx, m, vertices);
}
template <class T, class I, class O, space S>
void scale_rows(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                std::type_identity_t<vector_view<const T, S>> factors) {
  detail::dynamic_access<T, I, O, S>::scale_rows(ctx, m, factors);
}
template <class T, class I, class O, space S>
void compact(const context<S>& ctx, dynamic_csr<T, I, O, S>& m, const compact_options& options) {
  detail::dynamic_access<T, I, O, S>::compact(ctx, m, options);
}
template <class T, class I, class O, space S>
void reserve(const context<S>& ctx, dynamic_csr<T, I, O, S>& m, std::int64_t entries) {
  using access = detail::dynamic_access<T, I, O, S>;
  access::require_offsets(entries);
  if (entries > m.capacity()) access::grow(ctx, m, entries);
}
template <class T, class I, class O, space S>
std::optional<T> entry(const context<S>& ctx, const dynamic_csr<T, I, O, S>& m, std::int64_t row,
                       std::int64_t col) {
  if (row < 0 || row >= m.shape().row || col < 0 || col >= m.shape().col)
    throw bad_input(fmt::format("entry: ({}, {}) is outside of {} x {}", row, col, m.shape().row,
                                m.shape().col));
  const auto v = m.view();
  const auto column = static_cast<I>(col);
  if constexpr (S == space::host) {
    (void)ctx;
    const std::int64_t place = v.find(row, column);
    return place < 0 ? std::optional<T>() : v.values[place];
  } else {
    // The row's segments are copied, and looked at here.
    const host_context host;
    const auto get = [&](auto* from) {
      using E = std::remove_cvref_t<decltype(*from)>;
      return copy_to(host, vector_view<const E, S>(from, 1))[0];
    };
    ctx.synchronize();
    const int count = get(v.counts + row);
    for (int s = 0; s < count; ++s) {
      const O begin = get(v.begin + s * v.pitch + row), end = get(v.end + s * v.pitch + row);
      const auto columns = copy_to(host, vector_view<const I, S>(v.colind + begin, end - begin));
      const I* const at = std::lower_bound(columns.begin(), columns.end(), column);
      if (at != columns.end() && *at == column)
        return get(v.values + begin + (at - columns.begin()));
    }
    return {};
  }
}

#define LACUNA_INSTANTIATE_IN(T, I, O, S)                                                          \
  namespace detail {                                                                               \
  template dynamic_csr<T, I, O, S> make_dynamic<T, I, O, S>(const context<S>&, index<I>,           \
                                                            const csr_view<const T, I, O, S>*,     \
                                                            const dynamic_csr_options&);           \
  template csr<T, I, O, S> dynamic_to_csr<T, I, O, S>(const context<S>&,                           \
                                                      dynamic_csr_view<const T, I, O, S>);         \
  }                                                                                                \
  template update_counts insert<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,           \
                                            coo_view<const T, I, O, S>, const insert_options&);    \
  template update_counts insert<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,           \
                                            const csr<T, I, O, S>&, const insert_options&);        \
  template update_counts erase<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,            \
                                           coo_view<const T, I, O, S>);                            \
  template update_counts erase_rows<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,       \
                                                vector_view<const I, S>);                          \
  template update_counts erase_columns<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,    \
                                                   vector_view<const I, S>);                       \
  template update_counts erase_vertices<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,   \
                                                    vector_view<const I, S>);                      \
  template void scale_rows<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,                \
                                       vector_view<const T, S>);                                   \
  template void compact<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,                   \
                                    const compact_options&);                                       \
  template void reserve<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&, std::int64_t);    \
  template std::optional<T> entry<T, I, O, S>(const context<S>&, const dynamic_csr<T, I, O, S>&,   \
                                              std::int64_t, std::int64_t);
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  LACUNA_INSTANTIATE_IN(T, I, O, space::host)                                                      \
  LACUNA_INSTANTIATE_IN(T, I, O, space::device)
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna
