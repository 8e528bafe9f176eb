// lacuna-bench paper:004: the figures of Lane and Booth (2022), CSR-k, beside what this machine
// gives: orders and k, sizes of super-rows, pre-processing, threads.
#pragma once

#include "bench/peers/peers.hpp"
#include "bench/reordered.hpp"
#include "bench/suite.hpp"
#include "plan/formats/csr_k.hpp"

namespace lacuna::bench {

namespace paper_004 {

/// In the matrix's own order; names with an order have it behind a comma (in_rcm, in_band).
inline constexpr const char *csr = "csr", *k2 = "csr_k 2", *k3 = "csr_k 3";
inline constexpr const char *in_rcm = ", RCM", *in_band = ", Band-k";
/// The paper's own sizes in Band-k's order: 96 rows on a host; on a device those of its model of
/// Ampere, which is then multiplied by blocks of its four shapes, as all groups of an ordering are.
inline constexpr const char* by_paper = "csr_k, paper's";

/// The k that stands for CSR-k where this runs.
template <space S> constexpr int main_k = S == space::host ? 2 : 3;

/// Seconds of what was done once for a matrix, orderings on the host. 0: not done here.
struct costs {
  std::string matrix, values;
  double rcm = 0, band_2 = 0, band_3 = 0, permute = 0, convert_2 = 0, convert_3 = 0;
  double csr_product = 0; ///< their unit in the table
};
/// GFLOP/s with super-rows of each size, beside the model's and the paper's constant.
struct sweep {
  measured_problem m; ///< a result for each: "8", "16 x 4", "model", "96"
  csr_k_sizes model;
  std::vector<csr_k_sizes> grid;
};
/// All lines that have an order, with so many threads.
struct scaling {
  int threads;
  measured_problem m;
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

template <class T, space S> double mean_length(const stage<T, S>& on) {
  return static_cast<double>(on.facts().nnz) /
         static_cast<double>(std::max<std::int64_t>(on.facts().rows, 1));
}
template <class T, space S>
csr_k_sizes model_sizes(const stage<T, S>& on, int k, const context<S>& ctx) {
  return choose_csr_k_sizes(mean_length(on), k, planning::csr_k_format::model_of(machine_of(ctx)));
}

/// The sizes that the paper's section 4 gives.
template <space S> csr_k_sizes paper_sizes(double mean_row_length) {
  if (S == space::host) return {96, 0};
  return choose_csr_k_sizes(mean_row_length, 3, csr_k_model::ampere());
}

/// A square matrix in every order that a line needs.
template <class T, space S> struct orders {
  using ordered = std::shared_ptr<const ordered_matrix<T, S>>;
  ordered rcm, band_2, band_3, paper;
  [[nodiscard]] const ordered& band() const { return main_k<S> == 2 ? band_2 : band_3; }
};

template <class T, space S>
orders<T, S> find_orders(const context<S>& ctx, const host_context& host, const stage<T, S>& on) {
  const auto& a = on.on_host();
  const auto band = [&](const csr_k_sizes& sizes) {
    std::vector<std::int64_t> levels = {sizes.super_row};
    if (sizes.super_super_row > 0) levels.push_back(sizes.super_super_row);
    return put_in_order<T, S>(ctx, host, a, [&] { return band_k(host, a, levels); });
  };
  const csr_k_sizes two = model_sizes(on, 2, ctx), three = model_sizes(on, 3, ctx),
                    paper = paper_sizes<S>(mean_length(on));
  orders<T, S> all;
  all.rcm = put_in_order<T, S>(ctx, host, a, [&] {
    return band_ordering<index_t>{reverse_cuthill_mckee(host, a), {}};
  });
  all.band_2 = band(two);
  all.band_3 = band(three);
  all.paper = paper == two ? all.band_2 : paper == three ? all.band_3 : band(paper);
  return all;
}

/// CSR-k with the groups of the order, wherever it runs.
template <class T, space S>
contestant<T, S> banded(const std::string& name, const context<S>& ctx,
                        const typename orders<T, S>::ordered& order) {
  const auto make = [order](const context<S>& c, problem_matrix<T, S> b) {
    if constexpr (S == space::host) {
      return to_csr_k(c, b, order->band);
    } else {
      const host_context host;
      return copy_to(c, to_csr_k(host, copy_to(host, b), order->band));
    }
  };
  return reordered<T, S>(name, role::lacuna_too, ctx, order,
                         format_contestant<T, S>(name, role::lacuna_too, ctx, make));
}

/// Our lines and every peer's in RCM's and in Band-k's order.
template <class T, space S>
std::vector<contestant<T, S>> in_order(const context<S>& ctx, const stage<T, S>& on,
                                       const orders<T, S>& all,
                                       const std::vector<contestant<T, S>>& peers) {
  constexpr int k = main_k<S>;
  const auto rows =
      csr_contestant<T, S>(csr, role::lacuna_too, {suite::spmv}, ctx, S == space::device);
  const std::string name = k == 2 ? k2 : k3;
  const auto groups =
      csr_k_contestant<T, S>(name, role::lacuna_too, ctx, k, model_sizes(on, k, ctx));
  std::vector<contestant<T, S>> lines = {
      reordered<T, S>(std::string(csr) + in_rcm, role::lacuna_too, ctx, all.rcm, rows),
      reordered<T, S>(std::string(csr) + in_band, role::lacuna_too, ctx, all.band(), rows),
      reordered<T, S>(name + in_rcm, role::lacuna_too, ctx, all.rcm, groups),
      banded<T, S>(std::string(k2) + in_band, ctx, all.band_2),
      banded<T, S>(std::string(k3) + in_band, ctx, all.band_3),
      banded<T, S>(by_paper, ctx, all.paper)};
  for (const auto& each : peers) {
    lines.push_back(reordered<T, S>(each.name + in_rcm, role::peer_too, ctx, all.rcm, each));
    lines.push_back(reordered<T, S>(each.name + in_band, role::peer_too, ctx, all.band(), each));
  }
  return lines;
}

/// Those that multiply by one vector.
template <class T, space S>
std::vector<contestant<T, S>> spmv_peers(std::vector<contestant<T, S>> all) {
  std::erase_if(all, [](const auto& each) {
    return each.plays != role::peer ||
           std::ranges::find(each.suites, suite::spmv) == each.suites.end();
  });
  return all;
}

template <class T, space S>
sweep sweep_sizes(const context<S>& ctx, const settings& s, const stage<T, S>& on) {
  const int k = main_k<S>;
  sweep result{{}, model_sizes(on, k, ctx), grid_for(k, s.full)};
  const auto entry = [&](const std::string& name, int levels, csr_k_sizes sizes) {
    return csr_k_contestant<T, S>(name, role::lacuna_too, ctx, levels, sizes);
  };
  std::vector<contestant<T, S>> all = {entry("model", k, result.model), entry("96", 2, {96, 0})};
  for (const csr_k_sizes& sizes : result.grid) all.push_back(entry(name_of(sizes), k, sizes));
  result.m = on.measure({}, s.seed, all);
  return result;
}

/// Figure 5: the lines in order with 1, 2, 4, … threads, fewer than all.
template <class T>
void sweep_threads(const rig<space::host>& r, const settings& s, const host_context& host,
                   const stage<T, space::host>& on, const orders<T, space::host>& all,
                   std::vector<scaling>& to) {
  if (r.ctx.threads() == 1) return;
  const auto peers_with = [&](int threads) {
    peer_lists<space::host> list;
    if constexpr (std::is_same_v<T, double>)
      list.f64 = host_peers<T>({threads, s.mkl, s.what});
    else
      list.f32 = host_peers<T>({threads, s.mkl, s.what});
    return spmv_peers(list.template contestants<T>());
  };
  for (int threads = 1; threads < r.ctx.threads(); threads *= 2) {
    rig<space::host> fewer = r.briefly();
    fewer.ctx = host_context({threads});
    const stage<T, space::host> same(fewer, host, {on.facts().matrix}, on.on_host());
    to.push_back(
        {threads, same.measure({}, s.seed, in_order(fewer.ctx, same, all, peers_with(threads)))});
  }
  (void)peers_with(r.ctx.threads()); // how many they use is kept for the whole process
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
    const auto others = spmv_peers(peers.template contestants<T>());
    const auto entry = [&](const char* name, int k) {
      const role plays = k == main_k<S> ? role::lacuna : role::lacuna_too;
      return csr_k_contestant<T, S>(name, plays, r.ctx, k, model_sizes(on, k, r.ctx));
    };
    std::vector<contestant<T, S>> all = {
        csr_contestant<T, S>(csr, role::lacuna_too, {suite::spmv}, r.ctx, device), entry(k2, 2),
        entry(k3, 3)};
    all.insert(all.end(), others.begin(), others.end());
    costs cost{on.facts().matrix, on.facts().values};
    const bool square = on.facts().rows == on.facts().cols;
    orders<T, S> ordered;
    if (square) {
      out.progress(on.facts().matrix + ": orderings …");
      ordered = find_orders(r.ctx, host, on);
      cost.rcm = ordered.rcm->order_seconds;
      cost.permute = ordered.rcm->permute_seconds;
      cost.band_2 = ordered.band_2->order_seconds;
      cost.band_3 = ordered.band_3->order_seconds;
      for (auto& each : in_order(r.ctx, on, ordered, others)) all.push_back(std::move(each));
      out.progress(on.facts().matrix + ": " + std::to_string(all.size()) + " lines …");
    }
    const measured_problem m = on.measure({}, s.seed, all);
    if (const result* rows = m.find(csr)) cost.csr_product = rows->seconds;
    if (const result* two = m.find(k2)) cost.convert_2 = two->prepare_seconds;
    if (const result* three = m.find(k3)) cost.convert_3 = three->prepare_seconds;
    results.cost.push_back(cost);
    out.add(m);
    if constexpr (!device)
      if (square) {
        out.progress(m.matrix + ": fewer threads …");
        sweep_threads<T>(r, s, host, on, ordered, results.scalings);
        results.scalings.push_back({r.ctx.threads(), m});
      }
    if (!results.wants(m)) return;
    out.progress(m.matrix + ": sizes of super-rows …");
    results.sweeps.push_back(sweep_sizes<T, S>(r.ctx, s, on));
    out.judge(results.sweeps.back().m);
  });
  paper_004::print(out.problems(), results, device, out.figures());
}

} // namespace lacuna::bench
