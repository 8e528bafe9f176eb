// The end of spmv and spmv-t: one line per matrix about the plan, and the figures that judge it.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/measured.hpp"

namespace lacuna::bench {

/// Prints, and adds "summary" to the JSON object: one element for each precision. The choice is
/// judged only if every format took part.
void print_summary(const std::vector<measured_problem>& problems, bool every_format,
                   nlohmann::ordered_json& out);

} // namespace lacuna::bench
