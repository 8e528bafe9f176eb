#include "bench/paper_000.hpp"
#include "common/print.hpp"

#include <fmt/format.h>
#include <numeric>

#include "common/text.hpp"

namespace lacuna::bench::paper_000 {
namespace {

using json = nlohmann::ordered_json;
using figures = std::vector<const matrix_figures*>;

/// What the paper found on a K20c; 0: it could not. Sizes in entries and rows; memory over HYB's;
/// conversions over a copy of CSR; overheads over a product with CSR.
struct published_row {
  const char* name;
  double entries, rows, mean, deviation, longest;
  double dynamic_2, dynamic_3, dynamic_4, csr;
  double coo_csr, coo_dynamic, coo_hyb, csr_dynamic, csr_hyb, dynamic_csr;
  double defrag, hyb_sort, update, hyb_update;
};
// clang-format off
constexpr std::array<published_row, 16> published_rows = {{
    {"AMA", 5e6, 735e3, 7, 4, 10, 0.924, 1.026, 1.128, 0.77, 2.93, 3.03, 9.22, 1.06, 9.25, 0.9, 3.9, 2.12, 2.02, 4.89},
    {"CNR", 3e6, 325e3, 9, 21, 2716, 0.626, 0.679, 0.732, 0.547, 2.24, 2.62, 14.84, 1.04, 13.62, 0.87, 5.13, 6.75, 3.77, 15.26},
    {"DBL", 807e3, 326e3, 2, 4, 154, 0.86, 1.052, 1.245, 0.572, 4.34, 5.74, 18.07, 1.17, 16.83, 1.1, 5.69, 4.66, 3.6, 10.23},
    {"ENR", 276e3, 69e3, 3, 28, 1392, 0.653, 0.762, 0.871, 0.489, 5.56, 5.95, 27.15, 1.29, 26.95, 1.14, 5.49, 8.0, 2.21, 18.2},
    {"EU2", 19e6, 862e3, 22, 29, 6985, 0.675, 0.703, 0.731, 0.633, 2.1, 2.29, 16.08, 1.06, 15.67, 0.99, 2.32, 4.28, 2.65, 12.05},
    {"FLI", 9e6, 820e3, 11, 87, 10e3, 0.546, 0.585, 0.624, 0.487, 2.13, 2.5, 23.29, 1.06, 19.74, 0.96, 1.58, 4.22, 1.94, 10.01},
    {"HOL", 57e6, 1139e3, 50, 160, 6689, 0.531, 0.541, 0.551, 0.516, 1.82, 1.9, 20.37, 1.01, 20.3, 0.99, 1.54, 5.57, 2.55, 12.45},
    {"IN2", 16e6, 1382e3, 12, 37, 7753, 0.654, 0.7, 0.746, 0.585, 2.15, 2.42, 18.12, 1.06, 18.15, 0.98, 2.58, 5.85, 3.14, 13.34},
    {"IND", 194e6, 7414e3, 26, 216, 6985, 0.571, 0.591, 0.612, 0.541, 1.93, 1.98, 0, 1.03, 0, 1.01, 2.15, 0, 3.36, 0},
    {"INT", 207e3, 124e3, 1, 4, 138, 0.761, 0.969, 1.177, 0.449, 12.07, 13.74, 21.38, 1.3, 15.12, 1.0, 6.74, 6.19, 1.76, 8.78},
    {"KRO", 10e6, 262e3, 40, 261, 29e3, 0.493, 0.505, 0.516, 0.475, 1.78, 2.09, 24.01, 1.0, 20.14, 0.91, 1.02, 3.43, 1.82, 11.3},
    {"LJO", 79e6, 5363e3, 14, 37, 2469, 0.594, 0.63, 0.665, 0.541, 2.09, 2.19, 19.96, 1.02, 19.97, 0.98, 1.45, 3.02, 1.34, 6.1},
    {"RAL", 11e6, 4e3, 2633, 4e3, 56e3, 0.577, 0.577, 0.577, 0.576, 1.73, 2.03, 20.67, 1.0, 17.97, 0.91, 0.72, 2.04, 1.82, 13.61},
    {"SOC", 68e6, 4847e3, 14, 35, 20e3, 0.595, 0.631, 0.668, 0.54, 2.22, 2.35, 20.47, 1.06, 20.41, 1.01, 1.05, 3.74, 1.02, 5.74},
    {"WEB", 3e6, 1000e3, 3, 25, 4700, 0.966, 1.155, 1.344, 0.682, 2.89, 3.19, 11.45, 1.16, 11.56, 0.86, 2.65, 1.93, 2.54, 7.39},
    {"WIK", 19e6, 1634e3, 12, 31, 4970, 0.635, 0.68, 0.725, 0.567, 2.18, 2.42, 20.13, 1.07, 20.11, 0.98, 1.39, 2.54, 1.32, 5.49},
}};
// clang-format on

const published_row* published_of(const matrix_figures& f) {
  for (const auto& row : published_rows)
    if (f.facts.stands_for == row.name) return &row;
  return nullptr;
}

/// One figure of a table: how it is called, this machine's and the paper's.
struct column {
  const char* title;
  const char* key;
  double (*ours)(const matrix_figures&);
  double published_row::*paper;
};

std::string cell_text(double v) {
  return v > 0 && std::isfinite(v) ? fmt::format("{:.2f}", v) : "-";
}

/// A line per matrix, each figure beside the paper's; geometric means below.
void print_columns(const char* title, const figures& all, std::span<const column> columns,
                   json& out) {
  app::print("\n{}\n  {:<34}", title, "ours | the paper's");
  for (const auto& c : columns) app::print(" {:>17}", c.title);
  app::print("\n");
  std::vector<std::vector<double>> ours(columns.size()), theirs(columns.size());
  for (const auto* f : all) {
    const published_row* const paper = published_of(*f);
    app::print("  {:<4} {:<29.29}", f->facts.stands_for, f->facts.matrix);
    json one = {{"matrix", f->facts.matrix}, {"stands_for", f->facts.stands_for}};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const double mine = columns[i].ours(*f),
                   other = paper != nullptr ? paper->*columns[i].paper : 0;
      app::print(" {:>8} | {:>6}", cell_text(mine), cell_text(other));
      one[columns[i].key] = {{"measured", mine}, {"paper", other}};
      if (mine > 0 && std::isfinite(mine)) ours[i].push_back(mine);
      if (other > 0) theirs[i].push_back(other);
    }
    app::print("\n");
    out.push_back(one);
  }
  app::print("  {:<34}", "geometric mean");
  for (std::size_t i = 0; i < columns.size(); ++i)
    app::print(" {:>8} | {:>6}", cell_text(geometric_mean(ours[i])),
               cell_text(geometric_mean(theirs[i])));
  app::print("\n");
}

void print_sizes(const figures& all, json& out) {
  app::print(
      "\nTable I: matrices, ours and the paper's that they stand for\n  {:<34} {:>9} | {:>7} "
      "{:>9} | {:>7} {:>7} | {:>5} {:>9} | {:>5} {:>8} | {:>6}\n",
      "", "entries", "paper", "rows", "paper", "mean", "paper", "deviation", "paper", "longest",
      "paper");
  for (const auto* f : all) {
    const measured_problem& p = f->facts;
    const published_row* const paper = published_of(*f);
    const published_row nothing{};
    const published_row& q = paper != nullptr ? *paper : nothing;
    const auto count = [](double v) {
      return v > 0 ? app::human_count(static_cast<std::int64_t>(v)) : std::string("-");
    };
    const double mean =
        static_cast<double>(p.nnz) / static_cast<double>(std::max<std::int64_t>(p.rows, 1));
    app::print("  {:<4} {:<29.29} {:>9} | {:>7} {:>9} | {:>7} {:>7.1f} | {:>5} {:>9.1f} | {:>5} "
               "{:>8} | {:>6}\n",
               p.stands_for, p.matrix, app::human_count(p.nnz), count(q.entries),
               app::human_count(p.rows), count(q.rows), mean, count(q.mean),
               std::sqrt(p.row_variance), count(q.deviation), app::human_count(p.longest_row),
               count(q.longest));
    out.push_back({{"matrix", p.matrix},
                   {"stands_for", p.stands_for},
                   {"precision", p.values},
                   {"rows", p.rows},
                   {"nnz", p.nnz},
                   {"mean", mean},
                   {"deviation", std::sqrt(p.row_variance)},
                   {"longest_row", p.longest_row}});
  }
}

double over(std::size_t bytes, std::size_t other) {
  return static_cast<double>(bytes) / static_cast<double>(other);
}

constexpr std::array<column, 4> memory_columns = {{
    {"2 segments", "segments_2",
     [](const matrix_figures& f) { return over(f.dynamic_bytes[0], f.hyb_bytes); },
     &published_row::dynamic_2},
    {"3 segments", "segments_3",
     [](const matrix_figures& f) { return over(f.dynamic_bytes[1], f.hyb_bytes); },
     &published_row::dynamic_3},
    {"4 segments", "segments_4",
     [](const matrix_figures& f) { return over(f.dynamic_bytes[2], f.hyb_bytes); },
     &published_row::dynamic_4},
    {"CSR", "csr", [](const matrix_figures& f) { return over(f.csr_bytes, f.hyb_bytes); },
     &published_row::csr},
}};
constexpr std::array<column, 6> conversion_columns = {{
    {"COO to CSR", "coo_to_csr",
     [](const matrix_figures& f) { return f.converted.coo_to_csr / f.converted.copy; },
     &published_row::coo_csr},
    {"COO to dynamic", "coo_to_dynamic",
     [](const matrix_figures& f) { return f.converted.coo_to_dynamic / f.converted.copy; },
     &published_row::coo_dynamic},
    {"COO to HYB", "coo_to_hyb",
     [](const matrix_figures& f) { return f.converted.coo_to_hyb / f.converted.copy; },
     &published_row::coo_hyb},
    {"CSR to dynamic", "csr_to_dynamic",
     [](const matrix_figures& f) { return f.converted.csr_to_dynamic / f.converted.copy; },
     &published_row::csr_dynamic},
    {"CSR to HYB", "csr_to_hyb",
     [](const matrix_figures& f) { return f.converted.csr_to_hyb / f.converted.copy; },
     &published_row::csr_hyb},
    {"dynamic to CSR", "dynamic_to_csr",
     [](const matrix_figures& f) { return f.converted.dynamic_to_csr / f.converted.copy; },
     &published_row::dynamic_csr},
}};
constexpr std::array<column, 4> overhead_columns = {{
    {"compaction", "compaction",
     [](const matrix_figures& f) { return f.product.compact / f.product.csr; },
     &published_row::defrag},
    {"HYB's sort", "hyb_sort",
     [](const matrix_figures& f) { return f.costs.hyb_sort / f.product.csr; },
     &published_row::hyb_sort},
    {"1000 updates", "updates",
     [](const matrix_figures& f) { return f.costs.dynamic_update / f.product.csr; },
     &published_row::update},
    {"HYB's", "hyb_updates",
     [](const matrix_figures& f) { return f.costs.hyb_update / f.product.csr; },
     &published_row::hyb_update},
}};

/// Seconds of a contestant's stream or rounds; 0: none.
double seconds_of(const std::vector<update_line>& lines, const char* name) {
  const update_line* const l = find_line(lines, name);
  return l == nullptr ? 0 : l->seconds > 0 ? l->seconds : l->insert_seconds;
}
double speedup(double slower, double faster) {
  return slower > 0 && faster > 0 ? slower / faster : 0;
}

void print_updates(const figures& all, bool device, json& out) {
  const char* const baseline = device ? ways::rebuilding : ways::triplets;
  app::print(
      "\nFigure 3: 50 rounds of 0.2 % more entries and 5 products, faster than CSR built anew "
      "({}); streaming, faster than HYB\n  {:<34} {:>10} {:>10} {:>12} {:>12} {:>20} {:>10}\n",
      baseline, "", "dynamic", "HYB", "sort, add", device ? "CUB's merge" : "", "streaming",
      "append");
  std::vector<double> dynamic, hyb, sum, merge, stream, append;
  const auto note = [](std::vector<double>& list, double v) {
    if (v > 0) list.push_back(v);
    return v;
  };
  for (const auto* f : all) {
    const auto of_rounds = [&](const char* name) {
      return speedup(seconds_of(f->rounds.lines, baseline), seconds_of(f->rounds.lines, name));
    };
    const auto of_stream = [&](const char* name) {
      return speedup(seconds_of(f->stream.lines, ways::hybrid), seconds_of(f->stream.lines, name));
    };
    const double d = note(dynamic, of_rounds(ways::dynamic)),
                 h = note(hyb, of_rounds(ways::hybrid)), a = note(sum, of_rounds(ways::sum)),
                 m = note(merge, of_rounds(ways::merging)),
                 s = note(stream, of_stream(ways::dynamic)),
                 p = note(append, of_stream(ways::appending));
    app::print("  {:<4} {:<29.29} {:>10} {:>10} {:>12} {:>12} {:>20} {:>10}\n", f->facts.stands_for,
               f->facts.matrix, cell_text(d), cell_text(h), cell_text(a), cell_text(m),
               cell_text(s), cell_text(p));
    out.push_back({{"matrix", f->facts.matrix},
                   {"iterative_dynamic", d},
                   {"iterative_hyb", h},
                   {"iterative_sort_add", a},
                   {"iterative_merge", m},
                   {"streaming", s},
                   {"streaming_append", p}});
  }
  app::print("  {:<34} {:>10} {:>10} {:>12} {:>12} {:>20} {:>10}\n", "geometric mean",
             cell_text(geometric_mean(dynamic)), cell_text(geometric_mean(hyb)),
             cell_text(geometric_mean(sum)), cell_text(geometric_mean(merge)),
             cell_text(geometric_mean(stream)), cell_text(geometric_mean(append)));
  app::print("  dynamic over HYB, rounds: {} on geometric mean\n",
             cell_text(geometric_mean(dynamic) / geometric_mean(hyb)));
  app::print("  the paper: streaming 4.8 x HYB on average, up to 8 x; rounds up to 2.5 x HYB\n");
}

void print_products(const figures& all, json& out) {
  app::print(
      "\nFigure 4: products after these rounds, GFLOP/s\n  {:<34} {:>8} {:>11} {:>11} {:>8}  "
      "{:>15} {:>13}\n",
      "", "CSR", "fragmented", "compacted", "HYB", "fragmented, CSR", "compacted, CSR");
  std::vector<double> fragmented, compacted, over_hyb;
  for (const auto* f : all) {
    const product_figures& p = f->product;
    const auto entries = static_cast<double>(f->facts.nnz + f->rounds.batch * f->rounds.rounds);
    const auto gflops = [&](double seconds) { return 2e-9 * entries / seconds; };
    fragmented.push_back(p.csr / p.fragmented);
    compacted.push_back(p.csr / p.compacted);
    over_hyb.push_back(p.hyb / p.compacted);
    app::print("  {:<4} {:<29.29} {:>8.2f} {:>11.2f} {:>11.2f} {:>8.2f}  {:>13.2f} x {:>11.2f} x\n",
               f->facts.stands_for, f->facts.matrix, gflops(p.csr), gflops(p.fragmented),
               gflops(p.compacted), gflops(p.hyb), fragmented.back(), compacted.back());
    out.push_back({{"matrix", f->facts.matrix},
                   {"csr_gflops", gflops(p.csr)},
                   {"fragmented_gflops", gflops(p.fragmented)},
                   {"compacted_gflops", gflops(p.compacted)},
                   {"hyb_gflops", gflops(p.hyb)}});
  }
  app::print(
      "  geometric means: fragmented {:.2f} x CSR, compacted {:.2f} x CSR and {:.2f} x HYB\n",
      geometric_mean(fragmented), geometric_mean(compacted), geometric_mean(over_hyb));
  app::print(
      "  the paper: fragmented 8 % slower than compacted, that 1 % slower than CSR; with bins 9 "
      "% faster than HYB\n");
}

void print_parts(const figures& all, json& out) {
  const int devices = all.front()->parts.back().devices;
  app::print(
      "\nFigure 5: rows dealt out by length to parts on {} {}, faster than one part\n  {:<34} "
      "{:^26}  {:^26}\n  {:<34}",
      devices, devices == 1 ? "device, or the host" : "devices", "", "products", "batches of 0.2 %",
      "");
  for (int k = 0; k < 2; ++k) {
    for (const auto& p : all.front()->parts)
      if (p.parts > 1) app::print(" {:>2} parts", p.parts);
    app::print("   ");
  }
  app::print("\n");
  std::vector<std::vector<double>> products(all.front()->parts.size()), inserts(products.size());
  for (const auto* f : all) {
    json one = {{"matrix", f->facts.matrix}, {"parts", json::array()}};
    app::print("  {:<4} {:<29.29}", f->facts.stands_for, f->facts.matrix);
    for (std::size_t i = 0; i < f->parts.size(); ++i) {
      const part_figures& p = f->parts[i];
      products[i].push_back(f->parts[0].product / p.product);
      inserts[i].push_back(f->parts[0].insert / p.insert);
      one["parts"].push_back({{"parts", p.parts},
                              {"devices", p.devices},
                              {"product_seconds", p.product},
                              {"insert_seconds", p.insert}});
    }
    for (const auto* list : {&products, &inserts}) {
      for (std::size_t i = 1; i < list->size(); ++i) app::print(" {:>8.2f}", (*list)[i].back());
      app::print("   ");
    }
    app::print("\n");
    out.push_back(one);
  }
  app::print("  {:<34}", "geometric mean");
  for (const auto* list : {&products, &inserts}) {
    for (std::size_t i = 1; i < list->size(); ++i)
      app::print(" {:>8.2f}", geometric_mean((*list)[i]));
    app::print("   ");
  }
  app::print("\n  the paper: products 1.93 x (float) and 1.97 x (double) on two GPUs\n");
}

void print_troubles(const figures& all) {
  for (const auto* f : all)
    for (const auto* lines : {&f->stream.lines, &f->rounds.lines})
      for (const auto& l : *lines)
        if (!l.trouble.empty()) app::print("  {}, {}: {}\n", f->facts.matrix, l.name, l.trouble);
}

} // namespace

void print(const std::vector<matrix_figures>& all, bool device, json& out) {
  out["paper"] = json::array();
  for (const char* values : {"f64", "f32"}) {
    figures members;
    for (const auto& f : all)
      if (f.facts.values == values) members.push_back(&f);
    if (members.empty()) continue;
    app::print("\nBeside the paper, on a K20c; {}\n", values);
    json one = {{"group", values},
                {"matrices", json::array()},
                {"memory", json::array()},
                {"conversions", json::array()},
                {"overheads", json::array()},
                {"updates", json::array()},
                {"products", json::array()},
                {"parts", json::array()}};
    print_sizes(members, one["matrices"]);
    print_columns("Table II: memory over HYB's, whose ELL has the mean row length", members,
                  memory_columns, one["memory"]);
    print_columns("Table III: conversions over a copy of the CSR", members, conversion_columns,
                  one["conversions"]);
    print_columns(
        "Table IV: over one product with CSR; existing entries are looked up here, not in "
        "HYB nor in the paper",
        members, overhead_columns, one["overheads"]);
    print_updates(members, device, one["updates"]);
    print_products(members, one["products"]);
    print_parts(members, one["parts"]);
    print_troubles(members);
    out["paper"].push_back(one);
  }
}

} // namespace lacuna::bench::paper_000
