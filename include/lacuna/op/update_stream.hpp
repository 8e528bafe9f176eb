// Single changes of a dynamic matrix, collected on the host and put in as batches.
//
//   update_stream s(ctx, m, {.batch = 65536});
//   s.insert(i, j, value);
//   s.erase(i, j);
//   s.flush();                      what is left; only then does m hold all of it
//
// The outcome is that of the changes one after the other: an entry that is erased and inserted
// again has what was inserted last. Inserts of one entry within a batch are combined first, in
// their order (see insert). A batch of both kinds goes in as two: what is erased, then what was
// inserted after that; so it costs two batches, however often they alternate.
#pragma once

#include <algorithm>

#include <lacuna/op/update.hpp>

namespace lacuna {

struct update_stream_options {
  std::int64_t batch = 65536; ///< changes that are put in at once
  lacuna::existing existing = lacuna::existing::add;
  lacuna::outside outside = lacuna::outside::error;
};

/// Holds `batch` changes in host memory; a device gets a copy. Refers to the matrix, which must not
/// move; other changes of it take effect before those that are collected. For one thread.
///
/// The destructor drops what was not flushed: putting it in may fail, and a destructor cannot say
/// so.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class update_stream {
public:
  /// Throws bad_input if options.batch is below 1, out_of_memory.
  update_stream(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                const update_stream_options& options = {})
      : ctx_(ctx), m_(m), options_(options) {
    if (options.batch < 1)
      throw bad_input("update_stream: a batch has at least 1 change, not " +
                      std::to_string(options.batch));
    const host_context host;
    rows_ = array<I>(host, options.batch);
    cols_ = array<I>(host, options.batch);
    values_ = array<T>(host, options.batch);
    erases_ = array<char>(host, options.batch);
  }
  update_stream(const update_stream&) = delete;
  update_stream& operator=(const update_stream&) = delete;

  /// m(row, col) gets `value` by options.existing. O(1), but every `batch` changes it flushes.
  /// Throws bad_input if it is outside of m, unless outside::grow; then, and if flushing fails, the
  /// change is not collected.
  void insert(std::int64_t row, std::int64_t col, T value) {
    require("insert", row, col, options_.outside == outside::grow);
    collect(row, col, value, false);
  }
  /// Takes an entry out, if it is there. Like insert; throws bad_input if it is outside of m and of
  /// what was inserted.
  void erase(std::int64_t row, std::int64_t col) {
    require("erase", row, col, false);
    collect(row, col, T{0}, true);
  }
  /// Puts in what is collected. Where it throws, what m does not have yet stays collected, and
  /// flush() may be called again. Device: waits.
  void flush() {
    if (erase_count_ > 0) flush_erases();
    if (size_ == 0) return;
    const coo_view<const T, I, O> batch(values_.data(), rows_.data(), cols_.data(), grown_, size_);
    count(put(batch, [&](auto view) {
      return lacuna::insert(ctx_, m_, view, {options_.existing, options_.outside});
    }));
    size_ = 0;
  }

  /// Changes that are collected, and not in the matrix.
  [[nodiscard]] std::int64_t pending() const { return size_; }
  /// Of all batches so far.
  [[nodiscard]] const update_counts& counts() const { return counts_; }

private:
  /// The matrix's shape after what is collected.
  index<I> shape() const {
    return {std::max(grown_.row, m_.shape().row), std::max(grown_.col, m_.shape().col)};
  }
  void require(const char* what, std::int64_t row, std::int64_t col, bool grows) const {
    const index<I> most(std::numeric_limits<I>::max(), std::numeric_limits<I>::max());
    const index<I> limit = grows ? most : shape();
    if (row >= 0 && row < limit.row && col >= 0 && col < limit.col) return;
    throw bad_input("update_stream: " + std::string(what) + " at (" + std::to_string(row) + ", " +
                    std::to_string(col) + ") is outside of " + std::to_string(limit.row) + " x " +
                    std::to_string(limit.col));
  }
  void collect(std::int64_t row, std::int64_t col, T value, bool erases) {
    if (size_ == options_.batch) flush();
    rows_[size_] = static_cast<I>(row);
    cols_[size_] = static_cast<I>(col);
    values_[size_] = value;
    erases_[size_++] = erases ? 1 : 0;
    erase_count_ += erases ? 1 : 0;
    if (!erases)
      grown_ = {std::max(grown_.row, static_cast<I>(row + 1)),
                std::max(grown_.col, static_cast<I>(col + 1))};
  }
  /// Erases first: what they take out of the matrix, and of the inserts before them. Then only
  /// inserts are left.
  void flush_erases() {
    const host_context host;
    array<std::int64_t> order(host, erase_count_);
    array<I> rows(host, erase_count_), cols(host, erase_count_);
    std::int64_t n = 0, inside = 0;
    for (std::int64_t k = 0; k < size_; ++k) {
      if (erases_[k] == 0) continue;
      order[n++] = k;
      if (rows_[k] >= m_.shape().row || cols_[k] >= m_.shape().col) continue;
      rows[inside] = rows_[k];
      cols[inside++] = cols_[k];
    }
    const auto before = [&](std::int64_t a, std::int64_t b) {
      return std::tuple(rows_[a], cols_[a], a) < std::tuple(rows_[b], cols_[b], b);
    };
    std::sort(order.begin(), order.end(), before);
    const coo_view<const T, I, O> batch(values_.data(), rows.data(), cols.data(), m_.shape(),
                                        inside);
    if (inside > 0) count(put(batch, [&](auto view) { return lacuna::erase(ctx_, m_, view); }));
    // Inserts that no later change erases stay, in their order.
    const auto is_erased = [&](std::int64_t k) {
      const std::int64_t* const next = std::upper_bound(order.begin(), order.end(), k, before);
      return next != order.end() && rows_[*next] == rows_[k] && cols_[*next] == cols_[k];
    };
    for (std::int64_t k = 0; k < size_; ++k)
      if (erases_[k] == 0 && is_erased(k)) erases_[k] = 2;
    std::int64_t kept = 0;
    for (std::int64_t k = 0; k < size_; ++k) {
      if (erases_[k] != 0) continue;
      rows_[kept] = rows_[k];
      cols_[kept] = cols_[k];
      values_[kept] = values_[k];
      erases_[kept++] = 0;
    }
    size_ = kept;
    erase_count_ = 0;
  }
  /// f with the batch in the matrix's space.
  template <class F> update_counts put(coo_view<const T, I, O> batch, F f) {
    if constexpr (S == space::host) {
      return f(batch);
    } else {
      const auto there = copy_to(ctx_, batch);
      return f(there.view());
    }
  }
  void count(const update_counts& c) {
    counts_.inserted += c.inserted;
    counts_.changed += c.changed;
    counts_.erased += c.erased;
  }

  context<S> ctx_;
  dynamic_csr<T, I, O, S>& m_;
  update_stream_options options_;
  array<I> rows_, cols_;
  array<T> values_;
  array<char> erases_; ///< 0: inserts
  std::int64_t size_ = 0, erase_count_ = 0;
  index<I> grown_{}; ///< that inserts need
  update_counts counts_;
};

} // namespace lacuna
