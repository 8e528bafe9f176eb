// Sizes, block shapes and long rows of CSR-k. The paper (Lane and Booth 2022, section 4) has the
// sizes and shapes; the long rows are ours.
#include "plan/csr_k.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "plan/fit.hpp"
#include "plan/formats/csr_k.hpp"
#include "plan/tuning.hpp"

namespace lacuna {

namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
/// Variance of the row lengths up to which the paper calls a matrix regular.
constexpr double regular_variance = 10;

/// To the nearest, halves upwards, and at least 1.
std::int64_t rounded(double size) {
  return static_cast<std::int64_t>(std::max(1.0, std::floor(size + 0.5)));
}
/// Whether the same lanes serve all rows well.
bool are_alike(const row_statistics& lengths) {
  return lengths.deviation <= lengths.mean / 2 &&
         static_cast<double>(lengths.longest) <= 8 * lengths.mean;
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

csr_k_sizes choose_csr_k_sizes(double mean_row_length, int k, const csr_k_model& model) {
  const double mean = std::max(mean_row_length, 1.0);
  const csr_k_model::factors& f = model.cases[case_of(mean)];
  const auto regression = [&](double a, double b) {
    return static_cast<double>(rounded(a - b * std::log(mean)));
  };
  std::int64_t ssr = rounded(regression(model.a_ssr, model.b_ssr) * f.ssr);
  std::int64_t sr =
      rounded((f.of_ssr ? static_cast<double>(ssr) : regression(model.a_sr, model.b_sr)) * f.sr);
  const std::int64_t most = model.entries > 0 ? rounded(model.entries / mean) : unlimited;
  ssr = std::min(ssr, most);
  sr = std::min(sr, most / ssr);
  return k == 2 ? csr_k_sizes{sr * ssr, 0} : csr_k_sizes{sr, ssr};
}

csr_k_block block_shape(double mean_row_length) {
  constexpr csr_k_block shapes[] = {{1, 8, 12}, {4, 8, 12}, {8, 8, 8}, {16, 8, 4}};
  return shapes[case_of(mean_row_length)];
}

csr_k_block block_shape(const row_statistics& lengths, const csr_k_sizes& sizes) {
  // Rows that differ keep their lanes busy only if these are few. From a sweep over 49 matrices on
  // an H200.
  const double mean = lengths.mean;
  int lanes = mean <= 5 ? 1 : mean <= 20 ? 2 : mean <= 40 ? 4 : 8;
  if (are_alike(lengths))
    lanes = mean <= 8     ? 1
            : mean <= 12  ? 2
            : mean <= 20  ? 4
            : mean <= 96  ? 8
            : mean <= 256 ? 16
                          : 32;
  const std::int64_t rows = std::min<std::int64_t>(sizes.super_row, 512);
  const std::int64_t super_rows =
      std::min<std::int64_t>(std::max<std::int64_t>(sizes.super_super_row, 1), 512);
  const std::int64_t threads = lanes * rows * super_rows;
  if (threads <= 512 && threads % 32 == 0)
    return {lanes, static_cast<int>(rows), static_cast<int>(super_rows)};
  return {lanes, 8, 32 / lanes};
}

std::int64_t choose_long_row(const row_statistics& lengths, space where) {
  // Host: rows are shared by threads in pieces of this size, as in CSR. Taking out shorter ones
  // gains nothing and costs where prefetching begins anew: kron:scale=17 was 10 to 12% slower with
  // its 778 rows beyond 1024 entries taken out (EPYC, 1 and 2 threads).
  if (where == space::host) return 16384;
  // Device: a block waits for its longest row, and beyond 256 entries a warp is faster than the
  // block's few lanes. From a sweep of 32 to 512 over 19 uneven matrices on an H200.
  if (are_alike(lengths)) return std::max<std::int64_t>(256, lengths.longest);
  return std::clamp(static_cast<std::int64_t>(6 * lengths.mean), std::int64_t{32},
                    std::int64_t{256});
}

csr_k_grouping choose_grouping(const csr_k_options& options, space where, const csr_k_model& model,
                               const lengths_up_to& statistics, bool by_ordering) {
  csr_k_grouping result;
  result.k = options.k != 0 ? options.k : where == space::host ? 2 : 3;
  require_valid(options, result.k);

  row_statistics lengths = statistics(unlimited);
  result.long_row = options.long_row == 0 ? choose_long_row(lengths, where) : options.long_row;
  const bool has_long = lengths.longest > result.long_row;
  if (has_long) lengths = statistics(result.long_row);
  result.mean = lengths.mean;
  result.regular = !has_long && lengths.deviation * lengths.deviation <= regular_variance;
  result.block = block_shape(lengths.mean);
  if (by_ordering) return result;
  const csr_k_sizes sizes = choose_csr_k_sizes(lengths.mean, result.k, model);
  result.super_row = options.super_row > 0 ? options.super_row : sizes.super_row;
  result.super_super_row =
      options.super_super_row > 0 ? options.super_super_row : sizes.super_super_row;
  if (where == space::device)
    result.block = block_shape(lengths, {result.super_row, result.super_super_row});
  return result;
}

csr_k_model fit_csr_k(csr_k_model model, const std::vector<csr_k_point>& points) {
  std::vector<fitting::log_point> super_rows, super_super_rows;
  std::vector<double> rows; // for k = 2
  for (const csr_k_point& p : points) {
    const double mean = std::max(p.mean, 1.0);
    const auto sr = static_cast<double>(p.best.super_row);
    if (p.best.super_super_row == 0) {
      rows.push_back(sr);
      continue;
    }
    const auto& f = model.cases[mean <= 8 ? 0 : mean <= 16 ? 1 : mean <= 32 ? 2 : 3];
    super_super_rows.push_back({mean, static_cast<double>(p.best.super_super_row) / f.ssr});
    if (!f.of_ssr) super_rows.push_back({mean, sr / f.sr});
  }
  if (!rows.empty()) {
    model.a_sr = std::max(1.0, fitting::geometric_mean(rows) / std::max(1.0, model.a_ssr));
    model.b_sr = model.b_ssr = 0;
  }
  if (!super_super_rows.empty()) {
    const fitting::log_line line = fitting::fit_log(super_super_rows);
    model.a_ssr = line.a;
    model.b_ssr = line.b;
  }
  if (!super_rows.empty()) {
    const fitting::log_line line = fitting::fit_log(super_rows);
    model.a_sr = line.a;
    model.b_sr = line.b;
  }
  return model;
}

namespace planning {

/// The paper's sizes: 2^i and 1.5 2^i, for k = 2 from 8 to 3072, for k = 3 from 4 to 48, both ways.
std::vector<plan_candidate> csr_k_format::variants(const offer_to& to, bool quick) {
  const bool device = to.machine.device;
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = device ? 4 : 8; size <= (device ? 32 : 2048); size *= 2) {
    sizes.push_back(size);
    if (!quick) sizes.push_back(size + size / 2);
  }
  const std::vector<std::int64_t> none = {0};
  std::vector<plan_candidate> result;
  plan_candidate c = candidate(to);
  for (const std::int64_t super_row : sizes)
    for (const std::int64_t super_super_row : device ? sizes : none) {
      c.options = options_of({super_row, super_super_row}, levels(to.machine));
      result.push_back(c);
    }
  return result;
}

/// The regression's model, if its sizes are faster on these matrices than those of the old.
void csr_k_format::fit(spmv_machine& machine, const std::vector<measured_matrix>& matrices) {
  const int k = levels(machine);
  const csr_k_model before = model_of(machine);
  std::vector<csr_k_point> points;
  for (const measured_matrix& m : matrices) {
    const measured_run* best = nullptr;
    for (const measured_run& run : m.runs)
      if (run.what.format == name && option(run.what.options, "k") == k &&
          (best == nullptr || run.seconds < best->seconds))
        best = &run;
    if (best == nullptr) continue;
    points.push_back(
        {m.features.row_length.mean,
         {option(best->what.options, "super_row"), option(best->what.options, "super_super_row")}});
  }
  const csr_k_model fitted = fit_csr_k(before, points);
  const auto seconds = [&](const measured_matrix& m, const csr_k_model& model) {
    plan_candidate what;
    what.format = name;
    what.options = options_of(choose_csr_k_sizes(m.features.row_length.mean, k, model), k);
    const measured_run* const run = find_run(m, what);
    return run == nullptr ? 0 : run->seconds;
  };
  std::vector<double> ratios;
  for (const measured_matrix& m : matrices)
    if (const double then = seconds(m, before); then > 0)
      ratios.push_back(seconds(m, fitted) / then);
  if (fitting::geometric_mean(ratios) < 0.99) // more than measurements scatter
    set_model(machine, fitted);
}

} // namespace planning

} // namespace lacuna
