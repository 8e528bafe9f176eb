// lacuna-bench SUITE: Lacuna beside its peers and the memory's limit.
#include "bench/engines.hpp"
#include "bench/io_suite.hpp"
#include "common/exit.hpp"
#include "common/options.hpp"
#include <lacuna/core/config.hpp>

namespace {

using namespace lacuna;
using bench::settings;

void add_options(CLI::App& cli, settings& s) {
  using bench::precision, bench::size_class, bench::suite;
  app::add_choice<suite>(cli, "suite", s.what,
                         {{"spmv", suite::spmv},
                          {"spmv-t", suite::spmv_t},
                          {"spmm", suite::spmm},
                          {"add", suite::add},
                          {"add-t", suite::add_t},
                          {"transpose", suite::transpose},
                          {"spgemm", suite::spgemm},
                          {"trisolve", suite::trisolve},
                          {"update", suite::update},
                          {"cg", suite::cg},
                          {"amg", suite::amg},
                          {"io", suite::io},
                          {"paper:000", suite::paper_000},
                          {"paper:001", suite::paper_001},
                          {"paper:002", suite::paper_002},
                          {"paper:003", suite::paper_003},
                          {"paper:004", suite::paper_004}},
                         "spmv: y = A x; spmv-t: y = A^T x; spmm: Y = A X;\n"
                         "add: C = A + B; add-t: C = A + A^T; transpose: C = A^T;\n"
                         "spgemm: C = A A, or A A^T if A is not square;\n"
                         "trisolve: y = inv(L) x, L on the pattern of A's lower triangle;\n"
                         "update: batches into a matrix; cg: iterations of conjugate gradients;\n"
                         "amg: solving with multigrid; io: files;\n"
                         "paper:000 to paper:004: the papers' tables beside this machine's")
      ->required()
      ->option_text("SUITE");
  app::add_device_option(cli, s.device);
  app::add_threads_option(cli, s.threads);
  app::add_choice<precision>(
      cli, "--precision", s.values,
      {{"f64", precision::f64}, {"f32", precision::f32}, {"both", precision::both}},
      "f64 (default), f32 or both")
      ->option_text("P");
  cli.add_option("--matrices", s.matrices,
                 "names from the set, generator specifications or files, with commas\n"
                 "between; none: those of --real alone")
      ->option_text("A,B,...");
  cli.add_option("--real", s.real, "a folder whose matrices join the set")->option_text("DIR");
  cli.add_option("--real-least", s.real_least, "entries they have at least; default: 100000")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->option_text("N");
  cli.add_flag("--exhaustive,--formats", s.every_format,
               "spmv, spmv-t: every format the planner chooses between, a line each");
  cli.add_flag("--full", s.full,
               "paper:003, paper:004: all thresholds, and sizes of super-rows, that they tried");
  app::add_choice<size_class>(
      cli, "--size", s.size,
      {{"small", size_class::small}, {"medium", size_class::medium}, {"large", size_class::large}},
      "of the set's matrices: small (default of spgemm, update and paper:000 on\n"
      "the host), medium (default) or large (default on a device but for spmm,\n"
      "update and paper:000)")
      ->option_text("SIZE");
  cli.add_option("--repeat", s.repeat,
                 "rounds whose median counts; default: 21, 11 on a device, fewer where\n"
                 "products of matrices take seconds")
      ->check(CLI::Range(1, 100000))
      ->option_text("N");
  cli.add_option("--columns", s.columns, "spmm: vectors at once, 1 to 512; default: 8,32")
      ->delimiter(',')
      ->check(CLI::Range(1, 512))
      ->option_text("K,...");
  app::add_choice<std::vector<layout>>(cli, "--layout", s.layouts,
                                       {{"row", {layout::row_major}},
                                        {"column", {layout::column_major}},
                                        {"both", {layout::row_major, layout::column_major}}},
                                       "spmm: row (default), column or both")
      ->option_text("L");
  cli.add_option("--batches", s.batches,
                 "update: entries of a batch; default: 1000,10000,100000, on a device\n"
                 "10000,1000000,10000000; --repeat: batches of each size")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->option_text("N,...");
  cli.add_option("--seed", s.seed, "of the vectors; default: 1")->option_text("S");
  cli.add_option("--json", s.json, "keep all figures in FILE")->option_text("FILE");
  cli.add_option("--html", s.html, "the same as a page with tables and bars")->option_text("FILE");
  cli.add_option("--endings", s.endings,
                 "io: formats; default: .mtx,.mtx.gz,.mtx.zst,.npz,.mat,.bsp.h5")
      ->delimiter(',')
      ->option_text("E,...");
  cli.add_option("--folder", s.folder, "io: where files are made; default: for temporary ones")
      ->option_text("DIR");
  cli.add_option("--mkl", s.mkl, "libmkl_rt or its folder; default: searched (also: LACUNA_MKL)")
      ->option_text("PATH");
}

int run(const settings& s) {
  if (s.what == bench::suite::io) return bench::run_io(s) ? app::exit_done : app::exit_failed;
  const app::engine engine = app::choose_engine(s.device);
  const bool all_right = [&] {
    if constexpr (has_cuda)
      if (engine.device) return bench::run_on_device(s, *engine.device, engine.why);
    return bench::run_on_host(s, engine.why);
  }();
  return all_right ? app::exit_done : app::exit_failed;
}

} // namespace

int main(int argc, char** argv) {
  CLI::App cli("Lacuna beside its peers and the memory's limit, in one run.", "lacuna-bench");
  cli.footer(
      "Examples:\n"
      "  lacuna-bench spmv --exhaustive --real shared/matrices\n"
      "  lacuna-bench spmv --device host --threads 2 --matrices poisson3d,rmat:scale=18,edges=20\n"
      "  lacuna-bench spmm --precision both --columns 1,16,64 --layout both --json spmm.json\n"
      "  lacuna-bench spgemm --real shared/matrices --json spgemm.json\n"
      "  lacuna-bench update --batches 10000,1000000 --json update.json\n"
      "  lacuna-bench paper:004 --threads 2 --json csr_k.json\n"
      "  lacuna-bench io --size medium --folder /scratch");
  settings s;
  add_options(cli, s);
  return app::run_program(cli, argc, argv, false, [&] { return run(s); });
}
