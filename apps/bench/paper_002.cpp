#include "bench/paper_002.hpp"
#include "common/print.hpp"

#include <fmt/format.h>
#include <numeric>

namespace lacuna::bench::paper_002 {
namespace {

using json = nlohmann::ordered_json;

/// Geometric mean, and the least; "-" of nothing.
std::string ratio_text(const std::vector<double>& ratios) {
  if (ratios.empty()) return "-";
  return fmt::format("{:.2f} x, least {:.2f}", geometric_mean(ratios), std::ranges::min(ratios));
}
double mean_of(const std::vector<double>& v) {
  return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}
std::string cell(const measured_problem& p, const char* name) {
  const result* const r = p.find(name);
  return r == nullptr ? "-" : fmt::format("{:.2f}", p.gflops(*r));
}

/// All that is summed up over the matrices of one precision.
struct sums {
  std::vector<double> below_csr, below_coo, over_csr, over_planned, over_transposed, way_back,
      added;
  std::vector<double> milliseconds, milliseconds_transposed, conversion;

  void add(const measured_problem& p, const other_figures& o) {
    const result* const t = p.find(tree);
    const result* const across = o.transposed.find(tree);
    if (t == nullptr || across == nullptr) return;
    const auto bytes = static_cast<double>(t->format_bytes), nnz = static_cast<double>(p.nnz);
    const double coo = nnz * (p.values == "f64" ? 16 : 12);
    below_csr.push_back(bytes / p.matrix_bytes);
    below_coo.push_back(bytes / coo);
    milliseconds.push_back(1e3 * t->seconds);
    milliseconds_transposed.push_back(1e3 * across->seconds);
    conversion.push_back(t->prepare_products());
    way_back.push_back(t->seconds / across->seconds);
    if (const auto* r = p.find(csr)) over_csr.push_back(r->seconds / t->seconds);
    if (const auto* r = p.find(planned)) over_planned.push_back(r->seconds / t->seconds);
    if (const auto* r = o.transposed.find(planned))
      over_transposed.push_back(r->seconds / across->seconds);
    if (o.add_tree > 0) added.push_back(o.add_csr / o.add_tree);
  }
  void print(json& out) const {
    const auto most = below_csr.empty() ? 0 : std::ranges::max(below_csr);
    app::print("  bytes: {:.2f} of CSR's on average, {:.2f} at most; {:.2f} of COO's (the thesis: "
               "0.80, 0.50)\n",
               mean_of(below_csr), most, mean_of(below_coo));
    app::print("  y = A x: {:.2f} ms on average, over our csr {}, over the planned product {}\n",
               mean_of(milliseconds), ratio_text(over_csr), ratio_text(over_planned));
    app::print(
        "  y = Aᵀ x: {:.2f} ms on average, over a planned transposed copy {}; beside y = A x "
        "{}\n",
        mean_of(milliseconds_transposed), ratio_text(over_transposed), ratio_text(way_back));
    app::print("  A + Aᵀ over add(a, transposed(a)): {}\n", ratio_text(added));
    app::print("  made in {:.0f} products on average\n", mean_of(conversion));
    out.update({{"bytes_of_csr", mean_of(below_csr)},
                {"most_bytes_of_csr", most},
                {"bytes_of_coo", mean_of(below_coo)},
                {"over_csr", geometric_mean(over_csr)},
                {"over_planned", geometric_mean(over_planned)},
                {"over_transposed_copy", geometric_mean(over_transposed)},
                {"add_over_csr", geometric_mean(added)},
                {"conversion_products", mean_of(conversion)}});
  }
};

void print_row(const measured_problem& p, const other_figures& o) {
  const auto nnz = static_cast<double>(std::max<std::int64_t>(p.nnz, 1));
  const result* const t = p.find(tree);
  const auto per_entry = [&](const result* r) {
    return r == nullptr ? std::string("-")
                        : fmt::format("{:.2f}", static_cast<double>(r->format_bytes) / nnz);
  };
  app::print("  {:<24.24} {:>6.2f} {:>6} {:>6}  {:>6} {:>7} {:>6}  {:>6} {:>7} {:>6}  {:>8.2f} "
             "{:>8.2f}  {:>6.0f}\n",
             p.stands_for.empty() ? p.matrix : p.stands_for, p.matrix_bytes / nnz,
             per_entry(p.find(packed)), per_entry(t), cell(p, csr), cell(p, planned), cell(p, tree),
             cell(o.transposed, csr), cell(o.transposed, planned), cell(o.transposed, tree),
             1e3 * o.add_csr, 1e3 * o.add_tree, t == nullptr ? 0 : t->prepare_products());
}

} // namespace

void print(const std::vector<measured_problem>& problems, const std::vector<other_figures>& others,
           json& out) {
  out["paper"] = json::array();
  for (const auto& group : groups_of(problems)) {
    app::print("\nBeside the thesis (figures 3.2, 7.2, 7.3; tables 7.1, 7.2), {}\n", group);
    app::print("  {:<24} {:>20}  {:>21}  {:>21}  {:>17}  {:>6}\n", "", "bytes per entry",
               "y = A x, GFLOP/s", "y = Aᵀ x, GFLOP/s", "A + Aᵀ, ms", "made, in");
    app::print("  {:<24} {:>6} {:>6} {:>6}  {:>6} {:>7} {:>6}  {:>6} {:>7} {:>6}  {:>8} {:>8}  "
               "{:>6}\n",
               "", csr, "packed", "tree", csr, planned, "tree", csr, planned, "tree", csr, "tree",
               "products");
    sums all;
    for (std::size_t i = 0; i < problems.size() && i < others.size(); ++i) {
      if (group_of(problems[i]) != group) continue;
      print_row(problems[i], others[i]);
      all.add(problems[i], others[i]);
    }
    json figures = {{"group", group}};
    all.print(figures);
    out["paper"].push_back(figures);
  }
  app::print(
      "  The thesis, on a GTX 1080: A x 0.38 x bhSparse's CSR5 on average, Aᵀ x 7 x cuSPARSE "
      "with its transposition; A + Aᵀ 1.8 to 63 x.\n");
}

} // namespace lacuna::bench::paper_002
