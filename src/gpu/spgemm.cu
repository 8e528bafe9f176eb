// C = alpha A B on the device: analysis, symbolic pass, numeric pass (Parger et al. 2020), or in
// one pass by sorting (King et al. 2016). Workspace: 16 bytes per row of A; for heavy rows 64 MB at
// most, for broad rows 40 bytes per product, of up to 2^25 products. That of sorting:
// spgemm_expand.cuh; of rows of one pattern: spgemm_twins.cuh; of several unknowns per node:
// spgemm_nodes.cuh; of diagonals: spgemm_slices.cuh; of matrices that lack no entry, none:
// spgemm_dense.cuh; of small products: spgemm_small.cuh.
#include <optional>
#include <string>

#include <lacuna/core/checked.hpp>

#include "core/kernel_offsets.hpp"
#include "gpu/parts/scan.cuh"
#include "gpu/spgemm_expand.cuh"
#include "gpu/spgemm_nodes.cuh"
#include "gpu/spgemm_operands.cuh"
#include "gpu/spgemm_sample.cuh"
#include "gpu/spgemm_slices.cuh"
#include "gpu/spgemm_small.cuh"
#include "gpu/spgemm_split.cuh"
#include "gpu/spgemm_twins.cuh"
#include "op/spgemm_segments.hpp"

namespace lacuna::detail::gpu {
namespace {

template <class T, class I, class OC>
std::size_t result_bytes(std::int64_t rows, std::int64_t entries) {
  return static_cast<std::size_t>(entries) * (sizeof(T) + sizeof(I)) +
         static_cast<std::size_t>(rows + 1) * sizeof(OC);
}
void require_within(const spgemm_options& options, const char* what, std::size_t bytes) {
  if (options.memory_limit != 0 && bytes > options.memory_limit)
    throw out_of_memory(std::string("multiply: ") + what + std::to_string(bytes) + " bytes, " +
                            std::to_string(options.memory_limit) +
                            " are allowed; multiply_to_host makes it in parts",
                        bytes);
}

template <class OC> struct note_segment {
  const std::int64_t *from, *entries;
  OC *begins, *sizes;
  __device__ void operator()(std::int64_t row) const {
    begins[row] = entries[row] == 0 ? OC{0} : static_cast<OC>(from[row]);
    sizes[row] = static_cast<OC>(entries[row]);
  }
};

/// By spgemm_method::expand_sort. B's rows may have any order.
template <class OC, class T, class I, class O>
csr<T, I, OC, space::device> multiply_by_sorting(const device_context& ctx, T alpha,
                                                 device_csr<T, I, O> a, device_csr<T, I, O> b,
                                                 const spgemm_options& options, bool pattern) {
  const spgemm_factors<I, O> f = factors_of(a, b);
  const spgemm_values<T> v{alpha, a.values().data(), b.values().data(), pattern};
  stage_clock clock(ctx, options.report);
  expanded_rows<T, I, O> made(ctx, f, v, a.size(), options, clock);
  require_fits<OC>(made.entries());
  require_within(options, "C and workspace take ",
                 result_bytes<T, I, OC>(f.rows, made.entries()) + made.bytes());
  csr<T, I, OC, space::device> c(ctx, {a.shape().row, b.shape().col},
                                 static_cast<OC>(made.entries()), {true, true});
  exclusive_sums(ctx, f.rows, made.sizes(), c.rowptr().data());
  OC last = 0;
  read_back(ctx, &last, std::as_const(c).rowptr().data() + f.rows, 1);
  if (last != static_cast<OC>(made.entries()))
    throw failed("multiply: rows of C have " + std::to_string(last) + " entries, " +
                 std::to_string(made.entries()) + " were made");
  made.place(std::as_const(c).rowptr().data(), c.colind().data(), c.values().data());
  clock.lap(&spgemm_report::allocate);
  if (options.report != nullptr) {
    options.report->products = made.products();
    options.report->entries = made.entries();
  }
  return c;
}

/// The same, but rows stay where they were made.
template <class OC, class T, class I, class O>
row_segments<T, I, OC, space::device>
multiply_to_segments(const device_context& ctx, T alpha, device_csr<T, I, O> a,
                     device_csr<T, I, O> b, const spgemm_options& options) {
  const spgemm_factors<I, O> f = factors_of(a, b);
  stage_clock clock(ctx, options.report);
  expanded_rows<T, I, O> made(ctx, f, {alpha, a.values().data(), b.values().data(), false},
                              a.size(), options, clock);
  row_segments<T, I, OC, space::device> c;
  c.entries = made.entries();
  c.begins = array<OC, space::device>(ctx, f.rows);
  c.sizes = array<OC, space::device>(ctx, f.rows);
  require_within(options, "C and workspace take ", made.bytes());
  auto pool = made.join();
  require_fits<OC>(pool.columns.size());
  for_each(ctx, f.rows, "multiply_to_segments",
           note_segment<OC>{made.begins(), made.sizes(), c.begins.data(), c.sizes.data()});
  c.colind = std::move(pool.columns);
  c.values = std::move(pool.values);
  c.used = pool.used;
  clock.lap(&spgemm_report::allocate);
  if (options.report != nullptr) {
    options.report->products = made.products();
    options.report->entries = made.entries();
  }
  return c;
}

/// C of factors that lack no entry. Does not wait.
template <class OC, class T, class I>
csr<T, I, OC, space::device> multiply_dense(const device_context& ctx, const dense_product& p,
                                            const spgemm_values<T>& v,
                                            const spgemm_options& options, stage_clock& clock) {
  require_fits<OC>(p.entries());
  require_within(options, "C takes ", result_bytes<T, I, OC>(p.rows, p.entries()));
  csr<T, I, OC, space::device> c(ctx, {static_cast<I>(p.rows), static_cast<I>(p.columns)},
                                 static_cast<OC>(p.entries()), {true, true});
  number_dense_rows(ctx, p, c.rowptr().data());
  clock.lap(&spgemm_report::allocate);
  fill_dense(ctx, p, v, fill_target<T, I>{c.colind().data(), c.values().data(), false}, nullptr);
  clock.lap(&spgemm_report::fill);
  if (options.report != nullptr) {
    options.report->products = p.products();
    options.report->entries = p.entries();
    options.report->dense_rows = p.rows;
  }
  return c;
}

/// C by diagonals; none if there are too many, or no memory for copies of A's values and all of
/// B's. Not within a memory limit. What a sample misses is looked for in all rows.
template <class OC, class T, class I, class O>
std::optional<csr<T, I, OC, space::device>>
multiply_by_diagonals(const device_context& ctx, const spgemm_factors<I, O>& f,
                      const spgemm::factor_sizes& sizes, const spgemm_values<T>& v,
                      const spgemm_thresholds& thresholds, spgemm_report* report,
                      stage_clock& clock, bool by_sample = true) try {
  slice_product<I, O> slices(ctx, f, sizes, thresholds, by_sample);
  clock.lap(&spgemm_report::analyse);
  if (!slices.pays()) return std::nullopt;
  placed_values<T> placed = slices.template place<T>(ctx, f, v); // while it counts
  const bool is_counted = slices.is_counted();
  clock.lap(&spgemm_report::count);
  if (!is_counted && slices.is_incomplete() && by_sample) {
    placed = {};
    return multiply_by_diagonals<OC>(ctx, f, sizes, v, thresholds, report, clock, false);
  }
  if (!is_counted) return std::nullopt;
  require_fits<OC>(slices.entries());
  csr<T, I, OC, space::device> c(ctx, {static_cast<I>(f.rows), static_cast<I>(f.columns)},
                                 static_cast<OC>(slices.entries()), {true, true});
  exclusive_sums(ctx, f.rows, slices.sizes(), c.rowptr().data());
  clock.lap(&spgemm_report::allocate);
  slices.fill(ctx, placed, v, std::as_const(c).rowptr().data(),
              fill_target<T, I>{c.colind().data(), c.values().data(), false}, nullptr);
  clock.lap(&spgemm_report::fill);
  if (report != nullptr) {
    report->entries = slices.entries();
    report->slice_rows = f.rows;
  }
  return c;
} catch (const out_of_memory&) {
  return std::nullopt;
}

/// C by nodes of so many unknowns; none if entries do not lie in blocks, or no memory for patterns
/// by nodes.
template <class OC, class T, class I, class O>
std::optional<csr<T, I, OC, space::device>>
multiply_by_nodes(const device_context& ctx, const spgemm_factors<I, O>& f,
                  const spgemm::factor_sizes& sizes, const spgemm_values<T>& v,
                  const spgemm_thresholds& thresholds, int unknowns, const spgemm_options& options,
                  stage_clock& clock) try {
  if (unknowns < 2) return std::nullopt;
  array<std::int64_t, space::device> counts(ctx, f.rows);
  const node_product<I, O> nodes(ctx, f, sizes, thresholds, unknowns, counts.data());
  clock.lap(&spgemm_report::count);
  if (!nodes.pays()) return std::nullopt;
  require_fits<OC>(nodes.entries());
  require_within(options, "C takes ", result_bytes<T, I, OC>(f.rows, nodes.entries()));
  csr<T, I, OC, space::device> c(ctx, {static_cast<I>(f.rows), static_cast<I>(f.columns)},
                                 static_cast<OC>(nodes.entries()), {true, true});
  exclusive_sums(ctx, f.rows, counts.data(), c.rowptr().data());
  clock.lap(&spgemm_report::allocate);
  fill_nodes<T, I, O>(ctx, v, nodes, std::as_const(c).rowptr().data(),
                      fill_target<T, I>{c.colind().data(), c.values().data(), false}, nullptr);
  clock.lap(&spgemm_report::fill);
  if (options.report != nullptr) {
    options.report->products = nodes.products();
    options.report->entries = nodes.entries();
    options.report->twin_rows = f.rows;
  }
  return c;
} catch (const out_of_memory&) {
  return std::nullopt;
}

/// C in one pass; none if rows are too long or products many more than expected, or there is no
/// memory for scratch. The analysis is made in any case. Waits once.
template <class OC, class T, class I, class O>
std::optional<csr<T, I, OC, space::device>>
multiply_in_one_pass(const device_context& ctx, const spgemm_factors<I, O>& f,
                     const spgemm::factor_sizes& sizes, const spgemm_values<T>& v,
                     const spgemm_thresholds& thresholds, row_facts<I, O>& facts,
                     spgemm_totals& totals, stage_clock& clock) try {
  start_analysis(ctx, f, sizes.a_entries, thresholds, facts);
  clock.lap(&spgemm_report::analyse);
  array<OC, space::device> rowptr(ctx, f.rows + 1);
  const small_product<T, I> made(ctx, f, v, sizes, facts, rowptr.data());
  totals = end_analysis(ctx, sizes.a_entries, facts);
  const auto entries = static_cast<std::int64_t>(totals.entries);
  const bool is_made = made.is_made(totals);
  totals.entries = 0;
  clock.lap(&spgemm_report::fill);
  if (!is_made) return std::nullopt;
  require_fits<OC>(entries);
  auto [colind, values] = made.take(ctx, entries);
  clock.lap(&spgemm_report::allocate);
  if (spgemm_report* const report = clock.report()) {
    report->products = static_cast<std::int64_t>(totals.products);
    report->entries = entries;
    report->one_pass_rows = f.rows;
  }
  return csr<T, I, OC, space::device>({static_cast<I>(f.rows), static_cast<I>(f.columns)},
                                      std::move(rowptr), std::move(colind), std::move(values),
                                      {true, true});
} catch (const out_of_memory&) {
  totals = analyse_rows(ctx, f, sizes.a_entries, thresholds, facts);
  return std::nullopt;
}

template <class OC, class T, class I, class O>
csr<T, I, OC, space::device> multiply_adaptively(const device_context& ctx, T alpha,
                                                 device_csr<T, I, O> a, device_csr<T, I, O> b,
                                                 const spgemm_options& options, bool pattern) {
  const ordered_factor<T, I, O> ordered(ctx, b);
  const spgemm_factors<I, O> f = factors_of(a, ordered.view());
  const index<I> shape{a.shape().row, b.shape().col};
  row_facts<I, O> facts;
  stage_clock clock(ctx, options.report);
  const spgemm_thresholds thresholds = thresholds_for(ctx, options.thresholds, a, b);
  const spgemm::factor_sizes sizes = sizes_of(a, ordered.view());
  const spgemm_values<T> v{alpha, a.values().data(), ordered.view().values().data(), pattern};
  if (const auto dense = find_dense(ctx, a, sizes, f.columns, thresholds))
    return multiply_dense<OC, T, I>(ctx, *dense, v, options, clock);
  const bool may_copy = options.memory_limit == 0;
  // A report tells of products, which the analysis counts.
  const bool looked =
      may_copy && options.report == nullptr && looks_sliced(ctx, f, sizes, thresholds);
  if (looked)
    if (auto c = multiply_by_diagonals<OC>(ctx, f, sizes, v, thresholds, nullptr, clock))
      return std::move(*c);
  const int sampled = looked ? 1 : sampled_unknowns(ctx, f, sizes, thresholds);
  if (auto c = multiply_by_nodes<OC>(ctx, f, sizes, v, thresholds, sampled, options, clock))
    return std::move(*c);
  spgemm_totals totals{};
  if (may_copy && small_product<T, I>::may_be(thresholds, sizes, f.columns)) {
    if (auto c = multiply_in_one_pass<OC>(ctx, f, sizes, v, thresholds, facts, totals, clock))
      return std::move(*c);
  } else {
    totals = analyse_rows(ctx, f, a.size(), thresholds, facts);
    clock.lap(&spgemm_report::analyse);
  }
  if (may_copy && !looked && may_have_slices(thresholds, totals, f.rows)) {
    auto c = multiply_by_diagonals<OC>(ctx, f, sizes, v, thresholds, options.report, clock);
    if (c && options.report != nullptr)
      options.report->products = static_cast<std::int64_t>(totals.products);
    if (c) return std::move(*c);
  }
  const bool may_be_twins = may_have_twins(thresholds, totals, f.rows);
  if (may_be_twins && sampled < 2)
    if (auto c = multiply_by_nodes<OC>(ctx, f, sizes, v, thresholds,
                                       unknowns_of(totals.alike, f.rows), options, clock))
      return std::move(*c);
  array<std::int64_t, space::device> counts(ctx, f.rows);
  twin_groups<I, O> twins;
  if (may_be_twins) {
    twins = twin_groups<I, O>(ctx, f, b.shape().row, thresholds, totals, counts.data());
    if (!twins.pay()) twins = {};
    clock.lap(&spgemm_report::count);
  }
  if (!twins.pay() && may_copy &&
      spgemm::may_be_sorted(thresholds, f.rows, a.size(),
                            static_cast<std::int64_t>(totals.products)) &&
      totals.products * (sizeof(T) + sizeof(I)) <= ctx.properties().memory_bytes / 8) {
    const double compression = sampled_compression(ctx, f, facts.view());
    clock.lap(&spgemm_report::analyse);
    if (compression <= spgemm::most_sorted_compression) {
      try {
        return multiply_by_sorting<OC>(ctx, alpha, a, ordered.view(), options, pattern);
      } catch (const out_of_memory&) {
        // It takes more than C beside C; what follows does not.
      }
    }
  }
  if (twins.pay())
    totals.entries = twins.totals().entries;
  else
    totals = count_rows(ctx, f, facts, totals, counts.data(), clock);
  const auto entries = static_cast<std::int64_t>(totals.entries);
  require_fits<OC>(entries);
  require_within(options, "C takes ", result_bytes<T, I, OC>(f.rows, entries));
  csr<T, I, OC, space::device> c(ctx, shape, static_cast<OC>(entries), {true, true});
  exclusive_sums(ctx, f.rows, counts.data(), c.rowptr().data());
  counts = {};
  clock.lap(&spgemm_report::allocate);
  const OC* rowptr = std::as_const(c).rowptr().data();
  const fill_target<T, I> target{c.colind().data(), c.values().data(), false};
  spgemm_counters* const counters = facts.counters.data();
  if (twins.pay()) {
    if (!fill_twins<T, I, O>(ctx, f, v, twins, rowptr, target, &counters->wrong, clock))
      throw_miscounted(ctx, f, a.size(), rowptr, false);
  } else if (f.rows > 0) {
    const fill_bins<I> bins =
        bin_to_fill<I, O>(ctx, f, facts.view(), totals, rowptr, counters->binned_to_fill);
    clock.lap(&spgemm_report::bin_for_fill);
    if (!fill_rows<T, I, O>(ctx, f, v, facts.view(), totals, bins, rowptr, target, options.order,
                            &counters->wrong, clock))
      throw_miscounted(ctx, f, a.size(), rowptr, false);
  }
  if (options.report != nullptr) {
    options.report->products = static_cast<std::int64_t>(totals.products);
    options.report->entries = entries;
  }
  return c;
}

} // namespace

template <class T, class I, class O>
spgemm_estimate estimate_spgemm(const device_context& ctx, device_csr<T, I, O> a,
                                device_csr<T, I, O> b) {
  const device_guard guard(ctx.device());
  const with_kernel_offsets<T, I, O, space::device> left(ctx, a), right(ctx, b);
  const ordered_factor<T, I, kernel_offset<I, O>> ordered(ctx, right.view());
  row_facts<I, kernel_offset<I, O>> facts;
  const spgemm_totals totals =
      analyse_rows(ctx, factors_of(left.view(), ordered.view()), a.size(), {}, facts);
  spgemm_estimate result;
  result.products = static_cast<std::int64_t>(totals.products);
  result.longest_row = static_cast<std::int64_t>(totals.longest);
  result.most_entries = static_cast<std::int64_t>(totals.most_entries);
  result.most_result_bytes = totals.most_entries * (sizeof(T) + sizeof(I)) +
                             static_cast<std::size_t>(a.shape().row + std::int64_t{1}) * sizeof(O);
  return result;
}

template <class T, class I, class O, class OC>
csr<T, I, OC, space::device> spgemm(const device_context& ctx, T alpha, device_csr<T, I, O> a,
                                    device_csr<T, I, O> b, const spgemm_options& options,
                                    bool pattern) {
  const device_guard guard(ctx.device());
  const with_kernel_offsets<T, I, O, space::device> left(ctx, a), right(ctx, b);
  return options.method == spgemm_method::expand_sort
             ? multiply_by_sorting<OC>(ctx, alpha, left.view(), right.view(), options, pattern)
             : multiply_adaptively<OC>(ctx, alpha, left.view(), right.view(), options, pattern);
}
template <class T, class I, class O>
row_segments<T, I, O, space::device> spgemm_segments(const device_context& ctx, T alpha,
                                                     device_csr<T, I, O> a, device_csr<T, I, O> b,
                                                     const spgemm_options& options) {
  const device_guard guard(ctx.device());
  const with_kernel_offsets<T, I, O, space::device> left(ctx, a), right(ctx, b);
  return multiply_to_segments<O>(ctx, alpha, left.view(), right.view(), options);
}
#define LACUNA_INSTANTIATE_WIDTHS(T, I, O, OC)                                                     \
  template csr<T, I, OC, space::device> spgemm<T, I, O, OC>(                                       \
      const device_context&, T, device_csr<T, I, O>, device_csr<T, I, O>, const spgemm_options&,   \
      bool);
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template spgemm_estimate estimate_spgemm<T, I, O>(const device_context&, device_csr<T, I, O>,    \
                                                    device_csr<T, I, O>);                          \
  template row_segments<T, I, O, space::device> spgemm_segments<T, I, O>(                          \
      const device_context&, T, device_csr<T, I, O>, device_csr<T, I, O>, const spgemm_options&);  \
  LACUNA_INSTANTIATE_WIDTHS(T, I, O, std::int64_t)
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#define LACUNA_INSTANTIATE_NARROW(T, I) LACUNA_INSTANTIATE_WIDTHS(T, I, std::int32_t, std::int32_t)
LACUNA_FOR_EACH_NARROW_PAIR(LACUNA_INSTANTIATE_NARROW)

} // namespace lacuna::detail::gpu
