// tune(): makes matrices in every format, multiplies with each, and hands the times on.
#include <lacuna/plan/tune.hpp>

#include <algorithm>

#include <unistd.h>

#include <lacuna/gen/generate.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/plan/tune_spgemm.hpp>

#include "plan/stored.hpp"
#include "plan/tuning.hpp"

namespace lacuna {
namespace {

/// Of a matrix as CSR, so that it fits in all its formats and sizes; on a host at most 160 MB.
std::size_t largest_training_bytes(const host_context&) {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const std::size_t most = 160'000'000;
  if (pages <= 0 || page <= 0) return most;
  return std::min(most, static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) / 64);
}
std::size_t largest_training_bytes(const device_context& ctx) {
  return ctx.properties().memory_bytes / 96;
}

template <space S>
measured_matrix measure_matrix(const context<S>& ctx, const std::string& spec,
                               const spmv_machine& machine, bool quick) {
  using I = std::int32_t;
  using storage = planning::stored_matrix<double, I, I, S>;
  const host_context host;
  const csr<double, I, I, S> a = copy_to(ctx, gen::generate<double, I, I>(host, spec));
  const csr_view<const double, I, I, S> view = a.view();
  array<double> ones(host, view.shape().col);
  std::fill(ones.begin(), ones.end(), 1.0);
  const array<double, S> x = copy_to(ctx, ones);
  array<double, S> y(ctx, view.shape().row);
  const auto from = detail::as_columns(x.view());
  const auto to = detail::as_columns(y.view());
  const auto wait = [&] { ctx.synchronize(); };

  measured_matrix m{spec, find_features(ctx, view), {}, {}};
  std::vector<std::function<void()>> runs;
  wait();
  for (const plan_candidate& c : candidates_to_measure(m.features, m.widths, machine, quick)) {
    std::shared_ptr<const storage> made;
    double seconds = 0;
    try {
      seconds = seconds_of([&] {
        made = planning::store(ctx, c, view);
        wait();
      });
    } catch (const planning::made_in_vain&) { // the matrix is none for this format
      continue;
    }
    m.runs.push_back({c, 0, seconds, 0});
    runs.emplace_back([&ctx, from, to, made] { made->multiply(ctx, 1, from, 0, from, to); });
  }
  // On a device a queue of 30, so that launches and the wait hardly count.
  const std::vector<timed_run> times =
      time_in_turn(runs, wait, S == space::host ? 0 : 30, quick ? 1 : 3);
  for (std::size_t i = 0; i < times.size(); ++i) {
    m.runs[i].seconds = times[i].seconds;
    m.runs[i].scatter = times[i].scatter;
  }
  return m;
}

template <space S> tuning tune_on(const context<S>& ctx, const tune_options& options) {
  const spmv_machine built_in = built_in_machine(ctx);
  tuning result;
  result.before = machine_of(ctx);
  std::vector<std::string> specs = options.only;
  if (specs.empty())
    specs = training_matrices(S == space::device, options.quick, largest_training_bytes(ctx));
  for (const std::string& spec : specs) (void)gen::expected_size(spec);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (options.progress)
      options.progress(specs[i], static_cast<double>(i) / static_cast<double>(specs.size()));
    result.matrices.push_back(measure_matrix(ctx, specs[i], built_in, options.quick));
  }
  result.machine = fit_machine(built_in, result.matrices);
  if constexpr (S == space::device) {
    if (options.progress) options.progress("sparse products", 1);
    result.machine.spgemm = tune_spgemm(ctx, built_in.spgemm, options.quick, options.only);
  }
  result.machine.name = machine_name(ctx);
  result.machine.origin = "measured now";
  result.machine.remarks.clear();
  result.judged_before = judge(result.before, result.matrices);
  result.judged_built_in = judge(built_in, result.matrices);
  result.judged = cross_validate(built_in, result.matrices);
  result.better = result.judged.mean_slowdown() < 0.99 * result.judged_before.mean_slowdown() &&
                  result.judged.mean_slowdown() < 0.99 * result.judged_built_in.mean_slowdown();
  return result;
}

} // namespace

tuning tune(const host_context& ctx, const tune_options& options) { return tune_on(ctx, options); }
tuning tune(const device_context& ctx, const tune_options& options) {
  return tune_on(ctx, options);
}

} // namespace lacuna
