// CSR, as it is: the caller's arrays, or a transposed copy that the plan owns.
#pragma once

#include "plan/work.hpp"

namespace lacuna::planning {

struct csr_format : csr_ordered_format {
  static constexpr std::string_view name = "csr";
  static constexpr kernel_costs kernels[] = {
      {"csr_rows", // a few lanes per row; on a host, all of CSR
       {1.90e-6, 0.204e-12, 0.141e-12, 2.46e-12, 0, 0},
       {0.56e-6, 1.96e-12, 11.4e-12, 0.60e-9, 0.189e-9, 0}},
      {"csr_tiles", {5.06e-6, 0.210e-12, 0.141e-12, 1.97e-12, 0.845e-12, 0}, {}}, // of whole rows
      {"csr_split", {8.55e-6, 0.347e-12, 0.141e-12, 0, 0.650e-12, 0}, {}}};       // rows are cut
  static constexpr bool looks_at_features = false;

  static std::string_view kernel_name(spmv_method method) {
    switch (method) {
    case spmv_method::rows: return "csr_rows";
    case spmv_method::whole_row_tiles: return "csr_tiles";
    case spmv_method::split_tiles: break;
    }
    return "csr_split";
  }
  /// What a product in CSR would run.
  static std::string_view predicted_kernel(const spmv_features& f, const type_widths& w,
                                           const spmv_machine& machine) {
    if (!machine.device) return "csr_rows";
    return kernel_name(
        choose_spmv_kernel(f.rows, f.row_length, static_cast<std::size_t>(w.value), machine.workers)
            .method);
  }
  static spmv_work work(const spmv_features& f, const type_widths& w, const spmv_machine& machine,
                        std::string_view kernel) {
    spmv_work work = csr_work(f, w, csr_bytes(f, w), machine);
    // The lanes of a warp wait for its longest row.
    if (machine.device && kernel == "csr_rows")
      work.rows *= 1 + std::min(1.0, f.row_length.deviation / std::max(1.0, f.row_length.mean));
    return work;
  }
  static void offer(const offer_to& to, std::vector<plan_candidate>& out) {
    const char* const why =
        !to.machine.device             ? "threads take shares of equal rows and entries"
        : to.csr_kernel == "csr_rows"  ? "rows are alike, so each gets the same few lanes"
        : to.csr_kernel == "csr_tiles" ? "rows differ but none is long: tiles of whole rows"
                                       : "rows differ and some are long: tiles that cut rows";
    out.push_back(to.candidate(name, to.csr_kernel, csr_bytes(to.f, to.w),
                               work(to.f, to.w, to.machine, to.csr_kernel), why));
  }

  /// It looks at arrays that others own.
  template <class T, class I, class O, space S> struct matrix {
    csr_view<const T, I, O, S> a;
    multiply_inspection<T, I, O, S> inspection;
    [[nodiscard]] std::size_t bytes() const { return inspection.bytes(); }
    detail::inspected_csr<T, I, O, S> view() const { return {a, &inspection}; }
  };
  template <class T, class I, class O, space S>
  static matrix<T, I, O, S> make(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                 const plan_options&) {
    matrix<T, I, O, S> m{a, {}};
    m.inspection.nnz = a.size();
    detail::inspect_csr<T, I, O, S>(ctx, a, m.inspection);
    return m;
  }
  /// Values are seen where they are.
  template <class T, class I, class O, space S>
  static void update(const context<S>&, matrix<T, I, O, S>& m, const value_source<T, I, O, S>& v) {
    m.a = v.a;
  }
  template <class T, class I, class O, space S>
  static std::string_view kernel_of(const matrix<T, I, O, S>& m) {
    return S == space::host ? "csr_rows" : kernel_name(m.inspection.kernel.method);
  }
};

} // namespace lacuna::planning
