// lacuna tune: measures this machine's products and stores what plans predict them with.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/clock.hpp"
#include "common/exit.hpp"
#include "common/progress.hpp"
#include "io/output_file.hpp"
#include "lacuna/command.hpp"
#include <lacuna/plan/tune.hpp>

namespace lacuna::app {
namespace {

struct tune_settings {
  bool quick = false, dry_run = false;
  std::string file;
  std::vector<std::string> only;
};

/// A cost's numbers in units of three digits or so.
struct unit_of_cost {
  const char* title;
  double spmv_cost::*field;
  double scale;
};
constexpr unit_of_cost units[] = {
    {"fixed µs", &spmv_cost::fixed, 1e6},      {"byte ps", &spmv_cost::stream, 1e12},
    {"gathered ps", &spmv_cost::gather, 1e12}, {"row ns", &spmv_cost::row, 1e9},
    {"entry ns", &spmv_cost::entry, 1e9},      {"convert", &spmv_cost::convert, 1}};

/// "a:n=1,m=2,b" is a:n=1,m=2 and b: what has an = and no : belongs to the one before.
std::vector<std::string> split_specs(const std::vector<std::string>& lists) {
  std::vector<std::string> specs;
  for (const std::string& list : lists) {
    bool first = true;
    for (std::string& part : CLI::detail::split(list, ',')) {
      const bool parameter =
          part.find('=') != std::string::npos && part.find(':') == std::string::npos;
      if (parameter && !first)
        specs.back() += "," + part;
      else
        specs.push_back(part.starts_with("gen:") ? part.substr(4) : std::move(part));
      first = false;
    }
  }
  return specs;
}

/// Now, rather than after minutes of measuring. Makes the folder.
void require_writable(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code ignored;
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  const std::string probe = file + ".new";
  if (!std::ofstream(probe))
    throw failed(detail::at_file(std::string("cannot write: ") + std::strerror(errno), probe, 0));
  std::filesystem::remove(probe, ignored);
}

json as_json(const plan_candidate& c) {
  json object = {{"format", c.format}, {"kernel", c.kernel}, {"options", json::object()}};
  for (const plan_option& o : c.options) object["options"][o.name] = o.value;
  return object;
}

double error_before(const tuning& t, const std::string& kernel) {
  const auto judged = t.judged_before.kernels.find(kernel);
  return judged == t.judged_before.kernels.end() ? 0 : judged->second.error;
}

json as_json(const tuning& t) {
  json object = {{"command", "tune"},
                 {"machine", t.machine.name},
                 {"origin", t.before.origin},
                 {"remarks", t.before.remarks}};
  const auto before = numbers_of(t.before), after = numbers_of(t.machine);
  object["scatter"] = t.scatter();
  object["numbers"] = json::array();
  for (std::size_t i = 0; i < after.size(); ++i)
    object["numbers"].push_back(
        {{"name", after[i].name}, {"before", before[i].value}, {"after", after[i].value}});
  object["classes"] = json::array();
  for (const auto& [kernel, judged] : t.judged.kernels)
    object["classes"].push_back({{"kernel", kernel},
                                 {"points", judged.points},
                                 {"error_before", error_before(t, kernel)},
                                 {"error", judged.error}});
  object["within_10_percent_before"] = t.judged_before.share_within(1.1);
  object["within_10_percent_built_in"] = t.judged_built_in.share_within(1.1);
  object["within_10_percent"] = t.judged.share_within(1.1);
  object["slowdown_before"] = t.judged_before.mean_slowdown();
  object["slowdown_built_in"] = t.judged_built_in.mean_slowdown();
  object["slowdown"] = t.judged.mean_slowdown();
  object["better"] = t.better;
  object["choices"] = json::array();
  for (const auto& c : t.judged.choices)
    object["choices"].push_back({{"matrix", c.matrix},
                                 {"chosen", as_json(c.chosen)},
                                 {"best", as_json(c.best)},
                                 {"slowdown", c.slowdown}});
  object["matrices"] = json::array();
  for (const measured_matrix& m : t.matrices) {
    json runs = json::array();
    for (const measured_run& run : m.runs) {
      json one = as_json(run.what);
      one["seconds"] = run.seconds;
      one["scatter"] = run.scatter;
      one["conversion_seconds"] = run.convert_seconds;
      runs.push_back(std::move(one));
    }
    object["matrices"].push_back({{"matrix", m.name},
                                  {"rows", m.features.rows},
                                  {"cols", m.features.cols},
                                  {"nnz", m.features.entries},
                                  {"runs", std::move(runs)}});
  }
  return object;
}

std::string cost_line(const spmv_cost& cost) {
  std::string text;
  for (const unit_of_cost& u : units) text += fmt::format(" {:>11.3g}", cost.*u.field * u.scale);
  return text;
}

void print_tables(const talk& say, const tuning& t) {
  std::string titles;
  for (const unit_of_cost& u : units) titles += fmt::format(" {:>11}", u.title);
  say("  {:<13}{:<7}{}   error\n", "kernels", "", titles);
  for (const auto& [kernel, judged] : t.judged.kernels) {
    say("  {:<13}{:<7}{} {:>5.0f} %\n", kernel, "before", cost_line(t.before.of(kernel)),
        100 * error_before(t, kernel));
    say("  {:<13}{:<7}{} {:>5.0f} %\n", "", "now", cost_line(t.machine.of(kernel)),
        100 * judged.error);
  }
  const auto before = numbers_of(t.before), after = numbers_of(t.machine);
  for (std::size_t i = 0; i < after.size(); ++i)
    if (after[i].name.find('.') == std::string::npos)
      say("  {:<30} {:>8.6g}{}\n", after[i].name, after[i].value,
          after[i].value == before[i].value ? "" : fmt::format(", was {:.6g}", before[i].value));
  say("  errors now, and the choices below, are those of fits without the matrix at hand\n");
  say("  {} of {} choices within 10 % of the fastest; before, {:.0f} %; built in, {:.0f} %\n",
      std::lround(t.judged.share_within(1.1) * static_cast<double>(t.judged.choices.size())),
      t.judged.choices.size(), 100 * t.judged_before.share_within(1.1),
      100 * t.judged_built_in.share_within(1.1));
  say("  products of chosen formats take {:.3f} times the fastest's time; before, {:.3f}; built "
      "in, "
      "{:.3f}\n",
      t.judged.mean_slowdown(), t.judged_before.mean_slowdown(), t.judged_built_in.mean_slowdown());
  for (const auto& c : t.judged.choices)
    if (c.slowdown > 1.1)
      say("    {}: {} took {:.2f} times as long as {}\n", c.matrix, c.chosen.kernel, c.slowdown,
          c.best.kernel);
}

template <space S> int run_on(const options& o, const tune_settings& s, const context<S>& ctx) {
  if (s.file == "-" || io::is_pipe_or_device(s.file))
    throw CLI::ValidationError("-o", "costs are stored in a file; name one");
  std::string file = s.file.empty() ? machine_file(machine_name(ctx)) : s.file;
  if (std::filesystem::is_symlink(file)) file = std::filesystem::weakly_canonical(file).string();
  if (!s.dry_run) {
    if (file.empty())
      throw CLI::ValidationError("-o", "there is no place to store the result: set LACUNA_CONFIG, "
                                       "XDG_CONFIG_HOME or HOME, or name a file");
    require_writable(file);
  }
  tune_options how;
  how.quick = s.quick;
  how.only = split_specs(s.only);
  const stopwatch watch;
  tuning t;
  {
    progress_bar bar("tuning", progress_bar::unit::parts, shows_progress(o));
    if (const auto report = bar.callback())
      how.progress = [&bar, report](std::string_view what, double done) {
        bar.relabel("measuring " + std::string(what));
        report(static_cast<std::int64_t>(1000 * done), 1000);
      };
    t = tune(ctx, how);
  }
  const double seconds = watch.seconds();
  const bool stores = !s.dry_run && t.better;
  if (stores) write_machine(file, t.machine);

  if (o.json) {
    json object = as_json(t);
    object["device"] = engine_name(ctx);
    object["seconds"] = seconds;
    object["file"] = stores ? json(file) : json();
    object["kept_in"] = file; // where plans look
    print_json(object);
    return exit_done;
  }
  const talk say(o);
  say("{}, measured with {} matrices in {:.1f} s; before: {}\n", t.machine.name, t.matrices.size(),
      seconds, shown(t.before.origin));
  for (const std::string& remark : t.before.remarks) say("  note: {}\n", shown(remark));
  print_tables(say, t);
  if (t.scatter() > 0.25 && !o.quiet)
    print(stderr, "lacuna: times scattered by {:.0f} %: tune again when nothing else runs here\n",
          100 * t.scatter());
  if (t.judged_built_in.mean_slowdown() < 0.99 * t.judged_before.mean_slowdown())
    say("the built-in costs choose better than those in {}: remove it to use them\n",
        shown(t.before.origin));
  if (!t.better)
    say("the costs in use choose as well, or better: nothing was stored\n");
  else if (s.dry_run)
    say("nothing was stored\n");
  else if (o.quiet)
    print("{}\n", shown(file));
  else
    say("stored in {}\n", shown(file));
  return exit_done;
}

} // namespace

void add_tune(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("tune", "measures this machine for plans, and stores that");
  const auto s = std::make_shared<tune_settings>();
  command->add_flag("--quick", s->quick, "fewer and smaller matrices: under a minute on two cores");
  command->add_flag("--dry-run", s->dry_run, "store nothing");
  command->add_option("-o,--output", s->file, "store there; default: where plans look for it")
      ->option_text("FILE");
  command
      ->add_option("--only", s->only, "tune with these generated matrices, not with the usual ones")
      ->option_text("SPEC[,SPEC...]")
      ->allow_extra_args(false);
  command->footer(
      "Measures products in every format on generated matrices, in f64, on the device and\n"
      "with the threads asked for, and fits the costs that plans are chosen by, from the built-in\n"
      "ones. They are stored if they choose better, on matrices they were not fitted to. The file "
      "is\n"
      "read again by every plan on that device, or with that many threads. It lies in\n"
      "LACUNA_CONFIG, else XDG_CONFIG_HOME/lacuna, else ~/.config/lacuna.\n\n"
      "The table has what a product costs in each kernel: a fixed time, and one for every byte\n"
      "read in order, byte gathered from x, row and entry; converting to its format is in\n"
      "products of csr. The error is that of predicted times, on average.\n\n"
      "Examples:\n"
      "  lacuna tune --quick\n"
      "  lacuna --threads 1 tune --dry-run --json\n"
      "  lacuna tune --only poisson3d:n=100,uniform:rows=100000,per_row=8 -o machine.txt");
  command->callback([&o, &chosen, s] {
    chosen = [&o, s] { return on_engine(o, [&](const auto& ctx) { return run_on(o, *s, ctx); }); };
  });
}

} // namespace lacuna::app
