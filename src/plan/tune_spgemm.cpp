// The line search over SpGEMM's thresholds.
#include <lacuna/plan/tune_spgemm.hpp>

#include <chrono>

#include <lacuna/gen/generate.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/op/spgemm.hpp>

#include "plan/fit.hpp"
#include "plan/tuning.hpp"

namespace lacuna {
namespace {

struct threshold {
  std::int64_t spgemm_thresholds::*field;
  std::vector<std::int64_t> candidates;
};
/// In the order of the search: what moves most rows first.
const std::vector<threshold>& searched() {
  static const std::vector<threshold> all = {
      {&spgemm_thresholds::merged_products, {0, 32, 64, 100, 160, 256}},
      {&spgemm_thresholds::merged_entries, {3, 5, 7, 10}},
      {&spgemm_thresholds::merged_products_of_few, {0, 16, 32, 64, 100}},
      {&spgemm_thresholds::flat_length, {0, 8, 12, 16, 20, 28, 40}},
      {&spgemm_thresholds::light_products, {2048, 4096, 8192, 16384, 32768, 65536}},
      {&spgemm_thresholds::tile_length, {0, 8, 16, 32, 48, 64, 128}},
      {&spgemm_thresholds::few_rows, {0, 128, 512, 2048, 8192}},
      {&spgemm_thresholds::few_in_all, {0, 16384, 65536, 262144}},
      {&spgemm_thresholds::twin_products, {50, 200, 1000, 4000, 16000}},
      {&spgemm_thresholds::twin_share, {2, 3, 4, 6}},
      {&spgemm_thresholds::slice_products, {100, 300, 1000, 4000, 16000}},
      {&spgemm_thresholds::slice_places, {1, 2, 3, 4}},
      {&spgemm_thresholds::one_pass_products, {0, 1000, 3000, 6000, 12000}}};
  return all;
}

/// One that is to replace another must be better by more than measurements scatter.
constexpr double least_gain = 0.98;

} // namespace

spgemm_thresholds search_spgemm_thresholds(const spgemm_thresholds& start, int passes,
                                           const product_times& times) {
  std::vector<std::pair<spgemm_thresholds, double>> known;
  const auto mean_time = [&](const spgemm_thresholds& t) {
    for (const auto& [tried, mean] : known)
      if (tried == t) return mean;
    return known.emplace_back(t, fitting::geometric_mean(times(t))).second;
  };
  spgemm_thresholds best = start;
  bool changed = true;
  for (int pass = 0; pass < passes && changed; ++pass) {
    changed = false;
    for (const threshold& each : searched()) {
      double least = least_gain * mean_time(best);
      spgemm_thresholds fastest = best;
      for (const std::int64_t value : each.candidates) {
        spgemm_thresholds tried = best;
        tried.*each.field = value;
        if (const double mean = mean_time(tried); mean < least) {
          least = mean;
          fastest = tried;
        }
      }
      changed = changed || !(fastest == best);
      best = fastest;
    }
  }
  return best;
}

namespace {

/// Specs for gen::generate.
std::vector<std::string> training_products(bool quick) {
  // Short rows, stencils, blocks, meshes, graphs with a few heavy rows.
  std::vector<std::string> specs = {"poisson2d:n=500", "poisson3d27:n=40",
                                    "rgg:scale=17",    "uniform:rows=131072,per_row=8",
                                    "rmat:scale=13",   "web:n=200000"};
  if (!quick)
    for (const char* more : {"poisson2d9:n=512", "poisson3d:n=64", "fem3d:n=20,dof=3",
                             "kron:scale=12", "debruijn:scale=18", "trace3:n=700", "qcd:n=8",
                             "banded:n=100000", "uniform:rows=20000,per_row=13"})
      specs.emplace_back(more);
  return specs;
}

/// The median of `repeat` runs, after one that does not count.
template <class Run> double median_seconds(int repeat, const Run& run) {
  run();
  std::vector<double> seconds;
  for (int i = 0; i < repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return fitting::median(seconds);
}

} // namespace

template <space S>
spgemm_thresholds tune_spgemm(const context<S>& ctx, const spgemm_thresholds& start, bool quick,
                              std::vector<std::string> specs) {
  if (specs.empty()) specs = training_products(quick);
  std::vector<csr<double, std::int32_t, std::int32_t, S>> matrices;
  for (const std::string& spec : specs) {
    const auto a =
        gen::generate<double, std::int32_t, std::int32_t>(default_context<space::host>(), spec);
    if (a.shape().row == a.shape().col) matrices.push_back(copy_to(ctx, a));
  }
  return search_spgemm_thresholds(start, quick ? 1 : 3, [&](const spgemm_thresholds& t) {
    std::vector<double> seconds;
    for (const auto& a : matrices)
      seconds.push_back(median_seconds(quick ? 3 : 5, [&] {
        (void)multiply(ctx, a, a, {.thresholds = &t});
        ctx.synchronize();
      }));
    return seconds;
  });
}
template spgemm_thresholds tune_spgemm(const host_context&, const spgemm_thresholds&, bool,
                                       std::vector<std::string>);
template spgemm_thresholds tune_spgemm(const device_context&, const spgemm_thresholds&, bool,
                                       std::vector<std::string>);

} // namespace lacuna
