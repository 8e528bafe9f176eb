// Internal: the choice between formats, a pure function of a matrix's features, a machine and
// hints.
#pragma once

#include <lacuna/plan/tune.hpp>

namespace lacuna {

/// by_environment: hints.format is LACUNA_FORCE_FORMAT's. Throws bad_input if hints make no sense.
LACUNA_EXPORT plan_decision choose_plan(const spmv_features& features, const type_widths& widths,
                                        const spmv_machine& machine, const plan_hints& hints,
                                        bool by_environment = false);
/// Whether the choice looks at more than the matrix's size.
bool looks_at_features(const plan_hints& hints);

/// Hints without a format ask for that of LACUNA_FORCE_FORMAT, if it is set and not empty.
struct heeded_hints {
  plan_hints hints;
  bool by_environment = false;
};
/// Throws bad_input for a name that is none.
LACUNA_EXPORT heeded_hints with_environment(const plan_hints& hints);

std::string explain_plan(const plan_decision& decision, const spmv_machine& machine,
                         const std::string& kernel);
std::string plan_as_json(const plan_decision& decision, const spmv_machine& machine,
                         const std::string& kernel, std::size_t bytes);

} // namespace lacuna
