#include "bench/amg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>

#include "common/print.hpp"
#include "common/text.hpp"
#include <lacuna/op/transpose.hpp>

namespace lacuna::bench {
namespace {

using json = nlohmann::ordered_json;

/// PyAMG's two solvers, answering like the programs of peers/multigrid_exchange.hpp.
constexpr const char* pyamg_script = R"(
import sys, time, warnings
warnings.filterwarnings('ignore')
try:
    import numpy, scipy.sparse, pyamg
except ImportError as e:
    print('absent: ' + str(e)); sys.exit()
path, rows, tolerance, unknowns, vectors, rounds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6])
part = lambda end, kind: numpy.fromfile(path + end, kind)
a = scipy.sparse.csr_matrix((part('.values', 'f8'), part('.colind', 'i4'), part('.rowptr', 'i4')), shape=(rows, rows))
b = part('.b', 'f8')
if unknowns > 1: a = a.tobsr(blocksize=(unknowns, unknowns))
near = part('.near', 'f8').reshape(vectors, rows).T.copy() if vectors > 0 else None
makers = [('smoothed aggregation', lambda: pyamg.smoothed_aggregation_solver(a, B=near))]
if unknowns == 1: makers.append(('Ruge-Stuben', lambda: pyamg.ruge_stuben_solver(a)))
for k, (name, make) in enumerate(makers):
    begin = time.perf_counter()
    m = make()
    made = time.perf_counter() - begin
    residuals = []
    begin = time.perf_counter()
    x = m.solve(b, tol=tolerance, accel='cg', maxiter=300, residuals=residuals)
    solved = time.perf_counter() - begin
    x.tofile(path + '.x' + str(k))
    print(';'.join(['PyAMG ' + pyamg.__version__ + ': ' + name] + [repr(float(v)) for v in (made, solved, len(residuals) - 1, m.operator_complexity())]), flush=True)
)";

/// A folder for files of this process, gone with it.
class scratch_folder {
public:
  scratch_folder()
      : path_(std::filesystem::temp_directory_path() / fmt::format("lacuna-amg-{}", getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

private:
  std::filesystem::path path_;
};

template <class V> void write_raw(const std::string& path, const V& v) {
  std::ofstream to(path, std::ios::binary);
  to.write(reinterpret_cast<const char*>(v.data()),
           static_cast<std::streamsize>(sizeof(v.data()[0]) * static_cast<std::size_t>(v.size())));
}

/// AMGX 2.5's best of five configurations on an H200, set-up and solution to 1e-8 in ms, and what
/// AMGCL's CUDA backend needs to solve after set-up on 16 cores.
struct published_amg {
  const char* matrix;
  double amgx_set_up, amgx_solve, amgcl_solve;
};
constexpr std::array<published_amg, 5> published_amgs = {{{"poisson2d:n=1024", 24, 15, 14},
                                                          {"poisson3d:n=64", 15, 9, 25},
                                                          {"poisson3d:n=128", 32, 32, 26},
                                                          {"poisson3d27:n=128", 31, 44, 29},
                                                          {"poisson3d:n=256", 177, 155, 138}}};

json amg_line_as_json(const amg_line& l) {
  return {{"name", l.name},
          {"set_up_seconds", l.set_up},
          {"solve_seconds", l.solve},
          {"update_seconds", l.update},
          {"iterations", l.iterations},
          {"operator_complexity", l.complexity},
          {"bytes", l.bytes},
          {"residual", l.residual},
          {"formats", l.formats},
          {"trouble", l.trouble}};
}

} // namespace

amg_system system_of(const std::string& spec) {
  long n = 0;
  if (std::sscanf(spec.c_str(), "elasticity3d:n=%ld", &n) != 1 ||
      spec.find("clamped=0") < spec.size())
    return {};
  // Points of a grid of bricks without those of its first layer, x fastest.
  std::vector<double> at;
  for (long z = 1; z <= n; ++z)
    for (long y = 0; y <= n; ++y)
      for (long x = 0; x <= n; ++x)
        for (const long c : {x, y, z}) at.push_back(static_cast<double>(c));
  return {3, rigid_body_modes(at, 3)};
}

csr<double> laplacian_of(const host_context& ctx, const csr<double>& a) {
  constexpr double ground = 1e-4;
  const std::int64_t n = a.shape().row;
  if (n != a.shape().col) return {};
  const auto counterparts = transpose(ctx, a);
  if (!std::ranges::equal(counterparts.rowptr(), a.rowptr()) ||
      !std::ranges::equal(counterparts.colind(), a.colind()))
    return {};
  csr<double> l(ctx, a.shape(), static_cast<offset_t>(a.size() + n), {true, true});
  std::int64_t to = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    l.rowptr()[i] = static_cast<offset_t>(to);
    const auto first = a.rowptr()[i], last = a.rowptr()[i + 1];
    bool before = true; // the diagonal
    for (auto k = first; k <= last; ++k) {
      if (before && (k == last || a.colind()[k] >= i)) {
        l.colind()[to] = static_cast<index_t>(i);
        l.values()[to++] = static_cast<double>(last - first) + ground;
        before = false;
      }
      if (k == last) break;
      if (a.colind()[k] == i) return {};
      l.colind()[to] = a.colind()[k];
      l.values()[to++] = -1;
    }
  }
  l.rowptr()[n] = static_cast<offset_t>(to);
  return l;
}

namespace {

/// Relative to b; 1e300 if it is no number.
double residual_of(const csr<double>& a, const array<double>& b, const std::string& file) {
  std::vector<double> x(static_cast<std::size_t>(a.shape().col));
  std::ifstream from(file, std::ios::binary);
  if (!from.read(reinterpret_cast<char*>(x.data()),
                 static_cast<std::streamsize>(x.size() * sizeof(double))))
    return 1e300;
  double rest = 0, all = 0;
  for (std::int64_t i = 0; i < a.shape().row; ++i) {
    double r = b[i];
    for (auto k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
      r -= a.values()[k] * x[static_cast<std::size_t>(a.colind()[k])];
    rest += r * r;
    all += b[i] * b[i];
  }
  const double relative = std::sqrt(rest / all);
  return std::isfinite(relative) ? relative : 1e300;
}

/// Runs a command and makes a line of each line it prints.
std::vector<amg_line> answers_of(const std::string& name, const std::string& command,
                                 const csr<double>& a, const array<double>& b,
                                 const std::string& path) {
  FILE* const answer = popen((command + " 2>&1").c_str(), "r"); // NOLINT(cert-env33-c): ours
  if (answer == nullptr) return {{.name = name, .trouble = "does not start"}};
  std::vector<amg_line> lines;
  std::array<char, 4096> text{};
  while (fgets(text.data(), static_cast<int>(text.size()), answer) != nullptr) {
    amg_line one;
    char own_name[200] = {};
    double iterations = 0;
    if (std::sscanf(text.data(), "%199[^;];%lf;%lf;%lf;%lf", own_name, &one.set_up, &one.solve,
                    &iterations, &one.complexity) == 5) {
      one.name = own_name;
      one.iterations = static_cast<int>(iterations);
      one.residual = residual_of(a, b, path + ".x" + std::to_string(lines.size()));
    } else {
      one = {.name = name, .trouble = std::string(text.data())};
      one.trouble.erase(std::min(one.trouble.find('\n'), one.trouble.size()));
    }
    lines.push_back(one);
    if (!one.trouble.empty()) break;
  }
  pclose(answer);
  return lines;
}

} // namespace

std::vector<amg_line> measure_others(const csr<double>& a, const array<double>& b,
                                     const amg_system& with, double tolerance, int rounds,
                                     int threads) {
  const scratch_folder folder;
  const std::string path = folder.file("a");
  write_raw(path + ".values", a.values());
  write_raw(path + ".colind", a.colind());
  write_raw(path + ".rowptr", a.rowptr());
  write_raw(path + ".b", b);
  write_raw(path + ".near", with.near_null_space);
  std::ofstream(folder.file("solve.py")) << pyamg_script;
  const std::string task =
      fmt::format(" '{}' {} {} {} {} {}", path, a.shape().row, tolerance, with.unknowns_per_node,
                  static_cast<std::int64_t>(with.near_null_space.size()) / a.shape().row, rounds);
  std::error_code ignored;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<amg_line> lines;
  const auto ask = [&](const char* name, const std::string& command) {
    for (amg_line& l : answers_of(name, command, a, b, path)) lines.push_back(std::move(l));
  };
  const auto program = [&](const char* name, const char* file, const std::string& how) {
    const auto full = beside / file;
    if (!std::filesystem::exists(full))
      lines.push_back({.name = name, .trouble = "not built: it was not found"});
    else
      ask(name, how + " '" + full.string() + "'" + task);
  };
  program("PETSc, hypre", "lacuna-bench-multigrid-petsc",
          fmt::format("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 "
                      "mpirun --oversubscribe -n {}",
                      threads));
  program("AMGCL", "lacuna-bench-multigrid-amgcl", fmt::format("OMP_NUM_THREADS={}", threads));
  const char* const python = std::getenv("LACUNA_PYTHON");
  ask("PyAMG",
      fmt::format("'{}' '{}'", python != nullptr ? python : "python3", folder.file("solve.py")) +
          task);
  return lines;
}

void print_amg(const amg_problem& p, bool device, json& out) {
  app::print("\n{}, {}: {} rows, {} entries; CG to {:g}\n  {:<42} {:>9} {:>9} {:>9} {:>6} {:>10} "
             "{:>9} {:>9}\n",
             p.facts.matrix, p.facts.values, app::human_count(p.facts.rows),
             app::human_count(p.facts.nnz), p.tolerance, "ms", "set-up", "solve", "together",
             "iter.", "complexity", "MB", "update");
  json lines = json::array();
  for (const auto& l : p.lines) {
    lines.push_back(amg_line_as_json(l));
    if (!l.trouble.empty()) {
      app::print("  {:<42} {}\n", l.name, l.trouble);
      continue;
    }
    app::print("  {:<42} {:>9.2f} {:>9.2f} {:>9.2f} {:>6} {:>10.2f} {:>9} {:>9}\n", l.name,
               1e3 * l.set_up, 1e3 * l.solve, 1e3 * (l.set_up + l.solve),
               l.iterations >= 300 ? "none" : std::to_string(l.iterations), l.complexity,
               l.bytes > 0 ? fmt::format("{:.1f}", 1e-6 * l.bytes) : "-",
               l.update > 0 ? fmt::format("{:.2f}", 1e3 * l.update) : "-");
  }
  const auto best_of = [&](bool ours) { // together, of those that solved it
    const amg_line* best = nullptr;
    for (const auto& l : p.lines)
      if (l.trouble.empty() && l.name.starts_with("Lacuna") == ours &&
          l.residual <= 10 * p.tolerance &&
          (best == nullptr || l.set_up + l.solve < best->set_up + best->solve))
        best = &l;
    return best;
  };
  const amg_line *us = best_of(true), *them = best_of(false);
  if (us != nullptr && them != nullptr)
    app::print("  {} takes 1 / {:.2f} of {}\n", us->name,
               (them->set_up + them->solve) / (us->set_up + us->solve), them->name);
  if (device)
    for (const auto& q : published_amgs)
      if (p.facts.matrix == q.matrix) {
        app::print("  {:<42} {:>9.2f} {:>9.2f} {:>9.2f}\n", "published, H200: AMGX 2.5, best",
                   q.amgx_set_up, q.amgx_solve, q.amgx_set_up + q.amgx_solve);
        app::print("  {:<42} {:>9} {:>9.2f}\n", "published, H200: AMGCL", "-", q.amgcl_solve);
      }
  app::print("  {}", p.explained);
  out["amg"].push_back({{"matrix", p.facts.matrix},
                        {"precision", p.facts.values},
                        {"rows", p.facts.rows},
                        {"nnz", p.facts.nnz},
                        {"tolerance", p.tolerance},
                        {"lines", lines}});
}

std::vector<std::pair<std::string, std::string>> king_poisson(size_class size, bool all) {
  const bool small = size == size_class::small;
  const int plane = small ? 64 : 512, cube = small ? 16 : 64;
  std::vector<std::pair<std::string, std::string>> set;
  const auto add = [&](const char* letter, int factor) {
    set.emplace_back(fmt::format("2-5-{}", letter), fmt::format("poisson2d:n={}", factor * plane));
    set.emplace_back(fmt::format("2-9-{}", letter), fmt::format("poisson2d9:n={}", factor * plane));
    set.emplace_back(fmt::format("3-7-{}", letter), fmt::format("poisson3d:n={}", factor * cube));
    set.emplace_back(fmt::format("3-27-{}", letter),
                     fmt::format("poisson3d27:n={}", factor * cube));
  };
  add("a", 1);
  if (all) add("b", 2);
  return set;
}

void print_king_amg(const std::vector<king_amg>& all, json& out) {
  app::print("\nTable V and figure 6: set-up of smoothed-aggregation AMG, Galerkin products by "
             "Lacuna's method and by expansion and sorting\n"
             "  (the paper, on a K20c: Galerkin 30 to 50 % of set-up, up to 3 times as fast as "
             "expand-sort in CSR, set-up up to 40 % faster)\n"
             "  {:<8} {:<20} {:>10} {:>11} {:>10} {:>8} {:>12} {:>14} {:>9} {:>15}\n",
             "", "", "unknowns", "entries", "set-up ms", "Galerkin", "Galerkin ms",
             "expand-sort ms", "speed-up", "set-up speed-up");
  json rows = json::array();
  for (const auto& f : all) {
    const double others = f.set_up - f.galerkin;
    const double whole = (others + f.expand_sort) / (others + f.adaptive);
    app::print("  {:<8} {:<20} {:>10} {:>11} {:>10.2f} {:>6.0f} % {:>12.2f} {:>14.2f} {:>9.2f} "
               "{:>15.2f}\n",
               f.name, f.spec, f.rows, f.entries, 1e3 * f.set_up, 100 * f.galerkin / f.set_up,
               1e3 * f.adaptive, 1e3 * f.expand_sort, f.expand_sort / f.adaptive, whole);
    rows.push_back({{"matrix", f.name},
                    {"spec", f.spec},
                    {"rows", f.rows},
                    {"nnz", f.entries},
                    {"set_up_seconds", f.set_up},
                    {"galerkin_share", f.galerkin / f.set_up},
                    {"galerkin_seconds", f.adaptive},
                    {"expand_sort_seconds", f.expand_sort},
                    {"set_up_speed_up", whole}});
  }
  out["table_5"] = rows;
}

} // namespace lacuna::bench
