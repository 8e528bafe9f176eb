// What tuning measures: matrices, formats with their options, and the clock.
#include <lacuna/plan/tune.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

#include <unistd.h>

#include "plan/fit.hpp"
#include "plan/thresholds.hpp"

namespace lacuna::fitting {

const std::vector<threshold>& thresholds() {
  static const std::vector<threshold> all = {
      {[](spmv_machine& m, double v) { m.piece = static_cast<std::int64_t>(v); },
       {512, 1024, 2048, 4096, 8192}},
      {[](spmv_machine& m, double v) { m.few_rows = static_cast<std::int64_t>(v); },
       {0, 256, 512, 1024, 2048, 4096}},
      {[](spmv_machine& m, double v) { m.lane_entries = static_cast<std::int64_t>(v); },
       {4, 8, 16, 32}},
      {[](spmv_machine& m, double v) { m.padding = v; }, {1, 1.05, 1.1, 1.15, 1.25, 1.5, 2}}};
  return all;
}

spmv_machine with_most_padding(spmv_machine m) {
  m.padding = std::max(m.padding, thresholds().back().candidates.back());
  return m;
}

} // namespace lacuna::fitting

namespace lacuna::detail {
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

/// The paper's sizes: 2^i and 1.5 2^i, for k = 2 from 8 to 3072, for k = 3 from 4 to 48, both ways.
std::vector<std::int64_t> swept_sizes(bool device, bool quick) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = device ? 4 : 8; size <= (device ? 32 : 2048); size *= 2) {
    sizes.push_back(size);
    if (!quick) sizes.push_back(size + size / 2);
  }
  return sizes;
}

/// Ways to make ell_csr by length that the search may ask for.
std::vector<ell_csr_options> ell_variants(const spmv_features& found, const spmv_machine& machine) {
  std::vector<spmv_machine> tried = {machine};
  for (const fitting::threshold& t : fitting::thresholds()) {
    const std::size_t before = tried.size();
    for (std::size_t i = 0; i < before; ++i)
      for (const double value : t.candidates) {
        tried.push_back(tried[i]);
        t.set(tried.back(), value);
      }
  }
  std::vector<ell_csr_options> variants;
  measured_matrix so_far; // find_run knows which options come to the same
  so_far.found = found;
  for (const spmv_machine& m : tried) {
    plan_candidate c;
    c.format = spmv_format::ell_csr;
    c.ell = choose_ell_csr(found, m).by_length;
    if (find_run(so_far, c) != nullptr) continue;
    so_far.runs.push_back({c, 0, 0, 0});
    variants.push_back(c.ell);
  }
  return variants;
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

std::vector<plan_candidate> candidates_to_measure(const spmv_features& found,
                                                  const type_widths& widths,
                                                  const spmv_machine& machine, bool quick) {
  // Each format asked for by name: the planner leaves out some that seldom win.
  std::vector<plan_candidate> offered;
  for (const spmv_format format :
       {spmv_format::csr, spmv_format::ell_csr, spmv_format::packed_csr, spmv_format::csr_k}) {
    plan_hints hints;
    hints.format = format;
    hints.memory_limit = static_cast<std::size_t>(3 * (widths.value + widths.index) *
                                                  std::max<std::int64_t>(found.entries, 1024));
    for (const plan_candidate& c :
         choose_plan(found, widths, fitting::with_most_padding(machine), hints).candidates)
      if (c.format == format && c.refused.empty()) offered.push_back(c);
  }
  std::vector<plan_candidate> result;
  for (const plan_candidate& c : offered) {
    plan_candidate each = c;
    if (c.format == spmv_format::csr) {
      result.insert(result.begin(), c);
    } else if (c.kernel == spmv_class::ell_sorted) {
      for (const ell_csr_options& options : ell_variants(found, machine)) {
        each.ell = options;
        result.push_back(each);
      }
    } else {
      result.push_back(c);
    }
    if (c.format != spmv_format::csr_k) continue;
    const std::vector<std::int64_t> sizes = swept_sizes(machine.device, quick);
    for (const std::int64_t super_row : sizes)
      for (const std::int64_t super_super_row :
           machine.device ? sizes : std::vector<std::int64_t>{0}) {
        each.csr_k.super_row = super_row;
        each.csr_k.super_super_row = super_super_row;
        result.push_back(each);
      }
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
  std::vector<timed_run> found;
  for (auto& each : seconds) {
    std::sort(each.begin(), each.end());
    found.push_back({each[each.size() / 4], each[each.size() / 2] / each[0] - 1});
  }
  return found;
}

std::size_t largest_training_bytes(const host_context&) {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const std::size_t most = 160'000'000;
  if (pages <= 0 || page <= 0) return most;
  return std::min(most, static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) / 16);
}

} // namespace lacuna::detail
