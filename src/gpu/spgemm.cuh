// Internal: what the stages of SpGEMM on the device share.
#pragma once

#include <lacuna/op/spgemm.hpp>

#include "gpu/parts/cuda.cuh"
#include "plan/spgemm.hpp"

namespace lacuna::gpu {

/// The patterns of A and B, whose rows are sorted and unique in B.
template <class I, class O> struct spgemm_factors {
  const O* a_rowptr;
  const I* a_colind;
  const O* b_rowptr;
  const I* b_colind;
  std::int64_t rows;    // of A and C
  std::int64_t columns; // of B and C
};
template <class T, class I, class O> struct spgemm_values {
  T alpha;
  const T* a;
  const T* b;
  bool pattern; // no value is read, those of C are 1
};

/// Of rows of one class, or of all.
struct class_totals {
  unsigned long long rows, products, entries; // entries of A
};
/// What the host must know, in one read.
struct spgemm_totals {
  unsigned long long products, longest, longest_b, most_entries;
  unsigned long long entries;        // of C, once counted
  unsigned long long longest_merged; // entries of A in a row that a thread merges, at most
  class_totals of_class[spgemm::count_classes + 1]; // the last: heavy rows
};

/// What the analysis says of each row.
template <class I> struct row_facts {
  array<std::uint32_t, space::device> products; // 2^32 - 1: that or more
  array<I, space::device> first, last;          // columns that products can fall on; unset where
                                                // products are at most few_products
};
/// Rows with no more products are never looked at for their span: a table serves as well.
constexpr std::uint32_t few_products = 32;

/// What decides how a row is made, by what the analysis found.
template <class I, class O>
__device__ spgemm::row_work work_of_row(const O* a_rowptr, const std::uint32_t* products,
                                        const I* first, const I* last, std::int64_t row) {
  const std::uint32_t many = products[row];
  return {static_cast<std::int64_t>(a_rowptr[row + 1] - a_rowptr[row]), many,
          many <= few_products ? std::int64_t{1} << 40 : std::int64_t{last[row]} - first[row] + 1};
}

/// Products, spans and totals; waits for the totals.
template <class I, class O>
spgemm_totals analyse_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                           std::int64_t a_entries, row_facts<I>& facts);

/// C's rows counted into counts[0 .. rows), and the totals of their fill classes; waits for those.
template <class I, class O>
spgemm_totals count_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                         const row_facts<I>& facts, const spgemm_totals& found,
                         std::int64_t* counts);

/// The totals of fill classes, of a C whose rowptr is there.
template <class I, class O, class OC>
spgemm_totals classify_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                            const row_facts<I>& facts, const spgemm_totals& found,
                            const OC* rowptr);

/// Columns and values of C, whose rowptr is there; `refill`: values, the columns are compared.
/// Waits to know whether every row had the entries that were counted; false if not.
template <class T, class I, class O, class OC>
bool fill_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
               const spgemm_values<T, I, O>& v, const row_facts<I>& facts,
               const spgemm_totals& found, const OC* rowptr, I* colind, T* values, bool refill);

} // namespace lacuna::gpu
