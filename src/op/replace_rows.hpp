// Internal: rows of a dynamic CSR become those of a CSR matrix, all or none of them. They are
// emptied, then filled like any others by a batch; if that fails they get their segments back,
// which nothing has written to.
#pragma once

#include <fmt/format.h>

#include "op/dynamic_rows.hpp"
#include <lacuna/op/update.hpp>

namespace lacuna::detail {

/// Size, free places and segments of some rows.
template <class I, class O> class kept_rows {
public:
  using table = dynamic_table<I, O, space::host>;

  kept_rows(const host_context& ctx, const table& t, vector_view<const I> rows)
      : rows_(rows), sizes_(ctx, rows.size()), room_(ctx, rows.size()), counts_(ctx, rows.size()) {
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      sizes_[i] = t.sizes[rows[i]];
      room_[i] = t.room[rows[i]];
      counts_[i] = t.counts[rows[i]];
    }
  }
  void put_back(table& t) const {
    for (std::int64_t i = 0; i < rows_.size(); ++i) {
      t.sizes[rows_[i]] = sizes_[i];
      t.room[rows_[i]] = room_[i];
      t.counts[rows_[i]] = counts_[i];
    }
  }

private:
  vector_view<const I> rows_;
  array<O> sizes_, room_;
  array<std::uint8_t> counts_;
};

template <class T, class I, class O, space S> struct row_replacement {
  using access = dynamic_access<T, I, O, S>;
  using matrix = dynamic_csr<T, I, O, S>;

  static update_counts replace(const context<S>& ctx, matrix& m, vector_view<const I, S> rows,
                               const csr<T, I, O, S>& b) {
    check(m, rows, b);
    auto entries = to_coo(ctx, b);
    if constexpr (S == space::host)
      cpu::rename_rows<I>(ctx, rows, entries.rowind());
    else
      gpu::rename_rows<I>(ctx, rows, entries.rowind());
    const coo_view<const T, I, O, S> batch = std::as_const(entries).view();
    if constexpr (S == space::host) {
      // The batch will find the room it needs, so all that can fail is its scratch.
      access::own_table(ctx, m);
      make_room(ctx, m, b.rowptr());
      const auto state = m.state_;
      const kept_rows<I, O> kept(ctx, *m.table_, rows);
      return fill(ctx, m, rows, batch, [&] {
        kept.put_back(*m.table_);
        m.state_ = state;
      });
    } else { // a copy of the table takes microseconds
      matrix before;
      before.state_ = m.state_;
      before.table_ = m.table_;
      before.pool_ = m.pool_;
      before.segments_max_ = m.segments_max_;
      before.compactions_ = m.compactions_;
      before.bins_old_ = m.bins_old_;
      access::own_table(ctx, m);
      return fill(ctx, m, rows, batch, [&] { access::take(m, std::move(before)); });
    }
  }

private:
  static void check(const matrix& m, vector_view<const I, S> rows, const csr<T, I, O, S>& b) {
    const index<I> shape = m.shape();
    if (b.shape().row != rows.size() || b.shape().col != shape.col)
      throw size_mismatch(
          fmt::format("replace_rows: a matrix of {} x {} for {} rows of one of {} x {}",
                      b.shape().row, b.shape().col, rows.size(), shape.row, shape.col));
    auto list = access::require_inside("replace_rows", rows, shape.row);
    std::sort(list.begin(), list.end());
    const I* const twice = std::adjacent_find(list.begin(), list.end());
    if (twice != list.end())
      throw bad_input(fmt::format("replace_rows: row {} is given twice", *twice));
  }
  /// For new rows of these lengths.
  static void make_room(const context<S>& ctx, matrix& m, vector_view<const O> rowptr) {
    const segment_slack slack = access::slack_of(m);
    std::int64_t needed = m.used();
    for (std::int64_t i = 0; i + 1 < rowptr.size(); ++i) {
      const std::int64_t size = rowptr[i + 1] - rowptr[i];
      if (size > 0) needed += size + slack.of(size, size);
    }
    if (needed > m.capacity()) access::make_room(ctx, m, needed);
  }
  template <class Undo>
  static update_counts fill(const context<S>& ctx, matrix& m, vector_view<const I, S> rows,
                            coo_view<const T, I, O, S> batch, Undo undo) {
    try {
      const update_counts gone = access::empty_rows(ctx, m, rows);
      if (batch.size() == 0) return gone;
      const batch_outcome outcome = access::apply_with_room(ctx, m, batch, batch_rule::add);
      if (outcome.outside >= 0) access::throw_outside("replace_rows", m, batch, outcome.outside);
      return {outcome.inserted, 0, gone.erased};
    } catch (...) {
      undo();
      throw;
    }
  }
};

} // namespace lacuna::detail
