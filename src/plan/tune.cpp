// What measurements say about a machine: costs by least squares, thresholds by line search, and how
// good the choices are that follow.
#include <lacuna/plan/tune.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "plan/fit.hpp"
#include "plan/refine.hpp"
#include "plan/thresholds.hpp"

namespace lacuna {
namespace {

/// One that is to replace another must be better by more than measurements scatter.
constexpr double least_gain = 0.99;
/// As many as a cost has coefficients. With fewer points a line would follow their noise.
constexpr std::size_t least_points = 5;
/// Conversions hardly count: choices are judged by their products.
constexpr double many_multiplies = 1e6;

/// Options that do the same to a matrix, made equal.
auto effective(const spmv_features& f, const ell_csr_options& o) {
  const bool none_long = f.row_length.longest < o.long_row;
  const std::int64_t longest_short = none_long ? f.row_length.longest : o.long_row - 1;
  return std::tuple(none_long ? 0 : o.long_row,
                    o.lane_entries >= longest_short ? 0 : o.lane_entries,
                    none_long ? 0 : std::min(o.piece, f.row_length.longest), o.window, o.packed);
}

double distance(const csr_k_options& a, const csr_k_options& b) {
  const auto apart = [](std::int64_t p, std::int64_t q) {
    return std::abs(std::log(static_cast<double>(std::max<std::int64_t>(p, 1)) /
                             static_cast<double>(std::max<std::int64_t>(q, 1))));
  };
  return apart(a.super_row, b.super_row) + apart(a.super_super_row, b.super_super_row);
}

/// Of ell_csr as the machine's thresholds have it made; 0 if that was not measured.
double ell_seconds(const measured_matrix& m, const spmv_machine& machine) {
  const ell_csr_choice choice = choose_ell_csr(m.found, machine);
  plan_candidate what;
  what.format = spmv_format::ell_csr;
  what.ell = choice.may_be_in_order ? choice.in_order : choice.by_length;
  const measured_run* const run = find_run(m, what);
  return run == nullptr ? 0 : run->seconds;
}

plan_candidate csr_k_candidate(const measured_matrix& m, const csr_k_model& model, int k) {
  const csr_k_sizes sizes = choose_csr_k_sizes(m.found.row_length.mean, k, model);
  plan_candidate what;
  what.format = spmv_format::csr_k;
  what.csr_k = {k, sizes.super_row, sizes.super_super_row, 0};
  return what;
}

/// The regression's model, if its sizes are faster on these matrices than those of the old.
csr_k_model search_csr_k(const spmv_machine& machine,
                         const std::vector<measured_matrix>& matrices) {
  const int k = machine.device ? 3 : 2;
  std::vector<csr_k_point> points;
  for (const measured_matrix& m : matrices) {
    const measured_run* best = nullptr;
    for (const measured_run& run : m.runs)
      if (run.what.format == spmv_format::csr_k && run.what.csr_k.k == k &&
          (best == nullptr || run.seconds < best->seconds))
        best = &run;
    if (best == nullptr) continue;
    const csr_k_options& sizes = best->what.csr_k;
    points.push_back({m.found.row_length.mean, {sizes.super_row, sizes.super_super_row}});
  }
  const csr_k_model fitted = fit_csr_k(machine.csr_k, points);
  std::vector<double> ratios;
  for (const measured_matrix& m : matrices) {
    const measured_run* const then = find_run(m, csr_k_candidate(m, machine.csr_k, k));
    const measured_run* const now = find_run(m, csr_k_candidate(m, fitted, k));
    if (then != nullptr) ratios.push_back(now->seconds / then->seconds);
  }
  return fitting::geometric_mean(ratios) < least_gain ? fitted : machine.csr_k;
}

/// The old line, brought to the height of the points.
spmv_cost scaled_cost(spmv_cost cost, const std::vector<measured_point>& points) {
  std::vector<double> ratios, convert;
  for (const measured_point& p : points) {
    ratios.push_back(p.seconds / cost.seconds(p.work));
    convert.push_back(p.convert);
  }
  const double factor = fitting::geometric_mean(ratios);
  for (double spmv_cost::*const field : {&spmv_cost::fixed, &spmv_cost::stream, &spmv_cost::gather,
                                         &spmv_cost::row, &spmv_cost::entry})
    cost.*field *= factor;
  cost.convert = fitting::median(convert);
  return cost;
}

plan_decision decide(const measured_matrix& m, const spmv_machine& machine) {
  plan_hints hints;
  hints.multiplies = many_multiplies;
  return choose_plan(m.found, m.widths, machine, hints);
}

double csr_seconds(const measured_matrix& m) {
  const measured_run* const csr = find_run(m, {});
  return csr == nullptr ? 0 : csr->seconds;
}

void judge_matrix(const measured_matrix& m, const spmv_machine& machine, plan_judgement& judged) {
  const plan_decision decision = decide(m, machine);
  for (const plan_candidate& c : decision.candidates) {
    const measured_run* const run = find_run(m, c);
    if (run == nullptr) continue;
    auto& found = judged.classes[static_cast<std::size_t>(c.kernel)];
    ++found.points;
    found.error += std::abs(c.seconds - run->seconds) / run->seconds;
  }
  const measured_run* const chosen = find_run(m, decision.chosen());
  if (chosen == nullptr) return;
  const auto best = std::min_element(
      m.runs.begin(), m.runs.end(),
      [](const measured_run& a, const measured_run& b) { return a.seconds < b.seconds; });
  judged.choices.push_back({m.name, chosen->what, best->what, chosen->seconds / best->seconds});
}

plan_judgement judge_with(const std::function<spmv_machine(std::size_t)>& machine_for,
                          const std::vector<measured_matrix>& matrices) {
  plan_judgement judged;
  for (std::size_t i = 0; i < matrices.size(); ++i)
    judge_matrix(matrices[i], machine_for(i), judged);
  for (auto& c : judged.classes)
    if (c.points > 0) c.error /= static_cast<double>(c.points);
  return judged;
}

} // namespace

spmv_cost fit_cost(const std::vector<measured_point>& points) {
  std::vector<fitting::equation> equations;
  std::vector<double> convert;
  for (const measured_point& p : points) {
    equations.push_back({1 / p.seconds, p.work.stream / p.seconds, p.work.gather / p.seconds,
                         p.work.rows / p.seconds, p.work.entries / p.seconds});
    convert.push_back(p.convert);
  }
  const auto x = fitting::solve_nonnegative(equations);
  return {x[0], x[1], x[2], x[3], x[4], fitting::median(convert)};
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

const measured_run* find_run(const measured_matrix& matrix, const plan_candidate& what) {
  const measured_run* found = nullptr;
  double least = 0;
  for (const measured_run& run : matrix.runs) {
    if (run.what.format != what.format || run.what.reordered != what.reordered) continue;
    if (what.format == spmv_format::csr_k) {
      if (run.what.csr_k.k != what.csr_k.k) continue;
      const double d = distance(run.what.csr_k, what.csr_k);
      if (found != nullptr && d >= least) continue;
      least = d;
      found = &run;
    } else if (what.format != spmv_format::ell_csr ||
               effective(matrix.found, run.what.ell) == effective(matrix.found, what.ell)) {
      return &run;
    }
  }
  return found;
}

spmv_machine search_thresholds(spmv_machine start, const std::vector<measured_matrix>& matrices) {
  // A few times suffice, and each threshold looks at other matrices: they might chase each other.
  bool changed = true;
  for (int pass = 0; pass < 4 && changed; ++pass) {
    changed = false;
    for (const fitting::threshold& t : fitting::thresholds()) {
      std::vector<spmv_machine> tried = {start};
      for (const double value : t.candidates) {
        tried.push_back(start);
        t.set(tried.back(), value);
      }
      // Matrices that were measured with every candidate.
      std::vector<std::vector<double>> seconds(tried.size());
      for (const measured_matrix& m : matrices) {
        std::vector<double> each(tried.size());
        std::transform(tried.begin(), tried.end(), each.begin(),
                       [&](const spmv_machine& machine) { return ell_seconds(m, machine); });
        if (std::find(each.begin(), each.end(), 0.0) != each.end()) continue;
        for (std::size_t i = 0; i < each.size(); ++i) seconds[i].push_back(each[i]);
      }
      std::size_t best = 0;
      double least = least_gain * fitting::geometric_mean(seconds[0]);
      for (std::size_t i = 1; i < tried.size(); ++i)
        if (const double mean = fitting::geometric_mean(seconds[i]); mean < least) {
          least = mean;
          best = i;
        }
      changed = changed || best != 0;
      start = tried[best];
    }
  }
  return start;
}

spmv_machine fit_machine(const spmv_machine& start, const std::vector<measured_matrix>& matrices) {
  spmv_machine m = search_thresholds(start, matrices);
  m.csr_k = search_csr_k(m, matrices);
  // Slices in order are measured with more padding than may be chosen: the line knows it, too.
  const spmv_machine padded = fitting::with_most_padding(m);
  std::array<std::vector<measured_point>, spmv_class_count> points;
  std::vector<fitting::measured_choice> choices;
  std::vector<double> transpositions;
  for (const measured_matrix& each : matrices) {
    const double csr = csr_seconds(each);
    if (csr == 0) continue;
    transpositions.push_back(each.transpose_seconds / csr);
    fitting::measured_choice& choice = choices.emplace_back();
    for (const plan_candidate& c : decide(each, padded).candidates)
      if (const measured_run* const run = find_run(each, c)) {
        const spmv_work work = work_of(each.found, each.widths, c.kernel);
        const bool in_csr = c.format == spmv_format::csr;
        points[static_cast<std::size_t>(c.kernel)].push_back(
            {work, run->seconds, in_csr ? 0 : run->convert_seconds / csr});
        choice.push_back({c.kernel, in_csr, work, run->seconds});
      }
  }
  for (std::size_t c = 0; c < points.size(); ++c)
    if (points[c].size() >= least_points)
      m.cost[c] = fit_cost(points[c]);
    else if (!points[c].empty())
      m.cost[c] = scaled_cost(m.cost[c], points[c]);
  fitting::refine_costs(m, choices);
  if (!transpositions.empty()) m.transposition = fitting::median(transpositions);
  return m;
}

double plan_judgement::share_within(double slowdown) const {
  const auto good = std::count_if(choices.begin(), choices.end(),
                                  [&](const of_choice& c) { return c.slowdown <= slowdown; });
  return choices.empty() ? 0 : static_cast<double>(good) / static_cast<double>(choices.size());
}

double tuning::scatter() const {
  std::vector<double> each;
  for (const measured_matrix& m : matrices)
    for (const measured_run& run : m.runs) each.push_back(run.scatter);
  return fitting::median(each);
}

plan_judgement judge(const spmv_machine& machine, const std::vector<measured_matrix>& matrices) {
  return judge_with([&](std::size_t) { return machine; }, matrices);
}

plan_judgement cross_validate(const spmv_machine& start,
                              const std::vector<measured_matrix>& matrices) {
  return judge_with(
      [&](std::size_t without) {
        std::vector<measured_matrix> others = matrices;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(without));
        return fit_machine(start, others);
      },
      matrices);
}

} // namespace lacuna
