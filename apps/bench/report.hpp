// Tables for people on stdout, and the same figures for programs in a JSON file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/settings.hpp"

namespace lacuna::bench {

/// What one contestant did with one problem.
struct result {
  std::string name;
  role plays = role::peer;
  double seconds = 0;       ///< median
  double least_seconds = 0; ///< of all rounds
  double prepare_seconds = 0;
  std::size_t extra_bytes = 0;
  double verify_error = 0; ///< in units of its bound; right if at most 1
  std::string explain;
  std::string trouble; ///< why there is no time; empty if there is one
};

struct limit {
  std::string name;                 ///< "triad", "copy"
  double bytes_per_second = 0;      ///< median
  double best_bytes_per_second = 0; ///< of all rounds
};

struct measured_problem {
  std::string matrix;
  std::string values; ///< "f64"
  std::int64_t rows = 0, cols = 0, nnz = 0, longest_row = 0;
  std::int64_t columns = 1; ///< of X
  layout order = layout::row_major;
  double matrix_bytes = 0, bytes = 0, flops = 0, cache_bytes = 0;
  std::vector<result> results;
  std::vector<limit> limits; ///< measured in the same rounds; the first is what ratios refer to
};

class report {
public:
  report(const settings& s, const std::string& engine, const std::string& why);
  /// Each peer that was looked for.
  void peer_found(const std::string& name, const std::string& about, bool takes_part);
  /// "12/24 poisson3d:n=128 …" on a terminal's stderr, gone when the next line is printed.
  void progress(const std::string& text);
  void add(const measured_problem& p);
  /// Means, peak memory; writes the file. Returns whether Lacuna's results were all right.
  bool finish();

private:
  void print_table(const measured_problem& p, double best_peer);
  void print_means();

  settings settings_;
  nlohmann::ordered_json json_;
  struct ratio {
    std::string group; ///< "f64", "f64, 8 columns, row-major"
    bool stencil;
    double to_peer; ///< 0: no peer took part
    double to_limit;
  };
  std::vector<ratio> ratios_;
  bool all_right_ = true;
  bool busy_ = false; ///< the limit itself varied: something else ran on the machine
};

} // namespace lacuna::bench
