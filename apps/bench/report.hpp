// Tables for people on stdout, and the same figures for programs in a JSON file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/measured.hpp"
#include "bench/settings.hpp"

namespace lacuna::bench {

class report {
public:
  report(const settings& s, const std::string& engine, const std::string& why);
  /// Each peer that was looked for.
  void peer_found(const std::string& name, const std::string& about, bool takes_part);
  /// "12/24 poisson3d:n=128 …" on a terminal's stderr, gone when the next line is printed.
  void progress(const std::string& text);
  /// A matrix that is left out; without a reason: one of --real that has too few entries.
  void skip(const std::string& matrix, const std::string& why);
  void add(measured_problem p);
  /// Looks only for wrong results and a busy machine.
  void judge(const measured_problem& p);
  [[nodiscard]] const std::vector<measured_problem>& problems() const { return problems_; }
  /// A result of Lacuna's was wrong.
  void found_wrong() { all_right_ = false; }
  /// Where a suite keeps what only it has.
  nlohmann::ordered_json& figures() { return json_; }
  /// Summary, peak memory; writes the file. Returns whether Lacuna's results were all right.
  bool finish();

private:
  void print_table(const measured_problem& p);
  void print_means();

  settings settings_;
  std::string engine_;
  nlohmann::ordered_json json_;
  std::vector<measured_problem> problems_;
  std::size_t too_small_ = 0;         ///< matrices of --real
  std::vector<std::string> unusable_; ///< matrices, with the reason
  bool all_right_ = true;
  bool busy_ = false; ///< the limit itself varied: something else ran on the machine
};

/// "f64", "f64, 8 columns, row-major": problems whose ratios may be put together.
std::string group_of(const measured_problem& p);
std::vector<std::string> groups_of(const std::vector<measured_problem>& problems);

/// The line above a matrix's table, and the one of a contestant that has no time.
void print_heading(const measured_problem& p);
void print_absence(const result& r);

/// In lines of at most 138 bytes where words allow it, all but the first indented by 4.
std::string wrapped(std::string text);

} // namespace lacuna::bench
