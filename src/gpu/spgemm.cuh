// Internal: what the stages of SpGEMM on the device share.
#pragma once

#include <chrono>

#include <lacuna/op/spgemm.hpp>

#include "core/kernel_offsets.hpp"
#include "gpu/parts/cuda.cuh"
#include "plan/spgemm.hpp"

namespace lacuna::detail::gpu {

/// The patterns of A and B, whose rows are sorted and unique in B, but for spgemm_expand.cuh.
template <class I, class O> struct spgemm_factors {
  const O* a_rowptr;
  const I* a_colind;
  const O* b_rowptr;
  const I* b_colind;
  std::int64_t rows;    // of A and C
  std::int64_t columns; // of B and C
};
template <class T> struct spgemm_values {
  using scalar_type = T;
  static constexpr bool has_values = true;
  T alpha;
  const T* a;
  const T* b;
  bool pattern; // no value is read, those of C are 1
  template <class P> __device__ T factor(P at) const { return pattern ? T{0} : a[at] * alpha; }
  template <class P> __device__ T value(P at) const { return pattern ? T{0} : __ldg(b + at); }
};

/// What a sum begins with: -0 + p is p for every p, -0 too, so a first product is stored as it is.
template <class T> __device__ T no_product() { return -T{0}; }

/// A product that is rounded before it is added: no compiler may fuse the two, so that an entry has
/// the same bits whichever kernel makes it.
__device__ inline double rounded_product(double a, double b) { return __dmul_rn(a, b); }
__device__ inline float rounded_product(float a, float b) { return __fmul_rn(a, b); }
__device__ inline int rounded_product(int a, int b) { return a * b; }

/// Of rows of one class, or of all.
struct class_totals {
  unsigned long long rows, products, entries; // entries of A
};
/// What the host must know, in one read.
struct spgemm_totals {
  unsigned long long products, longest, longest_b, most_entries;
  unsigned long long entries;        // of C, once counted
  unsigned long long a_entries;      // of A, in all rows
  unsigned long long longest_merged; // entries of A in a row that a thread merges, at most
  unsigned long long alike;          // rows of A that look like the one before: spgemm_twins.cuh
  unsigned long long shifted;        // or like it, one column on: spgemm_slices.cuh
  class_totals of_class[spgemm::count_classes + 1]; // the last: heavy rows
};

/// Rows with no more products are never looked at for their span: a table serves as well.
constexpr std::uint32_t few_products = 32;

/// What the analysis says of each row, as kernels read it.
template <class I, class O> struct known_rows {
  const O* a_rowptr;
  const std::uint32_t* products; // 2^32 - 1: that or more
  const I *first, *last;         // columns that products can fall on; unset where products are at
                                 // most few_products
  spgemm_thresholds thresholds;

  __device__ spgemm::row_work work(std::int64_t row) const {
    const std::uint32_t many = products[row];
    return {static_cast<std::int64_t>(a_rowptr[row + 1] - a_rowptr[row]), many,
            many <= few_products ? std::int64_t{1} << 40
                                 : std::int64_t{last[row]} - first[row] + 1};
  }
  /// Whether the rows of B that a row needs are short on the mean, and walks may be flat.
  __device__ bool has_short_rows(std::int64_t row) const {
    const std::int64_t many = products[row];
    return many < 0x7fffffff && many < thresholds.flat_length * (a_rowptr[row + 1] - a_rowptr[row]);
  }
  __device__ int count_class(std::int64_t row) const {
    return spgemm::count_class(thresholds, work(row));
  }
  __device__ int fill_class(std::int64_t row, std::int64_t entries) const {
    return spgemm::fill_class(thresholds, work(row), entries);
  }
};
/// What kernels count with; set to 0 once per product, since one call per counter would cost more
/// than the counting. Each counter is used once.
struct spgemm_counters {
  spgemm_totals analysed, counted;
  unsigned long long binned_to_count[spgemm::count_classes + 1];
  unsigned long long binned_to_fill[spgemm::count_classes + 1];
  unsigned long_rows, pieces; // of A, which the analysis cuts
  unsigned small_tiles;       // of C that blocks have taken: spgemm_small.cuh
  int wrong;                  // a row has another number of entries than was counted
};
/// What the analysis says of each row, owned.
template <class I, class O> struct row_facts {
  array<spgemm_counters, space::device> counters;
  array<std::uint32_t, space::device> products;
  array<I, space::device> first, last;
  const O* a_rowptr = nullptr;
  spgemm_thresholds thresholds;
  known_rows<I, O> view() const {
    return {a_rowptr, products.data(), first.data(), last.data(), thresholds};
  }
};

/// What a caller wants to know of the time; null: nothing, and no wait.
class stage_clock {
public:
  stage_clock(const device_context& ctx, spgemm_report* report) : ctx_(ctx), report_(report) {
    if (report_ != nullptr) restart();
  }
  /// The stage that ends here.
  void lap(double spgemm_report::*stage) {
    if (report_ == nullptr) return;
    const auto before = then_;
    restart();
    report_->*stage += std::chrono::duration<double>(then_ - before).count();
  }
  spgemm_report* report() const { return report_; }

private:
  void restart() {
    ctx_.synchronize();
    then_ = std::chrono::steady_clock::now();
  }
  const device_context& ctx_;
  spgemm_report* report_;
  std::chrono::steady_clock::time_point then_;
};

/// Products, spans and totals, queued.
template <class I, class O>
void start_analysis(const device_context& ctx, const spgemm_factors<I, O>& f,
                    std::int64_t a_entries, const spgemm_thresholds& thresholds,
                    row_facts<I, O>& facts);
/// Waits for the totals of a started analysis.
template <class I, class O>
spgemm_totals end_analysis(const device_context& ctx, std::int64_t a_entries,
                           const row_facts<I, O>& facts) {
  spgemm_totals totals{};
  read_back(ctx, &totals, &facts.counters.data()->analysed, 1);
  totals.a_entries = static_cast<unsigned long long>(a_entries);
  return totals;
}
/// Both.
template <class I, class O>
spgemm_totals analyse_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                           std::int64_t a_entries, const spgemm_thresholds& thresholds,
                           row_facts<I, O>& facts) {
  start_analysis(ctx, f, a_entries, thresholds, facts);
  return end_analysis(ctx, a_entries, facts);
}

/// C's rows counted into counts[0 .. rows), and the totals of their fill classes; waits for those.
template <class I, class O>
spgemm_totals count_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                         row_facts<I, O>& facts, const spgemm_totals& analysed,
                         std::int64_t* counts, stage_clock& clock);

/// Whether a row of A is as long as the one before, with the same first and last column.
template <class I, class O>
__device__ bool looks_like_last(const spgemm_factors<I, O>& f, std::int64_t row, O begin, O end) {
  if (row == 0 || begin == end) return false;
  const O before = f.a_rowptr[row - 1];
  return begin - before == end - begin && f.a_colind[before] == f.a_colind[begin] &&
         f.a_colind[begin - 1] == f.a_colind[end - 1];
}

/// The same with first and last column one on.
template <class I, class O>
__device__ bool looks_shifted(const spgemm_factors<I, O>& f, std::int64_t row, O begin, O end) {
  if (row == 0 || begin == end) return false;
  const O before = f.a_rowptr[row - 1];
  return begin - before == end - begin && f.a_colind[before] == f.a_colind[begin] - 1 &&
         f.a_colind[begin - 1] == f.a_colind[end - 1] - 1;
}

/// Where the numeric pass puts entries. A pattern that is there already is compared instead of
/// written; one that is known to be there already is neither, by diagonals and by groups.
template <class T, class I> struct fill_target {
  I* colind; // null: known
  T* values;
  bool refill;
  template <class P> __device__ void put_column(P at, I column, int* wrong) const {
    if (!refill)
      colind[at] = column;
    else if (colind[at] != column)
      atomicOr(wrong, 1);
  }
  template <class P> __device__ void put(P at, I column, T value, int* wrong) const {
    put_column(at, column, wrong);
    values[at] = value;
  }
};

} // namespace lacuna::detail::gpu
