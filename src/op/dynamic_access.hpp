// Internal: what changes the entries of a dynamic CSR: batches, and what is erased or scaled. Its
// memory is op/dynamic_storage.hpp's; the engines do the rest (src/cpu/dynamic_csr.cpp,
// src/gpu/dynamic_csr*.cu).
#pragma once

#include "op/dynamic_storage.hpp"

namespace lacuna::detail {

template <class T, class I, class O, space S> struct dynamic_access : dynamic_storage<T, I, O, S> {
  using storage = dynamic_storage<T, I, O, S>;
  using matrix = typename storage::matrix;
  using storage::grow;
  using storage::make_pool;
  using storage::make_room;
  using storage::make_table;
  using storage::most_entries;
  using storage::own_table;
  using storage::pitch_for;
  using storage::publish;
  using storage::resize_table;
  using storage::rows_of;
  using storage::set_bins;
  using storage::slack_of;
  using storage::take;
  using storage::trim_lists;

  static batch_outcome apply(const context<S>& ctx, matrix& m, coo_view<const T, I, O, S> batch,
                             batch_rule rule) {
    const batch_limits limits{m.state_.used,
                              m.capacity(),
                              only_owner(m.pool_) ? 0 : m.frozen_,
                              slack_of(m),
                              {m.state_.mid_row_count, m.pool_->mid_rows.size()},
                              {m.state_.long_row_count, m.pool_->long_rows.size()}};
    if constexpr (S == space::host)
      return cpu::apply_batch<T, I, O>(ctx, rows_of(m), batch, rule, limits);
    else
      return gpu::apply_batch<T, I, O>(ctx, rows_of(m), batch, rule, limits);
  }
  /// A batch of so many entries is better merged with all of a compact matrix than put into its
  /// rows. H200, a million rows of ten entries: both take as long at a twentieth of the entries.
  static constexpr std::int64_t merge_share = 20, least_to_merge = 16384;
  static std::optional<batch_outcome> merge(const context<S>& ctx, matrix& m,
                                            coo_view<const T, I, O, S> batch,
                                            batch_rule rule) requires(S == space::device) {
    const std::int64_t n = batch.size(), nnz = m.state_.nnz;
    if (!m.state_.compact || rule == batch_rule::touch || n <= least_to_merge ||
        n < (nnz + m.state_.extent.row) / merge_share || n > most_entries - nnz)
      return {};
    matrix next;
    next.options_ = m.options_;
    next.state_ = m.state_;
    next.state_.tiles = {};
    try {
      const auto sorted = gpu::order_batch<T, I, O>(ctx, rows_of(m), batch);
      // The device sorts while memory is made.
      next.pool_ = make_pool(ctx, std::max(m.capacity(), nnz + n));
      next.table_ = make_table(ctx, m.state_.extent.row, m.options_.segments, m.state_.pitch);
      const auto outcome =
          gpu::merge_batch<T, I, O>(ctx, rows_of(m), nnz, batch, sorted, rule, rows_of(next));
      if (!outcome || outcome->outside >= 0) return outcome;
      set_bins(next, {outcome->mid_rows, outcome->long_rows});
      next.state_.nnz = next.state_.used = outcome->used;
      next.segments_max_ = 1;
      next.compactions_ = m.compactions_;
      publish(next);
      take(m, std::move(next));
      return outcome;
    } catch (const out_of_memory&) {
      return {}; // rows take less
    }
  }
  static batch_outcome apply_with_room(const context<S>& ctx, matrix& m,
                                       coo_view<const T, I, O, S> batch, batch_rule rule) {
    if constexpr (S == space::device)
      if (const auto outcome = merge(ctx, m, batch, rule)) return *outcome;
    own_table(ctx, m);
    for (;;) {
      if constexpr (S == space::device) trim_lists(ctx, m);
      const batch_outcome outcome = apply(ctx, m, batch, rule);
      if (outcome.outside >= 0 || outcome.used <= m.capacity()) {
        if (outcome.outside >= 0) return outcome;
        if (outcome.used != m.state_.used || outcome.inserted > 0) m.state_.compact = false;
        m.state_.used = outcome.used;
        m.state_.nnz += outcome.inserted;
        m.state_.mid_row_count = outcome.mid_rows;
        m.state_.long_row_count = outcome.long_rows;
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
                                what, k, row[0], col[0], m.state_.extent.row, m.state_.extent.col));
  }
  static update_counts insert(const context<S>& ctx, matrix& m, coo_view<const T, I, O, S> batch,
                              const insert_options& options) {
    const index<I> before = m.state_.extent;
    if (options.outside == outside::grow) {
      const index<I> shape(std::max(before.row, batch.shape().row),
                           std::max(before.col, batch.shape().col));
      if (shape.row > before.row) {
        dynamic_csr_options o = m.options_;
        o.pitch = 0;
        // Rows that come one batch after the other are foreseen: the table grows by a half.
        const std::int64_t most = std::max<std::int64_t>(shape.row, before.row + before.row / 2);
        resize_table(ctx, m, shape.row,
                     shape.row < m.state_.pitch ? m.state_.pitch : pitch_for(most, o));
      }
      m.state_.extent.col = shape.col;
    }
    if (batch.size() == 0) return {};
    try {
      const auto rule = static_cast<batch_rule>(options.existing);
      const batch_outcome outcome = apply_with_room(ctx, m, batch, rule);
      if (outcome.outside >= 0) throw_outside("insert", m, batch, outcome.outside);
      if (options.existing == existing::append) m.state_.unique = false;
      return {outcome.inserted, outcome.changed, 0};
    } catch (...) {
      m.state_.extent = before; // rows that were added have no entries
      throw;
    }
  }
  /// After so many entries have gone.
  static update_counts take_out(matrix& m, std::int64_t erased) {
    m.state_.nnz -= erased;
    if (erased > 0) m.state_.compact = false;
    if (erased > 0 && m.state_.mid_row_count > 0) m.bins_old_ = true;
    return {0, 0, erased};
  }
  static update_counts erase(const context<S>& ctx, matrix& m, coo_view<const T, I, O, S> batch) {
    if (batch.size() == 0) return {};
    own_table(ctx, m);
    batch_outcome outcome;
    // Rows of a snapshot are copied first.
    if (!only_owner(m.pool_)) outcome = apply_with_room(ctx, m, batch, batch_rule::touch);
    if (outcome.outside < 0) {
      if constexpr (S == space::host)
        outcome = cpu::erase_batch<T, I, O>(ctx, rows_of(m), batch, m.state_.used);
      else
        outcome = gpu::erase_batch<T, I, O>(ctx, rows_of(m), batch, m.state_.used);
    }
    if (outcome.outside >= 0) throw_outside("erase", m, batch, outcome.outside);
    return take_out(m, outcome.changed);
  }
  /// Returns the list, on the host.
  static array<I> require_inside(const char* what, vector_view<const I, S> list,
                                 std::int64_t limit) {
    const host_context host;
    auto copy = copy_to(host, list);
    for (std::int64_t k = 0; k < copy.size(); ++k)
      if (copy[k] < 0 || copy[k] >= limit)
        throw bad_input(
            fmt::format("{}: {} at place {} is outside of [0, {})", what, copy[k], k, limit));
    return copy;
  }
  /// All entries may be written to: they are no snapshot's.
  static void own_all(const context<S>& ctx, matrix& m) {
    own_table(ctx, m);
    if (!only_owner(m.pool_)) grow(ctx, m, m.capacity());
  }
  static update_counts erase_rows(const context<S>& ctx, matrix& m, vector_view<const I, S> rows) {
    require_inside("erase_rows", rows, m.state_.extent.row);
    own_table(ctx, m);
    return empty_rows(ctx, m, rows);
  }
  /// Their places stay as they are, and are nobody's.
  static update_counts empty_rows(const context<S>& ctx, matrix& m, vector_view<const I, S> rows) {
    if constexpr (S == space::host)
      return take_out(m, cpu::erase_rows<T, I, O>(ctx, rows_of(m), rows));
    else
      return take_out(m, gpu::erase_rows<T, I, O>(ctx, rows_of(m), rows));
  }
  static update_counts erase_columns(const context<S>& ctx, matrix& m,
                                     vector_view<const I, S> columns) {
    require_inside("erase_columns", columns, m.state_.extent.col);
    own_all(ctx, m);
    if constexpr (S == space::host)
      return take_out(m, cpu::erase_columns<T, I, O>(ctx, rows_of(m), columns));
    else
      return take_out(m, gpu::erase_columns<T, I, O>(ctx, rows_of(m), columns));
  }
  static update_counts erase_vertices(const context<S>& ctx, matrix& m,
                                      vector_view<const I, S> vertices) {
    if (m.state_.extent.row != m.state_.extent.col)
      throw bad_input(fmt::format("erase_vertices: a graph's matrix is square, not {} x {}",
                                  m.state_.extent.row, m.state_.extent.col));
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
    if (factors.size() != m.state_.extent.row)
      throw size_mismatch(
          fmt::format("scale_rows: {} factors for {} rows", factors.size(), m.state_.extent.row));
    own_all(ctx, m);
    if constexpr (S == space::host)
      cpu::scale_rows<T, I, O>(ctx, rows_of(m), factors);
    else
      gpu::scale_rows<T, I, O>(ctx, rows_of(m), factors);
  }
};

} // namespace lacuna::detail
