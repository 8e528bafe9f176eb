#include "bench/report.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

#include "bench/matrices.hpp"
#include "bench/matrix_report.hpp"
#include "bench/memory_peak.hpp"
#include "bench/page.hpp"
#include "bench/published.hpp"
#include "bench/summary.hpp"
#include "common/print.hpp"
#include "common/text.hpp"
#include <lacuna/core/config.hpp>
#include <lacuna/core/error.hpp>

namespace lacuna::bench {
namespace {

using json = nlohmann::ordered_json;
using app::human_bytes;
using app::human_count;
using app::human_seconds;

struct suite_words {
  const char* name;
  const char* title;
};
suite_words words_of(suite s) {
  switch (s) {
  case suite::spmv: return {"spmv", "y = A x, one vector"};
  case suite::spmv_t: return {"spmv-t", "y = Aᵀ x, one vector"};
  case suite::spmm: return {"spmm", "Y = A X, several vectors"};
  case suite::add: return {"add", "C = A + B, B's columns are A's moved by one"};
  case suite::add_t: return {"add-t", "C = A + Aᵀ"};
  case suite::transpose: return {"transpose", "C = Aᵀ"};
  case suite::spgemm: return {"spgemm", "C = A A, or A Aᵀ where A is not square"};
  case suite::trisolve: return {"trisolve", "y = L⁻¹ x, L on the pattern of A's lower triangle"};
  case suite::paper_001: return {"paper:001", "Parger et al. (2020), spECK"};
  case suite::paper_002: return {"paper:002", "Derler (2016), HiSparse: a tree of blocks"};
  case suite::paper_003: return {"paper:003", "Matam and Kothapalli (2011), rows in CSR and ELL"};
  case suite::paper_004: return {"paper:004", "Lane and Booth (2022), CSR-k"};
  case suite::update: return {"update", "batches into a matrix"};
  case suite::cg: return {"cg", "an iteration of conjugate gradients"};
  case suite::amg: return {"amg", "A x = b by CG with algebraic multigrid"};
  case suite::paper_000: return {"paper:000", "King et al. (2016), dynamic CSR"};
  case suite::io: break; // has a report of its own
  }
  return {"io", "files"};
}
bool is_peer(role plays) { return plays == role::peer || plays == role::peer_too; }
const char* name_of(layout l) { return l == layout::row_major ? "row" : "column"; }

json as_json(const measured_problem& p, const result& r) {
  json c = {
      {"name", r.name}, {"peer", is_peer(r.plays)}, {"candidate", r.plays == role::candidate}};
  if (!r.refused.empty()) c["refused"] = r.refused;
  if (!r.trouble.empty()) c["trouble"] = r.trouble;
  if (r.seconds == 0) return c;
  c.update({{"seconds", r.seconds},
            {"least_seconds", r.least_seconds},
            {"gflops", p.gflops(r)},
            {"gbytes_per_s", p.bytes / r.seconds * 1e-9},
            {"ratio_to_limit", p.limit_seconds() / r.seconds},
            {"prepare_seconds", r.prepare_seconds},
            {"prepare_products", r.prepare_products()},
            {"extra_bytes", r.extra_bytes},
            {"verify_error", r.verify_error}});
  if (r.format_bytes > 0) c["memory_ratio"] = p.memory(r);
  if (p.peak(r) > 0) c.update({{"peak_bytes", r.peak_bytes}, {"peak_ratio", p.peak(r)}});
  if (const result* peer = p.best(role::peer)) c["ratio_to_best_peer"] = peer->seconds / r.seconds;
  if (const result* candidate = p.best(role::candidate))
    c["ratio_to_best_candidate"] = candidate->seconds / r.seconds;
  if (!r.chose.format.empty()) c["format"] = r.chose.format;
  if (!r.chose.why.empty()) c["explain"] = r.chose.why;
  return c;
}

} // namespace

std::string group_of(const measured_problem& p) {
  if (p.columns == 1) return p.values;
  return fmt::format("{}, {} columns, {}-major", p.values, p.columns, name_of(p.order));
}
std::vector<std::string> groups_of(const std::vector<measured_problem>& problems) {
  std::vector<std::string> groups;
  for (const auto& p : problems)
    if (std::ranges::find(groups, group_of(p)) == groups.end()) groups.push_back(group_of(p));
  return groups;
}

std::string wrapped(std::string text) {
  constexpr std::size_t width = 138;
  for (std::size_t begin = 0; begin + width < text.size();) {
    const std::size_t blank = text.rfind(' ', begin + width);
    if (blank == std::string::npos || blank <= begin + 4) break;
    text.replace(blank, 1, "\n    ");
    begin = blank + 1;
  }
  return text;
}

void print_heading(const measured_problem& p) {
  const double mean =
      static_cast<double>(p.nnz) / static_cast<double>(std::max<std::int64_t>(p.rows, 1));
  app::print("\n{}{} · {} · {} x {}, {} entries, {:.1f} per row, {} at most, {} · {} to move{}\n",
             p.matrix, p.stands_for.empty() ? "" : fmt::format(" (like {})", p.stands_for),
             group_of(p), human_count(p.rows), human_count(p.cols), human_count(p.nnz), mean,
             human_count(p.longest_row), p.regular() ? "regular" : "irregular",
             human_bytes(p.bytes), p.matrix_bytes < p.cache_bytes ? " · fits the last cache" : "");
}
void print_absence(const result& r) {
  app::print("  {:<28} {}: {}\n", r.name, r.refused.empty() ? "left out" : "refused",
             r.refused.empty() ? r.trouble : r.refused);
}

report::report(const settings& s, const std::string& engine, const std::string& why)
    : settings_(s), engine_(engine) {
  const auto [name, title] = words_of(s.what);
  json_ = {{"lacuna", LACUNA_VERSION}, {"suite", name},          {"device", engine},
           {"device_reason", why},     {"peers", json::array()}, {"skipped", json::array()},
           {"results", json::array()}, {"means", json::array()}};
  app::print("lacuna-bench {} · {} · {}: {}\n", name, title, engine, why);
}

void report::peer_found(const std::string& name, const std::string& about, bool takes_part) {
  json_["peers"].push_back({{"name", name}, {"about", about}, {"takes_part", takes_part}});
  app::print("  {} {:<10} {}\n", takes_part ? "+" : "-", name, about);
}

void report::progress(const std::string& text) {
  if (app::stderr_can_redraw()) app::print(stderr, "\r\033[K{}", text);
}

void report::skip(const std::string& matrix, const std::string& why) {
  json_["skipped"].push_back(
      {{"matrix", matrix}, {"why", why.empty() ? "fewer entries than --real-least" : why}});
  if (why.empty())
    ++too_small_;
  else
    unusable_.push_back("  " + matrix + ": " + why);
}

void report::judge(const measured_problem& p) {
  if (!p.limits.empty() &&
      p.limits.front().best_bytes_per_second > 1.25 * p.limits.front().bytes_per_second)
    busy_ = true;
  for (const auto& r : p.results)
    if (!r.trouble.empty() && !is_peer(r.plays)) all_right_ = false;
}

void report::add(measured_problem p) {
  judge(p);
  json contestants = json::array(), limits = json::object();
  for (const auto& l : p.limits) limits[l.name] = l.bytes_per_second;
  for (const auto& r : p.results) contestants.push_back(as_json(p, r));
  json one = {{"matrix", p.matrix},
              {"stands_for", p.stands_for},
              {"precision", p.values},
              {"rows", p.rows},
              {"cols", p.cols},
              {"nnz", p.nnz},
              {"longest_row", p.longest_row},
              {"row_variance", p.row_variance},
              {"columns", p.columns},
              {"layout", name_of(p.order)},
              {"matrix_bytes", p.matrix_bytes},
              {"bytes_moved", p.bytes},
              {"rounds", p.rounds},
              {"limits_bytes_per_s", limits}};
  if (p.result_bytes > 0) one.update({{"entries", p.entries}, {"result_bytes", p.result_bytes}});
  if (p.products > 0) one.update({{"products", p.products}, {"compression", p.compression()}});
  if (p.levels > 0) one.update({{"levels", p.levels}, {"widest_level", p.widest_level}});
  one["contestants"] = contestants;
  json_["results"].push_back(one);
  progress("");
  if (p.result_bytes > 0)
    print_result_table(p);
  else
    print_table(p);
  std::fflush(stdout);
  problems_.push_back(std::move(p));
}

void report::print_table(const measured_problem& p) {
  print_heading(p);
  app::print("  {:<28} {:>9} {:>8} {:>8} {:>9} {:>10} {:>9} {:>9} {:>9} {:>8}\n", "", "time",
             "GFLOP/s", "GB/s", "of limit", "best peer", "prepare", "products", "extra", "memory");
  const result* const best = p.best(role::peer);
  for (const auto& r : p.results) {
    if (r.seconds == 0) {
      print_absence(r);
      continue;
    }
    const bool prepares = r.prepare_seconds > 5e-6;
    app::print("  {:<28} {:>9} {:>8.2f} {:>8.1f} {:>7.0f} % {:>10} {:>9} {:>9} {:>9} {:>8}\n",
               r.name, human_seconds(r.seconds), p.gflops(r), p.bytes / r.seconds * 1e-9,
               100 * p.limit_seconds() / r.seconds,
               best != nullptr ? fmt::format("{:.2f} x", best->seconds / r.seconds) : "-",
               prepares ? human_seconds(r.prepare_seconds) : "-",
               prepares ? fmt::format("{:.1f}", r.prepare_products()) : "-",
               r.extra_bytes > 0 ? human_bytes(static_cast<double>(r.extra_bytes)) : "-",
               r.format_bytes > 0 ? fmt::format("{:.2f} x", p.memory(r)) : "-");
  }
  for (const auto& l : p.limits)
    app::print("  {:<28} {:>9} {:>8} {:>8.1f}\n", "limit: " + l.name,
               human_seconds(p.bytes / l.bytes_per_second), "", l.bytes_per_second * 1e-9);
  if (p.levels > 0) {
    app::print("  {} levels, {} rows on average, {} at most; us a level:", p.levels,
               human_count(p.rows / p.levels), human_count(p.widest_level));
    for (const auto& r : p.results)
      if (r.seconds > 0)
        app::print(" {} {:.3f};", r.name, r.seconds * 1e6 / static_cast<double>(p.levels));
    app::print("\n");
  }
  for (const auto& r : p.results)
    if (!r.chose.why.empty()) app::print("{}\n", wrapped("  " + r.name + ": " + r.chose.why));
}

void report::print_means() {
  app::print("\nGeometric means, Lacuna\n");
  for (const auto& group : groups_of(problems_))
    for (const bool stencils_only : {false, true}) {
      std::vector<double> to_peer, to_limit, to_malloc; // to_malloc: the peer with cudaMalloc
      for (const auto& p : problems_) {
        const result* const ours = p.best(role::lacuna);
        if (group_of(p) != group || ours == nullptr || !p.in_means() ||
            (stencils_only && !is_stencil(p.matrix)))
          continue;
        to_limit.push_back(p.limit_seconds() / ours->seconds);
        if (const result* peer = p.best(role::peer))
          to_peer.push_back(peer->seconds / ours->seconds);
        if (const result* peer = p.best(role::peer_too);
            peer != nullptr && makes_matrix(settings_.what))
          to_malloc.push_back(peer->seconds / ours->seconds);
      }
      if (to_limit.empty()) continue;
      json mean = {{"group", group},
                   {"matrices", stencils_only ? "stencils" : "all"},
                   {"count", to_limit.size()},
                   {"ratio_to_limit", geometric_mean(to_limit)}};
      if (!to_peer.empty()) mean["ratio_to_best_peer"] = geometric_mean(to_peer);
      if (!to_malloc.empty())
        mean["ratio_to_best_peer_with_cudamalloc"] = geometric_mean(to_malloc);
      json_["means"].push_back(mean);
      const bool one = to_limit.size() == 1;
      app::print("  {} · {} {}: {}{}, {:.0f} % of the limit\n", group, to_limit.size(),
                 stencils_only ? (one ? "stencil" : "stencils") : (one ? "matrix" : "matrices"),
                 to_peer.empty() ? "no peer to compare with"
                                 : fmt::format("{:.2f} x the best peer", geometric_mean(to_peer)),
                 to_malloc.empty()
                     ? ""
                     : fmt::format(", {:.2f} x with cudaMalloc", geometric_mean(to_malloc)),
                 100 * geometric_mean(to_limit));
    }
}

bool report::finish() {
  if (too_small_ + unusable_.size() > 0)
    app::print("\nLeft out: {} with fewer than {} entries (--real-least), and\n", too_small_,
               human_count(settings_.real_least));
  for (const auto& each : unusable_) app::print("{:.138}\n", each);
  if (!problems_.empty()) print_means();
  if (settings_.what == suite::spmv || settings_.what == suite::spmv_t)
    print_summary(problems_, settings_.every_format, json_);
  if (settings_.what == suite::spgemm) print_spgemm_summary(problems_, json_);
  if (settings_.what == suite::spmv) print_published(problems_, engine_, json_);
  if (settings_.what == suite::spgemm) print_published_spgemm(problems_, engine_, json_);
  if (busy_)
    app::print(
        "The machine was busy: the limit itself varied by more than a quarter between rounds\n");
  json_["busy"] = busy_;
  const std::int64_t host = peak_of_process(space::host), device = peak_of_process(space::device);
  const std::int64_t resident = resident_peak_of_process();
  json_["peak_bytes"] = {{"host", host}, {"device", device}, {"resident", resident}};
  app::print("Peak memory: Lacuna's arrays {} on the host, {} on the device; process {}\n",
             human_bytes(static_cast<double>(host)), human_bytes(static_cast<double>(device)),
             human_bytes(static_cast<double>(resident)));
  keep_figures(settings_, json_);
  return all_right_;
}

} // namespace lacuna::bench
