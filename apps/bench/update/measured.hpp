// What was found of matrices that change.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/measured.hpp"

namespace lacuna::bench {

/// One contestant. Times are medians; 0: it took no part, or does no such thing.
struct update_line {
  std::string name;
  role plays = role::peer;
  bool replaces = false;     ///< its rule is not the others'
  double insert_seconds = 0; ///< of a batch; of a stream or rounds: of all
  double erase_seconds = 0;  ///< of a batch
  double seconds = 0;        ///< of all rounds
  std::size_t bytes = 0;     ///< of the matrix after it; 0: unknown
  std::int64_t peak_bytes = 0;
  std::string trouble; ///< why there is no time
};

/// Batches of one size.
struct batch_figures {
  std::int64_t entries = 0;
  int batches = 0;
  bool fresh = false;       ///< each into the matrix as it was loaded, not one after another
  double limit_seconds = 0; ///< the batch read once, its entries written once
  std::vector<update_line> lines;
};

/// The whole matrix put in by batches, from nothing.
struct stream_figures {
  std::int64_t batch = 0, entries = 0;
  std::vector<update_line> lines;
};

/// Rounds of one batch and some products.
struct round_figures {
  int rounds = 0, products = 0;
  std::int64_t batch = 0;
  std::vector<update_line> lines;
};

/// Products, compaction and conversion, in seconds; and memory.
struct product_figures {
  double csr = 0, fragmented = 0, compacted = 0, hyb = 0;
  double compact = 0; ///< a compaction
  double copy = 0, to_dynamic = 0, to_csr = 0, fragmented_to_csr = 0;
  std::size_t csr_bytes = 0, dynamic_bytes = 0, fragmented_bytes = 0, compacted_bytes = 0,
              hyb_bytes = 0;
  int segments_max = 0;
};

struct update_figures {
  measured_problem facts; ///< sizes alone
  double bandwidth = 0;   ///< bytes per second
  std::vector<batch_figures> batches;
  stream_figures stream;
  round_figures rounds;
  product_figures products;
};

/// Tables; the same figures are added to the JSON array. `published`: put figures of published
/// codes beside them, where there are some.
void print_update(const update_figures& f, bool published, nlohmann::ordered_json& out);
/// What the figures come to, over all matrices.
void print_update_summary(const std::vector<update_figures>& all, nlohmann::ordered_json& out);

/// Of those with a time; null: there is none.
inline const update_line* find_line(const std::vector<update_line>& lines, std::string_view name) {
  for (const auto& l : lines)
    if (l.name == name && l.trouble.empty() && (l.insert_seconds > 0 || l.seconds > 0)) return &l;
  return nullptr;
}

} // namespace lacuna::bench
