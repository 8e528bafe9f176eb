#include <lacuna/solver/report.hpp>

#include <cmath>
#include <ostream>

#include <fmt/format.h>

namespace lacuna {

const char* name_of(stop_reason reason) {
  switch (reason) {
  case stop_reason::none: return "none";
  case stop_reason::converged: return "converged";
  case stop_reason::iteration_limit: return "iteration_limit";
  case stop_reason::time_limit: return "time_limit";
  case stop_reason::stagnation: return "stagnation";
  case stop_reason::breakdown_rho: return "breakdown_rho";
  case stop_reason::breakdown_omega: return "breakdown_omega";
  case stop_reason::breakdown_pivot: return "breakdown_pivot";
  case stop_reason::indefinite: return "indefinite";
  case stop_reason::nan: return "nan";
  case stop_reason::precision_limit: return "precision_limit";
  case stop_reason::cancelled: break;
  }
  return "cancelled";
}

const char* in_words(stop_reason reason) {
  switch (reason) {
  case stop_reason::none: return "it did not run";
  case stop_reason::converged: return "the residual is small enough";
  case stop_reason::iteration_limit: return "the limit of iterations was reached";
  case stop_reason::time_limit: return "the time was up";
  case stop_reason::stagnation: return "the residual no longer falls";
  case stop_reason::breakdown_rho:
    return "it broke down: the residual is orthogonal to its directions";
  case stop_reason::breakdown_omega: return "it broke down: a step of length 0";
  case stop_reason::breakdown_pivot:
    return "it broke down: the matrix is singular on the directions";
  case stop_reason::indefinite: return "the matrix or the preconditioner is not positive definite";
  case stop_reason::nan: return "a NaN or Inf appeared";
  case stop_reason::precision_limit:
    return "the limit of the number type's precision is reached: rounding A x leaves more than was "
           "asked for";
  case stop_reason::cancelled: break;
  }
  return "it was cancelled";
}

namespace {
/// A number as JSON has it.
std::string json_number(double v) { return std::isfinite(v) ? fmt::format("{}", v) : "null"; }
std::string json_text(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) result += c;
  }
  return result + "\"";
}
} // namespace

std::string solve_report::text() const {
  std::string result = fmt::format("{}, preconditioner {}", method, preconditioner);
  if (!storage.empty()) result += fmt::format(", A as {}", storage);
  result +=
      fmt::format("\n{} after {} iteration{}: {}\n", converged ? "converged" : "not converged",
                  iterations, iterations == 1 ? "" : "s", in_words(reason));
  result +=
      fmt::format("relative residual {:.3g} (asked for {:.3g})", relative_residual, tolerance);
  if (columns.size() > 1)
    result += fmt::format(", the worst of {} right-hand sides", columns.size());
  if (restarts > 0) result += fmt::format(", {} restart{}", restarts, restarts == 1 ? "" : "s");
  result += fmt::format("\n{:.3g} s to set up, {:.3g} s to solve\n", setup_seconds, solve_seconds);
  for (const std::string& why : choice) result += "- " + why + "\n";
  return result;
}

std::string solve_report::json() const {
  std::string result = fmt::format(
      R"({{"method": "{}", "preconditioner": {}, "converged": {}, "reason": "{}", "iterations": {}, )"
      R"("relative_residual": {}, "residual": {}, "tolerance": {}, "restarts": {}, )"
      R"("setup_seconds": {}, "solve_seconds": {}, "storage": {})",
      method, json_text(preconditioner), converged, name_of(reason), iterations,
      json_number(relative_residual), json_number(residual), json_number(tolerance), restarts,
      json_number(setup_seconds), json_number(solve_seconds), json_text(storage));
  const auto list = [&](const char* name, const auto& items, auto as_json) {
    result += fmt::format(R"(, "{}": [)", name);
    for (std::size_t i = 0; i < items.size(); ++i)
      result += (i > 0 ? ", " : "") + as_json(items[i]);
    result += "]";
  };
  list("history", history, json_number);
  list("columns", columns, [](const solved_column& c) {
    return fmt::format(
        R"({{"converged": {}, "reason": "{}", "iterations": {}, "relative_residual": {}}})",
        c.converged, name_of(c.reason), c.iterations, json_number(c.relative_residual));
  });
  list("choice", choice, json_text);
  list("levels", levels, [](const level& l) {
    return fmt::format(R"({{"rows": {}, "nnz": {}}})", l.rows, l.entries);
  });
  result += fmt::format(R"(, "operator_complexity": {}}})",
                        levels.empty() ? "null" : json_number(operator_complexity));
  return result;
}

std::ostream& operator<<(std::ostream& out, const solve_report& report) {
  return out << report.text();
}

not_solved::not_solved(solve_report r)
    : not_converged(fmt::format("{} did not converge: {}; relative residual {:.3g} after {} "
                                "iterations, {:.3g} was asked for",
                                r.method, in_words(r.reason), r.relative_residual, r.iterations,
                                r.tolerance)),
      report_(std::move(r)) {}

} // namespace lacuna
