// Internal: the memory of a dynamic CSR: who owns what, how it is made, when its pool grows or is
// compacted, and what a snapshot keeps. What changes its entries: op/dynamic_access.hpp.
#pragma once

#include <limits>

#include <fmt/format.h>

#include "cpu/rows.hpp"
#include "op/dynamic_layout.hpp"
#include <lacuna/op/update.hpp>

namespace lacuna::detail {

template <class T, class I, class O, space S> struct dynamic_storage {
  using matrix = dynamic_csr<T, I, O, S>;
  using table_t = dynamic_table<I, O, S>;
  using pool_t = dynamic_pool<T, I, O, S>;

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
    auto pool = pool_without_entries(ctx, capacity);
    pool->colind = array<I, S>(ctx, capacity);
    pool->values = array<T, S>(ctx, capacity);
    return pool;
  }
  static std::shared_ptr<pool_t> pool_without_entries(const context<S>& ctx,
                                                      std::int64_t capacity) {
    auto pool = std::make_shared<pool_t>();
    if constexpr (S == space::device) { // see trim_lists
      pool->mid_rows = array<I, S>(ctx, 2 * (capacity / mid_row + 1));
      pool->long_rows = array<I, S>(ctx, 2 * (capacity / long_row + 1));
    }
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
    table_t& t = *m.table_;
    return {t.begin.data(),
            t.end.data(),
            t.sizes.data(),
            t.room.data(),
            t.counts.data(),
            m.pool_->colind.data(),
            m.pool_->values.data(),
            m.pool_->mid_rows.data(),
            m.pool_->long_rows.data(),
            m.state_.extent.row,
            m.state_.extent.col,
            m.state_.pitch,
            m.options_.segments};
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
            nullptr,
            v.extent.row,
            v.extent.col,
            v.pitch,
            v.segments};
  }
  /// The view that readers get, after arrays or sizes changed.
  static void publish(matrix& m) {
    auto& v = m.state_;
    v.begin = m.table_->begin.data();
    v.end = m.table_->end.data();
    v.sizes = m.table_->sizes.data();
    v.room = m.table_->room.data();
    v.counts = m.table_->counts.data();
    v.colind = m.pool_->colind.data();
    v.values = m.pool_->values.data();
    v.mid_rows = m.pool_->mid_rows.data();
    v.long_rows = m.pool_->long_rows.data();
    v.segments = m.options_.segments;
  }
  /// After a change is complete: readers beside the writer get it. The state before goes behind
  /// the lock, for it may be the last to hold its memory.
  static void share(const context<S>& ctx, matrix& m) {
    if (!m.published_) return;
    ctx.synchronize(); // so any stream may read it
    m.frozen_ = m.state_.used;
    auto latest = m.current();
    const std::lock_guard guard(m.published_->mutex);
    std::swap(m.published_->latest, latest);
  }
  static segment_slack slack_of(const matrix& m) {
    if (m.published_) return {}; // nothing is changed in place
    const dynamic_csr_options& o = m.options_;
    const std::int64_t rows = std::max<std::int64_t>(m.state_.extent.row, 1);
    if (o.slack >= 0) return {o.slack, o.slack_share};
    return usual_slack((m.state_.nnz + rows - 1) / rows, o.slack_share);
  }

  // The engines.
  static void place(const context<S>& ctx, const O* sizes, std::int64_t rows, O* starts) {
    if constexpr (S == space::host)
      cpu::place_rows<O>(ctx, sizes, rows, starts);
    else
      gpu::place_rows<O>(ctx, sizes, rows, starts);
  }
  /// `meanwhile` fills the pool. compact: rows lie side by side there, without free places.
  static void set(
      const context<S>& ctx, matrix& m, const O* starts, const O* sizes, bool compact,
      const std::function<void()>& meanwhile = [] {}) {
    m.state_.compact = compact;
    if constexpr (S == space::host) {
      meanwhile();
      cpu::set_rows<T, I, O>(ctx, rows_of(m), starts, sizes);
    } else {
      auto result = gpu::set_rows<T, I, O>(ctx, rows_of(m), starts, sizes,
                                           compact ? m.state_.nnz : -1, meanwhile);
      set_bins(m, result.lists);
      m.pool_->tiles = std::move(result.memory);
      m.state_.tiles = result.tiles;
    }
  }
  static void set_bins(matrix& m, listed_rows bins) {
    m.state_.mid_row_count = bins.mid_rows;
    m.state_.long_row_count = bins.long_rows;
    m.bins_old_ = false;
  }
  static void gather(const context<S>& ctx, const dynamic_rows<T, I, O>& from, const O* starts,
                     I* colind, T* values, std::int64_t entries) {
    if constexpr (S == space::host)
      cpu::gather_rows<T, I, O>(ctx, from, starts, colind, values, entries);
    else
      gpu::gather_rows<T, I, O>(ctx, from, starts, colind, values, entries);
  }
  template <class E>
  static void copy(const context<S>& ctx, array<E, S>& to, const E* from, std::int64_t n,
                   std::int64_t at = 0) {
    if constexpr (S == space::host)
      cpu::for_each_range(ctx, n, cpu::entry_grain, [&](std::int64_t begin, std::int64_t end) {
        std::copy(from + begin, from + end, to.data() + at + begin);
      });
    else
      copy_bytes(ctx, to.data() + at, from, static_cast<std::size_t>(n) * sizeof(E), S);
  }

  /// Checks the options, too.
  static matrix without_pool(const context<S>& ctx, index<I> shape,
                             const dynamic_csr_options& options) {
    check_options(shape.row, options);
    matrix m;
    m.options_ = options;
    m.state_.extent = shape;
    m.state_.pitch = pitch_for(shape.row, options);
    m.table_ = make_table(ctx, shape.row, options.segments, m.state_.pitch);
    return m;
  }
  static matrix take(const context<S>& ctx, csr<T, I, O, S>&& a,
                     const dynamic_csr_options& options) {
    if (options.slack_at_start || a.rowptr().empty()) {
      const auto view = std::as_const(a).view();
      return make(ctx, a.shape(), &view, options);
    }
    matrix m = without_pool(ctx, a.shape(), options);
    m.state_.nnz = m.state_.used = a.size();
    m.state_.unique = a.order().unique;
    m.pool_ = pool_without_entries(ctx, a.size());
    array<O, S> rowptr; // nothing but the device can fail from here on
    std::tie(rowptr, m.pool_->colind, m.pool_->values) = std::move(a).release();
    publish(m);
    set(ctx, m, rowptr.data(), nullptr, true);
    return finished(ctx, std::move(m));
  }
  /// Rows that lie anywhere in a pool, without duplicates.
  static matrix take(const context<S>& ctx, index<I> shape, row_segments<T, I, O, S>&& made,
                     const dynamic_csr_options& options) {
    matrix m = without_pool(ctx, shape, options);
    m.state_.nnz = made.entries;
    m.state_.used = made.used;
    m.state_.unique = true;
    m.pool_ = pool_without_entries(ctx, made.colind.size());
    m.pool_->colind = std::move(made.colind);
    m.pool_->values = std::move(made.values);
    publish(m);
    set_at(ctx, m, made.begins.data(), made.sizes.data(), {});
    return finished(ctx, std::move(m));
  }
  static void set_at(const context<S>& ctx, matrix& m, const O* begins, const O* sizes,
                     segment_slack slack) {
    set_rows_at_on<T, I, O, S>(ctx, rows_of(m), begins, sizes, slack);
    if constexpr (S == space::device) list(ctx, m);
  }
  /// After every row got one segment.
  static matrix finished(const context<S>& ctx, matrix&& m) {
    m.segments_max_ = m.state_.used > 0 ? 1 : 0;
    if (m.options_.concurrent) m.published_ = std::make_unique<published_state<T, I, O, S>>();
    share(ctx, m);
    return std::move(m);
  }
  static matrix make(const context<S>& ctx, index<I> shape, const csr_view<const T, I, O, S>* a,
                     const dynamic_csr_options& options) {
    require_shape("dynamic_csr", shape.row, shape.col, 0);
    if (a != nullptr && a->rowptr().data() == nullptr) a = nullptr; // no rows, no arrays
    const std::int64_t rows = shape.row, nnz = a == nullptr ? 0 : std::int64_t{a->size()};
    const std::int64_t taken = a == nullptr ? checked_mul(rows, options.width) : nnz;
    require_offsets(taken);
    const bool spread = a != nullptr && options.slack_at_start; // its pool comes with its layout
    matrix m = without_pool(ctx, shape, options);
    m.state_.nnz = nnz;
    m.state_.used = taken;
    m.pool_ = spread ? pool_without_entries(ctx, nnz)
                     : make_pool(ctx, std::min(taken + taken / 4, most_entries));
    publish(m);
    if (spread) {
      set(ctx, m, a->rowptr().data(), nullptr, false);
      m.state_.unique = a->order().unique;
      dynamic_rows<T, I, O> from = rows_of(m);
      from.colind = const_cast<I*>(a->colind().data()); // read alone
      from.values = const_cast<T*>(a->values().data());
      return finished(ctx, laid_out(ctx, m, from, 0, {.slack = true}));
    }
    if (a != nullptr) {
      set(ctx, m, a->rowptr().data(), nullptr, true, [&] {
        copy(ctx, m.pool_->colind, a->colind().data(), nnz);
        copy(ctx, m.pool_->values, a->values().data(), nnz);
      });
      m.state_.unique = a->order().unique;
    } else {
      const host_context host;
      array<O> starts(host, rows + 1), sizes(host, rows);
      for (std::int64_t i = 0; i <= rows; ++i) starts[i] = static_cast<O>(i * options.width);
      std::fill(sizes.begin(), sizes.end(), O{0});
      const auto there = copy_to(ctx, std::as_const(starts).view());
      const auto empty = copy_to(ctx, std::as_const(sizes).view());
      set(ctx, m, there.data(), empty.data(), taken == 0);
      m.state_.unique = true;
    }
    return finished(ctx, std::move(m));
  }

  /// The table and the parts of the pool that are written to are not a snapshot's afterwards.
  static void own_table(const context<S>& ctx, matrix& m) {
    if (only_owner(m.table_)) return;
    resize_table(ctx, m, m.state_.extent.row, m.state_.pitch);
  }
  /// New rows have no segment.
  static void resize_table(const context<S>& ctx, matrix& m, std::int64_t rows,
                           std::int64_t pitch) {
    const std::int64_t before = m.state_.extent.row, old_pitch = m.state_.pitch;
    auto table = make_table(ctx, rows, m.options_.segments, pitch);
    for (int s = 0; s < m.options_.segments; ++s) {
      copy(ctx, table->begin, m.table_->begin.data() + s * old_pitch, before, s * pitch);
      copy(ctx, table->end, m.table_->end.data() + s * old_pitch, before, s * pitch);
    }
    if (m.state_.compact) copy(ctx, table->begin, m.table_->begin.data() + before, 1, before);
    copy(ctx, table->sizes, m.table_->sizes.data(), before);
    copy(ctx, table->room, m.table_->room.data(), before);
    copy(ctx, table->counts, m.table_->counts.data(), before);
    if (rows > before) {
      const host_context host;
      array<O> zeros(host, rows - before);
      array<std::uint8_t> none(host, rows - before);
      std::fill(zeros.begin(), zeros.end(), O{0});
      std::fill(none.begin(), none.end(), std::uint8_t{0});
      const auto put = [&](auto& to, const auto& from) {
        copy_bytes(ctx, to.data() + before, from.data(), from.bytes(), space::host);
      };
      put(table->begin, zeros); // products read where first segments are, also of rows without any
      put(table->end, zeros);
      put(table->sizes, zeros);
      put(table->room, zeros);
      put(table->counts, none);
      ctx.synchronize(); // the zeros go
    }
    m.table_ = std::move(table);
    m.state_.pitch = pitch;
    if (rows > before) m.state_.compact = false;
    m.state_.extent.row = static_cast<I>(rows);
    publish(m);
  }

  /// A larger pool with the same entries in the same places.
  static void grow(const context<S>& ctx, matrix& m, std::int64_t capacity) {
    auto pool = make_pool(ctx, capacity);
    copy(ctx, pool->colind, m.pool_->colind.data(), m.state_.used);
    copy(ctx, pool->values, m.pool_->values.data(), m.state_.used);
    copy(ctx, pool->mid_rows, m.pool_->mid_rows.data(), m.state_.mid_row_count);
    copy(ctx, pool->long_rows, m.pool_->long_rows.data(), m.state_.long_row_count);
    m.pool_ = std::move(pool);
    m.state_.tiles = {};
    publish(m);
  }
  /// What is published stays: readers may be asking for it.
  static void take(matrix& m, matrix&& next) {
    m.state_ = next.state_;
    m.table_ = std::move(next.table_);
    m.pool_ = std::move(next.pool_);
    m.segments_max_ = next.segments_max_;
    m.compactions_ = next.compactions_;
    m.bins_old_ = next.bins_old_;
  }
  static void compact(const context<S>& ctx, matrix& m, std::int64_t capacity,
                      const compact_options& layout = {}) {
    matrix next = laid_out(ctx, m, rows_of(m), capacity, layout);
    next.compactions_ = m.compactions_ + 1;
    take(m, std::move(next));
  }
  /// A copy of m, whose rows `from` shows, with one segment per row.
  static matrix laid_out(const context<S>& ctx, const matrix& m, const dynamic_rows<T, I, O>& from,
                         std::int64_t capacity, const compact_options& layout) {
    const std::int64_t rows = m.state_.extent.row;
    const bool plain = !layout.by_length && !layout.slack; // as a csr has them
    const segment_slack slack = layout.slack ? slack_of(m) : segment_slack{};
    const O* const sizes = m.table_->sizes.data();
    array<O, S> starts(ctx, rows + 1);
    std::int64_t taken = m.state_.nnz;
    if (plain)
      place(ctx, sizes, rows, starts.data());
    else
      taken = lay_rows_on<O, S>(ctx, sizes, rows, slack, layout.by_length, starts.data());
    require_offsets(taken);
    matrix next;
    next.options_ = m.options_;
    next.state_ = m.state_;
    next.state_.tiles = {};
    next.pool_ = make_pool(ctx, std::max(taken, capacity));
    next.table_ = make_table(ctx, rows, m.options_.segments, m.state_.pitch);
    publish(next);
    I* const colind = next.pool_->colind.data();
    T* const values = next.pool_->values.data();
    if (plain) {
      set(ctx, next, starts.data(), sizes, true,
          [&] { gather(ctx, from, starts.data(), colind, values, m.state_.nnz); });
    } else {
      scatter_rows_on<T, I, O, S>(ctx, from, starts.data(), colind, values, m.state_.nnz);
      set_at(ctx, next, starts.data(), sizes, slack);
      next.state_.compact = false;
    }
    next.state_.used = taken;
    next.segments_max_ = taken > 0 ? 1 : 0;
    return next;
  }
  /// For a batch that would need `needed` places: more than a third of the pool is free or left
  /// behind: it is compacted. Else it grows by half.
  static void make_room(const context<S>& ctx, matrix& m, std::int64_t needed) {
    const std::int64_t more = needed - m.state_.used;
    const std::int64_t after = m.state_.nnz + more;
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
  static void compact(const context<S>& ctx, matrix& m, const compact_options& options) {
    if (!options.merge || m.state_.unique) return compact(ctx, m, std::int64_t{0}, options);
    dynamic_csr_options plain = m.options_;
    plain.slack_at_start = false;
    matrix merged =
        take(ctx, merge_duplicates(ctx, dynamic_to_csr<T, I, O, S>(ctx, m.view())), plain);
    merged.options_ = m.options_;
    merged.compactions_ = m.compactions_;
    if (options.by_length || options.slack)
      compact(ctx, merged, std::int64_t{0}, options);
    else
      ++merged.compactions_;
    take(m, std::move(merged));
  }
  /// Lists of rows are made anew after entries were erased, so that a row that becomes long again
  /// is not listed twice, and where one is half full: what one batch adds fits the other half.
  static void trim_lists(const context<S>& ctx, matrix& m) requires(S == space::device) {
    if (!m.bins_old_ && m.state_.mid_row_count <= m.pool_->mid_rows.size() / 2 &&
        m.state_.long_row_count <= m.pool_->long_rows.size() / 2)
      return;
    if (!only_owner(m.pool_)) grow(ctx, m, m.capacity()); // a snapshot reads them
    list(ctx, m);
  }
  static void list(const context<S>& ctx, matrix& m) requires(S == space::device) {
    set_bins(m, gpu::list_rows<I, O>(ctx, m.table_->sizes.data(), m.state_.extent.row,
                                     m.pool_->mid_rows.data(), m.pool_->long_rows.data()));
  }
};

} // namespace lacuna::detail
