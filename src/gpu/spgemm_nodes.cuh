// Internal: products of matrices of several unknowns per node, h of them in each: rows and columns
// come in nodes of h, and entries in blocks of h x h. What is searched for are C's nodes, of which
// there are h x h times fewer than entries. Sums are formed in A's order as everywhere else, so the
// bits are the same.
#pragma once

#include <type_traits>

#include "gpu/spgemm_twins.cuh"
#include "gpu/spgemm_words.cuh"

namespace lacuna::detail::gpu {

/// Unknowns of a node, by how many rows look like the one before; 1: no nodes.
inline int unknowns_of(unsigned long long alike, std::int64_t rows) {
  const std::int64_t leaders = rows - static_cast<std::int64_t>(alike);
  const std::int64_t each = leaders <= 0 ? 1 : (2 * rows + leaders) / (2 * leaders);
  return each > most_twins ? 1 : static_cast<int>(each);
}
/// The same before an analysis, which costs a tenth of such a product: by a sample of A's rows,
/// where the factors' sizes let many products be expected. Waits if so.
template <class I, class O>
int sampled_unknowns(const device_context& ctx, const spgemm_factors<I, O>& f,
                     const spgemm::factor_sizes& sizes, const spgemm_thresholds& thresholds);

/// Calls f with the number of unknowns, 2 to most_twins, as a constant.
template <class F> void with_unknowns(int unknowns, const F& f) {
  switch (unknowns) {
  case 2: f(std::integral_constant<int, 2>{}); break;
  case 3: f(std::integral_constant<int, 3>{}); break;
  case 4: f(std::integral_constant<int, 4>{}); break;
  case 5: f(std::integral_constant<int, 5>{}); break;
  default: f(std::integral_constant<int, 6>{}); break;
  }
}

/// Words of C's columns that counting keeps for filling, of each row of nodes, at most; of rows
/// with more none are kept, and filling gathers them again.
inline constexpr int most_kept_words = 32, no_kept_words = 255;

/// The patterns of A and B by nodes: an index for each block of h x h entries, 4 bytes for each
/// block and each node where indices and offsets have 32 bits, once if A is B; and 257 for C's
/// columns in each node.
template <class I, class O> class node_product {
public:
  node_product() = default;
  /// Looks whether all entries lie in blocks, and counts C's rows into counts[0 .. rows). Waits
  /// once.
  node_product(const device_context& ctx, const spgemm_factors<I, O>& f,
               const spgemm::factor_sizes& sizes, const spgemm_thresholds& thresholds, int unknowns,
               std::int64_t* counts);
  /// Whether they do, and rows of C are short enough; else make it another way.
  [[nodiscard]] bool pays() const { return pays_; }
  [[nodiscard]] int unknowns() const { return unknowns_; }
  [[nodiscard]] std::int64_t products() const {
    return static_cast<std::int64_t>(totals_.searches) * unknowns_ * unknowns_ * unknowns_;
  }
  [[nodiscard]] std::int64_t entries() const { return static_cast<std::int64_t>(totals_.entries); }
  /// Groups are nodes, and searches pairs of blocks.
  [[nodiscard]] const twin_totals& totals() const { return totals_; }
  [[nodiscard]] std::size_t bytes() const {
    return a_.rowptr.bytes() + a_.colind.bytes() + b_.rowptr.bytes() + b_.colind.bytes() +
           words_.bytes() + word_counts_.bytes();
  }
  /// Rows, columns and offsets are those of nodes and blocks.
  [[nodiscard]] spgemm_factors<I, O> nodes() const {
    const node_pattern& b = is_square_ ? a_ : b_;
    return {a_.rowptr.data(), a_.colind.data(),  b.rowptr.data(),
            b.colind.data(),  rows_ / unknowns_, columns_ / unknowns_};
  }
  /// C's columns: most_kept_words places a row, and how many of them are used, or no_kept_words.
  [[nodiscard]] const kept_word<I>* words() const { return words_.data(); }
  [[nodiscard]] const unsigned char* word_counts() const { return word_counts_.data(); }

private:
  struct node_pattern {
    array<O, space::device> rowptr;
    array<I, space::device> colind;
  };
  node_pattern find_nodes(const device_context& ctx, const O* rowptr, const I* colind,
                          std::int64_t rows, std::int64_t entries, twin_totals* found) const;

  bool pays_ = false, is_square_ = false;
  int unknowns_ = 1;
  std::int64_t rows_ = 0, columns_ = 0; // of C
  twin_totals totals_{};
  node_pattern a_, b_;
  array<kept_word<I>, space::device> words_;
  array<unsigned char, space::device> word_counts_;
};

/// Columns and values of C, whose rowptr is known, of factors of the patterns that were looked at.
/// `wrong`, on the device, is raised if a pattern that is there already is another one. Does not
/// wait.
template <class T, class I, class O>
void fill_nodes(const device_context& ctx, const spgemm_values<T>& v,
                const node_product<I, O>& product, read_offsets rowptr,
                const fill_target<T, I>& target, int* wrong);

} // namespace lacuna::detail::gpu
