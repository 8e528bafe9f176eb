#include "bench/matrix_report.hpp"

#include <fmt/format.h>

#include "bench/report.hpp"
#include "common/print.hpp"
#include "common/text.hpp"

namespace lacuna::bench {
namespace {

using app::human_bytes;
using app::human_count;
using app::human_seconds;

std::string times(double ratio) { return ratio > 0 ? fmt::format("{:.2f} x", ratio) : "-"; }

double over(const result* slower, const result* faster) {
  return slower == nullptr || faster == nullptr ? 0 : slower->seconds / faster->seconds;
}

void print_line(const measured_problem& p) {
  const result *const ours = p.best(role::lacuna), *const peer = p.best(role::peer);
  app::print("  {:<34.34} {:>9} {:>9} {:>6.1f} {:>9} {:>8.2f} {:>6.0f} % {:>24} {:>8} {:>8}\n",
             p.matrix, human_count(p.products), human_count(p.entries), p.compression(),
             human_seconds(ours->seconds), p.gflops(*ours), 100 * p.limit_seconds() / ours->seconds,
             peer == nullptr ? "-" : fmt::format("{} {}", times(over(peer, ours)), peer->name),
             times(over(ours, p.best(role::lacuna_too))), times(p.peak(*ours)));
}

} // namespace

void print_result_table(const measured_problem& p) {
  print_heading(p);
  if (p.products > 0)
    app::print("  {} products, {} entries in C, compression {:.2f}, {} rounds\n",
               human_count(p.products), human_count(p.entries), p.compression(), p.rounds);
  app::print("  {:<28} {:>9} {:>8} {:>8} {:>9} {:>10} {:>9} {:>9}\n", "", "time", "GFLOP/s", "GB/s",
             "of limit", "best peer", "peak", "of A,B,C");
  const result* const best = p.best(role::peer);
  for (const auto& r : p.results) {
    if (r.seconds == 0) {
      print_absence(r);
      continue;
    }
    const double peak = p.peak(r);
    app::print("  {:<28} {:>9} {:>8.2f} {:>8.1f} {:>7.0f} % {:>10} {:>9} {:>9}\n", r.name,
               human_seconds(r.seconds), p.gflops(r), p.bytes / r.seconds * 1e-9,
               100 * p.limit_seconds() / r.seconds, times(over(best, &r)),
               peak > 0 ? human_bytes(static_cast<double>(r.peak_bytes)) : "-", times(peak));
  }
  for (const auto& l : p.limits)
    app::print("  {:<28} {:>9} {:>8} {:>8.1f}\n", "limit: " + l.name,
               human_seconds(p.bytes / l.bytes_per_second), "", l.bytes_per_second * 1e-9);
}

void print_spgemm_summary(const std::vector<measured_problem>& problems,
                          nlohmann::ordered_json& out) {
  out["summary"] = nlohmann::ordered_json::array();
  for (const auto& group : groups_of(problems)) {
    std::vector<double> ratios;
    std::vector<std::string> below;
    const measured_problem *worst = nullptr, *largest = nullptr;
    const auto to_peer = [](const measured_problem& p) {
      return over(p.best(role::peer), p.best(role::lacuna));
    };
    const auto peak = [](const measured_problem& p) { return p.peak(*p.best(role::lacuna)); };
    app::print("\nProducts, {}\n  {:<34} {:>9} {:>9} {:>6} {:>9} {:>8} {:>8} {:>24} {:>8} {:>8}\n",
               group, "", "products", "entries", "compr.", "time", "GFLOP/s", "limit", "best peer",
               "others", "peak");
    for (const auto& p : problems) {
      if (group_of(p) != group || p.best(role::lacuna) == nullptr) continue;
      print_line(p);
      if (largest == nullptr || peak(p) > peak(*largest)) largest = &p;
      const double ratio = to_peer(p);
      if (!p.in_means() || ratio == 0) continue;
      ratios.push_back(ratio);
      if (ratio < 1) below.push_back(p.matrix);
      if (worst == nullptr || ratio < to_peer(*worst)) worst = &p;
    }
    nlohmann::ordered_json summary = {{"group", group}, {"count", ratios.size()}};
    if (worst != nullptr) {
      std::string names;
      for (const auto& name : below) names += (names.empty() ? "" : ", ") + name;
      app::print("  over the best peer, more than 15000 products: {} on geometric mean of {}\n{}\n",
                 times(geometric_mean(ratios)), ratios.size(),
                 wrapped(fmt::format("  least: {}, on {}; below 1.00 x: {}", times(to_peer(*worst)),
                                     worst->matrix, names.empty() ? "none" : names)));
      summary.update({{"ratio_to_best_peer", geometric_mean(ratios)},
                      {"least_ratio", to_peer(*worst)},
                      {"least_matrix", worst->matrix},
                      {"below_best_peer", below}});
    }
    if (largest != nullptr && peak(*largest) > 0) {
      app::print("  peak memory: at most {} operands and result, on {}\n", times(peak(*largest)),
                 largest->matrix);
      summary.update(
          {{"largest_peak_ratio", peak(*largest)}, {"largest_peak_matrix", largest->matrix}});
    }
    out["summary"].push_back(summary);
  }
}

} // namespace lacuna::bench
