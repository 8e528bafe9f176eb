// CSR with packed columns, in a plan.
#pragma once

#include <lacuna/format/packed_csr.hpp>

#include "plan/work.hpp"

namespace lacuna::planning {

struct packed_csr_format : csr_ordered_format {
  static constexpr std::string_view name = "packed_csr";
  static constexpr kernel_costs kernels[] = {
      {"packed_csr",
       {3.16e-6, 0.158e-12, 0.141e-12, 2.45e-12, 0.808e-12, 6},
       {9.4e-6, 42.9e-12, 11.4e-12, 1.3e-9, 0.092e-9, 3}}};
  static constexpr bool looks_at_features = false;

  static double bytes(const spmv_features& f, const type_widths& w) {
    const auto column = as_double(w.index);
    const std::int64_t chunks = f.chunks_8 + f.chunks_16 + f.chunks_full;
    const double packed = ratio(f.chunks_8, chunks) + 2 * ratio(f.chunks_16, chunks) +
                          column * ratio(f.chunks_full, chunks);
    return as_double(f.entries) * (as_double(w.value) + packed + 2 * column / chunk_entries) +
           as_double(f.rows + 1) * as_double(w.offset);
  }
  static void offer(const offer_to& to, std::vector<plan_candidate>& out) {
    // Tiles read packed columns no faster than plain ones: it is offered where CSR would give
    // every row the same lanes.
    if (to.csr_kernel != "csr_rows" && !to.asks_for(name)) return;
    const double matrix = bytes(to.f, to.w);
    out.push_back(to.candidate(
        name, "packed_csr", matrix, csr_work(to.f, to.w, matrix, to.machine),
        "neighbouring entries have columns near each other, so these fit 8 or 16 bits"));
  }

  template <class T, class I, class O, space S> using matrix = packed_csr<T, I, O, S>;
  template <class T, class I, class O, space S>
  static packed_csr<T, I, O, S> make(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                     const plan_options&) {
    return to_packed_csr(ctx, a);
  }
};

} // namespace lacuna::planning
