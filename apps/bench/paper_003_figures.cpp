// Paper 003's Table I, its figure 2 and the sweep of its section III-B.
#include "bench/paper_003.hpp"
#include "common/print.hpp"

#include <fmt/format.h>
#include <random>

namespace lacuna::bench::paper_003 {

using json = nlohmann::ordered_json;

lacuna::csr<double> synthetic_rows(const host_context& ctx, std::int64_t rows, std::int64_t longest,
                                   const density& d, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  const std::int64_t quarter = longest / 4;
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(rows));
  std::int64_t entries = 0;
  for (auto& length : lengths) {
    const double at = static_cast<double>(below(1 << 20)) / (1 << 20);
    length = 1 + (at < d.first      ? below(quarter)
                  : at < 1 - d.last ? quarter + below(2 * quarter)
                                    : 3 * quarter + below(quarter));
    length = std::min(length, rows);
    entries += length;
  }
  lacuna::csr<double> a(ctx, {static_cast<index_t>(rows), static_cast<index_t>(rows)}, entries, {});
  std::vector<index_t> columns;
  offset_t next = 0;
  a.rowptr()[0] = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto length = static_cast<std::size_t>(lengths[static_cast<std::size_t>(i)]);
    columns.clear();
    while (columns.size() < length) { // seldom more than once: columns are many
      while (columns.size() < length) columns.push_back(static_cast<index_t>(below(rows)));
      std::ranges::sort(columns);
      columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    }
    for (const index_t j : columns) {
      a.colind()[next] = j;
      a.values()[next++] = 1 + static_cast<double>(below(64)) / 64;
    }
    a.rowptr()[i + 1] = next;
  }
  return a;
}

std::vector<std::int64_t> axis::values(bool all) const {
  if (!all) return few;
  std::vector<std::int64_t> result;
  for (std::int64_t value = first; value <= last; value += step) result.push_back(value);
  return result;
}
const std::array<axis, 3>& axes() {
  static const std::array<axis, 3> three = {
      {{"T", &ell_csr_options::long_row, 8, 32, 512, {8, 40, 72, 136, 264, 488}},
       {"M", &ell_csr_options::lane_entries, 4, 16, 320, {4, 20, 36, 68, 148, 308}},
       {"L", &ell_csr_options::piece, 128, 256, 2048, {128, 384, 896, 1920}}}};
  return three;
}
std::string name_of(const axis& a, std::int64_t value) {
  return std::string(a.name) + " " + std::to_string(value);
}

void print_bytes_per_operation(const std::vector<const measured_problem*>& problems, json& out) {
  if (problems.empty()) return;
  const double value = problems.front()->values == "f64" ? 8 : 4;
  struct format {
    const char *label, *name; ///< no name: counted, not measured
    double paper;             ///< 0: none
  };
  // A column of 4 bytes, a value and an element of x for two operations; COO has a row, too.
  const format formats[] = {
      {"COO", nullptr, (8 + 2 * value) / 2},       {"CSR", csr, (4 + 2 * value) / 2},
      {"ELL; here HYB", hyb, (4 + 2 * value) / 2}, {"ell_csr, paper's", thresholds, 0},
      {"ell_csr, paper's, packed", packed, 0},     {"ell_csr, planned", planned, 0}};
  app::print(
      "\n  Table I: bytes per operation, fewer is better; the matrix as it is stored, x once "
      "per entry\n  {:<26} {:>12} {:>16} {:>8} {:>8}\n",
      "", "the paper's", "here: mean", "least", "most");
  for (const format& f : formats) {
    std::vector<double> bytes;
    for (const auto* p : problems) {
      const auto nnz = static_cast<double>(std::max<std::int64_t>(p->nnz, 1));
      const result* const r = f.name == nullptr ? nullptr : p->find(f.name);
      const double stored = f.name == nullptr     ? (8 + value) * nnz
                            : r == nullptr        ? 0
                            : r->format_bytes > 0 ? static_cast<double>(r->format_bytes)
                                                  : p->matrix_bytes;
      if (stored > 0) bytes.push_back((stored + value * nnz) / (2 * nnz));
    }
    if (bytes.empty()) continue;
    double sum = 0;
    for (const double each : bytes) sum += each;
    const double mean = sum / static_cast<double>(bytes.size());
    app::print("  {:<26} {:>12} {:>16.2f} {:>8.2f} {:>8.2f}\n", f.label,
               f.paper > 0 ? fmt::format("{:.0f}", f.paper) : "-", mean, std::ranges::min(bytes),
               std::ranges::max(bytes));
    out.push_back({{"format", f.label},
                   {"paper", f.paper},
                   {"mean", mean},
                   {"least", std::ranges::min(bytes)},
                   {"most", std::ranges::max(bytes)}});
  }
}

void print_synthetic(const std::vector<synthetic_result>& all, const std::string& group,
                     json& out) {
  std::vector<const synthetic_result*> members;
  for (const auto& each : all)
    if (group_of(each.m) == group) members.push_back(&each);
  if (members.empty()) return;
  app::print(
      "\n  Figure 2: GFLOP/s, more is better; rows of random length, all in ELL: one thread per "
      "row, in\n  order (ELL), or threads by length, by length (ours); F1, F2, F3: ever "
      "fewer short rows\n  {:<26}",
      "");
  for (const char* each : {"F1: ELL", "ours", "F2: ELL", "ours", "F3: ELL", "ours"})
    app::print(" {:>8}", each);
  app::print(" {:>12}\n", "ours / ELL");
  std::vector<double> gains;
  for (std::size_t at = 0; at < members.size(); at += densities.size()) {
    const measured_problem& first = members[at]->m;
    app::print("  {:<26}",
               fmt::format("{} k rows of up to {}", first.rows / 1024, members[at]->longest));
    std::vector<double> of_line;
    for (std::size_t d = 0; d < densities.size(); ++d) {
      const measured_problem& m = members[at + d]->m;
      const result *const plain = m.find(ell), *const ours = m.find(ell_shared);
      for (const result* r : {plain, ours})
        app::print(" {:>8}", r == nullptr ? "-" : fmt::format("{:.2f}", m.gflops(*r)));
      if (plain == nullptr || ours == nullptr) continue;
      of_line.push_back(plain->seconds / ours->seconds);
      out.push_back({{"rows", m.rows},
                     {"longest", members[at + d]->longest},
                     {"density", d + 1},
                     {"ell_gflops", m.gflops(*plain)},
                     {"ours_gflops", m.gflops(*ours)}});
    }
    app::print(" {:>10.2f} x\n", geometric_mean(of_line));
    gains.insert(gains.end(), of_line.begin(), of_line.end());
  }
  app::print("  geometric mean {:.2f} x; the paper: balancing helps on all of them\n",
             geometric_mean(gains));
}

namespace {

/// The line with the least time but the rule's; null: there is none.
const result* fastest_of_sweep(const measured_problem& m) {
  const result* best = nullptr;
  for (const auto& r : m.results)
    if (r.name != by_rule && r.seconds > 0 && (best == nullptr || r.seconds < best->seconds))
      best = &r;
  return best;
}

void print_sweep_means(const std::vector<const sweep*>& members, json& out) {
  app::print(
      "  the rule's time over that of each value, geometric mean of {}; above 1 the value is "
      "faster\n",
      members.size());
  for (std::size_t i = 0; i < axes().size(); ++i) {
    std::string line = fmt::format("   {}", axes()[i].name);
    for (const auto& each : members.front()->along[i].results) {
      if (each.name == by_rule) continue;
      std::vector<double> ratios;
      for (const sweep* s : members) {
        const result *const rule = s->along[i].find(by_rule), *const r =
                                                                  s->along[i].find(each.name);
        if (rule != nullptr && r != nullptr) ratios.push_back(rule->seconds / r->seconds);
      }
      const std::string value = each.name.substr(each.name.find(' ') + 1);
      const std::string word = fmt::format("  {}: {:.2f}", value, geometric_mean(ratios));
      if (line.size() + word.size() > 98) {
        app::print("{}\n", line);
        line = "    ";
      }
      line += word;
      out.push_back({{"threshold", axes()[i].name},
                     {"value", std::stoll(value)},
                     {"ratio_to_rule", geometric_mean(ratios)}});
    }
    app::print("{}\n", line);
  }
}

} // namespace

void print_sweeps(const std::vector<sweep>& all, const std::string& group, json& out) {
  std::vector<const sweep*> members;
  for (const auto& each : all)
    if (group_of(each.along[0]) == group) members.push_back(&each);
  if (members.empty()) return;
  app::print("\n  T, M and L, each alone, beside the paper's rule: GFLOP/s, more is better\n"
             "  {:<16} {:>4} {:>3} {:>5} {:>7} | {:>6} {:>7} | {:>6} {:>7} | {:>6} {:>7} | {}\n",
             "", "T", "M", "L", "rule", "best T", "", "best M", "", "best L", "", "rule of best");
  std::vector<double> shares;
  for (const sweep* s : members) {
    const measured_problem& m = s->along[0];
    json one = {
        {"matrix", m.matrix},
        {"rule", {{"T", s->rule.long_row}, {"M", s->rule.lane_entries}, {"L", s->rule.piece}}}};
    const result* const rule = m.find(by_rule);
    app::print("  {:<16.16} {:>4} {:>3} {:>5} {:>7}",
               m.stands_for.empty() ? m.matrix : m.stands_for, s->rule.long_row,
               s->rule.lane_entries, s->rule.piece,
               rule == nullptr ? "-" : fmt::format("{:.2f}", m.gflops(*rule)));
    double share = 1;
    for (std::size_t i = 0; i < axes().size(); ++i) {
      const measured_problem& along = s->along[i];
      const result *const here = along.find(by_rule), *const best = fastest_of_sweep(along);
      if (here == nullptr || best == nullptr) continue;
      const std::string value = best->name.substr(best->name.find(' ') + 1);
      app::print(" | {:>6} {:>7.2f}", value, along.gflops(*best));
      share = std::min(share, best->seconds / here->seconds);
      json points = json::array();
      for (const auto& r : along.results)
        if (r.seconds > 0) points.push_back({{"value", r.name}, {"gflops", along.gflops(r)}});
      one[axes()[i].name] = points;
    }
    shares.push_back(share);
    app::print(" | {:>10.0f} %\n", 100 * share);
    one["rule_of_best"] = share;
    out["sweeps"].push_back(one);
  }
  print_sweep_means(members, out["sweep_means"]);
  app::print(
      "  the rule is at {:.0f} % of the best on geometric mean; the paper: close to the best\n",
      100 * geometric_mean(shares));
}

} // namespace lacuna::bench::paper_003
