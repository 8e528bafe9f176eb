// Sizes, block shapes and long rows of CSR-k. The paper (Lane and Booth 2022, section 4) has the
// sizes and shapes; the long rows are ours.
#include "plan/csr_k.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace lacuna {

namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
/// Variance of the row lengths up to which the paper calls a matrix regular.
constexpr double regular_variance = 10;

/// To the nearest, halves upwards, and at least 1.
std::int64_t rounded(double size) {
  return static_cast<std::int64_t>(std::max(1.0, std::floor(size + 0.5)));
}
/// Which of the paper's four cases.
std::size_t case_of(double mean) { return mean <= 8 ? 0 : mean <= 16 ? 1 : mean <= 32 ? 2 : 3; }

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw bad_input("to_csr_k: " + fmt::format(format, std::forward<Args>(args)...));
}

void require_valid(const csr_k_options& options, int k) {
  if (k != 2 && k != 3) fail("k = {}, it must be 2 or 3 (0: by space)", k);
  if (options.super_row < 0) fail("super_row = {} is negative", options.super_row);
  if (options.super_super_row < 0)
    fail("super_super_row = {} is negative", options.super_super_row);
  if (options.super_super_row > 0 && k == 2)
    fail("super_super_row = {}, but k = 2 has no super-super-rows", options.super_super_row);
  if (options.long_row < 0) fail("long_row = {} is negative", options.long_row);
}

} // namespace

csr_k_sizes choose_csr_k_sizes(double mean_row_length, int k, const csr_k_model& model,
                               std::int64_t rows) {
  const double mean = std::max(mean_row_length, 1.0);
  const csr_k_model::factors& f = model.cases[case_of(mean)];
  const auto regression = [&](double a, double b) {
    return static_cast<double>(rounded(a - b * std::log(mean)));
  };
  std::int64_t ssr = rounded(regression(model.a_ssr, model.b_ssr) * f.ssr);
  std::int64_t sr =
      rounded((f.of_ssr ? static_cast<double>(ssr) : regression(model.a_sr, model.b_sr)) * f.sr);
  const std::int64_t most = model.entries > 0 ? rounded(model.entries / mean) : unlimited;
  if (model.least_groups > 0 && rows > 0) {
    const double each = static_cast<double>(rows) / model.least_groups / static_cast<double>(sr);
    ssr = std::min(ssr, std::max<std::int64_t>(8, rounded(each)));
  }
  ssr = std::min(ssr, most);
  sr = std::min(sr, most / ssr);
  return k == 2 ? csr_k_sizes{sr * ssr, 0} : csr_k_sizes{sr, ssr};
}

csr_k_block block_shape(double mean_row_length) {
  constexpr csr_k_block shapes[] = {{1, 8, 12}, {4, 8, 12}, {8, 8, 8}, {16, 8, 4}};
  return shapes[case_of(mean_row_length)];
}

std::int64_t choose_long_row(const row_statistics& found, space where) {
  // Host: rows are shared by threads in pieces of this size, as in CSR. Taking out shorter ones
  // gains nothing and costs where prefetching begins anew: kron:scale=17 was 10 to 12% slower with
  // its 778 rows beyond 1024 entries taken out (EPYC, 1 and 2 threads).
  if (where == space::host) return 16384;
  // Device: a block waits for its longest row, and beyond 256 entries a warp is faster than the
  // block's few lanes. Reasoned from counts of dependent loads on generated matrices, not measured.
  const auto limit =
      std::clamp(static_cast<std::int64_t>(4 * found.mean), std::int64_t{32}, std::int64_t{256});
  const bool alike = found.deviation <= found.mean / 2 &&
                     static_cast<double>(found.longest) <= 8 * found.mean && found.longest <= 256;
  return alike ? std::max(limit, found.longest) : limit;
}

csr_k_grouping choose_grouping(const csr_k_options& options, space where, const csr_k_model& model,
                               std::int64_t rows, const lengths_up_to& statistics,
                               bool by_ordering) {
  csr_k_grouping result;
  result.k = options.k != 0 ? options.k : where == space::host ? 2 : 3;
  require_valid(options, result.k);

  row_statistics found = statistics(unlimited);
  const bool by_rule = options.long_row == 0;
  result.long_row = by_rule ? choose_long_row(found, where) : options.long_row;
  const bool has_long = found.longest > result.long_row;
  if (has_long) found = statistics(result.long_row);
  // A few huge rows hide what the others are like: the rule looks again without them.
  for (int again = 0; again < 2 && has_long && by_rule; ++again) {
    const std::int64_t without = choose_long_row(found, where);
    if (without >= result.long_row) break;
    result.long_row = without;
    found = statistics(without);
  }
  result.mean = found.mean;
  result.regular = !has_long && found.deviation * found.deviation <= regular_variance;
  if (by_ordering) return result;
  const csr_k_sizes sizes = choose_csr_k_sizes(found.mean, result.k, model, rows);
  result.super_row = options.super_row > 0 ? options.super_row : sizes.super_row;
  result.super_super_row =
      options.super_super_row > 0 ? options.super_super_row : sizes.super_super_row;
  return result;
}

} // namespace lacuna
