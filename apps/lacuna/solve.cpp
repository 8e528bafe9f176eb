// lacuna solve A: A x = b, how the residual fell and how long it took.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <optional>

#include "common/clock.hpp"
#include "common/exit.hpp"
#include "common/options.hpp"
#include "common/progress.hpp"
#include "common/text.hpp"
#include "common/vectors.hpp"
#include "lacuna/command.hpp"
#include "lacuna/convergence.hpp"
#include "petsc/mpi_solve.hpp"
#include "reference/reference.hpp"
#include <lacuna/solver/solve.hpp>

namespace lacuna::app {
namespace {

struct solve_settings {
  std::string matrix, b, x;
  std::string method = "auto", preconditioner = "auto", order = "none";
  stopping_rule stop;
  int restart = 30;
  bool verify = false, mpi = false;
  io::read_options read;
};

struct solve_outcome {
  solve_report report;
  std::int64_t rows = 0, entries = 0;
  double verified = 0; ///< relative residual by the reference loops
  int ranks = 0;       ///< of --mpi
};

/// |b - A x| / |b|, by the reference's product.
template <class T, class I, class O>
double plain_residual(const csr<T, I, O>& a, const array<T>& b, const array<T>& x) {
  const auto r = reference::multiply<T, I, O>(a.view(), x.view(), false, -1, 1, b.view());
  double residual = 0, size = 0;
  for (const double v : r.value) residual += v * v;
  for (const T v : b) size += static_cast<double>(v) * static_cast<double>(v);
  return size > 0 ? std::sqrt(residual / size) : std::sqrt(residual);
}

/// x is in host memory.
template <class T, class I, class O, space S>
solve_outcome solve_on(const options& o, const context<S>& ctx, const csr<T, I, O>& a,
                       const array<T>& b, array<T>& x, const solve_settings& s) {
  const auto& matrix = bring_to(ctx, a);
  const auto& right = bring_to(ctx, b);
  auto solution = copy_to(ctx, x);
  solve_options<T, S> how;
  how.stop = s.stop;
  how.method = s.method;
  how.preconditioner = s.preconditioner;
  how.restart = s.restart;
  how.order = s.order;
  how.throws = false;
  std::optional<progress_bar> bar;
  if (shows_progress(o)) {
    bar.emplace("setting up", progress_bar::unit::parts, true);
    how.watch = [&](const solve_progress& p) {
      bar->relabel(fmt::format("iteration {}, residual {:.1e}", p.iteration, p.relative_residual));
      return true;
    };
  }
  solve_outcome result;
  result.report = solve(ctx, matrix, right, solution, how);
  bar.reset();
  x = copy_to(host_context(), solution);
  result.rows = a.shape().row;
  result.entries = a.size();
  if (s.verify) result.verified = plain_residual(a, b, x);
  return result;
}

/// The reference rounds nothing to T: the two residuals differ by rounding in T.
template <class T> bool agrees(const solve_outcome& r) {
  const double allowed = std::max(r.report.tolerance, r.report.relative_residual);
  return r.verified <= 1.5 * allowed + 1e3 * std::numeric_limits<T>::epsilon();
}

void report(const options& o, const solve_settings& s, const solve_outcome& result, bool right,
            const std::string& device, const std::string& where) {
  const solve_report& r = result.report;
  if (o.json) {
    json object = {{"command", "solve"},
                   {"matrix", s.matrix},
                   {"rows", result.rows},
                   {"nnz", result.entries},
                   {"b", s.b.empty() ? json{{"seed", o.seed}} : json(s.b)},
                   {"output", s.x.empty() || !r.converged ? json() : json(s.x)},
                   {"precision", o.values == precision::f64 ? "f64" : "f32"},
                   {"order", s.order},
                   {"device", device}};
    if (result.ranks > 0) object["ranks"] = result.ranks;
    object.update(json::parse(r.json()));
    object["verify_residual"] = s.verify ? json(result.verified) : json();
    return print_json(object);
  }
  std::FILE* const to = s.x == "-" ? stderr : stdout;
  if (o.quiet) {
    if (s.x.empty())
      print(to, "{} after {} iterations, residual {:.2e}\n", name_of(r.reason), r.iterations,
            r.relative_residual);
  } else {
    print(to, "A x = b: A is {}, {}, in {}\n", shown(s.matrix),
          human_shape(result.rows, result.rows, result.entries),
          o.values == precision::f64 ? "f64" : "f32");
    if (s.b.empty()) print(to, "b is seeded with {}, as no -b was given\n", o.seed);
    print(to, "{} with preconditioner {} on {}, A as {}\n", r.method, r.preconditioner, where,
          r.storage);
    for (const std::string& why : r.choice) print(to, "  - {}\n", why);
    print(to, "{}", convergence_plot(r.history, terminal_width(1)));
    print(to, "  {} {} after {} iterations: {}\n", r.converged ? "✓" : "✗", name_of(r.reason),
          r.iterations, in_words(r.reason));
    print(to, "  relative residual {:.2e}, {:.2e} was asked for{}\n", r.relative_residual,
          r.tolerance, r.restarts > 0 ? fmt::format(" ({} restarts)", r.restarts) : "");
    print(to, "  {} to set up, {} to solve", human_seconds(r.setup_seconds),
          human_seconds(r.solve_seconds));
    if (r.iterations > 0)
      print(to, ", {} an iteration",
            human_seconds(r.solve_seconds / static_cast<double>(r.iterations)));
    print(to, "\n");
  }
  if (!r.converged && !s.x.empty()) print(stderr, "lacuna: not converged, so no x is written\n");
  if (s.verify && (!o.quiet || !right))
    print(o.quiet ? stderr : to, "  {} by the reference loops the residual is {:.2e}\n",
          right ? "✓" : "✗", result.verified);
}

/// From liblacunapetsc.so, where there is one: with it come MPI and PETSc.
petsc::mpi_solve_function* load_mpi_solve() {
  // MPI's own plug-ins look for its names among the global ones.
  void* const library = ::dlopen(petsc::mpi_solve_library, RTLD_NOW | RTLD_GLOBAL);
  void* const found = library == nullptr ? nullptr : ::dlsym(library, petsc::mpi_solve_name);
  if (found == nullptr)
    throw unsupported(fmt::format("--mpi needs {}, which is built where PETSc is: {}",
                                  petsc::mpi_solve_library, ::dlerror()));
  return reinterpret_cast<petsc::mpi_solve_function*>(found);
}

/// OMP_NUM_THREADS, if set, else 1: there is a rank on every core as a rule.
int threads_of_rank(int asked) {
  if (asked > 0) return asked;
  return std::getenv("OMP_NUM_THREADS") == nullptr ? 1 : host_context().threads();
}

/// Every rank; the first one prints.
int run_on_ranks(const options& o, const solve_settings& s) {
  if (s.matrix == "-" || s.b == "-")
    throw CLI::ValidationError("--mpi", "standard input cannot be shared among ranks");
  if (o.values != precision::f64) throw CLI::ValidationError("--mpi", "needs --precision f64");
  if (s.order != "none") throw CLI::ValidationError("--mpi", "needs --order none");
  (void)host_only(o);
  petsc::mpi_solve_request request{
      s.matrix,         s.b,      s.x,       s.method,
      s.preconditioner, s.stop,   s.restart, threads_of_rank(o.threads),
      o.seed,           s.verify, s.read};
  petsc::mpi_solve_outcome outcome;
  auto* const solve_with_mpi = load_mpi_solve();
  try {
    solve_with_mpi(request, outcome);
  } catch (...) {
    if (outcome.rank == 0) throw;
    return static_cast<int>(exit_done); // all ranks threw it; the job's code is the first one's
  }
  const solve_outcome result{std::move(outcome.report), outcome.rows, outcome.entries,
                             outcome.verified, outcome.ranks};
  const bool right = !s.verify || agrees<double>(result);
  if (outcome.rank == 0)
    report(o, s, result, right, "host",
           fmt::format("{} rank{} of {} thread{}", outcome.ranks, outcome.ranks == 1 ? "" : "s",
                       request.threads, request.threads == 1 ? "" : "s"));
  const bool done = outcome.rank != 0 || (result.report.converged && right);
  return static_cast<int>(done ? exit_done : exit_failed);
}

int run_solve(const options& o, const solve_settings& s) {
  require_output(o, s.x);
  if (s.mpi) return run_on_ranks(o, s);
  if (s.matrix == "-" && s.b == "-")
    throw CLI::ValidationError("-b", "standard input is taken by the matrix");
  return with_values(o.values, [&](auto zero) {
    using T = decltype(zero);
    return on_engine(o, [&](const auto& ctx) {
      const host_context host({o.threads});
      const auto loaded = load_matrix<T>(host, s.matrix, s.read, shows_progress(o));
      array<T> b(host, s.b.empty() ? loaded.about.rows : 0), x(host, loaded.about.cols);
      if (s.b.empty())
        fill_vector(b.view(), o.seed);
      else
        b = naming(s.b, [&] { return io::read_vector<T>(host, s.b, {}); });
      fill(host, 0, x);
      const solve_outcome result = naming(s.b.empty() ? s.matrix : s.matrix + " and " + s.b, [&] {
        return std::visit([&](const auto& a) { return solve_on(o, ctx, a, b, x, s); },
                          loaded.matrix);
      });
      const bool right = !s.verify || agrees<T>(result);
      if (!s.x.empty() && result.report.converged)
        io::write_vector<T>(host, s.x, std::as_const(x).view());
      report(o, s, result, right, engine_name(ctx), engine_text(ctx));
      return static_cast<int>(result.report.converged && right ? exit_done : exit_failed);
    });
  });
}

/// Names as they are, for add_choice.
std::vector<std::pair<std::string, std::string>> by_name(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> choices;
  for (const std::string& name : names) choices.emplace_back(name, name);
  return choices;
}

} // namespace

void add_solve(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("solve", "A x = b by a Krylov method: history, time");
  const auto s = std::make_shared<solve_settings>();
  add_matrix(*command, s->matrix);
  command->add_option("-b", s->b, "the right-hand side (also .npy); default: a fixed, seeded one")
      ->option_text("FILE");
  add_output(*command, s->x, "write x there; - is stdout");
  add_choice<std::string>(*command, "--method", s->method, by_name(solver_methods()),
                          "auto (default): by what the matrix is")
      ->option_text("M");
  add_choice<std::string>(*command, "--precond", s->preconditioner,
                          by_name(solver_preconditioners()), "auto (default), none or one by name")
      ->option_text("P");
  command
      ->add_option("--tol", s->stop.relative,
                   "residual relative to b's length; default: 1e-8, 1e-5 in f32")
      ->check(CLI::Range(0.0, 1.0))
      ->option_text("R");
  command->add_option("--max-iter", s->stop.iterations, "iterations at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->option_text("N");
  command->add_option("--time-limit", s->stop.seconds, "seconds at most")
      ->check(CLI::PositiveNumber)
      ->option_text("S");
  command->add_option("--restart", s->restart, "directions that gmres keeps; default: 30")
      ->check(CLI::Range(1, 500))
      ->option_text("N");
  add_choice<std::string>(*command, "--order", s->order, by_name({"none", "rcm", "band-k"}),
                          "renumber rows and columns first; default: none")
      ->option_text("O");
  command->add_flag("--verify", s->verify, "compute the residual by the reference loops, too");
  command->add_flag("--mpi", s->mpi, "under mpirun: rows are shared among ranks, by PETSc");
  add_read_options(*command, s->read);
  command->footer(
      "Starts from x = 0. Without --method the matrix says which: symmetric with a positive\n"
      "diagonal is cg, symmetric minres, anything else gmres or bicgstab. The residual that is\n"
      "told is computed anew at the end. Not converged is exit code 1, and no x is written.\n\n"
      "Examples:\n"
      "  lacuna solve gen:poisson3d:n=40 --verify\n"
      "  lacuna solve A.mtx -b b.mtx -o x.mtx --tol 1e-10\n"
      "  lacuna solve A.mtx --method gmres --restart 60 --precond jacobi --json\n"
      "  mpirun -n 4 lacuna solve --mpi A.mtx -b b.mtx -o x.mtx");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run_solve(o, *s); }; });
}

} // namespace lacuna::app
