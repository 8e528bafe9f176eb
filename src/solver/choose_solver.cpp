// Which method and which preconditioner a matrix gets: a pure function of what was found in it.
#include <algorithm>

#include <fmt/format.h>

#include <lacuna/solver/solve.hpp>

namespace lacuna {
namespace {

constexpr krylov_method all_methods[] = {krylov_method::cg, krylov_method::flexible_cg,
                                         krylov_method::minres, krylov_method::bicgstab,
                                         krylov_method::gmres};

/// GMRES keeps its directions: beyond this many rows that memory is better spent otherwise.
constexpr std::int64_t most_gmres_rows = 4'000'000;
/// Below it CG alone is as fast as making a hierarchy.
constexpr std::int64_t least_amg_rows = 5'000;

krylov_method pick_method(const system_features& a, bool linear, bool symmetric,
                          std::vector<std::string>& why) {
  if (!a.symmetric() || !symmetric) {
    if (!a.symmetric())
      why.push_back(
          a.unmatched > 0
              ? fmt::format("the pattern is not symmetric: {} entries have no counterpart",
                            a.unmatched)
              : fmt::format("the values are not symmetric: {} differ from their counterparts",
                            a.unsymmetric));
    else
      why.emplace_back("the preconditioner is not symmetric");
    if (a.rows <= most_gmres_rows || !linear) {
      why.emplace_back("gmres: its residual never grows");
      return krylov_method::gmres;
    }
    why.emplace_back("bicgstab: a few vectors, where gmres would keep too many of this length");
    return krylov_method::bicgstab;
  }
  if (a.zero_diagonals + a.negative_diagonals > 0) {
    why.push_back(
        fmt::format("symmetric, and {} diagonal entries are not positive, so indefinite: minres",
                    a.zero_diagonals + a.negative_diagonals));
    return krylov_method::minres;
  }
  why.push_back(
      linear ? "symmetric with a positive diagonal: cg"
             : "symmetric with a positive diagonal, and the preconditioner varies: flexible_cg");
  return linear ? krylov_method::cg : krylov_method::flexible_cg;
}

/// A preconditioner must not make a symmetric method's operator indefinite.
std::string pick_preconditioner(const system_features& a, krylov_method method,
                                std::vector<std::string>& why) {
  if (a.zero_diagonals > 0) {
    why.push_back(fmt::format("no preconditioner: {} diagonal entries are 0", a.zero_diagonals));
    return "none";
  }
  const bool wants_positive = method == krylov_method::cg || method == krylov_method::flexible_cg ||
                              method == krylov_method::minres;
  if (wants_positive && a.negative_diagonals > 0) {
    why.push_back(fmt::format("no preconditioner: {} diagonal entries are negative, and {} wants a "
                              "positive definite one",
                              a.negative_diagonals, name_of(method)));
    return "none";
  }
  if (!a.symmetric()) {
    why.emplace_back("ilu0: the diagonal has no zeros");
    return "ilu0";
  }
  if (a.rows >= least_amg_rows && a.dominant_rows >= a.rows / 2) {
    why.push_back(fmt::format("amg: {} of {} rows are diagonally dominant, as a Laplacian's are",
                              a.dominant_rows, a.rows));
    return "amg";
  }
  why.emplace_back(a.rows < least_amg_rows ? "jacobi: few rows, and no zeros on the diagonal"
                                           : "jacobi: the diagonal has no zeros");
  return "jacobi";
}

} // namespace

std::vector<std::string> solver_methods() {
  std::vector<std::string> names = {"auto"};
  for (const krylov_method m : all_methods) names.emplace_back(name_of(m));
  return names;
}

solver_choice choose_solver(const system_features& a, const std::string& method,
                            const std::string& preconditioner, bool linear, bool symmetric) {
  solver_choice result;
  if (method == "auto") {
    result.method = pick_method(a, linear, symmetric, result.reasons);
  } else {
    const auto* const found = std::find_if(std::begin(all_methods), std::end(all_methods),
                                           [&](krylov_method m) { return method == name_of(m); });
    if (found == std::end(all_methods))
      throw bad_input(fmt::format("solve: '{}' is no method; there are {}", method,
                                  fmt::join(solver_methods(), ", ")));
    result.method = *found;
    result.reasons.push_back(method + " was asked for");
  }
  const auto names = solver_preconditioners();
  if (std::find(names.begin(), names.end(), preconditioner) == names.end())
    throw bad_input(fmt::format("solve: '{}' is no preconditioner; there are {}", preconditioner,
                                fmt::join(names, ", ")));
  if (preconditioner == "auto") {
    result.preconditioner = pick_preconditioner(a, result.method, result.reasons);
  } else {
    result.preconditioner = preconditioner;
    result.reasons.push_back(preconditioner == "none" ? "no preconditioner was asked for"
                                                      : preconditioner + " was asked for");
  }
  return result;
}

} // namespace lacuna
