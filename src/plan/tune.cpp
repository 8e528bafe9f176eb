// What measurements say about a machine: thresholds by line search, costs by least squares, and how
// good the choices are that follow.
#include <algorithm>
#include <cmath>

#include "plan/choose.hpp"
#include "plan/fit.hpp"
#include "plan/refine.hpp"
#include "plan/tuning.hpp"

namespace lacuna {
namespace {

/// One that is to replace another must be better by more than measurements scatter.
constexpr double least_gain = 0.99;
/// As many as a cost has coefficients. With fewer points a line would follow their noise.
constexpr std::size_t least_points = 5;
/// What leaving a built-in coefficient by its own size costs, in points that are wrong by all.
constexpr double trust = 0.3;
/// A coefficient of more or less than so many times the built-in one is noise, not the machine.
constexpr double most_change = 3;
/// Conversions hardly count: choices are judged by their products.
constexpr double many_multiplies = 1e6;

constexpr double spmv_cost::*coefficients[] = {
    &spmv_cost::fixed, &spmv_cost::stream, &spmv_cost::gather, &spmv_cost::row, &spmv_cost::entry};

/// Of a format as the machine's thresholds have it made, the way it would rather be; 0 if that was
/// not measured.
double seconds_of_format(const measured_matrix& m, const planning::format_row& row,
                         const spmv_machine& machine) {
  plan_hints hints;
  hints.format = row.name;
  std::vector<plan_candidate> offered;
  row.offer({m.features, m.widths, machine, hints, m.runs.front().what.kernel, 0}, offered);
  const measured_run* const run = offered.empty() ? nullptr : find_run(m, offered.front());
  return run == nullptr ? 0 : run->seconds;
}

/// The old line, brought to the height of the points.
spmv_cost scaled_cost(spmv_cost cost, const std::vector<measured_point>& points) {
  std::vector<double> ratios, convert;
  for (const measured_point& p : points) {
    ratios.push_back(p.seconds / cost.seconds(p.work));
    convert.push_back(p.convert);
  }
  const double factor = fitting::geometric_mean(ratios);
  for (double spmv_cost::*const field : coefficients) cost.*field *= factor;
  cost.convert = fitting::median(convert);
  return cost;
}

/// Held to what the start's coefficients allow.
void bound(spmv_cost& cost, const spmv_cost& start) {
  for (double spmv_cost::*const field : coefficients)
    if (start.*field > 0)
      cost.*field = std::clamp(cost.*field, start.*field / most_change, start.*field * most_change);
}

plan_decision decide(const measured_matrix& m, const spmv_machine& machine) {
  return choose_plan(m.features, m.widths, machine, {.multiplies = many_multiplies});
}

/// Of each kernel the run that the machine would ask for, else the fastest that was measured.
std::map<std::string, const measured_run*> runs_by_kernel(const measured_matrix& m,
                                                          const spmv_machine& machine) {
  std::map<std::string, const measured_run*> chosen, fastest;
  for (const plan_candidate& c : decide(m, machine).candidates)
    if (const measured_run* const run = find_run(m, c)) chosen.emplace(c.kernel, run);
  for (const measured_run& run : m.runs) {
    const measured_run*& best = fastest[run.what.kernel];
    if (best == nullptr || run.seconds < best->seconds) best = &run;
  }
  chosen.merge(fastest);
  return chosen;
}

void judge_matrix(const measured_matrix& m, const spmv_machine& machine, plan_judgement& judged) {
  const plan_decision decision = decide(m, machine);
  for (const plan_candidate& c : decision.candidates) {
    const measured_run* const run = find_run(m, c);
    if (run == nullptr) continue;
    auto& kernel = judged.kernels[c.kernel];
    ++kernel.points;
    kernel.error += std::abs(c.seconds - run->seconds) / run->seconds;
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
  for (auto& [name, kernel] : judged.kernels)
    if (kernel.points > 0) kernel.error /= static_cast<double>(kernel.points);
  return judged;
}

} // namespace

spmv_cost fit_cost(const spmv_cost& start, const std::vector<measured_point>& points,
                   double trusted) {
  if (points.empty()) return start;
  std::vector<fitting::equation> equations;
  std::vector<double> convert;
  for (const measured_point& p : points) {
    equations.push_back({{1 / p.seconds, p.work.stream / p.seconds, p.work.gather / p.seconds,
                          p.work.rows / p.seconds, p.work.entries / p.seconds},
                         1});
    convert.push_back(p.convert);
  }
  const double weight = std::sqrt(trusted);
  for (std::size_t i = 0; i < std::size(coefficients); ++i)
    if (const double before = start.*coefficients[i]; before > 0 && weight > 0) {
      fitting::equation& near = equations.emplace_back();
      near.factor = {};
      near.factor[i] = weight / before;
      near.right = weight;
    }
  const auto x = fitting::solve_nonnegative(equations);
  return {x[0], x[1], x[2], x[3], x[4], fitting::median(convert)};
}

const measured_run* find_run(const measured_matrix& matrix, const plan_candidate& what) {
  const planning::format_row& row = planning::format_named(what.format);
  const measured_run* nearest = nullptr;
  double least = HUGE_VAL;
  for (const measured_run& run : matrix.runs) {
    if (run.what.format != what.format) continue;
    if (const double d = row.distance(run.what.options, what.options); d < least) {
      least = d;
      nearest = &run;
    }
  }
  return nearest;
}

spmv_machine search_thresholds(spmv_machine start, const std::vector<measured_matrix>& matrices) {
  const auto search = [&](const planning::format_row& row, const planning::tuned_number& number) {
    std::vector<spmv_machine> tried = {start};
    for (const double value : number.tried) {
      tried.push_back(start);
      tried.back().numbers[std::string(number.name)] = value;
    }
    // Matrices that were measured with every value.
    std::vector<std::vector<double>> seconds(tried.size());
    for (const measured_matrix& m : matrices) {
      std::vector<double> each(tried.size());
      std::transform(tried.begin(), tried.end(), each.begin(), [&](const spmv_machine& machine) {
        return seconds_of_format(m, row, machine);
      });
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
    start = tried[best];
    return best != 0;
  };
  // A few times suffice, and each threshold looks at other matrices: they might chase each other.
  bool changed = true;
  for (int pass = 0; pass < 4 && changed; ++pass) {
    changed = false;
    for (const planning::format_row& row : planning::format_table())
      for (const planning::tuned_number& number : row.numbers)
        changed = search(row, number) || changed;
  }
  return start;
}

spmv_machine fit_machine(const spmv_machine& start, const std::vector<measured_matrix>& matrices) {
  spmv_machine m = search_thresholds(start, matrices);
  for (const planning::format_row& row : planning::format_table()) row.fit(m, matrices);
  std::map<std::string, std::vector<measured_point>> points;
  std::vector<fitting::measured_choice> choices;
  for (const measured_matrix& each : matrices) {
    if (each.runs.empty()) continue;
    const measured_run& csr = each.runs.front();
    fitting::measured_choice& choice = choices.emplace_back();
    for (const auto& [kernel, run] : runs_by_kernel(each, m)) {
      const bool in_csr = run->what.format == csr.what.format;
      points[kernel].push_back(
          {run->what.work, run->seconds, in_csr ? 0 : run->convert_seconds / csr.seconds});
      choice.push_back({kernel, in_csr, run->what.work, run->seconds});
    }
  }
  for (const auto& [kernel, of_kernel] : points) {
    spmv_cost& cost = m.of(kernel);
    cost = of_kernel.size() >= least_points ? fit_cost(cost, of_kernel, trust)
                                            : scaled_cost(cost, of_kernel);
    bound(cost, start.of(kernel));
  }
  fitting::refine_costs(m, choices);
  for (auto& [kernel, cost] : m.cost) bound(cost, start.of(kernel));
  return m;
}

double plan_judgement::share_within(double slowdown) const {
  const auto good = std::count_if(choices.begin(), choices.end(),
                                  [&](const of_choice& c) { return c.slowdown <= slowdown; });
  return choices.empty() ? 0 : static_cast<double>(good) / static_cast<double>(choices.size());
}

double plan_judgement::mean_slowdown() const {
  std::vector<double> each;
  for (const of_choice& c : choices) each.push_back(c.slowdown);
  return fitting::geometric_mean(each);
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
