// What products in one call and in phases do with their operands before they begin.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include <lacuna/op/convert.hpp>
#include <lacuna/plan/machine.hpp>

#include "gpu/parts/any_of.cuh"
#include "gpu/spgemm_dense.cuh"

namespace lacuna::detail::gpu {

template <class I, class O> struct is_out_of_order {
  const O* rowptr;
  const I* colind;
  __device__ bool operator()(std::int64_t row) const {
    for (O k = rowptr[row] + 1; k < rowptr[row + 1]; ++k)
      if (colind[k] <= colind[k - 1]) return true;
    return false;
  }
};

/// B with rows that are sorted and unique: B itself, or a copy.
template <class T, class I, class O> class ordered_factor {
public:
  ordered_factor(const device_context& ctx, device_csr<T, I, O> b) : b_(b) {
    if (b.order().sorted && b.order().unique) return;
    const std::int64_t rows = b.shape().row;
    if (!any_of(ctx, rows, "multiply: order of B",
                is_out_of_order<I, O>{b.rowptr().data(), b.colind().data()}))
      return;
    csr<T, I, O, space::device> copy = copy_to(ctx, b);
    sort(ctx, copy);
    own_ = merge_duplicates(ctx, copy, duplicates::sum);
    b_ = std::as_const(own_).view();
  }
  device_csr<T, I, O> view() const { return b_; }

private:
  csr<T, I, O, space::device> own_;
  device_csr<T, I, O> b_;
};

/// C, if A and B lack no entry and A's rows ascend. Waits where an order has to be looked at.
template <class T, class I, class O>
std::optional<dense_product> find_dense(const device_context& ctx, device_csr<T, I, O> a,
                                        const spgemm::factor_sizes& sizes, std::int64_t columns,
                                        const spgemm_thresholds& thresholds) {
  if (!is_dense_product(thresholds, sizes, columns)) return std::nullopt;
  if (!(a.order().sorted && a.order().unique) &&
      any_of(ctx, sizes.a_rows, "multiply: order of A",
             is_out_of_order<I, O>{a.rowptr().data(), a.colind().data()}))
    return std::nullopt;
  return dense_product{sizes.a_rows, sizes.b_rows, columns};
}

template <class T, class I, class O>
spgemm_factors<I, O> factors_of(device_csr<T, I, O> a, device_csr<T, I, O> b) {
  return {a.rowptr().data(), a.colind().data(), b.rowptr().data(),
          b.colind().data(), a.shape().row,     b.shape().col};
}

template <class OC> void require_fits(std::int64_t entries) {
  const std::int64_t most =
      sizeof(OC) == 4 ? detail::narrow_limit() : std::numeric_limits<std::int64_t>::max();
  if (entries > most)
    throw unsupported("multiply: C has " + std::to_string(entries) + " entries, and offsets of " +
                      std::to_string(8 * sizeof(OC)) + " bits number " + std::to_string(most) +
                      ": multiply_wide has offsets of 64 bits");
}

template <class T, class I, class O>
spgemm::factor_sizes sizes_of(device_csr<T, I, O> a, device_csr<T, I, O> b) {
  return {a.shape().row, static_cast<std::int64_t>(a.size()), b.shape().row,
          static_cast<std::int64_t>(b.size())};
}
template <class T, class I, class O>
spgemm_thresholds thresholds_for(const device_context& ctx, const spgemm_thresholds* asked,
                                 device_csr<T, I, O> a, device_csr<T, I, O> b) {
  return spgemm::fit_to(asked != nullptr ? *asked : machine_of(ctx).spgemm, sizes_of(a, b),
                        ctx.properties().multiprocessors);
}

/// Counts once more, and says which row of C has another number of entries than its rowptr says.
template <class I, class O, class OC>
[[noreturn]] void throw_miscounted(const device_context& ctx, const spgemm_factors<I, O>& f,
                                   std::int64_t a_entries, const OC* rowptr, bool refill) {
  row_facts<I, O> facts;
  const spgemm_totals totals = analyse_rows(ctx, f, a_entries, {}, facts);
  array<std::int64_t, space::device> counts(ctx, f.rows);
  stage_clock untimed(ctx, nullptr);
  count_rows(ctx, f, facts, totals, counts.data(), untimed);
  const auto& host = default_context<space::host>();
  const auto counted = copy_to(host, std::as_const(counts).view());
  const auto stored = copy_to(host, vector_view<const OC, space::device>(rowptr, f.rows + 1));
  for (std::int64_t row = 0; row < f.rows; ++row)
    if (const std::int64_t entries = stored[row + 1] - stored[row]; entries != counted[row]) {
      const std::string what = "multiply: row " + std::to_string(row) + " of C has " +
                               std::to_string(counted[row]) + " entries, " +
                               std::to_string(entries) + " were counted: A or B changed";
      if (refill) throw bad_input(what);
      throw failed(what);
    }
  throw bad_input("multiply: a product falls outside of C's pattern: it was made for operands "
                  "of other patterns");
}

} // namespace lacuna::detail::gpu
