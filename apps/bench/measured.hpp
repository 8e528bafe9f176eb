// What a contest found, and the figures that tables are made of.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "bench/contestant.hpp"

namespace lacuna::bench {

/// What one contestant did with one problem.
struct result {
  std::string name;
  role plays = role::peer;
  double seconds = 0;       ///< median; 0: it took no part
  double least_seconds = 0; ///< of all rounds
  double prepare_seconds = 0;
  std::size_t extra_bytes = 0;
  std::size_t format_bytes = 0; ///< of the matrix as it is multiplied with; 0: unknown
  std::int64_t peak_bytes = 0;  ///< at most held at once by a run, C included; 0: unknown
  double verify_error = 0;      ///< in units of its bound; right if at most 1
  choice chose;
  std::string refused; ///< why the planner would not think of it
  std::string trouble; ///< why there is no time; empty if there is one, or it was refused

  /// Preparation, in products of its own.
  [[nodiscard]] double prepare_products() const { return prepare_seconds / seconds; }
};

struct limit {
  std::string name;                 ///< "triad", "copy"
  double bytes_per_second = 0;      ///< median
  double best_bytes_per_second = 0; ///< of all rounds
};

struct measured_problem {
  std::string matrix;
  std::string stands_for; ///< a matrix of a paper's; empty: none in particular
  std::string values;     ///< "f64"
  std::int64_t rows = 0, cols = 0, nnz = 0, longest_row = 0;
  double row_variance = 0;  ///< of the row lengths
  std::int64_t columns = 1; ///< of X
  layout order = layout::row_major;
  double matrix_bytes = 0, bytes = 0, flops = 0, cache_bytes = 0;
  /// Where the result is a matrix C: bytes of what it is made from and of itself, and its entries.
  double operand_bytes = 0, result_bytes = 0;
  std::int64_t entries = 0;
  std::int64_t products = 0;                 ///< of spgemm
  std::int64_t levels = 0, widest_level = 0; ///< of trisolve
  int rounds = 0;                            ///< that times are medians of
  std::vector<result> results;
  std::vector<limit> limits; ///< measured in the same rounds; the first is what ratios refer to

  /// Paper 004's border between matrices.
  [[nodiscard]] bool regular() const { return row_variance <= 10; }
  [[nodiscard]] double limit_seconds() const { return bytes / limits.front().bytes_per_second; }
  [[nodiscard]] double gflops(const result& r) const { return flops / r.seconds * 1e-9; }
  /// Of those with a time: the one with that name, the fastest in that role; null: there is none.
  [[nodiscard]] const result* find(std::string_view name) const {
    for (const auto& r : results)
      if (r.name == name && r.seconds > 0) return &r;
    return nullptr;
  }
  [[nodiscard]] const result* best(role plays) const {
    const result* fastest = nullptr;
    for (const auto& r : results)
      if (r.plays == plays && r.seconds > 0 && (fastest == nullptr || r.seconds < fastest->seconds))
        fastest = &r;
    return fastest;
  }
  /// Paper 001's border: means are made of larger products.
  [[nodiscard]] bool in_means() const { return products == 0 || products > 15000; }
  /// Products that fall on an entry of C.
  [[nodiscard]] double compression() const {
    return entries == 0 ? 0 : static_cast<double>(products) / static_cast<double>(entries);
  }
  /// Peak of a run over operands and result; 0: unknown, as where it seems to have held less than
  /// C: that is then in memory from before, or in another process.
  [[nodiscard]] double peak(const result& r) const {
    const auto held = static_cast<double>(r.peak_bytes);
    return held < result_bytes || held == 0
               ? 0
               : (operand_bytes + held) / (operand_bytes + result_bytes);
  }
  /// The memory of a format over CSR's; 0: unknown.
  [[nodiscard]] double memory(const result& r) const {
    return static_cast<double>(r.format_bytes) / matrix_bytes;
  }
};

/// 0 of nothing.
inline double geometric_mean(const std::vector<double>& ratios) {
  double sum = 0;
  for (const double r : ratios) sum += std::log(r);
  return ratios.empty() ? 0 : std::exp(sum / static_cast<double>(ratios.size()));
}

} // namespace lacuna::bench
