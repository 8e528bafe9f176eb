// Dynamic CSR, in a plan: only where it is asked for. As long as nothing changes it is CSR.
#pragma once

#include <lacuna/format/dynamic_csr.hpp>

#include "plan/work.hpp"

namespace lacuna::planning {

struct dynamic_csr_format : csr_ordered_format {
  static constexpr std::string_view name = "dynamic_csr";
  static constexpr kernel_costs kernels[] = {{"dynamic_csr", // CSR's, and the table
                                              {8.55e-6, 0.347e-12, 0.141e-12, 0, 0.650e-12, 2},
                                              {0.56e-6, 1.96e-12, 11.4e-12, 0.60e-9, 0.189e-9, 2}}};
  static constexpr bool looks_at_features = false;
  static constexpr bool only_by_name = true;
  static constexpr value_order updates_by = value_order::pattern;

  static void offer(const offer_to& to, std::vector<plan_candidate>& out) {
    if (!to.asks_for(name)) return;
    const dynamic_csr_options defaults;
    const double table =
        as_double(to.f.rows) * (as_double((2 * defaults.segments + 2) * to.w.offset) + 1);
    const double entries = 1.25 * as_double(to.f.entries * (to.w.value + to.w.index));
    out.push_back(to.candidate(name, "dynamic_csr", table + entries,
                               csr_work(to.f, to.w, csr_bytes(to.f, to.w), to.machine),
                               "entries can be inserted and erased in place"));
  }

  template <class T, class I, class O, space S> using matrix = dynamic_csr<T, I, O, S>;
  template <class T, class I, class O, space S>
  static dynamic_csr<T, I, O, S> make(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                      const plan_options&) {
    return to_dynamic_csr(ctx, a);
  }
  /// Made anew: rows that were not in order were sorted.
  template <class T, class I, class O, space S>
  static void update(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                     const value_source<T, I, O, S>& v) {
    if (v.a.size() == 0) return;
    array<T, S> values(ctx, v.from == nullptr ? 0 : v.a.size());
    if (v.from != nullptr) detail::place_values<T, O, S>(ctx, v.from, v.a.values(), values.view());
    const csr_view<const T, I, O, S> a(v.from == nullptr ? v.a.values().data() : values.data(),
                                       v.rowptr.data(), v.colind, m.shape(), v.a.size(),
                                       facts{v.sorted, false});
    m = to_dynamic_csr(ctx, a);
  }
};

} // namespace lacuna::planning
