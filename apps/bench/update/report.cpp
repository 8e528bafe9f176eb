#include <array>

#include "bench/report.hpp"
#include "bench/update/measured.hpp"
#include "common/print.hpp"
#include "common/text.hpp"

namespace lacuna::bench {
namespace {

using json = nlohmann::ordered_json;
using app::human_bytes;
using app::human_count;
using app::human_seconds;

/// Entries per second, 0: none.
struct published_rates {
  const char* rows; ///< kind of matrix
  std::int64_t batch;
  double merge, rebuild, slab, faim, hornet, gpma;
};
constexpr const char* published_source =
    "inserts per second on an H200 into 10 M entries, 4-byte weights, results verified; taken in "
    "an "
    "earlier comparison with the codes brought to CUDA 13, not measured in this run";
constexpr std::array<published_rates, 6> published_table = {{
    {"uniform", 10000, 3.4e7, 1.4e7, 2.8e8, 2.3e8, 1.6e7, 2.4e7},
    {"rmat", 10000, 3.4e7, 1.4e7, 1.9e8, 4.9e7, 1.3e7, 0.7e7},
    {"uniform", 1000000, 2.1e9, 9.5e8, 5.9e9, 1.3e9, 1.6e8, 2.0e8},
    {"rmat", 1000000, 2.1e9, 9.5e8, 3.0e8, 2.5e8, 3.0e8, 1.7e8},
    {"uniform", 10000000, 5.4e9, 2.6e9, 2.8e9, 2.9e9, 7.6e8, 7.5e8},
    {"rmat", 10000000, 5.7e9, 2.7e9, 9.3e7, 1.9e8, 1.1e9, 8.1e8},
}};

double rate(std::int64_t entries, double seconds) {
  return seconds > 0 ? static_cast<double>(entries) / seconds : 0;
}
std::string rate_text(double r) { return r > 0 ? fmt::format("{:.2e}", r) : "-"; }
/// Times over another's.
std::string times_text(double seconds, double ours) {
  return seconds > 0 && ours > 0 ? fmt::format("{:.2f} x", seconds / ours) : "-";
}
std::string bytes_text(double bytes) { return bytes > 0 ? human_bytes(bytes) : "-"; }
std::string named(const update_line& l) { return l.name + (l.replaces ? " *" : ""); }

void print_published_rates(const std::string& name, const batch_figures& b, json& out) {
  for (const auto& p : published_table) {
    if (p.batch != b.entries || !name.starts_with(p.rows)) continue;
    app::print("    published: CUB merge {:.1e}, CUB rebuild {:.1e}, SlabGraph-like {:.1e}, "
               "faimGraph {:.1e}, Hornet {:.1e}, GPMA+ {:.1e}\n",
               p.merge, p.rebuild, p.slab, p.faim, p.hornet, p.gpma);
    out["published"] = {{"source", published_source},
                        {"cub_merge", p.merge},
                        {"cub_rebuild", p.rebuild},
                        {"slabgraph_like", p.slab},
                        {"faimgraph", p.faim},
                        {"hornet", p.hornet},
                        {"gpma", p.gpma}};
  }
}

json line_json(const update_line& l) {
  json j = {{"name", l.name}, {"peer", l.plays == role::peer}, {"replaces", l.replaces}};
  if (!l.trouble.empty())
    j["trouble"] = l.trouble;
  else
    j["verified"] = true;
  return j;
}

void print_batches(const update_figures& f, const batch_figures& b, bool published, json& out) {
  const update_line* const ours = find_line(b.lines, "Lacuna");
  const double least = ours != nullptr ? ours->insert_seconds : 0;
  app::print("  batches of {}, {}\n", human_count(b.entries),
             b.fresh ? fmt::format("each into the matrix as it was loaded, {}", b.batches)
                     : fmt::format("{} one after another", b.batches));
  app::print("    {:<26} {:>10} {:>10} {:>12} {:>10} {:>10}\n", "", "inserts/s", "a batch",
             "over Lacuna", "erases/s", "a batch");
  json lines = json::array();
  for (const auto& l : b.lines) {
    json j = line_json(l);
    if (!l.trouble.empty()) {
      app::print("    {:<26} left out: {}\n", named(l), l.trouble);
    } else {
      const double inserts = rate(b.entries, l.insert_seconds),
                   erases = rate(b.entries, l.erase_seconds);
      app::print("    {:<26} {:>10} {:>10} {:>12} {:>10} {:>10}\n", named(l), rate_text(inserts),
                 human_seconds(l.insert_seconds), times_text(l.insert_seconds, least),
                 rate_text(erases), l.erase_seconds > 0 ? human_seconds(l.erase_seconds) : "-");
      j.update({{"insert_seconds", l.insert_seconds}, {"inserts_per_s", inserts}});
      if (erases > 0) j.update({{"erase_seconds", l.erase_seconds}, {"erases_per_s", erases}});
    }
    lines.push_back(j);
  }
  app::print("    {:<26} {:>10} {:>10}\n", "limit: batch read, written",
             rate_text(rate(b.entries, b.limit_seconds)), human_seconds(b.limit_seconds));
  json one = {{"batch", b.entries},
              {"batches", b.batches},
              {"fresh", b.fresh},
              {"limit_entries_per_s", rate(b.entries, b.limit_seconds)},
              {"contestants", lines}};
  if (published) print_published_rates(f.facts.matrix, b, one);
  out.push_back(one);
}

void print_stream(const stream_figures& s, json& out) {
  const update_line* const ours = find_line(s.lines, "Lacuna");
  app::print("  streaming: all entries in random order into an empty matrix, {} at a time\n",
             human_count(s.batch));
  app::print("    {:<26} {:>10} {:>10} {:>12} {:>10}\n", "", "inserts/s", "in all", "over Lacuna",
             "memory");
  json lines = json::array();
  for (const auto& l : s.lines) {
    json j = line_json(l);
    if (!l.trouble.empty()) {
      app::print("    {:<26} left out: {}\n", named(l), l.trouble);
    } else {
      app::print("    {:<26} {:>10} {:>10} {:>12} {:>10}\n", named(l),
                 rate_text(rate(s.entries, l.insert_seconds)), human_seconds(l.insert_seconds),
                 times_text(l.insert_seconds, ours != nullptr ? ours->insert_seconds : 0),
                 bytes_text(static_cast<double>(l.bytes)));
      j.update({{"seconds", l.insert_seconds},
                {"inserts_per_s", rate(s.entries, l.insert_seconds)},
                {"bytes", l.bytes}});
    }
    lines.push_back(j);
  }
  out = {{"batch", s.batch}, {"entries", s.entries}, {"contestants", lines}};
}

void print_rounds(const round_figures& r, json& out) {
  const update_line* const ours = find_line(r.lines, "Lacuna");
  app::print("  {} rounds of {} inserts and {} products\n", r.rounds, human_count(r.batch),
             r.products);
  app::print("    {:<26} {:>10} {:>10} {:>10} {:>12} {:>10} {:>10}\n", "", "in all", "inserts",
             "products", "over Lacuna", "memory", "peak");
  json lines = json::array();
  for (const auto& l : r.lines) {
    json j = line_json(l);
    if (!l.trouble.empty()) {
      app::print("    {:<26} left out: {}\n", named(l), l.trouble);
    } else {
      app::print("    {:<26} {:>10} {:>10} {:>10} {:>12} {:>10} {:>10}\n", named(l),
                 human_seconds(l.seconds), human_seconds(l.insert_seconds),
                 human_seconds(l.seconds - l.insert_seconds),
                 times_text(l.seconds, ours != nullptr ? ours->seconds : 0),
                 bytes_text(static_cast<double>(l.bytes)),
                 bytes_text(static_cast<double>(l.peak_bytes)));
      j.update({{"seconds", l.seconds},
                {"insert_seconds", l.insert_seconds},
                {"bytes", l.bytes},
                {"peak_bytes", l.peak_bytes}});
    }
    lines.push_back(j);
  }
  out = {
      {"rounds", r.rounds}, {"products", r.products}, {"batch", r.batch}, {"contestants", lines}};
}

void print_products(const product_figures& p, json& out) {
  const auto bytes = [](std::size_t b) { return static_cast<double>(b); };
  app::print("  products after these batches, {} segments at most: CSR {}, fragmented {} ({:.2f} "
             "x), compacted {} ({:.2f} x), HYB {} ({:.2f} x)\n",
             p.segments_max, human_seconds(p.csr), human_seconds(p.fragmented),
             p.fragmented / p.csr, human_seconds(p.compacted), p.compacted / p.csr,
             human_seconds(p.hyb), p.hyb / p.csr);
  app::print("  a compaction {}, {:.1f} products with CSR\n", human_seconds(p.compact),
             p.compact / p.csr);
  app::print("  a copy of the CSR {}; CSR to dynamic {:.2f} x, back {:.2f} x, back fragmented "
             "{:.2f} x\n",
             human_seconds(p.copy), p.to_dynamic / p.copy, p.to_csr / p.copy,
             p.fragmented_to_csr / p.copy);
  app::print("  memory over CSR's: fragmented {:.2f}, compacted {:.2f}, HYB {:.2f}\n",
             bytes(p.fragmented_bytes) / bytes(p.csr_bytes),
             bytes(p.compacted_bytes) / bytes(p.csr_bytes),
             bytes(p.hyb_bytes) / bytes(p.csr_bytes));
  out = {{"csr_seconds", p.csr},
         {"fragmented_seconds", p.fragmented},
         {"compacted_seconds", p.compacted},
         {"hyb_seconds", p.hyb},
         {"compact_seconds", p.compact},
         {"copy_seconds", p.copy},
         {"to_dynamic_seconds", p.to_dynamic},
         {"to_csr_seconds", p.to_csr},
         {"fragmented_to_csr_seconds", p.fragmented_to_csr},
         {"csr_bytes", p.csr_bytes},
         {"dynamic_bytes", p.dynamic_bytes},
         {"fragmented_bytes", p.fragmented_bytes},
         {"compacted_bytes", p.compacted_bytes},
         {"hyb_bytes", p.hyb_bytes},
         {"segments_max", p.segments_max}};
}

} // namespace

void print_update(const update_figures& f, bool published, json& out) {
  const measured_problem& p = f.facts;
  app::print("\n{} · {} · {} · longest row {} · {:.1f} GB/s\n", p.matrix, p.values,
             app::human_shape(p.rows, p.cols, p.nnz), human_count(p.longest_row),
             f.bandwidth * 1e-9);
  json one = {{"matrix", p.matrix},
              {"precision", p.values},
              {"rows", p.rows},
              {"cols", p.cols},
              {"nnz", p.nnz},
              {"longest_row", p.longest_row},
              {"bandwidth_bytes_per_s", f.bandwidth},
              {"batches", json::array()}};
  for (const auto& b : f.batches) print_batches(f, b, published, one["batches"]);
  print_stream(f.stream, one["streaming"]);
  print_rounds(f.rounds, one["rounds"]);
  print_products(f.products, one["products"]);
  out.push_back(one);
  std::fflush(stdout);
}

void print_update_summary(const std::vector<update_figures>& all, json& out) {
  std::vector<double> fragmented, compacted, compaction, there, back;
  for (const auto& f : all) {
    fragmented.push_back(f.products.fragmented / f.products.csr);
    compacted.push_back(f.products.compacted / f.products.csr);
    compaction.push_back(f.products.compact / f.products.csr);
    there.push_back(f.products.to_dynamic / f.products.copy);
    back.push_back(f.products.to_csr / f.products.copy);
  }
  if (all.empty()) return;
  app::print(
      "\n  * replaces entries that are there; all others add to them. \"append\" looks for none.\n"
      "Geometric means over {} matri{}: a product fragmented {:.2f} x CSR's time, compacted "
      "{:.2f} x, a compaction {:.1f} products, CSR to dynamic {:.2f} x a copy, back {:.2f} x\n",
      all.size(), all.size() == 1 ? "x" : "ces", geometric_mean(fragmented),
      geometric_mean(compacted), geometric_mean(compaction), geometric_mean(there),
      geometric_mean(back));
  out["summary"] = {{"fragmented_to_csr", geometric_mean(fragmented)},
                    {"compacted_to_csr", geometric_mean(compacted)},
                    {"compaction_products", geometric_mean(compaction)},
                    {"to_dynamic_to_copy", geometric_mean(there)},
                    {"to_csr_to_copy", geometric_mean(back)}};
}

} // namespace lacuna::bench
