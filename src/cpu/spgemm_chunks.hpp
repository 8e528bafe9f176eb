// Internal: where one-pass SpGEMM leaves rows until C's size is known.
#pragma once

#include <atomic>
#include <vector>

#include <lacuna/core/checked.hpp>

#include "cpu/spgemm_units.hpp"

namespace lacuna::detail::cpu {

/// The chunks have no more room: the units that are left are counted first, then filled.
struct chunks_full {};

/// What all threads' chunks may take together. Entries in chunks are written, copied, and take
/// memory twice, which costs more than to count them first where few of their products coincide:
/// chunks take `few` bytes then. Products and entries so far tell.
class chunk_budget {
public:
  chunk_budget(std::size_t bytes, std::size_t few)
      : most_(static_cast<std::int64_t>(bytes)), few_(static_cast<std::int64_t>(few)) {}
  bool take(std::int64_t bytes) {
    const std::int64_t taken = taken_.fetch_add(bytes) + bytes;
    return taken <= most_ && (taken <= few_ || products_ > 2 * entries_);
  }
  /// A unit is made.
  void note(std::int64_t products, std::int64_t entries) {
    products_ += products;
    entries_ += entries;
  }

private:
  std::int64_t most_, few_;
  std::atomic<std::int64_t> taken_{0}, products_{0}, entries_{0};
};

/// A thread's rows one behind the other, in memory that grows by chunks, each twice the last.
template <class T, class I> class row_chunks {
public:
  row_chunks(const host_context& ctx, chunk_budget& budget, std::int64_t first_size)
      : ctx_(&ctx), budget_(&budget), first_size_(first_size) {}

  /// Room for so many entries side by side. Throws out_of_memory, chunks_full.
  row_place<T, I> add(std::int64_t entries) {
    if (chunks_.empty() || chunks_.back().used + entries > chunks_.back().col.size()) grow(entries);
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

  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (const chunk& c : chunks_) sum += c.col.bytes() + c.value.bytes();
    return sum;
  }

private:
  struct chunk {
    array<I> col;
    array<T> value;
    std::int64_t used = 0;
  };
  static constexpr std::int64_t largest_chunk = std::int64_t{1} << 24; ///< entries

  void grow(std::int64_t entries) {
    const std::int64_t size =
        std::max(entries, chunks_.empty() ? first_size_
                                          : std::min(largest_chunk, 2 * chunks_.back().col.size()));
    if (!budget_->take(checked_mul(size, sizeof(I) + sizeof(T)))) throw chunks_full{};
    chunk c;
    c.col = array<I>(*ctx_, size);
    c.value = array<T>(*ctx_, size);
    chunks_.push_back(std::move(c));
  }

  const host_context* ctx_;
  chunk_budget* budget_;
  std::int64_t first_size_;
  std::vector<chunk> chunks_;
};

} // namespace lacuna::detail::cpu
