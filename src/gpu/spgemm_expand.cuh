// Internal: rows of C by expansion, after King et al. (Dynamic-CSR, 2016): all products of a row,
// sorted by column, then summed. Products are numbered in the order of A's row and sorting is
// stable, so every sum is formed in that order. B's rows may have any order, and duplicates, whose
// products are added in the order in which B has them.
#pragma once

#include <optional>
#include <vector>

#include "gpu/parts/offsets.cuh"
#include "gpu/spgemm_bins.cuh"

namespace lacuna::detail::gpu {

/// Rows of a list, expanded in global memory, a batch at a time: about 40 bytes for each of its
/// products, and 8 for each entry of A in all rows of the list. A row with more products takes
/// several batches: what one has summed comes first in the next.
template <class T, class I, class O> class expansion {
public:
  /// `most`: products at a time; more where a row of C has more entries than that. Waits.
  expansion(const device_context& ctx, const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
            row_list<I> rows, std::int64_t most, std::size_t memory_limit = 0);
  /// Makes the next rows; false if none is left. Throws out_of_memory also beyond the limit. Waits.
  bool next();

  /// The rows that `next` has made; where each begins among their entries, and the end; entries.
  [[nodiscard]] row_list<I> rows() const { return {rows_.rows, made_, rows_.from + row_ - made_}; }
  [[nodiscard]] const std::int64_t* firsts() const { return firsts_.data(); }
  array<I, space::device> columns;
  array<T, space::device> sums;

private:
  void make_batch();
  template <class Key> void sum_products(std::int64_t last, std::int64_t rows);

  const device_context& ctx_;
  spgemm_factors<I, O> f_;
  spgemm_values<T> v_;
  row_list<I> rows_;
  std::int64_t most_;
  std::size_t limit_;
  int column_bits_;
  array<std::int64_t, space::device> row_entries_;  // entries of A before each row of the list
  array<std::int64_t, space::device> entry_starts_; // products before each of these
  array<std::int64_t, space::device> row_starts_;   // products before each row
  array<std::int64_t> starts_;                      // the same on the host
  array<std::int64_t, space::device> firsts_;
  array<I, space::device> carried_columns_; // of the row that a batch ended in
  array<T, space::device> carried_sums_;
  std::int64_t first_ = 0;          // product that the next batch begins with
  std::int64_t row_ = 0, made_ = 0; // rows of the list that are done; of these by the last batch
};

/// counts[row] = entries of C's row, for rows of the list.
template <class I, class O>
void count_broad_rows(const device_context& ctx, const spgemm_factors<I, O>& f, row_list<I> rows,
                      std::int64_t* counts);

/// As fill_heavy_rows. Nothing is written before all memory is there, up to 2^25 products.
template <class T, class I, class O>
void fill_broad_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                     const spgemm_values<T>& v, row_list<I> rows, read_offsets rowptr,
                     const fill_target<T, I>& target, int* wrong);

/// Where finished rows go.
template <class T, class I> struct pool_view {
  I* columns;
  T* values;
  std::int64_t start, capacity;
  unsigned long long* used;
  std::int64_t *begins, *sizes;

  __device__ void note(std::int64_t row, std::int64_t at, int size) const {
    begins[row] = start + at;
    sizes[row] = size;
  }
  /// There is room unless operands changed: the host finds `used` beyond the capacity then.
  __device__ bool has_room(std::int64_t at, int size) const { return at + size <= capacity; }
};

/// Makes rows of a class of spgemm::expand_class, of up to 2048 products.
template <class T, class I, class O>
void expand_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                 const spgemm_values<T>& v, int c, row_list<I> rows, const pool_view<T, I>& to);

/// All rows of C, made in one pass: those of up to 2048 products in shared memory, others by
/// `expansion`. Each is put, when it is finished, where there is room in a pool; C's row pointers
/// come of their sizes. Workspace: up to 28 bytes per row, pools of up to a third more than C's
/// entries, and twice 1 GiB, a sixteenth of the device's memory or an eighth of the limit.
template <class T, class I, class O> class expanded_rows {
public:
  /// Throws out_of_memory also if pools outgrow options.memory_limit. Waits.
  expanded_rows(const device_context& ctx, const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
                std::int64_t a_entries, const spgemm_options& options, stage_clock& clock);
  [[nodiscard]] std::int64_t entries() const { return entries_; }
  [[nodiscard]] std::int64_t products() const { return products_; }
  [[nodiscard]] const std::int64_t* sizes() const { return sizes_.data(); }
  [[nodiscard]] std::size_t bytes() const;
  /// Copies all to C, whose rowptr is there, and gives the pools back.
  void place(read_offsets rowptr, I* colind, T* values);
  /// All rows in one pool, which is given away; begins() are places in it. The first pool that has
  /// room for all is that pool, and only what other pools have is copied; where none has, all is.
  struct joined_pool {
    array<I, space::device> columns;
    array<T, space::device> values;
    std::int64_t used = 0;
  };
  joined_pool join();
  /// Of rows that have entries.
  [[nodiscard]] const std::int64_t* begins() const { return begins_.data(); }

private:
  /// Entries are numbered through all pools by where they lie.
  struct pool {
    array<I, space::device> columns;
    array<T, space::device> values;
    std::int64_t start;
    row_list<I> rows; // whose entries it may have
    std::int64_t used = 0;
  };
  std::int64_t places() const {
    return pools_.empty() ? 0 : pools_.back().start + pools_.back().columns.size();
  }
  pool_view<T, I> view_of(pool& p) {
    return {p.columns.data(), p.values.data(), p.start,      p.columns.size(),
            used_.data(),     begins_.data(),  sizes_.data()};
  }
  void require_within_limit(std::size_t more) const;
  void open_pool(std::int64_t capacity);
  void look_at_pool();
  void close_pool();
  void make_light_rows(int c);
  void make_heavy_rows(row_list<I> rows);

  const device_context& ctx_;
  spgemm_factors<I, O> f_;
  spgemm_values<T> v_;
  std::size_t limit_, share_; // bytes; share: of a pool, and of what is expanded at a time
  array<std::int64_t, space::device> begins_, sizes_;
  array<unsigned long long, space::device> used_; // entries in the open pool
  std::optional<row_bins<I>> bins_;
  std::vector<pool> pools_;
  std::int64_t entries_ = 0, products_ = 0;
  std::int64_t most_used_ = 0; // entries that the open pool can have by now
};

} // namespace lacuna::detail::gpu
