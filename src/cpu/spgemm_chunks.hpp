// Internal: where one-pass SpGEMM leaves rows until C's size is known.
#pragma once

#include <vector>

#include "cpu/spgemm_units.hpp"

namespace lacuna::detail::cpu {

/// Bytes that all threads' chunks may take together.
class chunk_budget {
public:
  explicit chunk_budget(std::size_t bytes) : left_(static_cast<std::int64_t>(bytes)) {}
  bool take(std::int64_t bytes) { return left_.fetch_sub(bytes) >= bytes; }

private:
  std::atomic<std::int64_t> left_;
};
/// The budget is spent: count first, then fill.
struct chunks_full {};

/// A thread's rows one behind the other, in memory that grows by chunks, each twice the last.
template <class T, class I> class row_chunks {
public:
  struct chunk {
    array<I> col;
    array<T> value;
    std::int64_t used = 0;
  };

  /// Room for so many entries in one piece. Throws out_of_memory, chunks_full.
  row_place<T, I> add(const host_context& ctx, chunk_budget& budget, std::int64_t first_size,
                      std::int64_t entries) {
    if (chunks_.empty() || chunks_.back().used + entries > chunks_.back().col.size())
      grow(ctx, budget, first_size, entries);
    chunk& c = chunks_.back();
    const std::int64_t at = c.used;
    c.used += entries;
    return {c.col.data() + at, c.value.data() + at};
  }
  /// Where the next entry will be, unless it opens a chunk.
  void mark(spgemm_unit& u) const {
    u.chunk = chunks_.empty() ? 0 : static_cast<std::int64_t>(chunks_.size()) - 1;
    u.offset = chunks_.empty() ? 0 : chunks_.back().used;
  }
  /// Copies the entries of a unit to their place in C.
  void copy(const spgemm_unit& u, I* col, T* value) const {
    std::int64_t left = u.entries, offset = u.offset;
    for (auto at = static_cast<std::size_t>(u.chunk); left > 0; ++at, offset = 0) {
      const chunk& c = chunks_[at];
      const std::int64_t count = std::min(left, c.used - offset);
      col = std::copy_n(c.col.data() + offset, count, col);
      value = std::copy_n(c.value.data() + offset, count, value);
      left -= count;
    }
  }

private:
  static constexpr std::int64_t largest_chunk = std::int64_t{1} << 24; ///< entries

  void grow(const host_context& ctx, chunk_budget& budget, std::int64_t first_size,
            std::int64_t entries) {
    const std::int64_t size =
        std::max(entries, chunks_.empty() ? first_size
                                          : std::min(largest_chunk, 2 * chunks_.back().col.size()));
    if (!budget.take(checked_mul(size, sizeof(I) + sizeof(T)))) throw chunks_full{};
    chunk c;
    c.col = array<I>(ctx, size);
    c.value = array<T>(ctx, size);
    chunks_.push_back(std::move(c));
  }

  std::vector<chunk> chunks_;
};

} // namespace lacuna::detail::cpu
