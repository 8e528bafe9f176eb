// lacuna-bench paper:004: the figures of Lane and Booth (2022), CSR-k, beside what this machine
// gives: orders and k, sizes of super-rows, pre-processing, threads.
#pragma once

#include "bench/reordered.hpp"
#include "bench/suite.hpp"
#include "plan/formats/csr_k.hpp"

namespace lacuna::bench {

namespace paper_004 {

inline constexpr const char *csr = "csr", *k2 = "csr_k 2", *k3 = "csr_k 3", *csr_rcm = "csr, RCM",
                            *k2_rcm = "csr_k 2, RCM", *k2_band = "csr_k 2, Band-k",
                            *k3_band = "csr_k 3, Band-k";

/// Seconds of what was done once for a matrix. 0: not done here.
struct costs {
  std::string matrix, values;
  double rcm = 0, band_k = 0, permute = 0, convert_2 = 0, convert_3 = 0;
  double csr_product = 0; ///< their unit in the table
};
/// GFLOP/s with super-rows of each size, beside the model's and the paper's constant.
struct sweep {
  measured_problem m; ///< a result for each: "8", "16 x 4", "model", "96"
  csr_k_sizes model;
  std::vector<csr_k_sizes> grid;
};
/// GFLOP/s with 1 to all threads.
struct scaling {
  std::vector<int> threads;
  std::vector<measured_problem> m;
};
struct findings {
  std::vector<costs> cost;
  std::vector<sweep> sweeps;
  std::vector<scaling> scalings;

  /// Whether a sweep of a matrix of this class and precision is still missing.
  [[nodiscard]] bool wants(const measured_problem& facts) const;
};

/// Name of a size in a sweep; the second number only for k = 3.
std::string name_of(const csr_k_sizes& sizes);
/// Those the paper tried, or only their powers of two. k = 2: 8 to 3072 rows; k = 3: 4 to 48 rows
/// and super-rows.
std::vector<csr_k_sizes> grid_for(int k, bool full);

/// Prints the tables, and adds "paper" to the JSON object.
void print(const std::vector<measured_problem>& problems, const findings& results, bool device,
           nlohmann::ordered_json& out);

/// CSR-k with rows in their order.
template <class T, space S>
contestant<T, S> csr_k_contestant(const std::string& name, role plays, const context<S>& ctx, int k,
                                  csr_k_sizes sizes) {
  return format_contestant<T, S>(
      name, plays, ctx, [=](const context<S>& c, problem_matrix<T, S> a) {
        return to_csr_k(c, a, {k, sizes.super_row, sizes.super_super_row, 0});
      });
}

template <class T, space S>
csr_k_sizes model_sizes(const stage<T, S>& on, int k, const context<S>& ctx) {
  const auto rows = static_cast<double>(std::max<std::int64_t>(on.facts().rows, 1));
  return choose_csr_k_sizes(static_cast<double>(on.facts().nnz) / rows, k,
                            planning::csr_k_format::model_of(machine_of(ctx)));
}

/// The host's lines in RCM's and Band-k's order, our own and the peers'.
template <class T>
void add_reordered(const host_context& ctx, const stage<T, space::host>& on,
                   const std::vector<contestant<T, space::host>>& peers, costs& cost,
                   std::vector<contestant<T, space::host>>& result) {
  using made = contestant<T, space::host>;
  const auto a = on.matrix();
  const auto rcm = put_in_order<T>(ctx, a, [&] {
    return band_ordering<index_t>{reverse_cuthill_mckee(ctx, a), {}};
  });
  const auto plain =
      csr_contestant<T, space::host>(csr, role::lacuna_too, {suite::spmv}, ctx, false);
  const csr_k_sizes two = model_sizes(on, 2, ctx), three = model_sizes(on, 3, ctx);
  const auto add = [&](const char* name, const auto& order, const made& inner) {
    result.push_back(reordered<T>(name, role::lacuna_too, ctx, order, inner));
  };
  add(csr_rcm, rcm, plain);
  add(k2_rcm, rcm, csr_k_contestant<T, space::host>(k2, role::lacuna_too, ctx, 2, two));
  const auto add_band = [&](const char* name, const std::vector<std::int64_t>& sizes) {
    const auto order = put_in_order<T>(ctx, a, [&] { return band_k(ctx, a, sizes); });
    add(name, order,
        format_contestant<T, space::host>(name, role::lacuna_too, ctx,
                                          [order](const host_context& c, csr_view<const T> b) {
                                            return to_csr_k(c, b, order->band);
                                          }));
    return order->order_seconds;
  };
  cost.rcm = rcm->order_seconds;
  cost.permute = rcm->permute_seconds;
  cost.band_k = add_band(k2_band, {two.super_row});
  (void)add_band(k3_band, {three.super_row, three.super_super_row});
  for (const auto& each : peers)
    result.push_back(reordered<T>(each.name + ", RCM", role::peer_too, ctx, rcm, each));
}

template <class T, space S>
sweep sweep_sizes(const context<S>& ctx, const settings& s, const stage<T, S>& on) {
  const int k = S == space::host ? 2 : 3;
  sweep result{{}, model_sizes(on, k, ctx), grid_for(k, s.full)};
  const auto entry = [&](const std::string& name, int levels, csr_k_sizes sizes) {
    return csr_k_contestant<T, S>(name, role::lacuna_too, ctx, levels, sizes);
  };
  std::vector<contestant<T, S>> all = {entry("model", k, result.model), entry("96", 2, {96, 0})};
  for (const csr_k_sizes& sizes : result.grid) all.push_back(entry(name_of(sizes), k, sizes));
  result.m = on.measure({}, s.seed, all);
  return result;
}

template <class T>
scaling sweep_threads(const rig<space::host>& r, const settings& s, const host_context& host,
                      const stage<T, space::host>& on) {
  scaling result;
  for (int threads = 1; threads < r.ctx.threads(); threads *= 2) result.threads.push_back(threads);
  result.threads.push_back(r.ctx.threads());
  for (const int threads : result.threads) {
    rig<space::host> fewer = r;
    fewer.ctx = host_context({threads});
    const stage<T, space::host> same(fewer, host, {on.facts().matrix}, on.on_host());
    const csr_k_sizes sizes = model_sizes(on, 2, fewer.ctx);
    result.m.push_back(same.measure(
        {}, s.seed,
        {csr_contestant<T, space::host>(csr, role::lacuna_too, {suite::spmv}, fewer.ctx, false),
         csr_k_contestant<T, space::host>(k2, role::lacuna_too, fewer.ctx, 2, sizes)}));
  }
  return result;
}

} // namespace paper_004

template <space S>
void run_paper_004(const rig<S>& r, const host_context& host, const settings& s,
                   const std::vector<matrix_source>& sources, const peer_lists<S>& peers,
                   report& out) {
  using namespace paper_004;
  constexpr bool device = S == space::device;
  findings results;
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    auto others = peers.template contestants<T>();
    std::erase_if(others, [](const auto& each) { return each.plays != role::peer; });
    const auto entry = [&](const char* name, int k) {
      const role plays = k == (device ? 3 : 2) ? role::lacuna : role::lacuna_too;
      return csr_k_contestant<T, S>(name, plays, r.ctx, k, model_sizes(on, k, r.ctx));
    };
    std::vector<contestant<T, S>> all = {
        csr_contestant<T, S>(csr, role::lacuna_too, {suite::spmv}, r.ctx, device), entry(k2, 2),
        entry(k3, 3)};
    all.insert(all.end(), others.begin(), others.end());
    costs cost{on.facts().matrix, on.facts().values};
    if constexpr (!device)
      if (on.facts().rows == on.facts().cols) add_reordered<T>(r.ctx, on, others, cost, all);
    const measured_problem m = on.measure({}, s.seed, all);
    if (const result* rows = m.find(csr)) cost.csr_product = rows->seconds;
    if (const result* two = m.find(k2)) cost.convert_2 = two->prepare_seconds;
    if (const result* three = m.find(k3)) cost.convert_3 = three->prepare_seconds;
    results.cost.push_back(cost);
    out.add(m);
    if (!results.wants(m)) return;
    out.progress(m.matrix + ": sizes of super-rows …");
    results.sweeps.push_back(sweep_sizes<T, S>(r.ctx, s, on));
    out.judge(results.sweeps.back().m);
    if constexpr (!device) {
      out.progress(m.matrix + ": threads …");
      results.scalings.push_back(sweep_threads<T>(r, s, host, on));
    }
  });
  paper_004::print(out.problems(), results, device, out.figures());
}

} // namespace lacuna::bench
