#include "bench/amg.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>

#include "common/print.hpp"
#include "common/text.hpp"

namespace lacuna::bench {
namespace {

using json = nlohmann::ordered_json;

/// Times and iterations of PyAMG, a line for each solver: name, set-up, solve, iterations,
/// complexity, residual.
constexpr const char* pyamg_script = R"(
import sys, time, warnings
warnings.filterwarnings('ignore')
try:
    import numpy, scipy.sparse, pyamg
except ImportError as e:
    print('absent;' + str(e)); sys.exit()
path, rows, tolerance = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
part = lambda end, kind: numpy.fromfile(path + end, kind)
a = scipy.sparse.csr_matrix((part('.values', 'f8'), part('.colind', 'i4'), part('.rowptr', 'i4')), shape=(rows, rows))
b = numpy.random.default_rng(1).uniform(-1, 1, rows)
for name, make in (('smoothed aggregation', pyamg.smoothed_aggregation_solver), ('Ruge-Stuben', pyamg.ruge_stuben_solver)):
    begin = time.perf_counter()
    m = make(a)
    made = time.perf_counter() - begin
    residuals = []
    begin = time.perf_counter()
    x = m.solve(b, tol=tolerance, accel='cg', maxiter=300, residuals=residuals)
    solved = time.perf_counter() - begin
    rest = numpy.linalg.norm(b - a @ x) / numpy.linalg.norm(b)
    print(';'.join(['PyAMG ' + pyamg.__version__ + ': ' + name] + [repr(float(v)) for v in (made, solved, len(residuals) - 1, m.operator_complexity(), rest)]), flush=True)
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

std::vector<amg_line> measure_pyamg(const csr<double>& a, double tolerance) {
  const scratch_folder folder;
  write_raw(folder.file("a.values"), a.values());
  write_raw(folder.file("a.colind"), a.colind());
  write_raw(folder.file("a.rowptr"), a.rowptr());
  std::ofstream(folder.file("solve.py")) << pyamg_script;
  const std::string command = fmt::format("python3 '{}' '{}' {} {} 2>&1", folder.file("solve.py"),
                                          folder.file("a"), a.shape().row, tolerance);
  std::vector<amg_line> lines;
  FILE* const answer = popen(command.c_str(), "r"); // NOLINT(cert-env33-c): a fixed command
  if (answer == nullptr) return {{.name = "PyAMG", .trouble = "python3 does not start"}};
  std::string text;
  std::array<char, 4096> some{};
  while (fgets(some.data(), static_cast<int>(some.size()), answer) != nullptr) text += some.data();
  pclose(answer);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    amg_line one;
    char name[200] = {};
    double iterations = 0;
    if (std::sscanf(line.c_str(), "%199[^;];%lf;%lf;%lf;%lf;%lf", name, &one.set_up, &one.solve,
                    &iterations, &one.complexity, &one.residual) == 6) {
      one.name = name;
      one.iterations = static_cast<int>(iterations);
    } else {
      one = {.name = "PyAMG", .trouble = line};
    }
    lines.push_back(one);
    if (!one.trouble.empty()) break;
  }
  return lines;
}

void print_amg(const std::vector<amg_problem>& all, bool device, json& out) {
  json problems = json::array();
  for (const auto& p : all) {
    app::print("\n{}, {}: {} rows, {} entries; CG to {:g}\n  {:<34} {:>9} {:>9} {:>9} {:>6} {:>10} "
               "{:>9} {:>9}\n",
               p.facts.matrix, p.facts.values, app::human_count(p.facts.rows),
               app::human_count(p.facts.nnz), p.tolerance, "ms", "set-up", "solve", "together",
               "iter.", "complexity", "MB", "update");
    json lines = json::array();
    for (const auto& l : p.lines) {
      lines.push_back(amg_line_as_json(l));
      if (!l.trouble.empty()) {
        app::print("  {:<34} {}\n", l.name, l.trouble);
        continue;
      }
      app::print("  {:<34} {:>9.2f} {:>9.2f} {:>9.2f} {:>6} {:>10.2f} {:>9} {:>9}\n", l.name,
                 1e3 * l.set_up, 1e3 * l.solve, 1e3 * (l.set_up + l.solve),
                 l.iterations >= 300 ? "none" : std::to_string(l.iterations), l.complexity,
                 l.bytes > 0 ? fmt::format("{:.1f}", 1e-6 * l.bytes) : "-",
                 l.update > 0 ? fmt::format("{:.2f}", 1e3 * l.update) : "-");
    }
    if (device)
      for (const auto& q : published_amgs)
        if (p.facts.matrix == q.matrix) {
          app::print("  {:<34} {:>9.2f} {:>9.2f} {:>9.2f}\n", "published, H200: AMGX 2.5, best",
                     q.amgx_set_up, q.amgx_solve, q.amgx_set_up + q.amgx_solve);
          app::print("  {:<34} {:>9} {:>9.2f}\n", "published, H200: AMGCL", "-", q.amgcl_solve);
        }
    app::print("  {}", p.explained);
    problems.push_back({{"matrix", p.facts.matrix},
                        {"precision", p.facts.values},
                        {"rows", p.facts.rows},
                        {"nnz", p.facts.nnz},
                        {"tolerance", p.tolerance},
                        {"lines", lines}});
  }
  out["amg"] = problems;
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
