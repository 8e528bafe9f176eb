// Tables of the contests whose result is a matrix.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/measured.hpp"

namespace lacuna::bench {

void print_result_table(const measured_problem& p);

/// The end of spgemm: one line per matrix, and the ratios of those that means are made of. Adds
/// "summary" to the JSON object: one element for each precision.
void print_spgemm_summary(const std::vector<measured_problem>& problems,
                          nlohmann::ordered_json& out);

} // namespace lacuna::bench
