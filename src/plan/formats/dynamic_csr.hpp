// Dynamic CSR, in a plan: where it is asked for, or changes are announced. As long as nothing
// changes it is CSR.
#pragma once

#include <lacuna/format/dynamic_csr.hpp>

#include "plan/value_map.hpp"
#include "plan/work.hpp"

namespace lacuna::planning {

struct dynamic_csr_format : csr_ordered_format {
  static constexpr std::string_view name = "dynamic_csr";
  static constexpr kernel_costs kernels[] = {{"dynamic_csr", // CSR's, and the table
                                              {8.55e-6, 0.347e-12, 0.141e-12, 0, 0.650e-12, 2},
                                              {0.56e-6, 1.96e-12, 11.4e-12, 0.60e-9, 0.189e-9, 2}}};
  static constexpr bool looks_at_features = false;
  static constexpr bool only_by_name = true;

  static void offer(const offer_to& to, std::vector<plan_candidate>& out) {
    if (!to.asks_for(name) && to.hints.updates == 0) return;
    const dynamic_csr_options defaults;
    const double table =
        as_double(to.f.rows) * (as_double((2 * defaults.segments + 2) * to.w.offset) + 1);
    const double entries = 1.25 * as_double(to.f.entries * (to.w.value + to.w.index));
    out.push_back(to.candidate(name, "dynamic_csr", table + entries,
                               csr_work(to.f, to.w, csr_bytes(to.f, to.w), to.machine),
                               "entries can be inserted and erased in place"));
  }

  /// Segments are sorted: where A's rows are not, entry k is A's order[k].
  template <class T, class I, class O, space S> struct matrix {
    dynamic_csr<T, I, O, S> m;
    array<O, S> order;
    [[nodiscard]] std::size_t bytes() const { return m.bytes() + order.bytes(); }
    dynamic_csr_view<const T, I, O, S> view() const { return m.view(); }
  };
  template <class T, class I, class O, space S>
  static dynamic_csr<T, I, O, S>* dynamic_of(matrix<T, I, O, S>& m) {
    return &m.m;
  }
  template <class T, class I, class O, space S>
  static matrix<T, I, O, S> make(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                 const plan_options&) {
    if (a.order().sorted || a.size() == 0) return {to_dynamic_csr(ctx, a), {}};
    // Numbers in place of values say where each entry came from.
    csr<double, I, O, S> numbers(ctx, a.shape(), a.size());
    const auto copy = [&](auto to, auto from) {
      detail::copy_bytes(ctx, to.data(), from.data(),
                         static_cast<std::size_t>(from.size()) * sizeof *from.data(), S);
    };
    copy(numbers.rowptr(), a.rowptr());
    copy(numbers.colind(), a.colind());
    array<O, S> order(ctx, a.size());
    array<T, S> values(ctx, a.size());
    if constexpr (S == space::host) {
      detail::cpu::number_entries(ctx, numbers.values());
      sort(ctx, numbers);
      detail::cpu::as_offsets<O>(ctx, std::as_const(numbers).values(), order.view());
    } else {
      detail::gpu::number_entries(ctx, numbers.values());
      sort(ctx, numbers);
      detail::gpu::as_offsets<O>(ctx, std::as_const(numbers).values(), order.view());
    }
    detail::place_values<T, O, S>(ctx, order.data(), a.values(), values.view());
    const csr_view<const T, I, O, S> sorted(values.data(), numbers.rowptr().data(),
                                            numbers.colind().data(), a.shape(), a.size(),
                                            facts{true, a.order().unique});
    return {to_dynamic_csr(ctx, sorted), std::move(order)};
  }
  /// Where A has another order than its entries (v.from), that is a transposition's: sorted.
  template <class T, class I, class O, space S>
  static void update(const context<S>& ctx, matrix<T, I, O, S>& m,
                     const value_source<T, I, O, S>& v) {
    if (m.m.size() != v.a.size())
      throw unsupported("update_values: entries were inserted or erased since the plan was made");
    detail::place_values<T, O, S>(ctx, m.order.empty() ? v.from : m.order.data(), v.a.values(),
                                  m.m.values());
  }
};

} // namespace lacuna::planning
