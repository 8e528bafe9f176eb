// C = alpha A B on the device in phases: counted once, filled and refilled as often as asked for.
// What is kept in between: the analysis and the classes of rows, or their groups, or patterns by
// nodes, or the bits of diagonals; from the first refill on the places of products.
#include <mutex>
#include <optional>

#include "core/kernel_offsets.hpp"
#include "gpu/parts/scan.cuh"
#include "gpu/spgemm_nodes.cuh"
#include "gpu/spgemm_operands.cuh"
#include "gpu/spgemm_places.cuh"
#include "gpu/spgemm_slices.cuh"
#include "gpu/spgemm_twins.cuh"

namespace lacuna::detail::gpu {
namespace {

/// What the analysis found of rows, and their bins or groups: all that a fill needs beside A, B and
/// C. A refill adds the places of products.
template <class I, class O> struct kept_rows final : detail::kept_analysis {
  row_facts<I, O> facts; // its a_rowptr is not used: A may be elsewhere by then
  spgemm_totals totals{};
  std::optional<fill_bins<I>> bins; // none: C has no rows, or one of the next four
  std::optional<twin_groups<I, O>> twins;
  std::optional<node_product<I, O>> nodes;
  std::optional<slice_product<I, O>> slices;
  std::optional<dense_product> dense;

  [[nodiscard]] std::size_t bytes() const override {
    const std::lock_guard<std::mutex> guard(lock_);
    return facts.products.bytes() + facts.first.bytes() + facts.last.bytes() +
           (bins ? bins->bytes() : 0) + (twins ? twins->bytes() : 0) +
           (nodes ? nodes->bytes() : 0) + (slices ? slices->bytes() : 0) +
           (places_ ? places_->bytes() : 0);
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
  /// The stamp of C's columns, once a refill has compared them.
  [[nodiscard]] std::optional<unsigned long long> stamp() const {
    const std::lock_guard<std::mutex> guard(lock_);
    return stamp_;
  }
  void keep_stamp(unsigned long long stamp) const {
    const std::lock_guard<std::mutex> guard(lock_);
    stamp_ = stamp;
  }

private:
  mutable std::mutex lock_;
  mutable std::optional<product_places<I, O>> places_;
  mutable std::optional<unsigned long long> stamp_;
};

/// Whether C goes by diagonals: then its rowptr is there, and they are kept.
template <class I, class O, class OC>
bool count_by_diagonals(const device_context& ctx, const spgemm_factors<I, O>& f,
                        const spgemm::factor_sizes& sizes, vector_view<OC, space::device> rowptr,
                        kept_rows<I, O>& keeping, bool by_sample = true) {
  slice_product<I, O> slices(ctx, f, sizes, keeping.facts.thresholds, by_sample);
  if (!slices.pays()) return false;
  if (!slices.is_counted())
    return slices.is_incomplete() && by_sample &&
           count_by_diagonals(ctx, f, sizes, rowptr, keeping, false);
  require_fits<OC>(slices.entries());
  exclusive_sums(ctx, f.rows, slices.sizes(), rowptr.data());
  slices.drop_sizes();
  keeping.facts = {};
  keeping.slices.emplace(std::move(slices));
  return true;
}

/// The same by nodes of so many unknowns.
template <class I, class O, class OC>
bool count_by_nodes(const device_context& ctx, const spgemm_factors<I, O>& f,
                    const spgemm::factor_sizes& sizes, const spgemm_thresholds& thresholds,
                    int unknowns, vector_view<OC, space::device> rowptr,
                    kept_rows<I, O>& keeping) try {
  if (unknowns < 2) return false;
  array<std::int64_t, space::device> counts(ctx, f.rows);
  node_product<I, O> nodes(ctx, f, sizes, thresholds, unknowns, counts.data());
  if (!nodes.pays()) return false;
  require_fits<OC>(nodes.entries());
  exclusive_sums(ctx, f.rows, counts.data(), rowptr.data());
  keeping.facts = {};
  keeping.nodes.emplace(std::move(nodes));
  ctx.synchronize(); // what is kept may be used on another stream
  return true;
} catch (const out_of_memory&) {
  return false;
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
  const int sampled = sampled_unknowns(ctx, f, sizes, thresholds);
  if (count_by_nodes(ctx, f, sizes, thresholds, sampled, rowptr, *keeping)) {
    const std::int64_t all = keeping->nodes->entries();
    kept = std::move(keeping);
    return all;
  }
  const spgemm_totals analysed = analyse_rows(ctx, f, a.size(), thresholds, facts);
  if (may_have_slices(thresholds, analysed, f.rows) &&
      count_by_diagonals(ctx, f, sizes, rowptr, *keeping)) {
    ctx.synchronize();
    const std::int64_t all = keeping->slices->entries();
    kept = std::move(keeping);
    return all;
  }
  const bool may_be_twins = may_have_twins(thresholds, analysed, f.rows);
  if (may_be_twins && sampled < 2 &&
      count_by_nodes(ctx, f, sizes, thresholds, unknowns_of(analysed.alike, f.rows), rowptr,
                     *keeping)) {
    const std::int64_t all = keeping->nodes->entries();
    kept = std::move(keeping);
    return all;
  }
  array<std::int64_t, space::device> counts(ctx, f.rows);
  if (may_be_twins) {
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
  if (!kept.bins && !kept.twins && !kept.nodes && !kept.slices && !kept.dense) return;
  const ordered_factor<T, I, O> ordered(ctx, b);
  const spgemm_factors<I, O> f = factors_of(a, ordered.view());
  known_rows<I, O> known = kept.facts.view();
  known.a_rowptr = f.a_rowptr;
  const OC* const rowptr = c.rowptr().data();
  const spgemm_values<T> v{alpha, a.values().data(), ordered.view().values().data(), pattern};
  fill_target<T, I> target{c.colind().data(), c.values().data(), refill};
  stage_clock untimed(ctx, nullptr);
  const auto made = [&] {
    const auto* const places =
        refill && kept.bins ? kept.places(ctx, f, known, rowptr, target) : nullptr;
    if (places != nullptr)
      return places->refill(ctx, f, v, known, kept.totals, *kept.bins, rowptr,
                            static_cast<std::int64_t>(kept.totals.entries), target);
    array<refill_found, space::device> found(ctx, 1);
    check(cudaMemsetAsync(found.data(), 0, found.bytes(), ctx.stream()), "multiply_fill");
    int* const wrong = &found.data()->wrong;
    if (kept.bins)
      return fill_rows<T, I, O>(ctx, f, v, known, kept.totals, *kept.bins, rowptr, target,
                                spgemm_order::of_a, wrong, untimed);
    // Columns are compared by the first refill; after it their stamp is.
    const auto known_stamp = refill ? kept.stamp() : std::nullopt;
    if (refill && !kept.dense) stamp_columns<I>(ctx, target.colind, c.size(), &found.data()->stamp);
    if (known_stamp) target.colind = nullptr;
    if (kept.dense)
      fill_dense(ctx, *kept.dense, v, target, wrong);
    else if (kept.nodes)
      fill_nodes<T, I, O>(ctx, v, *kept.nodes, rowptr, target, wrong);
    else if (kept.slices)
      kept.slices->fill(ctx, kept.slices->template place<T>(ctx, f, v), v, rowptr, target, wrong);
    else if (!fill_twins<T, I, O>(ctx, f, v, *kept.twins, rowptr, target, wrong, untimed))
      return false;
    refill_found read{};
    // Waits without a refill, too: what is kept may be another context's memory.
    read_back(ctx, &read, std::as_const(found).data(), 1);
    if (read.wrong != 0) return false;
    if (known_stamp) return read.stamp == *known_stamp;
    if (refill && !kept.dense) kept.keep_stamp(read.stamp);
    return true;
  };
  if (!made()) throw_miscounted(ctx, f, a.size(), rowptr, refill);
}

} // namespace

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
  template std::int64_t count_spgemm<T, I, O, OC>(                                                 \
      const device_context&, device_csr<T, I, O>, device_csr<T, I, O>,                             \
      vector_view<OC, space::device>, std::shared_ptr<const detail::kept_analysis>&);              \
  template void fill_spgemm<T, I, O, OC>(const device_context&, const detail::kept_analysis&, T,   \
                                         device_csr<T, I, O>, device_csr<T, I, O>,                 \
                                         csr_view<T, I, OC, space::device>, bool);                 \
  template void refill_spgemm<T, I, O, OC>(const device_context&, const detail::kept_analysis&, T, \
                                           device_csr<T, I, O>, device_csr<T, I, O>,               \
                                           csr_view<T, I, OC, space::device>);
#define LACUNA_INSTANTIATE(T, I, O) LACUNA_INSTANTIATE_WIDTHS(T, I, O, std::int64_t)
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#define LACUNA_INSTANTIATE_NARROW(T, I) LACUNA_INSTANTIATE_WIDTHS(T, I, std::int32_t, std::int32_t)
LACUNA_FOR_EACH_NARROW_PAIR(LACUNA_INSTANTIATE_NARROW)

} // namespace lacuna::detail::gpu
