#include "bench/summary.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "bench/report.hpp"
#include "common/print.hpp"
#include "common/text.hpp"

namespace lacuna::bench {
namespace {

using json = nlohmann::ordered_json;

/// Matrices of more bytes are held to the limit.
constexpr double large_bytes = 500e6;

/// The line "Lacuna" of one problem, beside the best of the others. Pointers are into the problem.
struct outcome {
  const measured_problem* p;
  const result* plan;
  const result* peer;      ///< null: none took part
  const result* candidate; ///< likewise

  [[nodiscard]] double to_peer() const { return peer->seconds / plan->seconds; }
  [[nodiscard]] double to_candidate() const { return candidate->seconds / plan->seconds; }
  [[nodiscard]] double to_limit() const { return p->limit_seconds() / plan->seconds; }
  [[nodiscard]] double memory() const { return p->memory(*plan); }
};

std::string after_colon(const std::string& name) {
  const std::size_t at = name.find(": ");
  return at == std::string::npos ? name : name.substr(at + 2);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

void print_overview(const std::vector<outcome>& outcomes) {
  const auto row = [](const auto&... cell) {
    app::print("  {:<34.34} {:<22} {:>8} {:>6} {:>22} {:>25} {:>6} {:>7}\n", cell...);
  };
  row("", "plan", "GFLOP/s", "limit", "best peer", "best candidate", "memory", "made in");
  for (const auto& o : outcomes)
    row(o.p->matrix, o.plan->chose.format, fmt::format("{:.2f}", o.p->gflops(*o.plan)),
        fmt::format("{:.0f} %", 100 * o.to_limit()),
        o.peer ? fmt::format("{:.2f} x {}", o.to_peer(), o.peer->name) : "-",
        o.candidate ? fmt::format("{:.2f} x {}", o.to_candidate(), after_colon(o.candidate->name))
                    : "-",
        fmt::format("{:.2f} x", o.memory()), fmt::format("{:.0f}", o.plan->prepare_products()));
}

/// Geometric means over the best peer, the worst, and who is below it.
void print_peers(const std::vector<outcome>& outcomes, json& out) {
  std::vector<double> ratios, regular, irregular;
  std::vector<std::string> below;
  const outcome* worst = nullptr;
  for (const auto& o : outcomes) {
    if (o.peer == nullptr) continue;
    ratios.push_back(o.to_peer());
    (o.p->regular() ? regular : irregular).push_back(o.to_peer());
    if (o.to_peer() < 1) below.push_back(o.p->matrix);
    if (worst == nullptr || o.to_peer() < worst->to_peer()) worst = &o;
  }
  if (worst == nullptr) {
    app::print("  no peer to compare with\n");
    return;
  }
  const auto mean = [](const std::vector<double>& r) {
    return r.empty() ? std::string("-") : fmt::format("{:.2f} x", geometric_mean(r));
  };
  app::print("  over the best peer: {} on geometric mean of {}; {} regular: {}, {} irregular: {}\n",
             mean(ratios), ratios.size(), regular.size(), mean(regular), irregular.size(),
             mean(irregular));
  app::print("{}\n", wrapped(fmt::format("  least: {:.2f} x, on {}; below 1.00 x: {}",
                                         worst->to_peer(), worst->p->matrix, listed(below))));
  out.update({{"ratio_to_best_peer", geometric_mean(ratios)},
              {"regular", {{"count", regular.size()}, {"ratio", geometric_mean(regular)}}},
              {"irregular", {{"count", irregular.size()}, {"ratio", geometric_mean(irregular)}}},
              {"least_ratio", worst->to_peer()},
              {"least_matrix", worst->p->matrix},
              {"below_best_peer", below}});
}

/// How good the choice was; only a run of all formats can tell.
void print_choice(const std::vector<outcome>& outcomes, json& out) {
  std::vector<std::string> missed;
  for (const auto& o : outcomes)
    if (o.candidate != nullptr && 1.1 * o.to_candidate() < 1) missed.push_back(o.p->matrix);
  const auto good = outcomes.size() - missed.size();
  const double share = static_cast<double>(good) / static_cast<double>(outcomes.size());
  app::print("{}\n", wrapped(fmt::format(
                         "  choice within 10 % of the best candidate: {} of {} ({:.0f} %); not: {}",
                         good, outcomes.size(), 100 * share, listed(missed))));
  out.update({{"choice_within_10_percent", share}, {"choice_missed", missed}});
}

void print_memory(const std::vector<outcome>& outcomes, json& out) {
  const auto most = std::ranges::max_element(outcomes, {}, &outcome::memory);
  app::print("  memory of a plan: at most {:.2f} x CSR's, on {}\n", most->memory(),
             most->p->matrix);
  out.update({{"largest_memory_ratio", most->memory()}, {"largest_memory", most->p->matrix}});
}

void print_large(const std::vector<outcome>& outcomes, json& out) {
  json shares = json::object();
  std::vector<std::string> texts;
  for (const auto& o : outcomes)
    if (o.p->matrix_bytes > large_bytes) {
      shares[o.p->matrix] = o.to_limit();
      texts.push_back(fmt::format("{} {:.0f} %", o.p->matrix, 100 * o.to_limit()));
    }
  app::print("{}\n", wrapped(fmt::format("  above {}, of the limit: {}",
                                         app::human_bytes(large_bytes), listed(texts))));
  out["large_ratio_to_limit"] = shares;
}

} // namespace

void print_summary(const std::vector<measured_problem>& problems, bool every_format, json& out) {
  out["summary"] = json::array();
  for (const auto& group : groups_of(problems)) {
    std::vector<outcome> outcomes;
    for (const auto& p : problems) {
      const result* const plan = p.best(role::lacuna);
      if (group_of(p) == group && plan != nullptr)
        outcomes.push_back({&p, plan, p.best(role::peer), p.best(role::candidate)});
    }
    if (outcomes.empty()) continue;
    app::print("\nPlans, {}\n", group);
    print_overview(outcomes);
    json summary = {{"group", group}, {"count", outcomes.size()}};
    print_peers(outcomes, summary);
    if (every_format) print_choice(outcomes, summary);
    print_memory(outcomes, summary);
    print_large(outcomes, summary);
    out["summary"].push_back(summary);
  }
}

} // namespace lacuna::bench
