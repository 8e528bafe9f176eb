// lacuna report A: all about a matrix on one page: its picture, its rows, the plan and why, what
// products take in each format, how a solution converges.
#include <CLI/CLI.hpp>
#include <optional>

#include "common/bandwidth.hpp"
#include "common/clock.hpp"
#include "common/exit.hpp"
#include "common/html.hpp"
#include "common/progress.hpp"
#include "common/text.hpp"
#include "common/vectors.hpp"
#include "io/output_file.hpp"
#include "lacuna/command.hpp"
#include "lacuna/full_decision.hpp"
#include "lacuna/picture.hpp"
#include <lacuna/plan/statistics.hpp>
#include <lacuna/solver/solve.hpp>

namespace lacuna::app {
namespace {

struct report_settings {
  std::string matrix, output;
  std::int64_t multiplies = 1000, iterations = 1000;
  int repeat = 11;
  bool solves = true;
  io::read_options read;
};

/// Products in one format.
struct measured_format {
  std::string format, kernel;
  double seconds = 0;      ///< of one product, median
  double bytes = 0;        ///< of the matrix in the format
  double made_seconds = 0; ///< to make the plan
};

/// All that the page shows, free of types.
struct report_found {
  picture drawing;
  matrix_statistics statistics;
  symmetry_found symmetry;
  spmv_machine machine;
  plan_decision decision;
  std::vector<measured_format> measured;   ///< the chosen one first
  double csr_bytes = 0, product_bytes = 0; ///< of a product in csr: the matrix and both vectors
  double bandwidth = 0;                    ///< bytes per second
  const char* probe = "";
  std::optional<solve_report> solved;
  std::string not_solved; ///< why
};

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

/// One after the other on a host; on a device ten queued at a time, as one alone would be timed
/// with its launch.
template <class T, class I, class O, space S>
measured_format measure_format(const context<S>& ctx, const csr<T, I, O, S>& a,
                               const report_settings& s, const std::string& format,
                               const array<T, S>& x, array<T, S>& y) {
  constexpr int products = S == space::host ? 1 : 10;
  plan_hints hints;
  hints.multiplies = static_cast<double>(s.multiplies);
  hints.format = format;
  const stopwatch making;
  const auto op = plan(ctx, a, hints);
  ctx.synchronize();
  measured_format result{op.format(), op.kernel(), 0, static_cast<double>(op.bytes()),
                         making.seconds()};
  if (op.format() == "csr") result.bytes = static_cast<double>(a.bytes());
  std::vector<double> seconds;
  for (int round = 0; round <= s.repeat; ++round) { // the first one does not count
    const stopwatch watch;
    for (int k = 0; k < products; ++k) op.multiply(x, y);
    ctx.synchronize();
    if (round > 0) seconds.push_back(watch.seconds() / products);
  }
  result.seconds = median(seconds);
  return result;
}

template <class T, class I, class O, space S>
void measure_products(const options& o, const context<S>& ctx, const csr<T, I, O, S>& a,
                      const report_settings& s, progress_bar& bar, report_found& found) {
  array<T> random(host_context(), a.shape().col);
  fill_vector(random.view(), o.seed);
  const auto x = copy_to(ctx, random);
  array<T, S> y(ctx, a.shape().row);
  found.product_bytes = found.csr_bytes + static_cast<double>(x.bytes() + y.bytes());
  for (const plan_candidate& c : found.decision.candidates) {
    const auto is_there = [&](const measured_format& m) { return m.format == c.format; };
    if (!c.refused.empty() || std::any_of(found.measured.begin(), found.measured.end(), is_there))
      continue;
    bar.relabel("products in " + c.format);
    found.measured.push_back(measure_format(ctx, a, s, c.format, x, y));
  }
  bar.relabel("memory");
  const bandwidth_probe probe = make_probe(ctx);
  found.probe = probe.name;
  found.bandwidth = measure_bandwidth(ctx);
}

template <class T, class I, class O, space S>
void try_solving(const options& o, const context<S>& ctx, const csr<T, I, O, S>& a,
                 const report_settings& s, progress_bar& bar, report_found& found) {
  if (!s.solves) return void(found.not_solved = "Not asked for.");
  if (a.shape().row != a.shape().col) return void(found.not_solved = "A is not square.");
  if (a.size() == 0) return void(found.not_solved = "A has no entries.");
  bar.relabel("solving");
  array<T> random(host_context(), a.shape().row);
  fill_vector(random.view(), o.seed);
  const auto b = copy_to(ctx, random);
  array<T, S> x(ctx, a.shape().col);
  fill(ctx, 0, x);
  solve_options<T, S> how;
  how.stop.iterations = s.iterations;
  how.throws = false;
  how.watch = [&](const solve_progress& p) {
    bar.relabel(
        fmt::format("solving: iteration {}, residual {:.1e}", p.iteration, p.relative_residual));
    return true;
  };
  found.solved = solve(ctx, a, b, x, how);
}

template <class T, class I, class O, space S>
report_found look_at(const options& o, const context<S>& ctx, const csr<T, I, O>& a,
                     const report_settings& s) {
  progress_bar bar("looking at the matrix", progress_bar::unit::parts, shows_progress(o));
  const host_context host({o.threads});
  report_found found;
  found.statistics = statistics(host, a);
  found.symmetry = find_symmetry(host, a);
  found.csr_bytes = static_cast<double>(a.bytes());
  picture& p = found.drawing;
  p.name = s.matrix == "-" ? "standard input" : s.matrix;
  p.rows = a.shape().row;
  p.cols = a.shape().col;
  p.entries = a.size();
  p.layout = lay_out(p.rows, p.cols, 640, 256); // every cell is text in an SVG
  p.grid = density(host, a.view(), p.layout.grid_height, p.layout.grid_width);
  const auto& matrix = bring_to(ctx, a);
  plan_hints hints;
  hints.multiplies = static_cast<double>(s.multiplies);
  found.machine = machine_of(ctx);
  found.decision = decide_in_full(ctx, matrix, hints, found.machine);
  measure_products(o, ctx, matrix, s, bar, found);
  try_solving(o, ctx, matrix, s, bar, found);
  return found;
}

void show_matrix(html_page& page, const report_found& f) {
  const matrix_statistics& m = f.statistics;
  page.svg(as_svg(f.drawing), "");
  page.heading("The matrix");
  const auto yes = [](bool is) { return std::string(is ? "yes" : "no"); };
  page.table(
      {},
      {{"size", fmt::format("{} x {}", m.rows, m.cols)},
       {"entries", fmt::format("{}", m.entries)},
       {"pattern symmetric", yes(f.symmetry.pattern)},
       {"values symmetric", yes(f.symmetry.symmetric)},
       {"entries per row",
        fmt::format("{} to {}, mean {:.2f}, deviation {:.2f}", m.shortest_row, m.row_length.longest,
                    m.row_length.mean, m.row_length.deviation)},
       {"empty rows", fmt::format("{}", m.row_length.empty)},
       {"bandwidth", fmt::format("{}", m.bandwidth())},
       {"diagonal", fmt::format("{} of {} stored", m.diagonal_entries, std::min(m.rows, m.cols))},
       {"values",
        fmt::format("{} explicit zeros, {} NaN, {} infinite", m.zeros, m.nans, m.infinities)},
       {"128 x 128 blocks",
        fmt::format("{} occupied, {:.3g} % full on average", m.blocks, 100 * m.block_fill())},
       {"as csr", human_bytes(f.csr_bytes)}});
  page.heading("Rows by length");
  std::vector<html_page::bar> bars;
  std::size_t last = 0;
  for (std::size_t k = 0; k < m.length_histogram.size(); ++k)
    if (m.length_histogram[k] > 0) last = k;
  for (std::size_t k = 0; k <= last && m.rows > 0; ++k) {
    const std::int64_t low = k == 0 ? 0 : std::int64_t{1} << (k - 1), rows = m.length_histogram[k];
    if (bars.empty() && rows == 0) continue;
    bars.push_back({k < 2 ? fmt::format("{}", low)
                          : fmt::format("{} to {}", human_count(low), human_count(2 * low - 1)),
                    static_cast<double>(rows), rows == 0 ? "" : human_count(rows)});
  }
  page.bars(bars);
}

void show_plan(html_page& page, const report_settings& s, const report_found& f) {
  page.heading(fmt::format("The plan for {} products", s.multiplies));
  page.paragraph(fmt::format("Take {}, kernel {}, because", f.decision.chosen().format,
                             f.decision.chosen().kernel));
  page.list(f.decision.reasons);
  std::vector<std::vector<std::string>> rows;
  for (const plan_candidate& c : f.decision.candidates)
    rows.push_back({c.format, c.kernel, human_bytes(c.bytes), human_seconds(c.seconds),
                    human_seconds(c.total_seconds), c.refused});
  page.table({"format", "kernel", "bytes", "a product", "with conversion", "refused"}, rows);
  page.paragraph(
      fmt::format("Predicted with the costs of {}: {}.", f.machine.name, f.machine.origin));
}

void show_measured(html_page& page, const report_settings& s, const report_found& f) {
  const double operations = 2 * static_cast<double>(f.statistics.entries);
  page.heading("Measured: GFLOP/s of y = A x");
  std::vector<html_page::bar> bars;
  std::vector<std::vector<std::string>> rows;
  for (const measured_format& m : f.measured) {
    const bool is_chosen = m.format == f.decision.chosen().format;
    bars.push_back({m.format + (is_chosen ? ", planned" : ""), operations / m.seconds,
                    fmt::format("{:.2f}", operations / m.seconds * 1e-9), is_chosen});
    rows.push_back({m.format, m.kernel, human_seconds(m.seconds), human_bytes(m.bytes),
                    percent(f.product_bytes / m.seconds / f.bandwidth),
                    human_seconds(m.made_seconds)});
  }
  page.bars(bars);
  page.table({"format", "kernel", "a product", "bytes", "of limit", "to make"}, rows);
  page.paragraph(fmt::format("Medians of {}. The limit: csr's bytes and both vectors once, at the "
                             "{:.1f} GB/s of a {}; formats with fewer bytes, and caches, pass it.",
                             s.repeat, f.bandwidth * 1e-9, f.probe));
}

void show_solution(html_page& page, const report_found& f) {
  page.heading("Solving A x = b, b at random");
  if (!f.solved) return page.paragraph(f.not_solved);
  const solve_report& r = *f.solved;
  page.paragraph(fmt::format("{} with preconditioner {}: {} after {} iterations ({}); relative "
                             "residual {:.2e}, {:.2e} was asked for.",
                             r.method, r.preconditioner, name_of(r.reason), r.iterations,
                             in_words(r.reason), r.relative_residual, r.tolerance));
  page.list(r.choice);
  page.curve(r.history, fmt::format("{} iterations", r.iterations));
  page.paragraph(fmt::format("{} to set up, {} to solve.", human_seconds(r.setup_seconds),
                             human_seconds(r.solve_seconds)));
  if (r.levels.empty()) return;
  std::vector<std::vector<std::string>> rows;
  for (std::size_t k = 0; k < r.levels.size(); ++k)
    rows.push_back({fmt::format("{}", k), fmt::format("{}", r.levels[k].rows),
                    fmt::format("{}", r.levels[k].entries)});
  page.table({"level", "rows", "entries"}, rows);
}

std::string as_page(const report_settings& s, const report_found& f, const options& o,
                    const std::string& where) {
  html_page page(f.drawing.name);
  page.paragraph(fmt::format("{} on {}, in {}, by Lacuna {}", f.drawing.caption(), where,
                             o.values == precision::f64 ? "f64" : "f32", LACUNA_VERSION));
  show_matrix(page, f);
  show_plan(page, s, f);
  show_measured(page, s, f);
  show_solution(page, f);
  return page.text();
}

void tell(const options& o, const report_settings& s, const report_found& f,
          const std::string& device) {
  if (o.json) {
    json measured = json::array();
    for (const measured_format& m : f.measured)
      measured.push_back({{"format", m.format},
                          {"kernel", m.kernel},
                          {"seconds", m.seconds},
                          {"bytes", json_size(m.bytes)}});
    return print_json({{"command", "report"},
                       {"matrix", s.matrix},
                       {"output", s.output},
                       {"rows", f.statistics.rows},
                       {"cols", f.statistics.cols},
                       {"nnz", f.statistics.entries},
                       {"format", f.decision.chosen().format},
                       {"device", device},
                       {"measured", measured},
                       {"solve", f.solved ? json::parse(f.solved->json()) : json()}});
  }
  const talk say(o, s.output);
  say("{}: {} -> {}\n", shown(s.matrix), f.drawing.caption(), shown(s.output));
}

int run_report(const options& o, const report_settings& s) {
  require_output(o, s.output);
  return with_values(o.values, [&](auto zero) {
    using T = decltype(zero);
    return on_engine(o, [&](const auto& ctx) {
      const host_context host({o.threads});
      const auto loaded = load_matrix<T>(host, s.matrix, s.read, shows_progress(o));
      const report_found found = naming(s.matrix, [&] {
        return std::visit([&](const auto& a) { return look_at(o, ctx, a, s); }, loaded.matrix);
      });
      io::output_file file(s.output);
      file.write(as_page(s, found, o, engine_text(ctx)));
      file.commit();
      tell(o, s, found, engine_name(ctx));
      return static_cast<int>(exit_done);
    });
  });
}

} // namespace

void add_report(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("report", "all about a matrix on one page, in HTML");
  const auto s = std::make_shared<report_settings>();
  add_matrix(*command, s->matrix);
  command->add_option("-o,--output", s->output, "write the page there; - is stdout")
      ->required()
      ->option_text("FILE")
      ->transform(stdout_by_name())
      ->check(CLI::Validator(
          [](const std::string& path) -> std::string {
            if (path == "-" || path.ends_with(".html") || path.ends_with(".htm")) return {};
            return "'" + path + "' is not .html";
          },
          ""));
  command->add_option("--multiplies", s->multiplies, "products to plan for; default: 1000")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->option_text("N");
  command->add_option("--repeat", s->repeat, "rounds whose median counts; default: 11")
      ->check(CLI::Range(1, 10000))
      ->option_text("N");
  command->add_option("--max-iter", s->iterations, "iterations of the solver; default: 1000")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->option_text("N");
  command->add_flag("!--no-solve", s->solves, "leave A x = b out");
  add_read_options(*command, s->read);
  command->footer(
      "One file without scripts: the picture of the pattern, rows by length, the plan\n"
      "and its reasons, products measured in every format that is not refused, and how\n"
      "the residual of a solution falls. A solver that does not converge is shown as\n"
      "such, with exit code 0.\n\n"
      "Examples:\n"
      "  lacuna report A.mtx -o report.html\n"
      "  lacuna report gen:circuit:n=100000 -o circuit.html --multiplies 100 --no-solve");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run_report(o, *s); }; });
}

} // namespace lacuna::app
