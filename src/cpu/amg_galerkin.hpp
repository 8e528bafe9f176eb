// Internal: R A P of multigrid on the host. A P is made once, row by row, its entries in the order
// in which they are met; then rows of C from it. Nothing is sorted but C, nothing is estimated.
#pragma once

#include <vector>

#include <lacuna/core/array.hpp>
#include <lacuna/format/csr.hpp>

namespace lacuna::detail::cpu {

template <class T> class amg_galerkin {
public:
  using matrix = csr<T, int, int>;
  using view = csr_view<const T, int, int>;

  /// C = R A P with sorted rows. `block`: P's columns come in runs of so many, from a multiple of
  /// it on; all entries or none of a run are there. 1 says nothing. Keeps A P. Throws
  /// out_of_memory, unsupported.
  matrix make(const host_context& ctx, view r, view a, view p, int block);
  /// Keeps A P alone, for refills of a C that `make` made.
  void prepare(const host_context& ctx, view a, view p, int block);
  /// C's values for other values of R, A and P. Throws bad_input if a product has no place: then
  /// they are not the matrices that `make` saw.
  void refill(const host_context& ctx, view r, view a, view p, matrix& c);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::size_t bytes() const;

private:
  /// `count` runs of a row: their numbers and values lie at `at` of a chunk.
  struct made_row {
    int chunk = 0, at = 0, count = 0;
  };
  /// Runs one behind the other.
  struct row_chunk {
    array<int> numbers;
    array<T> values;
  };
  struct worker;
  template <class F>
  static std::vector<row_chunk> for_each_share(const host_context& ctx, const int* rowptr,
                                               std::int64_t rows, std::int64_t runs, made_row* made,
                                               const F& f);
  template <int V> void make_rows(const host_context& ctx, view a, view p);
  template <int V> matrix make_result(const host_context& ctx, view r, view p);
  template <int V> void refill_runs(const host_context& ctx, view r, view a, view p, matrix& c);

  int block_ = 1;
  array<made_row> rows_; ///< of A P
  std::vector<row_chunk> chunks_;
};

} // namespace lacuna::detail::cpu
