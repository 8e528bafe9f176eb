// Internal: a leaf of the lowest level as panels: neighbouring rows that have the same columns,
// whose values are a dense matrix without gaps. What the product of two trees multiplies.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>

#include "cpu/block_tree_frame.hpp"
#include "cpu/block_tree_product_kernels.hpp"

namespace lacuna::detail::cpu {

/// Panels of one leaf after the other. Values and columns stay where they are if the leaf is taken
/// as it is stored; transposed ones, masked ones and those with a factor are copied.
template <class T> class panel_store {
public:
  panel_store() = default;
  /// Room for so many entries, twice those of leaves that are appended transposed, and panels.
  panel_store(const host_context& ctx, std::int64_t entries, std::int64_t panels)
      : columns_(ctx, entries), values_(ctx, entries), panels_(ctx, panels) {
    std::iota(every_column_, every_column_ + 256, std::uint8_t{0});
  }
  panel_store(const panel_store&) = delete;
  panel_store& operator=(const panel_store&) = delete;

  void clear() { entries_ = count_ = 0; }
  [[nodiscard]] std::int64_t size() const { return count_; }
  [[nodiscard]] leaf_panel<T>* data() { return panels_.data(); }

  /// The leaf has `rows` and `cols` as it is stored.
  void append(const unsigned char* leaf, std::uint64_t node, std::int64_t rows, std::int64_t cols,
              bool transposed, T factor) {
    const std::int64_t first = count_;
    if (transposed)
      append_transposed(leaf, node, rows, cols);
    else
      append_plain(leaf, node, rows, cols);
    if (factor == T{1}) return;
    for (std::int64_t p = first; p < count_; ++p) {
      leaf_panel<T>& panel = panels_[p];
      const std::int64_t size = std::int64_t{panel.rows} * panel.cols;
      // Those that were copied are changed in place.
      const bool mine = panel.values >= values_.data() && panel.values < values_.end();
      T* const to = values_.data() + (mine ? panel.values - values_.data() : entries_);
      if (!mine) entries_ += size;
      for (std::int64_t k = 0; k < size; ++k) to[k] = factor * panel.values[k];
      panel.values = to;
    }
  }

private:
  /// A row behind the last panel, or one more of it.
  void add_row(std::int64_t row, std::int64_t cols, const std::uint8_t* columns, const T* values) {
    if (open_) {
      leaf_panel<T>& last = panels_[count_ - 1];
      if (last.row + last.rows == row && last.cols == cols &&
          std::memcmp(last.columns, columns, static_cast<std::size_t>(cols)) == 0) {
        ++last.rows;
        return;
      }
    }
    open_ = true;
    panels_[count_++] = {static_cast<std::int32_t>(row), 1, static_cast<std::int32_t>(cols),
                         columns, values};
  }
  void append_plain(const unsigned char* leaf, std::uint64_t node, std::int64_t rows,
                    std::int64_t cols) {
    open_ = false;
    const tree_node type = type_of(node);
    if (type == tree_node::dense) {
      panels_[count_++] = {0, static_cast<std::int32_t>(rows), static_cast<std::int32_t>(cols),
                           every_column_, reinterpret_cast<const T*>(leaf)};
      return;
    }
    if (type == tree_node::rows) {
      const auto l = lists_of<std::uint8_t, const T>(leaf, node);
      for (std::int64_t run = 0, k = 0; run < l.runs; ++run) {
        const std::int64_t count = std::int64_t{l.lengths[run]} + 1;
        add_row(l.first[run], count, l.columns + k, l.values + k);
        k += count;
      }
      return;
    }
    // Columns of lists lie among rows, values of masked leaves among zeros.
    std::int64_t at = -1, first = entries_;
    const auto close = [&] {
      if (entries_ > first)
        add_row(at, entries_ - first, columns_.data() + first, values_.data() + first);
    };
    for_each_entry<const T>(leaf - place_of(node), node, rows, cols,
                            [&](std::int64_t r, std::int64_t c, const T& value) {
                              if (r != at) {
                                close();
                                first = entries_;
                                at = r;
                              }
                              columns_[entries_] = static_cast<std::uint8_t>(c);
                              values_[entries_++] = value;
                            });
    close();
  }
  /// Panels as they are stored first; then, by counting their columns, each is turned round.
  void append_transposed(const unsigned char* leaf, std::uint64_t node, std::int64_t rows,
                         std::int64_t cols) {
    const std::int64_t first = count_;
    append_plain(leaf, node, rows, cols);
    std::int32_t next[257] = {};
    for (std::int64_t p = first; p < count_; ++p)
      for (std::int32_t q = 0; q < panels_[p].cols; ++q)
        next[panels_[p].columns[q] + 1] += panels_[p].rows;
    for (int c = 0; c < 256; ++c) next[c + 1] += next[c];
    std::uint8_t* const columns = columns_.data() + entries_;
    T* const values = values_.data() + entries_;
    for (std::int64_t p = first; p < count_; ++p) {
      const leaf_panel<T> panel = panels_[p]; // bytes that are written may be anything's
      const std::int32_t height = panel.rows;
      const std::int64_t stride = panel.cols;
      for (std::int64_t q = 0; q < stride; ++q) {
        const std::int32_t at = next[panel.columns[q]];
        next[panel.columns[q]] = at + height;
        const T* const from = panel.values + q;
        T* const to = values + at;
        std::uint8_t* const line = columns + at;
        for (std::int32_t r = 0; r < height; ++r) to[r] = from[r * stride];
        for (std::int32_t r = 0; r < height; ++r)
          line[r] = static_cast<std::uint8_t>(panel.row + r);
      }
    }
    count_ = first;
    open_ = false;
    for (std::int32_t c = 0, k = 0; c < 256; k = next[c++]) // next is where the line ends now
      if (next[c] > k) add_row(c, next[c] - k, columns + k, values + k);
    entries_ += next[255];
  }

  std::uint8_t every_column_[256];
  array<std::uint8_t> columns_;
  array<T> values_;
  array<leaf_panel<T>> panels_;
  std::int64_t entries_ = 0, count_ = 0;
  bool open_ = false; ///< whether the last panel is of the leaf in work
};

/// What a row of B is found by: the panel it is in, and of each panel where its columns lie.
template <class T> class panel_index {
public:
  panel_index() = default;
  /// block: d.
  panel_index(const host_context& ctx, std::int64_t block)
      : segments_(ctx, (block / 2 + 1) * block) {}

  panel_rows<T> of(leaf_panel<T>* panels, std::int64_t count) {
    std::fill_n(panel_of_, 256, no_panel);
    std::int32_t at = 0;
    for (std::int64_t p = 0; p < count; ++p) {
      leaf_panel<T>& panel = panels[p];
      std::fill_n(panel_of_ + panel.row, panel.rows, static_cast<std::uint16_t>(p));
      panel.segment = at;
      std::fill_n(panel.mask, 4, std::uint64_t{0});
      for (std::int32_t k = 0; k < panel.cols;) {
        std::int32_t end = k + 1;
        if (panel.columns[panel.cols - 1] - panel.columns[k] == panel.cols - 1 - k)
          end = panel.cols;
        while (end < panel.cols && panel.columns[end] == panel.columns[end - 1] + 1) ++end;
        segments_[at++] = {panel.columns[k], static_cast<std::uint16_t>(end - k),
                           static_cast<std::uint16_t>(k)};
        mark(panel.mask, panel.columns[k], end - k);
        k = end;
      }
      panel.segments = at - panel.segment;
    }
    return {panels, segments_.data(), panel_of_};
  }

private:
  static void mark(std::uint64_t* mask, int first, int count) {
    for (int end = first + count; first < end;) {
      const int bits = std::min(64 - first % 64, end - first);
      mask[first / 64] |= (bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1)
                          << (first % 64);
      first += bits;
    }
  }
  std::uint16_t panel_of_[256];
  array<column_segment> segments_;
};

} // namespace lacuna::detail::cpu
