// Internal: the model that chooses the sizes of CSR-k, and how to_csr_k groups rows, the same for
// both spaces.
#pragma once

#include <array>
#include <functional>

#include <lacuna/format/csr_k.hpp>

namespace lacuna {

struct csr_k_sizes {
  std::int64_t super_row = 1;
  std::int64_t super_super_row = 0; ///< 0 for k = 2
  friend bool operator==(const csr_k_sizes&, const csr_k_sizes&) = default;
};

/// Sizes from the mean row length in constant time: a regression fitted once for a kind of machine.
struct csr_k_model {
  /// round(a - b ln(mean)) super-rows in a super-super-row, and rows in a super-row.
  double a_ssr, b_ssr;
  double a_sr, b_sr;
  /// What they are multiplied with, in this order; of_ssr: rows in a super-row are `sr` times the
  /// new number of super-rows, whatever the regression said.
  struct factors {
    double ssr = 1;
    double sr = 1;
    bool of_ssr = false;
  };
  /// For means up to 8, up to 16, up to 32 and above.
  std::array<factors, 4> cases{};
  /// Super-super-rows get fewer rows where they would hold more entries on average; 0: no limit.
  double entries = 0;

  /// As printed in the paper's section 4.
  static constexpr csr_k_model volta() {
    return {8.9, 1.25, 10.146, 1.5, {{{}, {1.5, 2}, {4, 0.5, true}, {5, 0.5, true}}}};
  }
  static constexpr csr_k_model ampere() {
    return {9.175, 1.32, 20.5, 3.5, {{{}, {1, 4}, {2.5, 3, true}, {2, 2, true}}}};
  }
  /// From sweeps over 49 matrices on an H200: fastest where a block's threads, with the lanes that
  /// rows of that length want, take all rows of a super-super-row at once.
  static constexpr csr_k_model hopper() {
    return {32, 0, 8, 0, {{{}, {0.5, 1}, {0.125, 1}, {0.125, 1}}}, 4096};
  }
  /// The paper's constant of 96 rows for k = 2. How k = 3 divides them and the limit, one piece of
  /// a long row, are ours, and reasoned.
  static constexpr csr_k_model cpu() { return {8, 0, 12, 0, {}, 16384}; }
};

/// Sizes of at least 1. For k = 2 a super-row has the rows that a super-super-row has for k = 3:
/// what a thread or a block takes stays as large. Means below 1 count as 1.
LACUNA_EXPORT csr_k_sizes choose_csr_k_sizes(double mean_row_length, int k,
                                             const csr_k_model& model);

/// The paper's four shapes. One lane: its kernel GPUSpMV-3; more: GPUSpMV-3.5.
LACUNA_EXPORT csr_k_block block_shape(double mean_row_length);
/// Ours for Hopper: lanes by the rows' lengths, and where that makes at most 512 threads and whole
/// warps of them, all rows of a super-super-row (or for k = 2 of a super-row) at once.
LACUNA_EXPORT csr_k_block block_shape(const row_statistics& lengths, const csr_k_sizes& sizes);

/// Rows of more entries than this are cut into pieces; no row is where lengths are alike.
LACUNA_EXPORT std::int64_t choose_long_row(const row_statistics& lengths, space where);

/// Statistics of the rows that have at most so many entries; `empty` is not looked at.
using lengths_up_to = std::function<row_statistics(std::int64_t limit)>;

/// Throws bad_input if the options make no sense. The sizes are the options', else the model's;
/// 0 with `by_ordering`, which says itself where groups begin.
csr_k_grouping choose_grouping(const csr_k_options& options, space where, const csr_k_model& model,
                               const lengths_up_to& statistics, bool by_ordering = false);

namespace detail::cpu {
/// Y = alpha P^T B P X + beta Z, where B = P A P^T is given: row i of B is row new_to_old[i] of A.
/// Column by column; scratch: two vectors.
template <class T, class I, class O>
LACUNA_EXPORT void multiply_reordered(const host_context& ctx, T alpha, csr_k_view<const T, I, O> b,
                                      vector_view<const I> new_to_old, dense_view<const T> x,
                                      T beta, dense_view<const T> z, dense_view<T> y,
                                      vector_view<T> scratch);
} // namespace detail::cpu

} // namespace lacuna
