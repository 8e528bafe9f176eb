#include "bench/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <sys/resource.h>

#include "bench/matrices.hpp"
#include "common/text.hpp"
#include <lacuna/core/config.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/core/memory.hpp>

namespace lacuna::bench {
namespace {

using app::human_bytes;
using app::human_count;
using app::human_seconds;

const char* name_of(suite s) {
  return s == suite::spmv ? "spmv" : s == suite::spmv_t ? "spmv-t" : "spmm";
}
const char* title_of(suite s) {
  return s == suite::spmv     ? "y = A x, one vector"
         : s == suite::spmv_t ? "y = Aᵀ x, one vector"
                              : "Y = A X, several vectors";
}
const char* name_of(layout l) { return l == layout::row_major ? "row" : "column"; }

/// Seconds of the fastest peer; 0 without one.
double best_peer_seconds(const measured_problem& p) {
  double best = 0;
  for (const auto& r : p.results)
    if (r.plays == role::peer && r.trouble.empty() && (best == 0 || r.seconds < best))
      best = r.seconds;
  return best;
}

std::string group_of(const measured_problem& p) {
  if (p.columns == 1) return p.values;
  return fmt::format("{}, {} columns, {}-major", p.values, p.columns, name_of(p.order));
}

} // namespace

report::report(const settings& s, const std::string& engine, const std::string& why)
    : settings_(s) {
  json_ = {{"lacuna", LACUNA_VERSION},
           {"suite", name_of(s.what)},
           {"device", engine},
           {"device_reason", why},
           {"peers", nlohmann::ordered_json::array()},
           {"results", nlohmann::ordered_json::array()},
           {"means", nlohmann::ordered_json::array()}};
  fmt::print("lacuna-bench {} · {} · {}: {}\n", name_of(s.what), title_of(s.what), engine, why);
}

void report::peer_found(const std::string& name, const std::string& about, bool takes_part) {
  json_["peers"].push_back({{"name", name}, {"about", about}, {"takes_part", takes_part}});
  fmt::print("  {} {:<10} {}\n", takes_part ? "+" : "-", name, about);
}

void report::progress(const std::string& text) {
  if (app::stderr_is_terminal()) fmt::print(stderr, "\r\033[K{}", text);
}

void report::add(const measured_problem& p) {
  const double best = best_peer_seconds(p);
  const double limit_seconds = p.bytes / p.limits.front().bytes_per_second;
  nlohmann::ordered_json contestants = nlohmann::ordered_json::array(),
                         limits = nlohmann::ordered_json::object();
  for (const auto& l : p.limits) limits[l.name] = l.bytes_per_second;
  if (p.limits.front().best_bytes_per_second > 1.25 * p.limits.front().bytes_per_second)
    busy_ = true;
  for (const auto& r : p.results) {
    nlohmann::ordered_json c = {{"name", r.name}, {"peer", r.plays == role::peer}};
    if (!r.trouble.empty()) {
      c["trouble"] = r.trouble;
      if (r.plays != role::peer) all_right_ = false;
    } else {
      c.update({{"seconds", r.seconds},
                {"least_seconds", r.least_seconds},
                {"gflops", p.flops / r.seconds * 1e-9},
                {"gbytes_per_s", p.bytes / r.seconds * 1e-9},
                {"ratio_to_limit", limit_seconds / r.seconds},
                {"prepare_seconds", r.prepare_seconds},
                {"extra_bytes", r.extra_bytes},
                {"verify_error", r.verify_error}});
      if (best > 0) c["ratio_to_best_peer"] = best / r.seconds;
      if (!r.explain.empty()) c["explain"] = r.explain;
      if (r.plays == role::lacuna)
        ratios_.push_back(
            {group_of(p), is_stencil(p.matrix), best / r.seconds, limit_seconds / r.seconds});
    }
    contestants.push_back(std::move(c));
  }
  json_["results"].push_back({{"matrix", p.matrix},
                              {"precision", p.values},
                              {"rows", p.rows},
                              {"cols", p.cols},
                              {"nnz", p.nnz},
                              {"longest_row", p.longest_row},
                              {"columns", p.columns},
                              {"layout", name_of(p.order)},
                              {"matrix_bytes", p.matrix_bytes},
                              {"bytes_moved", p.bytes},
                              {"limits_bytes_per_s", limits},
                              {"contestants", contestants}});
  print_table(p, best);
}

void report::print_table(const measured_problem& p, double best) {
  progress("");
  const double mean =
      static_cast<double>(p.nnz) / static_cast<double>(std::max<std::int64_t>(p.rows, 1));
  fmt::print("\n{} · {} · {} x {}, {} entries, {:.1f} a row, {} at most · {} to move{}\n", p.matrix,
             group_of(p), human_count(p.rows), human_count(p.cols), human_count(p.nnz), mean,
             human_count(p.longest_row), human_bytes(p.bytes),
             p.matrix_bytes < p.cache_bytes ? " · fits the last cache" : "");
  fmt::print("  {:<22} {:>9} {:>8} {:>8} {:>9} {:>10} {:>9} {:>9}\n", "", "time", "GFLOP/s", "GB/s",
             "of limit", "best peer", "prepare", "extra");
  for (const auto& r : p.results) {
    if (!r.trouble.empty()) {
      fmt::print("  {:<22} left out: {}\n", r.name, r.trouble);
      continue;
    }
    fmt::print("  {:<22} {:>9} {:>8.2f} {:>8.1f} {:>7.0f} % {:>10} {:>9} {:>9}\n", r.name,
               human_seconds(r.seconds), p.flops / r.seconds * 1e-9, p.bytes / r.seconds * 1e-9,
               100 * p.bytes / p.limits.front().bytes_per_second / r.seconds,
               best > 0 ? fmt::format("{:.2f} x", best / r.seconds) : "-",
               r.prepare_seconds > 5e-6 ? human_seconds(r.prepare_seconds) : "-",
               r.extra_bytes > 0 ? human_bytes(static_cast<double>(r.extra_bytes)) : "-");
  }
  for (const auto& l : p.limits)
    fmt::print("  {:<22} {:>9} {:>8} {:>8.1f}\n", "limit: " + l.name,
               human_seconds(p.bytes / l.bytes_per_second), "", l.bytes_per_second * 1e-9);
  for (const auto& r : p.results)
    if (!r.explain.empty()) fmt::print("  {}: {}\n", r.name, r.explain);
  std::fflush(stdout);
}

void report::print_means() {
  std::vector<std::string> groups;
  for (const auto& r : ratios_)
    if (std::ranges::find(groups, r.group) == groups.end()) groups.push_back(r.group);
  fmt::print("\nGeometric means, Lacuna\n");
  for (const auto& group : groups)
    for (const bool stencils_only : {false, true}) {
      double peer_sum = 0, limit_sum = 0;
      int count = 0, with_peer = 0;
      for (const auto& r : ratios_) {
        if (r.group != group || (stencils_only && !r.stencil)) continue;
        limit_sum += std::log(r.to_limit);
        ++count;
        if (r.to_peer > 0) peer_sum += std::log(r.to_peer), ++with_peer;
      }
      if (count == 0) continue;
      const double to_limit = std::exp(limit_sum / count);
      nlohmann::ordered_json mean = {{"group", group},
                                     {"matrices", stencils_only ? "stencils" : "all"},
                                     {"count", count},
                                     {"ratio_to_limit", to_limit}};
      std::string peer_text = "no peer to compare with";
      if (with_peer > 0) {
        const double to_peer = std::exp(peer_sum / with_peer);
        mean["ratio_to_best_peer"] = to_peer;
        peer_text = fmt::format("{:.2f} x the best peer", to_peer);
      }
      json_["means"].push_back(mean);
      fmt::print("  {} · {} {}: {}, {:.0f} % of the limit\n", group, count,
                 stencils_only ? (count == 1 ? "stencil" : "stencils")
                               : (count == 1 ? "matrix" : "matrices"),
                 peer_text, 100 * to_limit);
    }
}

bool report::finish() {
  print_means();
  if (busy_)
    fmt::print(
        "The machine was busy: the limit itself varied by more than a quarter between rounds\n");
  json_["busy"] = busy_;
  const auto host = memory(space::host), device = memory(space::device);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const std::int64_t resident = std::int64_t{1024} * usage.ru_maxrss;
  json_["peak_bytes"] = {{"host", host.peak}, {"device", device.peak}, {"resident", resident}};
  fmt::print("Peak memory: Lacuna's arrays {} on the host, {} on the device; process {}\n",
             human_bytes(static_cast<double>(host.peak)),
             human_bytes(static_cast<double>(device.peak)),
             human_bytes(static_cast<double>(resident)));
  if (!settings_.json.empty()) {
    std::ofstream file(settings_.json);
    file << json_.dump(2) << '\n';
    if (!file.flush()) throw bad_input("cannot write " + settings_.json);
  }
  return all_right_;
}

} // namespace lacuna::bench
