// CSR-k, in a plan: super-rows of A as it is, or on a host of A in the order of Band-k.
#pragma once

#include <memory>
#include <mutex>

#include "plan/csr_k.hpp"
#include "plan/work.hpp"

namespace lacuna::planning {

/// Room for products that may run at the same time: as many arrays as ever did. There is one from
/// the beginning, so that products one after another allocate nothing.
template <class T> class scratch_pool {
public:
  scratch_pool(const host_context& ctx, std::int64_t size) : ctx_(ctx), size_(size) {
    spare_.emplace_back(ctx, size);
  }
  /// Calls f(view of size elements); may be called by several threads.
  template <class F> void lend(F&& f) {
    array<T> mine = take();
    f(mine.view());
    const std::scoped_lock lock(guard_);
    spare_.push_back(std::move(mine)); // there is room: take() made it
  }
  [[nodiscard]] std::size_t bytes() const {
    const std::scoped_lock lock(guard_);
    return spare_.size() * static_cast<std::size_t>(size_) * sizeof(T);
  }

private:
  array<T> take() {
    const std::scoped_lock lock(guard_);
    if (spare_.empty()) {
      spare_.reserve(++made_);
      return array<T>(ctx_, size_);
    }
    array<T> last = std::move(spare_.back());
    spare_.pop_back();
    return last;
  }

  host_context ctx_;
  std::int64_t size_;
  mutable std::mutex guard_;
  std::size_t made_ = 1;
  std::vector<array<T>> spare_;
};

struct csr_k_format : csr_ordered_format {
  static constexpr std::string_view name = "csr_k";
  static constexpr kernel_costs kernels[] = {
      {"csr_k",
       {4.06e-6, 0.198e-12, 0.141e-12, 0.818e-12, 1.14e-12, 5},
       {1.4e-6, 1.96e-12, 11.4e-12, 0.60e-9, 0.189e-9, 3}}};
  /// The model's regression, and which table of factors follows it: that of cpu(), volta(),
  /// ampere(), hopper().
  static constexpr tuned_number numbers[] = {{"csr_k_a_ssr", 0, 32, 8},
                                             {"csr_k_b_ssr", 0, 0, 0},
                                             {"csr_k_a_sr", 0, 8, 12},
                                             {"csr_k_b_sr", 0, 0, 0},
                                             {"csr_k_factors", 0, 3, 0}};
  static constexpr bool looks_at_features = false;

  static csr_k_model model_of(const spmv_machine& machine) {
    constexpr csr_k_model tables[] = {csr_k_model::cpu(), csr_k_model::volta(),
                                      csr_k_model::ampere(), csr_k_model::hopper()};
    csr_k_model model =
        tables[static_cast<std::size_t>(std::clamp(machine.number("csr_k_factors"), 0.0, 3.0))];
    model.a_ssr = machine.number("csr_k_a_ssr");
    model.b_ssr = machine.number("csr_k_b_ssr");
    model.a_sr = machine.number("csr_k_a_sr");
    model.b_sr = machine.number("csr_k_b_sr");
    return model;
  }
  static void set_model(spmv_machine& machine, const csr_k_model& model) {
    machine.numbers["csr_k_a_ssr"] = model.a_ssr;
    machine.numbers["csr_k_b_ssr"] = model.b_ssr;
    machine.numbers["csr_k_a_sr"] = model.a_sr;
    machine.numbers["csr_k_b_sr"] = model.b_sr;
  }
  static plan_options options_of(const csr_k_sizes& sizes, int k, bool reordered = false) {
    return {{"k", k},
            {"super_row", sizes.super_row},
            {"super_super_row", sizes.super_super_row},
            {"reordered", reordered ? 1 : 0}};
  }
  static int levels(const spmv_machine& machine) { return machine.device ? 3 : 2; }

  static plan_candidate candidate(const offer_to& to) {
    const spmv_features& f = to.f;
    const double bytes = csr_bytes(f, to.w) + as_double(f.rows) / 64 * as_double(to.w.index);
    plan_candidate c = to.candidate(name, "csr_k", bytes, csr_work(f, to.w, bytes, to.machine),
                                    "super-rows keep a thread's rows together");
    const int k = levels(to.machine);
    const double mean = ratio(f.entries, f.rows);
    c.options = options_of(choose_csr_k_sizes(mean, k, model_of(to.machine)), k);
    return c;
  }
  static void offer(const offer_to& to, std::vector<plan_candidate>& out) {
    const bool may_reorder = to.hints.may_reorder && !to.machine.device && to.f.rows == to.f.cols;
    if (may_reorder) out.push_back(reordered(to));
    // On a host super-rows without their ordering run CSR's own loops.
    if (to.machine.device || (to.asks_for(name) && !may_reorder)) out.push_back(candidate(to));
  }
  /// Rows and columns in the order of Band-k: neighbours in the graph lie near each other, so that
  /// x is read about once; x and y are renumbered for every product.
  static plan_candidate reordered(const offer_to& to) {
    const spmv_features& f = to.f;
    const double bytes = csr_bytes(f, to.w) + as_double(f.rows) / 64 * as_double(to.w.index) +
                         2 * as_double(f.rows * (to.w.index + to.w.value));
    spmv_work work = csr_work(f, to.w, csr_bytes(f, to.w), to.machine);
    work.gather *= 0.25;
    work.stream += 6 * as_double(f.rows * to.w.value);
    plan_candidate c =
        to.candidate(name, "csr_k", bytes, work,
                     "in the order of Band-k, neighbouring rows read the same parts of x");
    const double ordering = 150 * to.csr_seconds; // the ordering itself
    c.convert_seconds += ordering;
    c.total_seconds += ordering;
    c.options =
        options_of(choose_csr_k_sizes(ratio(f.entries, f.rows), 2, model_of(to.machine)), 2, true);
    return c;
  }

  template <class T, class I, class O, space S> struct matrix {
    csr_k<T, I, O, S> rows;
    permutation<I> order;                     ///< of A's rows and columns; none: as they are
    std::unique_ptr<scratch_pool<T>> vectors; ///< two of them, in that order

    [[nodiscard]] std::size_t bytes() const {
      return rows.bytes() + (vectors ? vectors->bytes() : 0) +
             2 * sizeof(I) * static_cast<std::size_t>(order.size());
    }
    vector_view<T, S> values() { return rows.values(); }
  };
  template <class T, class I, class O, space S>
  static matrix<T, I, O, S> make(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                 const plan_options& o) {
    if constexpr (S == space::host)
      if (option(o, "reordered") != 0) {
        auto band = band_k(ctx, a, {option(o, "super_row")});
        auto rows = to_csr_k(ctx, permute(ctx, a, band.order), band);
        auto vectors = std::make_unique<scratch_pool<T>>(ctx, 2 * band.order.size());
        return {std::move(rows), std::move(band.order), std::move(vectors)};
      }
    return {to_csr_k(ctx, a,
                     {static_cast<int>(option(o, "k")), option(o, "super_row"),
                      option(o, "super_super_row"), 0}),
            {},
            nullptr};
  }
  template <class T, class I, class O, space S>
  static void multiply(const context<S>& ctx, const matrix<T, I, O, S>& m, T alpha,
                       dense_view<const T, S> x, T beta, dense_view<const T, S> z,
                       dense_view<T, S> y) {
    if constexpr (S == space::host)
      if (m.vectors)
        return m.vectors->lend([&](vector_view<T> scratch) {
          detail::cpu::multiply_reordered<T, I, O>(ctx, alpha, m.rows.view(), m.order.new_to_old(),
                                                   x, beta, z, y, scratch);
        });
    multiply_format(ctx, alpha, m.rows.view(), x, beta, z, y);
  }
  /// The order of the stored matrix's rows and columns; null: A's.
  template <class T, class I, class O>
  static const permutation<I>* order_of(const matrix<T, I, O, space::host>& m) {
    return m.vectors ? &m.order : nullptr;
  }

  /// Sizes that were not measured are taken for the nearest that were.
  static double distance(const plan_options& a, const plan_options& b) {
    if (option(a, "k") != option(b, "k") || option(a, "reordered") != option(b, "reordered"))
      return HUGE_VAL;
    const auto apart = [&](std::string_view size) {
      return std::abs(std::log(as_double(std::max<std::int64_t>(option(a, size), 1)) /
                               as_double(std::max<std::int64_t>(option(b, size), 1))));
    };
    return apart("super_row") + apart("super_super_row");
  }
  static std::vector<plan_candidate> variants(const offer_to& to, bool quick);
  static void fit(spmv_machine& machine, const std::vector<measured_matrix>& matrices);
};

} // namespace lacuna::planning
