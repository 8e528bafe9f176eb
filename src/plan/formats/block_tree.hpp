// A tree of blocks, in a plan: where it is asked for, where memory is short, and where products
// with the transposed matrix are announced and there is no room for a second copy.
#pragma once

#include <lacuna/format/block_tree.hpp>

#include "plan/work.hpp"

namespace lacuna::planning {

struct block_tree_format : csr_ordered_format {
  static constexpr std::string_view name = "block_tree";
  /// The device's are guesses, not measured: csr_tiles', and half as much again for each entry,
  /// whose row is looked for.
  static constexpr kernel_costs kernels[] = {{"block_tree",
                                              {5.0e-6, 0.21e-12, 0.141e-12, 2.0e-12, 1.3e-12, 15},
                                              {3.0e-6, 1.96e-12, 11.4e-12, 0.60e-9, 0.45e-9, 20}}};
  static constexpr bool only_by_name = true; // or by what is announced: it wins no race by itself
  static constexpr value_order updates_by = value_order::pattern;

  /// Leaves of near columns take a byte and a half per entry beside the value, wide ones two and
  /// runs of rows; lists and pointers half a byte.
  static double bytes(const spmv_features& f, const type_widths& w) {
    const std::int64_t chunks = f.chunks_8 + f.chunks_16 + f.chunks_full;
    const double near = ratio(f.chunks_8, chunks);
    return as_double(f.entries) * (as_double(w.value) + 2.0 * near + 3.0 * (1 - near));
  }
  /// What a device keeps beside the nodes for products in both directions: 1 to 4 bytes an entry
  /// and 4 to 10 (docs/block_tree.md).
  static double kept_bytes(const spmv_features& f, const spmv_machine& machine) {
    return machine.device ? 10 * as_double(f.entries) : 0;
  }
  static void offer(const offer_to& to, std::vector<plan_candidate>& out) {
    const bool both_ways = to.hints.transposed_multiplies >= 2 && !to.machine.device;
    if (!to.asks_for(name) && !both_ways) return;
    const double matrix = bytes(to.f, to.w);
    out.push_back(to.candidate(name, "block_tree", matrix + kept_bytes(to.f, to.machine),
                               csr_work(to.f, to.w, matrix, to.machine),
                               "one copy multiplies in both directions"));
    out.back().options = {{"block", block_tree_options{}.block}};
  }

  template <class T, class I, class O, space S> using matrix = block_tree<T, I, O, S>;
  template <class T, class I, class O, space S>
  static block_tree<T, I, O, S> make(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                     const plan_options& o) {
    auto m = to_block_tree(ctx, a, {static_cast<int>(option(o, "block"))});
    if constexpr (S == space::device) { // so that a first product can be recorded
      try {
        for (const bool transposed : {false, true})
          detail::gpu::tree_work_of<T, I>(ctx, m.view().stored(), transposed);
      } catch (const unsupported& why) {
        throw made_in_vain(why.what());
      }
    }
    return m;
  }
  /// Y = alpha A^T X + beta Z.
  template <class T, class I, class O, space S>
  static void multiply_transposed(const context<S>& ctx, const block_tree<T, I, O, S>& m, T alpha,
                                  dense_view<const T, S> x, T beta, dense_view<const T, S> z,
                                  dense_view<T, S> y) {
    detail::multiply_format(ctx, alpha, m.view().transpose(), x, beta, z, y);
  }
  /// Sorted rows without duplicates go where they belong as they are, others by way of a copy.
  template <class T, class I, class O, space S>
  static void update(const context<S>& ctx, block_tree<T, I, O, S>& m,
                     const value_source<T, I, O, S>& v) {
    if (v.a.size() == 0) return;
    const auto with = [&](const T* values) {
      return csr_view<const T, I, O, S>(values, v.rowptr.data(), v.colind, m.shape(), v.a.size(),
                                        v.order);
    };
    const auto pattern = with(v.a.values().data());
    if (v.from == nullptr) return update_values(ctx, m, pattern);
    if (detail::has_ascending_rows(ctx, pattern)) {
      const auto content = detail::own_content(ctx, m);
      detail::place_in_tree<T, I, S>(ctx,
                                     {m.shape(), v.a.size(), detail::tree_offsets(v.rowptr.data()),
                                      v.colind, v.a.values().data(), detail::tree_offsets(v.from)},
                                     content->arrays());
      m = block_tree<T, I, O, S>(content);
      return;
    }
    array<T, S> values(ctx, v.a.size());
    detail::place_values<T, O, S>(ctx, v.from, v.a.values(), values.view());
    update_values(ctx, m, with(values.data()));
  }
};

} // namespace lacuna::planning
