// What the tables of paper:001 share.
#pragma once

#include <fmt/format.h>

#include "bench/paper_001.hpp"

namespace lacuna::bench::paper_001 {

using json = nlohmann::ordered_json;
using members = std::vector<const measured_problem*>;

inline std::string ratio_text(double ratio) {
  return ratio > 0 ? fmt::format("{:.2f}", ratio) : "-";
}

/// Takes part in the comparison: Lacuna as it is, and the peers.
inline bool competes(const result& r) { return r.plays == role::lacuna || r.plays == role::peer; }

/// The fastest of Lacuna and the peers; null: nobody could.
inline const result* fastest(const measured_problem& p) {
  const result *const ours = p.best(role::lacuna), *const peer = p.best(role::peer);
  if (ours == nullptr || peer == nullptr) return ours != nullptr ? ours : peer;
  return ours->seconds <= peer->seconds ? ours : peer;
}

/// Lacuna and the peers, by name, in the order they took part.
inline std::vector<std::string> names_in(const members& problems) {
  std::vector<std::string> names;
  for (const auto* p : problems)
    for (const auto& r : p->results)
      if (competes(r) && std::ranges::find(names, r.name) == names.end()) names.push_back(r.name);
  return names;
}
/// For the head of a column of 10.
inline std::string column_name(std::string name) {
  if (const auto at = name.find(" alg"); at != std::string::npos) name.erase(at, 4);
  return name;
}

/// Table 2; `origin`: where the thresholds are from.
void print_thresholds(const spgemm_thresholds& ours, const std::string& origin,
                      const std::vector<row_needs>& rows, const std::string& values, json& out);
/// Figure 6: speed over the number of products; 7: how far behind the fastest; 15: all of them.
void print_trends(const members& problems, json& out);

} // namespace lacuna::bench::paper_001
