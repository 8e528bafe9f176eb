// Internal: a dense block of sums that becomes a leaf, and where such leaves wait for their tree.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "cpu/block_tree_frame.hpp"
#include "cpu/block_tree_product_kernels.hpp"

namespace lacuna::detail::cpu {

/// Bytes in chunks, which do not move.
class leaf_chunks {
public:
  explicit leaf_chunks(const host_context& ctx) : ctx_(ctx) {}
  /// bytes: a multiple of 16. Throws out_of_memory.
  unsigned char* room(std::int64_t bytes) {
    if (chunks_.empty() || used_ + bytes > 16 * chunks_.back().size()) {
      // The first is small, as C may be; the others have sizes that are kept when they are freed.
      const int doubled = std::min(static_cast<int>(chunks_.size()) - 1, 8);
      const std::int64_t size = std::int64_t{1} << (doubled < 0 ? 16 : 22 + doubled);
      chunks_.emplace_back(ctx_, std::max(size, bytes) / 16);
      used_ = 0;
    }
    unsigned char* const at = reinterpret_cast<unsigned char*>(chunks_.back().data()) + used_;
    used_ += bytes;
    return at;
  }

private:
  host_context ctx_;
  std::vector<array<tree_unit>> chunks_;
  std::int64_t used_ = 0;
};

/// Leaves as they are found.
template <class I> class leaf_list {
public:
  explicit leaf_list(const host_context& ctx) : ctx_(ctx) {}
  void push_back(const tree_leaf<I>& leaf) {
    if (count_ == leaves_.size()) {
      array<tree_leaf<I>> more(ctx_, std::max<std::int64_t>(64, 2 * count_));
      std::copy_n(leaves_.data(), count_, more.data());
      leaves_ = std::move(more);
    }
    leaves_[count_++] = leaf;
  }
  [[nodiscard]] std::int64_t size() const { return count_; }
  /// Returns where the next goes.
  std::int64_t copy_to(tree_leaf<I>* to, std::int64_t at) const {
    std::copy_n(leaves_.data(), count_, to + at);
    return at + count_;
  }

private:
  host_context ctx_;
  array<tree_leaf<I>> leaves_;
  std::int64_t count_ = 0;
};

/// Leaves whose bytes wait in a chunk: `from` is where.
inline std::int64_t place_of_bytes(const unsigned char* at) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at));
}
template <class I> const unsigned char* bytes_of(const tree_leaf<I>& leaf) {
  return reinterpret_cast<const unsigned char*>(static_cast<std::uintptr_t>(leaf.from));
}

/// Sums of d x d places, and which of them are entries. Sums begin as -0, which changes no bit of
/// what is added.
template <class T> class block_tile {
public:
  block_tile(const host_context& ctx, std::int64_t block)
      : words_(static_cast<int>((block + 63) / 64)),
        stride_(block + 8), // rows a power of two apart would meet in few sets of a cache
        sums_(ctx, block * stride_ + tile_padding), masks_(ctx, 4 * block) {
    std::fill(sums_.begin(), sums_.end(), T{-0.0});
    std::fill(masks_.begin(), masks_.end(), std::uint64_t{0});
  }
  void add(const leaf_panel<T>* a, std::int64_t count, const panel_rows<T>& b) {
    kernels_.multiply(a, count, b, sums_.data(), stride_, masks_.data());
  }
  /// What was added, with rows and columns exchanged; `to` must be empty.
  void copy_transposed(std::int64_t rows, block_tile& to) const {
    for (std::int64_t r = 0; r < rows; ++r)
      for_each_run(r, [&](int first, int count) {
        for (int c = first; c < first + count; ++c) {
          to.sums_[c * stride_ + r] = sums_[r * stride_ + c];
          to.masks_[4 * c + r / 64] |= std::uint64_t{1} << (r % 64);
        }
      });
  }
  /// The leaf that what was added becomes, none if there are no entries; rows, cols: how far it
  /// reaches inside of the matrix. Its place, and where its bytes go, are the caller's.
  template <class I> tree_leaf<I> measure(std::int64_t rows, std::int64_t cols) const {
    tree_leaf<I> leaf{0, 0, 0, tree_node::none, 0, 0, 0, 0};
    for (std::int64_t r = 0; r < rows; ++r) {
      std::int64_t in_row = 0;
      for (int w = 0; w < words_; ++w)
        if (masks_[4 * r + w] != 0) in_row += std::popcount(masks_[4 * r + w]);
      leaf.entries += in_row;
      leaf.runs += in_row > 0 ? 1 : 0;
    }
    if (leaf.entries == 0) return leaf;
    const leaf_choice choice =
        smallest_leaf(sizeof(T), leaf.entries, leaf.runs, masks_.size() / 4, true, rows, cols);
    leaf.type = choice.type;
    leaf.bytes = choice.bytes;
    return leaf;
  }
  /// All bytes of that leaf; the tile is empty again.
  template <class I>
  void take(const tree_leaf<I>& leaf, std::int64_t rows, std::int64_t cols, unsigned char* at) {
    start_leaf<T>(leaf, at);
    if (leaf.type == tree_node::dense || leaf.type == tree_node::masked)
      write_dense(leaf.type, rows, cols, at);
    else
      write_lists(tree_pointer(leaf.type, 0, leaf.entries), rows, at);
    clear(rows);
  }

private:
  /// Calls f(first, count) for runs of columns of a row.
  template <class F> void for_each_run(std::int64_t row, F f) const {
    for (int w = 0; w < words_; ++w)
      for (std::uint64_t bits = masks_[4 * row + w]; bits != 0;) {
        const int first = std::countr_zero(bits), count = std::countr_one(bits >> first);
        f(64 * w + first, count);
        bits = first + count == 64 ? 0 : bits >> (first + count) << (first + count);
      }
  }
  void write_dense(tree_node type, std::int64_t rows, std::int64_t cols, unsigned char* at) const {
    T* const values = reinterpret_cast<T*>(at);
    unsigned char* const mask = at + rows * cols * static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t r = 0; r < rows; ++r)
      for_each_run(r, [&](int first, int count) {
        std::copy_n(sums_.data() + r * stride_ + first, count, values + r * cols + first);
        if (type == tree_node::dense) return;
        for (std::int64_t k = r * cols + first; k < r * cols + first + count; ++k)
          mask[k / 8] = static_cast<unsigned char>(mask[k / 8] | 1U << (k % 8));
      });
  }
  void write_lists(std::uint64_t node, std::int64_t rows, unsigned char* at) const {
    const auto l = lists_of<std::uint8_t, T>(at, node);
    const bool by_rows = is_rows(type_of(node));
    std::int64_t k = 0, run = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t begin = k;
      for_each_run(r, [&](int first, int count) {
        std::copy_n(sums_.data() + r * stride_ + first, count, l.values + k);
        if (by_rows) {
          for (int i = 0; i < count; ++i) l.columns[k + i] = static_cast<std::uint8_t>(first + i);
        } else {
          for (int i = 0; i < count; ++i) {
            l.first[2 * (k + i)] = static_cast<std::uint8_t>(r);
            l.first[2 * (k + i) + 1] = static_cast<std::uint8_t>(first + i);
          }
        }
        k += count;
      });
      if (k == begin || !by_rows) continue;
      l.first[run] = static_cast<std::uint8_t>(r);
      l.lengths[run++] = static_cast<std::uint8_t>(k - begin - 1);
    }
  }
  void clear(std::int64_t rows) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for_each_run(r, [&](int first, int count) {
        std::fill_n(sums_.data() + r * stride_ + first, count, T{-0.0});
      });
      std::fill_n(masks_.data() + 4 * r, 4, std::uint64_t{0});
    }
  }

  const tree_product_kernels<T>& kernels_ = best_tree_product_kernels<T>();
  int words_; ///< of a row's mask that are in use, of four
  std::int64_t stride_;
  array<T> sums_;
  array<std::uint64_t> masks_;
};

} // namespace lacuna::detail::cpu
