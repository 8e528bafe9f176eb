// lacuna [options] COMMAND: parses, then runs what was chosen. Exit codes: common/exit.hpp.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "common/exit.hpp"
#include "common/options.hpp"
#include "common/print.hpp"
#include "common/signals.hpp"
#include "lacuna/help.hpp"
#include "lacuna/options.hpp"

namespace {

using namespace lacuna::app;

void add_global_options(CLI::App& cli, options& o, bool& version) {
  add_device_option(cli, o.device);
  add_threads_option(cli, o.threads);
  add_choice<precision>(cli, "--precision", o.values,
                        {{"f64", precision::f64}, {"f32", precision::f32}}, "f64 (default) or f32")
      ->option_text("P");
  cli.add_option("--seed", o.seed, "of generated vectors; default: 1")->option_text("S");
  cli.add_flag("--json", o.json, "print one JSON object and nothing else");
  cli.add_flag("--quiet", o.quiet, "print the outcome only");
  cli.add_flag("-V,--version", version, "print facts of this build and this machine");
}

} // namespace

int main(int argc, char** argv) {
  end_cleanly_on_signals();
  CLI::App cli("Lacuna: sparse matrices that adapt, change and solve, on CPUs and NVIDIA GPUs.",
               "lacuna");
  cli.footer(
      "A matrix is a file (.mtx, .npz, .mat, .bsp.h5, .rb, .tar; also .gz, .zst, .bz2),\n"
      "- for standard input, or gen:NAME[:key=value,...]; `lacuna info gen:` lists those.\n\n"
      "Examples:\n"
      "  lacuna info cage10.mtx.gz\n"
      "  lacuna spy gen:circuit:n=20000\n"
      "  lacuna --device host --threads 2 spmv gen:poisson3d:n=64 --verify\n\n"
      "Exit codes: 0 done, 1 did not succeed, 2 wrong usage, 3 bad input, 4 out of memory\n"
      "or over a limit, 5 the device asked for is not there.");
  cli.fallthrough(); // global options may also stand after the command
  cli.require_subcommand(0, 1);
  options o;
  bool version = false;
  action chosen;
  add_global_options(cli, o, version);
  add_info(cli, o, chosen);
  add_spy(cli, o, chosen);
  add_plan(cli, o, chosen);
  add_spmv(cli, o, chosen);
  add_multiply(cli, o, chosen);
  add_add(cli, o, chosen);
  add_transpose(cli, o, chosen);
  add_convert(cli, o, chosen);
  add_update(cli, o, chosen);
  add_closure(cli, o, chosen);
  add_reorder(cli, o, chosen);
  add_solve(cli, o, chosen);
  add_report(cli, o, chosen);
  add_tune(cli, o, chosen);
  add_demo(cli, o, chosen);
  add_completion(cli, chosen);
  add_man(cli, chosen);
  add_help(cli, chosen);
  set_help_style(cli);
  cli.preparse_callback([&](std::size_t) { require_known_command(cli, argc, argv); });

  if (argc == 1) {
    print_text(stderr, short_help(cli));
    return exit_usage;
  }
  // Errors of the parser itself are reported as JSON too.
  const bool json =
      std::any_of(argv, argv + argc, [](const char* a) { return std::string_view(a) == "--json"; });
  return run_program(cli, argc, argv, json, [&] {
    if (version) return print_version(o);
    if (!chosen) throw CLI::RequiredError("A command");
    return chosen();
  });
}
