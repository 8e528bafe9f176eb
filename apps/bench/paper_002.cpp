#include "bench/paper_002.hpp"
#include "common/print.hpp"

#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

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
double deviation_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += (x - mean_of(v)) * (x - mean_of(v));
  return v.empty() ? 0 : std::sqrt(sum / static_cast<double>(v.size()));
}
/// Mean and deviation of times, as in the thesis' tables 7.1 and 7.2.
void print_times(const char* what, const char* who, const std::vector<double>& milliseconds) {
  if (milliseconds.empty()) return;
  app::print("  {:<34} {:<12} {:>10.2f} {:>10.2f}\n", what, who, mean_of(milliseconds),
             deviation_of(milliseconds));
}
std::string cell(const measured_problem& p, const char* name) {
  const result* const r = p.find(name);
  return r == nullptr ? "-" : fmt::format("{:.2f}", p.gflops(*r));
}

/// All that is summed up over the matrices of one precision.
struct sums {
  std::vector<double> below_csr, below_coo, over_csr, over_planned, over_transposed, way_back,
      added, added_itself, added_converted, multiplied;
  std::vector<double> milliseconds, milliseconds_transposed, conversion;
  std::map<std::string, std::vector<double>> times; ///< table 7.1, 7.2: "what|who", ms

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
    for (const result& r : p.results)
      if (r.seconds > 0) times["y = A x|" + r.name].push_back(1e3 * r.seconds);
    for (const result& r : o.transposed.results)
      if (r.seconds > 0) times["y = Aᵀ x|" + r.name].push_back(1e3 * r.seconds);
    const auto add_ways = [&](const std::string& what, const both_ways& w,
                              std::vector<double>& ratios) {
      if (w.csr <= 0 || w.tree <= 0) return;
      times[what + "|csr"].push_back(1e3 * w.csr);
      times[what + "|" + tree].push_back(1e3 * w.tree);
      ratios.push_back(w.csr / w.tree);
    };
    add_ways("A + A", o.add, added_itself);
    add_ways("A + Aᵀ", o.add_transposed, added);
    add_ways("A + Aᵀ, transposed before", {o.add_converted, o.add_transposed.tree},
             added_converted);
    add_ways("A A", o.product, multiplied);
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
    app::print(
        "  A + A over csr's: {}; A + Aᵀ over add(a, transposed(a)): {}, over a transposed copy "
        "made before: {}\n",
        ratio_text(added_itself), ratio_text(added), ratio_text(added_converted));
    app::print("  A A over csr's: {}\n", ratio_text(multiplied));
    app::print("  made in {:.0f} products on average\n", mean_of(conversion));
    out.update({{"bytes_of_csr", mean_of(below_csr)},
                {"most_bytes_of_csr", most},
                {"bytes_of_coo", mean_of(below_coo)},
                {"over_csr", geometric_mean(over_csr)},
                {"over_planned", geometric_mean(over_planned)},
                {"over_transposed_copy", geometric_mean(over_transposed)},
                {"add_over_csr", geometric_mean(added)},
                {"add_itself_over_csr", geometric_mean(added_itself)},
                {"add_over_converted_csr", geometric_mean(added_converted)},
                {"product_over_csr", geometric_mean(multiplied)},
                {"conversion_products", mean_of(conversion)}});
    app::print("\n  Tables 7.1 and 7.2, ms over the matrices {:>17} {:>10}\n", "mean", "deviation");
    out["times"] = json::array();
    for (const auto& [key, all] : times) {
      const auto bar = key.find('|');
      print_times(key.substr(0, bar).c_str(), key.substr(bar + 1).c_str(), all);
      out["times"].push_back({{"operation", key.substr(0, bar)},
                              {"name", key.substr(bar + 1)},
                              {"mean_ms", mean_of(all)},
                              {"deviation_ms", deviation_of(all)}});
    }
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
             1e3 * o.add_transposed.csr, 1e3 * o.add_transposed.tree,
             t == nullptr ? 0 : t->prepare_products());
}
/// Figure 7.3, and A A.
void print_sums(const measured_problem& p, const other_figures& o) {
  const auto ms = [](double seconds) {
    return seconds > 0 ? fmt::format("{:.2f}", 1e3 * seconds) : std::string("-");
  };
  app::print("  {:<24.24} {:>9} {:>9}  {:>9} {:>9} {:>9}  {:>9} {:>9}\n",
             p.stands_for.empty() ? p.matrix : p.stands_for, ms(o.add.csr), ms(o.add.tree),
             ms(o.add_transposed.csr), ms(o.add_converted), ms(o.add_transposed.tree),
             ms(o.product.csr), ms(o.product.tree));
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
    app::print("\n  {:<24} {:>19}  {:>29}  {:>19}\n", "Figure 7.3, ms", "A + A", "A + Aᵀ", "A A");
    app::print("  {:<24} {:>9} {:>9}  {:>9} {:>9} {:>9}  {:>9} {:>9}\n", "", csr, "tree", csr,
               "converted", "tree", csr, "tree");
    for (std::size_t i = 0; i < problems.size() && i < others.size(); ++i)
      if (group_of(problems[i]) == group) print_sums(problems[i], others[i]);
    json figures = {{"group", group}};
    all.print(figures);
    out["paper"].push_back(figures);
  }
  app::print(
      "  The thesis, on a GTX 1080: A x 0.38 x bhSparse's CSR5 on average, Aᵀ x 7 x cuSPARSE "
      "with its transposition; A + Aᵀ 1.8 to 63 x.\n");
}

} // namespace lacuna::bench::paper_002
