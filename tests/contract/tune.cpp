// Tuning's pure parts on measurements whose answer is known, and tune() itself on two small
// matrices.
#include <cmath>

#include <gtest/gtest.h>

#include <lacuna/plan/tune_spgemm.hpp>

#include "plan/choose.hpp"
#include "plan/tuning.hpp"
#include "support/battery.hpp"
#include "support/engine.hpp"

namespace lacuna::test {
namespace {

/// By the points alone.
spmv_cost line_through(const std::vector<measured_point>& points) {
  return fit_cost({}, points, 0);
}

/// Costs that do not change when the built-in ones are measured anew.
spmv_machine some_machine() {
  spmv_machine m = x86_machine("AVX2", 2);
  m.numbers["padding"] = 1.15;
  m.cost["csr_rows"] = {1e-6, 50e-12, 20e-12, 1.0e-9, 0.1e-9, 0};
  m.cost["csr_tiles"] = m.cost["csr_split"] = m.cost["bsr"] = {0, 1, 0, 0, 0, 0};
  m.cost["packed_csr"] = {1e-6, 50e-12, 20e-12, 1.0e-9, 0.2e-9, 8};
  m.cost["ell_diagonal"] = {1e-6, 50e-12, 20e-12, 0, 0, 12};
  m.cost["ell_even"] = {1e-6, 50e-12, 20e-12, 0.3e-9, 0.3e-9, 12};
  m.cost["ell_slices"] = {1e-6, 50e-12, 20e-12, 0.3e-9, 0.3e-9, 14};
  m.cost["ell_sorted"] = {1e-6, 50e-12, 20e-12, 1.0e-9, 0.3e-9, 16};
  m.cost["csr_k"] = {1e-6, 50e-12, 20e-12, 1.0e-9, 0.1e-9, 4};
  return m;
}

/// Points on a line, with works that are not multiples of each other.
std::vector<measured_point> points_of(const spmv_cost& cost, int count) {
  random_source random(7);
  std::vector<measured_point> points;
  for (int i = 0; i < count; ++i) {
    const double size = std::exp2(10 + 14 * random.uniform());
    const spmv_work work{size * (8 + 8 * random.uniform()), size * 20 * random.uniform(),
                         size / (1 + 30 * random.uniform()), size};
    points.push_back({work, cost.seconds(work), cost.convert + (i % 2 == 0 ? 1 : -1) * i});
  }
  return points;
}

void expect_cost(const spmv_cost& actual, const spmv_cost& expected, double relative) {
  for (double spmv_cost::*const field : {&spmv_cost::fixed, &spmv_cost::stream, &spmv_cost::gather,
                                         &spmv_cost::row, &spmv_cost::entry})
    EXPECT_NEAR(actual.*field, expected.*field, relative * expected.*field);
}

TEST(FitCost, FindsTheLineThatPointsLieOn) {
  const spmv_cost all{3e-6, 50e-12, 20e-12, 1e-9, 0.2e-9, 8};
  expect_cost(line_through(points_of(all, 21)), all, 1e-6);
  EXPECT_EQ(line_through(points_of(all, 21)).convert, 8);
  const spmv_cost some{0, 0.25e-12, 0, 2e-12, 0, 0};
  expect_cost(line_through(points_of(some, 9)), some, 1e-6);
}

TEST(FitCost, IsNeverNegative) {
  // Without the condition the line would have a negative cost per row.
  const spmv_cost odd{1e-6, 10e-12, 5e-12, -0.05e-9, 0.3e-9, 0};
  const spmv_cost fitted = line_through(points_of(odd, 30));
  EXPECT_EQ(fitted.row, 0);
  for (const double each : {fitted.fixed, fitted.stream, fitted.gather, fitted.entry})
    EXPECT_GE(each, 0);
  EXPECT_GT(fitted.stream + fitted.entry, 0);
}

TEST(FitCost, MinimisesRelativeErrors) {
  // c seconds per entry: (c - 1)^2 + (c / 2 - 1)^2 is least at 1.2, and nothing fixed helps.
  // Absolute errors would follow the slow point to 2.
  const spmv_cost fitted = line_through({{{0, 0, 0, 1}, 1, 0}, {{0, 0, 0, 1000}, 2000, 0}});
  EXPECT_NEAR(fitted.entry, 1.2, 1e-12);
  EXPECT_EQ(fitted.fixed, 0);
}

TEST(FitCost, ServesFewPointsAndDependentOnes) {
  EXPECT_EQ(line_through({}).seconds({1, 1, 1, 1}), 0);
  const measured_point one{{1e6, 0, 1e3, 1e5}, 1e-4, 3};
  EXPECT_NEAR(line_through({one}).seconds(one.work), 1e-4, 1e-12);
  EXPECT_EQ(line_through({one}).convert, 3);
  // Square matrices as CSR: the stream is a sum of rows and entries.
  std::vector<measured_point> points;
  for (int i = 1; i <= 8; ++i) {
    const double rows = 1000.0 * i, entries = 1000.0 * i * i;
    points.push_back({{12 * entries + 20 * rows, 0, rows, entries}, 1e-9 * entries, 0});
  }
  for (const measured_point& p : points)
    EXPECT_NEAR(line_through(points).seconds(p.work) / p.seconds, 1, 1e-9);
}

TEST(FitCost, StaysNearWhatIsBuiltIn) {
  // Two matrices of one kind cannot tell bytes from entries: the start says how they share.
  const spmv_cost start{1e-6, 50e-12, 20e-12, 1e-9, 0.1e-9, 0};
  const std::vector<measured_point> points = {
      {{1e8, 0, 1e6, 1e7}, 1.5 * start.seconds({1e8, 0, 1e6, 1e7}), 1},
      {{2e8, 0, 2e6, 2e7}, 1.5 * start.seconds({2e8, 0, 2e6, 2e7}), 1}};
  const spmv_cost fitted = fit_cost(start, points, 0.3);
  EXPECT_GT(fitted.stream, start.stream);
  EXPECT_LT(fitted.stream, 2 * start.stream);
  EXPECT_GT(fitted.entry, 0.5 * start.entry);
  EXPECT_NEAR(fitted.gather, start.gather, 1e-3 * start.gather); // nothing was gathered
  EXPECT_NEAR(fitted.seconds(points[1].work) / points[1].seconds, 1, 0.15);
  EXPECT_EQ(fit_cost(start, {}, 0.3).stream, start.stream);
}

TEST(FitCsrK, FindsThePapersFormula) {
  std::vector<csr_k_point> points;
  for (int i = 0; i < 108; ++i) { // up to 185 entries per row
    const double mean = std::pow(1.05, i);
    points.push_back({mean, choose_csr_k_sizes(mean, 3, csr_k_model::volta())});
  }
  csr_k_model start = csr_k_model::volta();
  start.a_ssr = start.b_ssr = start.a_sr = start.b_sr = 1;
  const csr_k_model fitted = fit_csr_k(start, points);
  // The paper rounds sizes to whole numbers, so the fit is near.
  EXPECT_NEAR(fitted.a_ssr, 8.9, 0.3);
  EXPECT_NEAR(fitted.b_ssr, 1.25, 0.1);
  EXPECT_NEAR(fitted.a_sr, 10.146, 0.3);
  EXPECT_NEAR(fitted.b_sr, 1.5, 0.15);
  for (const csr_k_point& p : points) {
    const csr_k_sizes sizes = choose_csr_k_sizes(p.mean, 3, fitted);
    EXPECT_LE(std::abs(sizes.super_super_row - p.best.super_super_row), 5) << p.mean;
  }
}

TEST(FitCsrK, OnCpusIsAGeometricMean) {
  const csr_k_model start = csr_k_model::cpu();
  const csr_k_model fitted = fit_csr_k(start, {{5, {64, 0}}, {50, {1024, 0}}});
  EXPECT_EQ(choose_csr_k_sizes(10, 2, fitted), (csr_k_sizes{256, 0}));
  EXPECT_EQ(fit_csr_k(start, {}).a_sr, start.a_sr);
  // Sizes that grow with the mean: the slope stays at 0.
  const csr_k_model flat = fit_csr_k(csr_k_model::hopper(), {{2, {4, 4}}, {7, {12, 8}}});
  EXPECT_EQ(flat.b_ssr, 0);
  EXPECT_NEAR(flat.a_ssr, 6, 1e-12);
  EXPECT_NEAR(flat.a_sr, 8, 1e-12);
}

/// Features of a matrix whose rows have `length` entries, but one of `longest`.
measured_matrix matrix_of(std::int64_t rows, std::int64_t length, std::int64_t longest) {
  measured_matrix m;
  spmv_features& f = m.features;
  f.rows = f.cols = rows;
  f.entries = length * rows + longest - length;
  f.row_length = {static_cast<double>(f.entries) / static_cast<double>(rows), 1, longest, 0};
  const auto count = [&](std::int64_t of, std::int64_t n) {
    const auto k = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(of)));
    f.length_histogram[k] += n;
    f.entries_by_length[k] += n * of;
  };
  count(length, rows - 1);
  count(longest, 1);
  f.slice_steps = rows / 32 * length + longest - length;
  f.sampled_groups = 1;
  f.sampled_rows = 32;
  f.sampled_entries = 32 * length;
  f.sampled_steps = f.steps_full = length;
  f.chunks_full = 1;
  f.diagonal_steps = 2 * length + 8;
  f.sectors_by_entry = f.sectors_by_row_lane = 8 * length;
  return m;
}

/// An option of a candidate, -1 if it has none of that name.
std::int64_t option_of(const plan_candidate& c, std::string_view name) {
  for (const plan_option& o : c.options)
    if (o.name == name) return o.value;
  return -1;
}
/// Everything that tuning would measure, with times by a rule.
template <class Rule>
void measure_by(measured_matrix& m, const spmv_machine& machine, Rule seconds) {
  for (const plan_candidate& c : candidates_to_measure(m.features, m.widths, machine, true)) {
    measured_run run{c, 0, 0, 0};
    run.seconds = seconds(c);
    run.convert_seconds = 2 * run.seconds;
    m.runs.push_back(run);
  }
}

TEST(SearchThresholds, TakesWhatIsFastest) {
  const spmv_machine start = some_machine();
  // 8192 rows of 10 entries, one of 50000: its pieces matter.
  measured_matrix m = matrix_of(8192, 10, 50000);
  measure_by(m, start, [](const plan_candidate& c) {
    return option_of(c, "piece") == 4096 ? 1e-4 : option_of(c, "piece") == 8192 ? 1.2e-4 : 2e-4;
  });
  EXPECT_EQ(search_thresholds(start, {m}).number("piece"), 4096);
  EXPECT_EQ(search_thresholds(start, {m}).number("padding"), start.number("padding"));
  EXPECT_EQ(search_thresholds(start, {}).number("piece"), start.number("piece"));
  // Less than 1 % is no reason.
  for (measured_run& run : m.runs)
    run.seconds = option_of(run.what, "piece") == 4096 ? 0.995e-4 : 1e-4;
  EXPECT_EQ(search_thresholds(start, {m}).number("piece"), start.number("piece"));
}

TEST(SearchThresholds, WeighsPaddingAgainstSorting) {
  const spmv_machine start = some_machine();
  // Rows of 10, one of 100: in order a slice is padded, 1.3 times the entries in all.
  std::vector<measured_matrix> matrices;
  for (const double in_order : {0.5e-4, 2e-4}) {
    measured_matrix m = matrix_of(320, 10, 100);
    m.features.slice_steps = m.features.entries * 13 / 10 / 32;
    measure_by(m, start, [&](const plan_candidate& c) {
      return option_of(c, "window") == 1 ? in_order : 1e-4;
    });
    matrices = {m};
    EXPECT_EQ(search_thresholds(start, matrices).number("padding"),
              in_order < 1e-4 ? 1.5 : start.number("padding"));
  }
}

TEST(SearchThresholds, OnDevicesLooksAtFewRows) {
  const spmv_machine start = hopper_machine(132);
  measured_matrix m = matrix_of(200 * 132, 3, 60);
  m.features.slice_steps *= 3; // by length only
  measure_by(m, start, [](const plan_candidate& c) {
    return option_of(c, "lane_entries") == 16  ? 1e-5
           : option_of(c, "lane_entries") == 4 ? 2e-5
                                               : 3e-5;
  });
  EXPECT_EQ(search_thresholds(start, {m}).number("lane_entries"), 16);
  EXPECT_EQ(search_thresholds(start, {m}).number("few_rows"), start.number("few_rows"));
  // One lane per row is faster: then there never are few rows.
  for (measured_run& run : m.runs)
    run.seconds = option_of(run.what, "lane_entries") == ell_csr_options::none ? 1e-5 : 2e-5;
  EXPECT_EQ(search_thresholds(start, {m}).number("few_rows"), 0);
}

TEST(SearchSpgemmThresholds, FindsWhatIsFastest) {
  int asked = 0;
  // One product is fastest with flat walks up to 40, the other with 4096 light products.
  const auto times = [&](const spgemm_thresholds& t) {
    ++asked;
    const auto far = [](std::int64_t a, double b) {
      return 1 + std::abs(std::log2(static_cast<double>(a + 1) / (b + 1)));
    };
    return std::vector<double>{1e-3 * far(t.flat_length, 40), 2e-3 * far(t.light_products, 4096)};
  };
  const spgemm_thresholds best = search_spgemm_thresholds({}, 3, times);
  EXPECT_EQ(best.flat_length, 40);
  EXPECT_EQ(best.light_products, 4096);
  EXPECT_EQ(best.merged_products, spgemm_thresholds{}.merged_products);
  EXPECT_LT(asked, 80); // no thresholds twice
}

TEST(SearchSpgemmThresholds, StaysWhereLittleIsGained) {
  const auto times = [](const spgemm_thresholds& t) {
    return std::vector<double>{t == spgemm_thresholds{} ? 1.0 : 0.99};
  };
  EXPECT_EQ(search_spgemm_thresholds({}, 3, times), spgemm_thresholds{});
}

/// Matrices of several sizes, measured as a machine with these costs would.
std::vector<measured_matrix> measured_by(const spmv_machine& truth) {
  std::vector<measured_matrix> matrices;
  for (int i = 0; i < 12; ++i) {
    measured_matrix m = matrix_of(1024 << (i % 6), 4 + 3 * i, 4 + 3 * i);
    m.name = "matrix " + std::to_string(i);
    m.features.cols *= 1 + i % 3;
    m.features.sectors_by_entry = 32 * (i % 4);
    measure_by(m, truth,
               [&](const plan_candidate& c) { return truth.of(c.kernel).seconds(c.work); });
    matrices.push_back(m);
  }
  return matrices;
}

TEST(FitMachine, FindsWhatMeasuredAndKeepsTheRest) {
  spmv_machine truth = some_machine();
  truth.of("packed_csr").stream *= 0.4;
  truth.of("ell_sorted").entry *= 2.5;
  const auto matrices = measured_by(truth);
  const spmv_machine start = some_machine();
  const spmv_machine fitted = fit_machine(start, matrices);
  for (const measured_matrix& m : matrices)
    for (const measured_run& run : m.runs)
      EXPECT_NEAR(fitted.of(run.what.kernel).seconds(run.what.work) / run.seconds, 1, 0.1)
          << run.what.kernel;
  EXPECT_NEAR(fitted.of("csr_rows").convert, 0, 1e-12);
  EXPECT_GT(fitted.of("packed_csr").convert, 0);
  // Not measured.
  for (const char* kernel : {"csr_tiles", "csr_split", "ell_diagonal"})
    expect_cost(fitted.of(kernel), start.of(kernel), 0);
  // With one matrix the old lines are scaled.
  const spmv_machine scaled = fit_machine(start, {matrices[0]});
  const spmv_cost& before = start.of("packed_csr");
  const double factor = scaled.of("packed_csr").stream / before.stream;
  EXPECT_LT(factor, 1);
  EXPECT_NEAR(scaled.of("packed_csr").fixed, before.fixed * factor, 1e-18);
}

/// What no machine does is not believed: a byte that costs nothing, or a hundred times as much.
TEST(FitMachine, KeepsToWhatIsPhysical) {
  const spmv_machine start = some_machine();
  spmv_machine odd = start;
  for (auto& [kernel, cost] : odd.cost) {
    cost.stream = 0;
    cost.entry *= 100;
  }
  const spmv_machine fitted = fit_machine(start, measured_by(odd));
  for (const auto& [kernel, cost] : fitted.cost) {
    EXPECT_GE(cost.stream, 0.33 * start.of(kernel).stream) << kernel;
    EXPECT_LE(cost.entry, 3.01 * start.of(kernel).entry) << kernel;
  }
}

TEST(CrossValidate, CountsErrorsAndChoices) {
  spmv_machine truth = some_machine();
  truth.of("packed_csr").stream *= 0.4; // a fast format that the built-in costs miss
  truth.of("packed_csr").entry *= 0.4;
  auto matrices = measured_by(truth);
  const spmv_machine start = some_machine();
  const plan_judgement judged = cross_validate(start, matrices);
  ASSERT_EQ(judged.choices.size(), matrices.size());
  EXPECT_EQ(judged.share_within(1.1), 1);
  EXPECT_LT(judged.mean_slowdown(), 1.02);
  const auto& packed = judged.kernels.at("packed_csr");
  EXPECT_EQ(packed.points, 12);
  EXPECT_LT(packed.error, 0.15);
  EXPECT_FALSE(judged.kernels.contains("csr_split"));
  const plan_judgement before = judge(start, matrices);
  EXPECT_LT(before.share_within(1.1), 0.9);
  EXPECT_GT(before.mean_slowdown(), judged.mean_slowdown());
  EXPECT_GT(before.kernels.at("packed_csr").error, 0.3);

  // A matrix that is unlike the others is predicted by them alone, and wrongly.
  for (measured_run& run : matrices[3].runs)
    run.seconds *= run.what.format == "packed_csr" ? 10 : 1;
  const plan_judgement odd = cross_validate(start, matrices);
  EXPECT_GT(odd.choices[3].slowdown, 1.1);
  EXPECT_EQ(odd.choices[3].matrix, "matrix 3");
  EXPECT_LT(odd.share_within(1.1), 1);
  EXPECT_EQ(plan_judgement{}.share_within(1.1), 0);
}

TEST(Training, HasMatricesThatFit) {
  for (const bool device : {false, true}) {
    const auto all = training_matrices(device, false, std::size_t{1} << 40);
    const auto quick = training_matrices(device, true, std::size_t{1} << 40);
    EXPECT_GE(all.size(), 30U);
    EXPECT_LT(quick.size(), all.size());
    for (const std::string& spec : training_matrices(device, false, 1'000'000)) {
      const gen::size size = gen::expected_size(spec);
      EXPECT_LE(12 * size.entries, 1'000'000) << spec;
    }
    for (const std::string& spec : all)
      EXPECT_LE(12 * gen::expected_size(spec).entries, device ? 600'000'000 : 160'000'000) << spec;
  }
}

TEST(Training, TimesInTurn) {
  int first = 0, second = 0, waits = 0;
  const auto runs = time_in_turn(
      {[&] { ++first; }, [&] { ++second; }}, [&] { ++waits; }, 30, 0);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(first, 2 + 30 * (first / 30));
  EXPECT_EQ(first, second);
  EXPECT_GE(first, 2 + 3 * 30);
  EXPECT_GT(waits, 6);
  for (const auto& run : runs) {
    EXPECT_GT(run.seconds, 0);
    EXPECT_GE(run.scatter, 0);
  }
}

template <class C> class Tune : public engine_test<C> {};
template <class E> using doubles_on = ::testing::Types<on<E, double, std::int32_t, std::int32_t>>;
TYPED_TEST_SUITE(Tune, internal::on_engines<doubles_on>, config_name);

TYPED_TEST(Tune, MeasuresTheMatricesItIsGiven) {
  const auto& ctx = TypeParam::context();
  std::vector<std::string> told;
  tune_options options;
  options.quick = true;
  options.only = {"poisson2d:n=20", "circuit:n=3000"};
  options.progress = [&](std::string_view what, double) { told.emplace_back(what); };
  const tuning tuned = tune(ctx, options);
  std::vector<std::string> expected = options.only;
  if (TypeParam::memory_space == space::device) expected.emplace_back("sparse products");
  EXPECT_EQ(told, expected);
  EXPECT_EQ(tuned.machine.name, machine_name(ctx));
  ASSERT_EQ(tuned.matrices.size(), 2U);
  EXPECT_EQ(tuned.judged.choices.size(), 2U);
  for (const measured_matrix& m : tuned.matrices) {
    ASSERT_GT(m.runs.size(), 4U);
    EXPECT_EQ(m.runs[0].what.format, "csr");
    for (const measured_run& run : m.runs) EXPECT_GT(run.seconds, 0);
  }
  options.only = {"no_such_matrix"};
  EXPECT_THROW(tune(ctx, options), bad_input);
}

} // namespace
} // namespace lacuna::test
