// C = alpha A B on the device: analysis, symbolic pass, numeric pass (Parger et al. 2020), or in
// one pass by sorting (King et al. 2016). Workspace: 16 bytes per row of A; for heavy rows 64 MB at
// most, for broad rows 40 bytes per product, of up to 2^25 products. That of sorting:
// spgemm_expand.cuh; of rows of one pattern: spgemm_twins.cuh; of diagonals: spgemm_slices.cuh; of
// matrices that lack no entry, none: spgemm_dense.cuh; of small products: spgemm_small.cuh.
#include <limits>
#include <mutex>
#include <optional>
#include <string>

#include <lacuna/core/checked.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/plan/machine.hpp>

#include "core/kernel_offsets.hpp"
#include "gpu/parts/any_of.cuh"
#include "gpu/parts/scan.cuh"
#include "gpu/spgemm_dense.cuh"
#include "gpu/spgemm_expand.cuh"
#include "gpu/spgemm_sample.cuh"
#include "gpu/spgemm_places.cuh"
#include "gpu/spgemm_slices.cuh"
#include "gpu/spgemm_small.cuh"
#include "gpu/spgemm_split.cuh"
#include "gpu/spgemm_twins.cuh"
#include "op/spgemm_segments.hpp"

namespace lacuna::detail::gpu {
namespace {

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
/// B's. Not within a memory limit.
template <class OC, class T, class I, class O>
std::optional<csr<T, I, OC, space::device>>
multiply_by_diagonals(const device_context& ctx, const spgemm_factors<I, O>& f,
                      const spgemm::factor_sizes& sizes, const spgemm_values<T>& v,
                      const spgemm_thresholds& thresholds, spgemm_report* report,
                      stage_clock& clock) try {
  slice_product<I, O> slices(ctx, f, sizes, thresholds);
  clock.lap(&spgemm_report::analyse);
  if (!slices.pays()) return std::nullopt;
  const placed_values<T> placed = slices.template place<T>(ctx, f, v); // while it counts
  const bool is_counted = slices.is_counted();
  clock.lap(&spgemm_report::count);
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
  array<std::int64_t, space::device> counts(ctx, f.rows);
  twin_groups<I, O> twins;
  if (may_have_twins(thresholds, totals, f.rows)) {
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

/// What the analysis found of rows, and their bins or groups: all that a fill needs beside A, B and
/// C. A refill adds the places of products.
template <class I, class O> struct kept_rows final : detail::kept_analysis {
  row_facts<I, O> facts; // its a_rowptr is not used: A may be elsewhere by then
  spgemm_totals totals{};
  std::optional<fill_bins<I>> bins; // none: C has no rows, or one of the next three
  std::optional<twin_groups<I, O>> twins;
  std::optional<slice_product<I, O>> slices;
  std::optional<dense_product> dense;

  [[nodiscard]] std::size_t bytes() const override {
    const std::lock_guard<std::mutex> guard(lock_);
    return facts.products.bytes() + facts.first.bytes() + facts.last.bytes() +
           (bins ? bins->bytes() : 0) + (twins ? twins->bytes() : 0) +
           (slices ? slices->bytes() : 0) + (places_ ? places_->bytes() : 0);
  }
  /// Finds them if no call before has; null if they are not kept, or there is no memory for them.
  template <class T>
  const product_places<I, O>* places(const device_context& ctx, const spgemm_factors<I, O>& f,
                                     const known_rows<I, O>& known, read_offsets rowptr,
                                     const fill_target<T, I>& c) const {
    const std::lock_guard<std::mutex> guard(lock_);
    if (!places_) {
      const auto entries = static_cast<std::int64_t>(totals.entries);
      try {
        places_.emplace(ctx, f, known, totals, *bins, rowptr, c.colind, entries,
                        static_cast<std::size_t>(entries) * (sizeof(T) + sizeof(I)));
      } catch (const out_of_memory&) {
        return nullptr;
      }
    }
    return places_->exist() ? &*places_ : nullptr;
  }

private:
  mutable std::mutex lock_;
  mutable std::optional<product_places<I, O>> places_;
};

/// Whether C goes by diagonals: then its rowptr is there, and they are kept.
template <class I, class O, class OC>
bool count_by_diagonals(const device_context& ctx, const spgemm_factors<I, O>& f,
                        const spgemm::factor_sizes& sizes, vector_view<OC, space::device> rowptr,
                        kept_rows<I, O>& keeping) {
  slice_product<I, O> slices(ctx, f, sizes, keeping.facts.thresholds);
  if (!slices.pays() || !slices.is_counted()) return false;
  require_fits<OC>(slices.entries());
  exclusive_sums(ctx, f.rows, slices.sizes(), rowptr.data());
  slices.drop_sizes();
  keeping.facts = {};
  keeping.slices.emplace(std::move(slices));
  return true;
}

template <class T, class I, class O, class OC>
std::int64_t count(const device_context& ctx, device_csr<T, I, O> a, device_csr<T, I, O> b,
                   vector_view<OC, space::device> rowptr,
                   std::shared_ptr<const detail::kept_analysis>& kept) {
  const ordered_factor<T, I, O> ordered(ctx, b);
  const spgemm_factors<I, O> f = factors_of(a, ordered.view());
  auto keeping = std::make_shared<kept_rows<I, O>>();
  row_facts<I, O>& facts = keeping->facts;
  stage_clock untimed(ctx, nullptr);
  const spgemm_thresholds thresholds = thresholds_for<T, I, O>(ctx, nullptr, a, b);
  const spgemm::factor_sizes sizes = sizes_of(a, ordered.view());
  if (const auto dense = find_dense(ctx, a, sizes, f.columns, thresholds)) {
    require_fits<OC>(dense->entries());
    number_dense_rows(ctx, *dense, rowptr.data());
    keeping->dense = dense;
    kept = std::move(keeping);
    return dense->entries();
  }
  const spgemm_totals analysed = analyse_rows(ctx, f, a.size(), thresholds, facts);
  if (may_have_slices(thresholds, analysed, f.rows) &&
      count_by_diagonals(ctx, f, sizes, rowptr, *keeping)) {
    ctx.synchronize();
    const std::int64_t all = keeping->slices->entries();
    kept = std::move(keeping);
    return all;
  }
  array<std::int64_t, space::device> counts(ctx, f.rows);
  if (may_have_twins(thresholds, analysed, f.rows)) {
    keeping->twins.emplace(ctx, f, b.shape().row, thresholds, analysed, counts.data());
    if (!keeping->twins->pay()) keeping->twins.reset();
  }
  if (keeping->twins) {
    keeping->totals = analysed;
    keeping->totals.entries = keeping->twins->totals().entries;
  } else {
    keeping->totals = count_rows(ctx, f, facts, analysed, counts.data(), untimed);
  }
  const auto entries = static_cast<std::int64_t>(keeping->totals.entries);
  require_fits<OC>(entries);
  exclusive_sums(ctx, f.rows, counts.data(), rowptr.data());
  if (keeping->twins) {
    facts = {};
  } else {
    if (f.rows > 0)
      keeping->bins.emplace(bin_to_fill<I, O>(ctx, f, facts.view(), keeping->totals, rowptr.data(),
                                              facts.counters.data()->binned_to_fill));
    facts.counters = {};
    facts.a_rowptr = nullptr;
  }
  ctx.synchronize(); // what is kept may be used on another stream
  kept = std::move(keeping);
  return entries;
}

template <class T, class I, class O, class OC>
void fill(const device_context& ctx, const detail::kept_analysis& analysis, T alpha,
          device_csr<T, I, O> a, device_csr<T, I, O> b, csr_view<T, I, OC, space::device> c,
          bool pattern, bool refill) {
  const auto& kept = static_cast<const kept_rows<I, O>&>(analysis);
  if (!kept.bins && !kept.twins && !kept.slices && !kept.dense) return;
  const ordered_factor<T, I, O> ordered(ctx, b);
  const spgemm_factors<I, O> f = factors_of(a, ordered.view());
  known_rows<I, O> known = kept.facts.view();
  known.a_rowptr = f.a_rowptr;
  const OC* const rowptr = c.rowptr().data();
  const spgemm_values<T> v{alpha, a.values().data(), ordered.view().values().data(), pattern};
  const fill_target<T, I> target{c.colind().data(), c.values().data(), refill};
  stage_clock untimed(ctx, nullptr);
  const auto made = [&] {
    const auto* const places =
        refill && kept.bins ? kept.places(ctx, f, known, rowptr, target) : nullptr;
    if (places != nullptr)
      return places->refill(ctx, f, v, known, kept.totals, *kept.bins, rowptr,
                            static_cast<std::int64_t>(kept.totals.entries), target);
    array<int, space::device> wrong(ctx, 1);
    check(cudaMemsetAsync(wrong.data(), 0, wrong.bytes(), ctx.stream()), "multiply_fill");
    if (kept.slices || kept.dense) {
      if (kept.dense)
        fill_dense(ctx, *kept.dense, v, target, wrong.data());
      else
        kept.slices->fill(ctx, kept.slices->template place<T>(ctx, f, v), v, rowptr, target,
                          wrong.data());
      int is_wrong = 0; // waits without a refill, too: what is kept may be another context's memory
      read_back(ctx, &is_wrong, std::as_const(wrong).data(), 1);
      return is_wrong == 0;
    }
    if (kept.twins)
      return fill_twins<T, I, O>(ctx, f, v, *kept.twins, rowptr, target, wrong.data(), untimed);
    return fill_rows<T, I, O>(ctx, f, v, known, kept.totals, *kept.bins, rowptr, target,
                              spgemm_order::of_a, wrong.data(), untimed);
  };
  if (!made()) throw_miscounted(ctx, f, a.size(), rowptr, refill);
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
template <class T, class I, class O, class OC>
std::int64_t count_spgemm(const device_context& ctx, device_csr<T, I, O> a, device_csr<T, I, O> b,
                          vector_view<OC, space::device> rowptr,
                          std::shared_ptr<const detail::kept_analysis>& kept) {
  const device_guard guard(ctx.device());
  const with_kernel_offsets<T, I, O, space::device> left(ctx, a), right(ctx, b);
  return count(ctx, left.view(), right.view(), rowptr, kept);
}
template <class T, class I, class O, class OC>
void fill_spgemm(const device_context& ctx, const detail::kept_analysis& kept, T alpha,
                 device_csr<T, I, O> a, device_csr<T, I, O> b, csr_view<T, I, OC, space::device> c,
                 bool pattern) {
  const device_guard guard(ctx.device());
  const with_kernel_offsets<T, I, O, space::device> left(ctx, a), right(ctx, b);
  fill(ctx, kept, alpha, left.view(), right.view(), c, pattern, false);
}
template <class T, class I, class O, class OC>
void refill_spgemm(const device_context& ctx, const detail::kept_analysis& kept, T alpha,
                   device_csr<T, I, O> a, device_csr<T, I, O> b,
                   csr_view<T, I, OC, space::device> c) {
  const device_guard guard(ctx.device());
  const with_kernel_offsets<T, I, O, space::device> left(ctx, a), right(ctx, b);
  fill(ctx, kept, alpha, left.view(), right.view(), c, false, true);
}

#define LACUNA_INSTANTIATE_WIDTHS(T, I, O, OC)                                                     \
  template csr<T, I, OC, space::device> spgemm<T, I, O, OC>(                                       \
      const device_context&, T, device_csr<T, I, O>, device_csr<T, I, O>, const spgemm_options&,   \
      bool);                                                                                       \
  template std::int64_t count_spgemm<T, I, O, OC>(                                                 \
      const device_context&, device_csr<T, I, O>, device_csr<T, I, O>,                             \
      vector_view<OC, space::device>, std::shared_ptr<const detail::kept_analysis>&);              \
  template void fill_spgemm<T, I, O, OC>(const device_context&, const detail::kept_analysis&, T,   \
                                         device_csr<T, I, O>, device_csr<T, I, O>,                 \
                                         csr_view<T, I, OC, space::device>, bool);                 \
  template void refill_spgemm<T, I, O, OC>(const device_context&, const detail::kept_analysis&, T, \
                                           device_csr<T, I, O>, device_csr<T, I, O>,               \
                                           csr_view<T, I, OC, space::device>);
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
