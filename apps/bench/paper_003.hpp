// lacuna-bench paper:003: the figures of Matam and Kothapalli (2011), who keep short rows in ELL
// and long ones in CSR, beside what this machine gives.
#pragma once

#include "bench/hyb/hyb.hpp"
#include "bench/suite.hpp"
#include <lacuna/format/ell_csr.hpp>
#include <lacuna/plan/features.hpp>

namespace lacuna::bench {

namespace paper_003 {
inline constexpr const char *csr = "csr", *hyb = "HYB", *thresholds = "ell_csr, paper's",
                            *packed = "ell_csr, paper's, packed", *planned = "ell_csr, planned";

/// The paper's T, M and L, and its order: all rows by length.
inline ell_csr_options options_for(const spmv_features& f, bool packed_columns) {
  std::int64_t rows = 0, entries = 0;
  for (std::size_t k = 0; k <= 8; ++k) { // rows of less than 256 entries
    rows += f.length_histogram[k];
    entries += f.entries_by_length[k];
  }
  ell_csr_options options = paper_thresholds(rows, entries);
  options.window = ell_csr_options::none;
  options.packed = packed_columns;
  return options;
}

template <class T, space S> class hyb_product : public prepared {
public:
  hyb_product(const context<S>& ctx, const problem<T, S>& p)
      : ctx_(ctx), p_(p), a_(to_hyb<T, S>(ctx, p.a)) {}
  void run() override {
    multiply_hyb<T, S>(ctx_, a_, {p_.x.data(), p_.x.shape().row}, {p_.y.data(), p_.y.shape().row});
  }
  [[nodiscard]] std::size_t extra_bytes() const override { return a_.bytes(); }
  [[nodiscard]] std::size_t format_bytes() const override { return a_.bytes(); }

private:
  context<S> ctx_;
  problem<T, S> p_;
  bench::hyb<T, S> a_;
};

template <class T, space S> std::vector<contestant<T, S>> contestants(const context<S>& ctx) {
  using M = problem_matrix<T, S>;
  const auto by_paper = [&](const char* name, bool packed_columns) {
    return format_contestant<T, S>(
        name, role::lacuna_too, ctx, [packed_columns](const context<S>& c, M a) {
          return to_ell_csr(c, a, options_for(find_features(c, a), packed_columns));
        });
  };
  std::vector<contestant<T, S>> result = {
      csr_contestant<T, S>(csr, role::lacuna_too, {suite::spmv}, ctx, S == space::device)};
  result.push_back({hyb, role::lacuna_too, {suite::spmv}, [ctx](const problem<T, S>& p) {
                      return std::make_unique<hyb_product<T, S>>(ctx, p);
                    }});
  result.push_back(by_paper(thresholds, false));
  result.push_back(by_paper(packed, true));
  result.push_back(planned_contestant<T, S>(planned, role::lacuna, {suite::spmv}, ctx, "ell_csr"));
  return result;
}

/// Prints the table, and adds "paper" to the JSON object.
void print(const std::vector<measured_problem>& problems, nlohmann::ordered_json& out);
} // namespace paper_003

template <space S>
void run_paper_003(const rig<S>& r, const host_context& host, const settings& s,
                   const std::vector<matrix_source>& sources, const peer_lists<S>& peers,
                   report& out) {
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    auto contestants = paper_003::contestants<T, S>(r.ctx);
    for (auto& each : peers.template contestants<T>())
      if (each.plays == role::peer) contestants.push_back(std::move(each));
    out.add(on.measure({}, s.seed, contestants));
  });
  paper_003::print(out.problems(), out.figures());
}

} // namespace lacuna::bench
