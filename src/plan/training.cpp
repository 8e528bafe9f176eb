// What tuning measures: matrices, formats with their options, and the clock.
#include <lacuna/gen/generate.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "plan/choose.hpp"
#include "plan/tuning.hpp"

namespace lacuna {
namespace {

/// `quick`: also part of the short tuning.
struct training {
  const char* spec;
  bool quick;
};

// Every class of kernels has matrices, in the short tuning at least five; from what caches hold to
// about 150 MB.
constexpr training for_hosts[] = {{"poisson2d:n=100", true},
                                  {"poisson2d:n=1000", true},
                                  {"poisson2d9:n=300", true},
                                  {"poisson3d:n=30", false},
                                  {"poisson3d:n=80", true},
                                  {"poisson3d:n=120", false},
                                  {"poisson3d27:n=40", false},
                                  {"poisson3d27:n=72", false},
                                  {"banded:n=100000", true},
                                  {"banded:n=20000,half_bandwidth=32", false},
                                  {"diagonal:n=1000000", true},
                                  {"fem3d:n=10", true},
                                  {"fem3d:n=24", true},
                                  {"elasticity3d:n=16", true},
                                  {"kkt:n=24", true},
                                  {"mesh2d:n=500", true},
                                  {"rgg:scale=13", false},
                                  {"rgg:scale=17", true},
                                  {"uniform:rows=10000", true},
                                  {"uniform:rows=250000", true},
                                  {"uniform:rows=1000000,per_row=8", false},
                                  {"localized:n=10000", true},
                                  {"qcd:n=6", true},
                                  {"trace3:n=300", false},
                                  {"trace3:n=1000", true},
                                  {"debruijn:scale=19", true},
                                  {"rmat:scale=13", false},
                                  {"rmat:scale=17", false},
                                  {"kron:scale=11", false},
                                  {"kron:scale=15", true},
                                  {"circuit:n=30000", false},
                                  {"circuit:n=1000000", true},
                                  {"web:n=50000", false},
                                  {"web:n=400000", true},
                                  {"lp:rows=1000,cols=200000", false},
                                  {"dense:n=300,m=300", false},
                                  {"dense:n=1500,m=1500", true}};
// The same from 0.1 to about 500 MB.
constexpr training for_devices[] = {{"poisson2d:n=50", true},
                                    {"poisson2d:n=500", false},
                                    {"poisson2d:n=2500", true},
                                    {"poisson2d9:n=800", true},
                                    {"poisson3d:n=30", false},
                                    {"poisson3d:n=100", true},
                                    {"poisson3d:n=160", false},
                                    {"poisson3d27:n=40", false},
                                    {"poisson3d27:n=100", true},
                                    {"banded:n=20000,half_bandwidth=32", false},
                                    {"banded:n=1000000", true},
                                    {"diagonal:n=4000000", true},
                                    {"fem3d:n=10", false},
                                    {"fem3d:n=40", true},
                                    {"elasticity3d:n=30", true},
                                    {"kkt:n=60", true},
                                    {"mesh2d:n=200", false},
                                    {"mesh2d:n=1500", true},
                                    {"rgg:scale=14", false},
                                    {"rgg:scale=19", true},
                                    {"uniform:rows=10000", true},
                                    {"uniform:rows=1000000", true},
                                    {"uniform:rows=2000000,per_row=8", false},
                                    {"localized:n=100000", true},
                                    {"qcd:n=12", true},
                                    {"trace3:n=300", false},
                                    {"trace3:n=2000", true},
                                    {"debruijn:scale=21", false},
                                    {"rmat:scale=14", false},
                                    {"rmat:scale=19", true},
                                    {"kron:scale=13", false},
                                    {"kron:scale=18", true},
                                    {"circuit:n=100000", false},
                                    {"circuit:n=2000000", true},
                                    {"web:n=100000", false},
                                    {"web:n=2000000", true},
                                    {"lp:rows=1000,cols=200000", false},
                                    {"lp:rows=4000,cols=1000000", true},
                                    {"dense:n=500,m=500", false},
                                    {"dense:n=4000,m=4000", true}};

/// The machine with every combination of values that are tried for a format's thresholds.
std::vector<spmv_machine> machines_to_try(const spmv_machine& machine,
                                          const planning::format_row& row) {
  std::vector<spmv_machine> tried = {machine};
  for (const planning::tuned_number& n : row.numbers) {
    const std::size_t before = tried.size();
    for (std::size_t i = 0; i < before; ++i)
      for (const double value : n.tried) {
        tried.push_back(tried[i]);
        tried.back().numbers[std::string(n.name)] = value;
      }
  }
  return tried;
}

} // namespace

std::vector<std::string> training_matrices(bool device, bool quick, std::size_t most_bytes) {
  std::vector<std::string> specs;
  const auto take = [&](const auto& list) {
    for (const training& t : list) {
      if (quick && !t.quick) continue;
      const gen::size size = gen::expected_size(t.spec);
      if (static_cast<std::size_t>(12 * size.entries + 4 * size.rows) <= most_bytes)
        specs.emplace_back(t.spec);
    }
  };
  device ? take(for_devices) : take(for_hosts);
  return specs;
}

std::vector<plan_candidate> candidates_to_measure(const spmv_features& features,
                                                  const type_widths& widths,
                                                  const spmv_machine& machine, bool quick) {
  std::vector<plan_candidate> result;
  const auto add = [&](const plan_candidate& c) {
    const bool known = std::any_of(result.begin(), result.end(), [&](const plan_candidate& r) {
      return r.format == c.format && r.kernel == c.kernel && r.options == c.options;
    });
    if (!known && c.refused.empty()) result.push_back(c);
  };
  for (const planning::format_row& row : planning::format_table()) {
    if (row.only_by_name) continue;
    // Asked for by name: the planner leaves out some that seldom win.
    plan_hints hints;
    hints.format = row.name;
    hints.memory_limit = static_cast<std::size_t>(3 * (widths.value + widths.index) *
                                                  std::max<std::int64_t>(features.entries, 1024));
    for (const spmv_machine& m : machines_to_try(machine, row))
      for (const plan_candidate& c : choose_plan(features, widths, m, hints).candidates)
        if (c.format == row.name) add(c);
    const planning::offer_to to{features, widths, machine, hints, {}, 0};
    for (const plan_candidate& c : row.variants(to, quick)) add(c);
  }
  return result;
}

double seconds_of(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<timed_run> time_in_turn(const std::vector<std::function<void()>>& runs,
                                    const std::function<void()>& wait, int queue, double budget) {
  constexpr double sample_seconds = 1e-3;
  const auto sample = [&](const std::function<void()>& run, int times) {
    return seconds_of([&] {
      for (int i = 0; i < times; ++i) run();
      wait();
    });
  };
  std::vector<int> times;
  double round = 0;
  for (const auto& run : runs) {
    (void)sample(run, 1); // touches everything once
    const double once = std::max(sample(run, 1), 1e-7);
    times.push_back(queue > 0 ? queue
                              : std::clamp(static_cast<int>(sample_seconds / once), 1, 100));
    round += once * times.back();
  }
  const int rounds = std::clamp(static_cast<int>(budget / std::max(round, 1e-9)), 7, 31);
  std::vector<std::vector<double>> seconds(runs.size());
  double spent = 0;
  for (int k = 0; k < rounds && (k < 3 || spent < 2 * budget); ++k)
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double all = sample(runs[i], times[i]);
      seconds[i].push_back(all / times[i]);
      spent += all;
    }
  std::vector<timed_run> result;
  for (auto& each : seconds) {
    std::sort(each.begin(), each.end());
    result.push_back({each[each.size() / 4], each[each.size() / 2] / each[0] - 1});
  }
  return result;
}

} // namespace lacuna
