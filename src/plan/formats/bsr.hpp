// Block CSR, in a plan: where neighbouring rows have the same columns and these come in runs.
#pragma once

#include <fmt/format.h>

#include <lacuna/format/bsr.hpp>

#include "plan/work.hpp"

namespace lacuna::planning {

struct bsr_format : csr_ordered_format {
  static constexpr std::string_view name = "bsr";
  /// The last but one is seconds per block: places of a block share what they wait for.
  static constexpr kernel_costs kernels[] = {{"bsr",
                                              {3.0e-6, 0.21e-12, 0.141e-12, 5.0e-12, 11.7e-12, 40},
                                              {1.0e-6, 2.0e-12, 11.4e-12, 0.3e-9, 1.0e-9, 7}}};
  static constexpr value_order updates_by = value_order::pattern;

  /// The size of blocks that the sample speaks of; 0: of none. In blocks of b rows b - 1 of b rows
  /// have the columns of the row before, and so many columns follow the one before.
  static int block_of(const spmv_features& f) {
    const std::int64_t rows = f.sampled_rows - f.sampled_groups; // a group's first is no twin
    if (rows <= 0) return 0;
    const double twins = std::min(ratio(f.twin_rows, rows), 0.875);
    const auto b = static_cast<int>(std::lround(1 / (1 - twins)));
    const double runs = ratio(f.following_entries, f.sampled_entries);
    return b >= 2 && runs >= 1 - 1.0 / b - 0.03 ? b : 0;
  }
  static void offer(const offer_to& to, std::vector<plan_candidate>& out) {
    int b = block_of(to.f);
    const bool asked = to.asks_for(name);
    if (b == 0 && !asked) return;
    if (b == 0) b = 2;
    const spmv_features& f = to.f;
    const double blocks = as_double(f.entries) / (b * b);
    const double bytes = as_double(f.entries * to.w.value) + blocks * as_double(to.w.index) +
                         as_double(f.rows / b + 1) * as_double(to.w.offset);
    spmv_work work = csr_work(f, to.w, bytes, to.machine);
    work.gather /= b * b; // a part of x is read once per block
    work.rows = as_double(f.rows);
    work.entries = blocks;
    out.push_back(to.candidate(
        name, "bsr", bytes, work,
        fmt::format("entries come in blocks of {} x {}, so that {} of them share an index", b, b,
                    b * b)));
    // Where it is asked for by name it is made of any matrix, within the caller's limit.
    const auto limit = static_cast<double>(to.hints.memory_limit);
    const double least = !asked ? 80 : limit > 0 ? std::ceil(100 * bytes / limit) : 0;
    out.back().options = {{"block", b}, {"least_fill_percent", static_cast<std::int64_t>(least)}};
  }

  template <class T, class I, class O, space S> using matrix = bsr<T, I, O, S>;
  template <class T, class I, class O, space S>
  static bsr<T, I, O, S> make(const context<S>& ctx, csr_view<const T, I, O, S> a,
                              const plan_options& o) {
    bsr<T, I, O, S> m = to_bsr(ctx, a, {static_cast<int>(option(o, "block"))});
    const double fill = 100 * ratio(a.size(), m.values.size());
    if (fill < as_double(option(o, "least_fill_percent")))
      throw made_in_vain(fmt::format("its blocks are only {:.0f} % full", fill));
    return m;
  }
  template <class T, class I, class O, space S>
  static void update(const context<S>& ctx, bsr<T, I, O, S>& m, const value_source<T, I, O, S>& v) {
    if (v.a.size() > 0)
      detail::place_values<T, I, O, S>(
          ctx, {v.rowptr, v.colind, v.order.sorted, v.from, v.a.values().data()}, m.view());
  }
};

} // namespace lacuna::planning
