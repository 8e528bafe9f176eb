// lacuna-bench paper:002: the figures of Derler's HiSparse (2016), a tree of small blocks, beside
// what this machine gives: bytes per entry, products in both directions, sums with and without
// conversion, and products of trees, which the thesis leaves open.
#pragma once

#include "bench/suite.hpp"
#include <lacuna/op/block_tree_ops.hpp>
#include <lacuna/op/spgemm_phases.hpp>

namespace lacuna::bench {

namespace paper_002 {
inline constexpr const char *csr = "csr", *tree = "block_tree", *planned = "planned",
                            *packed = "packed_csr";

/// The tree, made of A as it is: transposed products are from the same storage.
template <class T, space S> class tree_product : public prepared {
public:
  tree_product(const context<S>& ctx, const problem<T, S>& p)
      : ctx_(ctx), p_(p), a_(to_block_tree(ctx, p.a)) {}
  void run() override {
    if (p_.transposed())
      multiply(ctx_, transposed(a_), p_.x, p_.y);
    else
      multiply(ctx_, a_, p_.x, p_.y);
  }
  [[nodiscard]] std::size_t extra_bytes() const override { return a_.bytes(); }
  [[nodiscard]] std::size_t format_bytes() const override { return a_.bytes(); }

private:
  context<S> ctx_;
  problem<T, S> p_;
  block_tree<T, index_t, offset_t, S> a_;
};

template <class T, space S> std::vector<contestant<T, S>> contestants(const context<S>& ctx) {
  const std::vector<suite> both = {suite::spmv, suite::spmv_t};
  return {csr_contestant<T, S>(csr, role::lacuna_too, both, ctx, false),
          planned_contestant<T, S>(planned, role::lacuna_too, both, ctx, ""),
          planned_contestant<T, S>(packed, role::lacuna_too, {suite::spmv}, ctx, "packed_csr"),
          {tree, role::lacuna, both,
           [ctx](const problem<T, S>& p) { return std::make_unique<tree_product<T, S>>(ctx, p); }}};
}

/// An operation whose result is a matrix, seconds as csr matrices and as trees; 0: not measured.
struct both_ways {
  double csr = 0, tree = 0;
};
/// What is not in the report's contest, y = A x: the transposed product, sums and the product A A.
struct other_figures {
  measured_problem transposed;
  both_ways add;            ///< A + A
  both_ways add_transposed; ///< A + A^T, csr with its transposition
  double add_converted = 0; ///< A + B as csr matrices, B = A^T made before
  both_ways product;        ///< A A
};
/// Products of A A up to which it is measured: some seconds.
inline constexpr std::int64_t most_products = 1'500'000'000;

template <class T, space S>
void measure_others(const context<S>& ctx, problem_matrix<T, S> a, other_figures& to) {
  if (a.shape().row != a.shape().col) return;
  const auto least = [&](int times, auto f) {
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k < times; ++k) {
      ctx.synchronize();
      const app::stopwatch watch;
      f();
      ctx.synchronize();
      best = std::min(best, watch.seconds());
    }
    return best;
  };
  const auto t = to_block_tree(ctx, a);
  to.add.csr = least(3, [&] { (void)add(ctx, a, a); });
  to.add.tree = least(3, [&] { (void)add(ctx, t, t); });
  to.add_transposed.csr = least(3, [&] { (void)add(ctx, a, transposed(a)); });
  to.add_transposed.tree = least(3, [&] { (void)add(ctx, t, transposed(t)); });
  const auto turned = transpose(ctx, a);
  to.add_converted = least(3, [&] { (void)add(ctx, a, turned); });
  const std::int64_t products = estimate(ctx, a, a).products;
  if (products > most_products) return;
  const int times = products > most_products / 10 ? 1 : 3;
  to.product.csr = least(times, [&] { (void)multiply(ctx, a, a); });
  to.product.tree = least(times, [&] { (void)multiply(ctx, t, t); });
}

/// Prints the tables, and adds "paper" to the JSON object.
void print(const std::vector<measured_problem>& problems, const std::vector<other_figures>& others,
           nlohmann::ordered_json& out);
} // namespace paper_002

template <space S>
void run_paper_002(const rig<S>& r, const host_context& host, const settings& s,
                   const std::vector<matrix_source>& sources, const peer_lists<S>& peers,
                   report& out) {
  std::vector<paper_002::other_figures> others;
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    auto contestants = paper_002::contestants<T, S>(r.ctx);
    for (auto& each : peers.template contestants<T>())
      if (each.plays == role::peer) contestants.push_back(std::move(each));
    out.add(on.measure({}, s.seed, contestants));
    others.emplace_back().transposed = on.measure({suite::spmv_t}, s.seed, contestants);
    paper_002::measure_others<T, S>(r.ctx, on.matrix(), others.back());
  });
  paper_002::print(out.problems(), others, out.figures());
}

} // namespace lacuna::bench
