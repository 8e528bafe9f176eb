// Figures of published codes on an H200, to stand beside ours.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/measured.hpp"

namespace lacuna::bench {

/// Prints those of y = A x for the matrices that were measured, and adds "published" to the JSON
/// object; does nothing unless the engine is an H200 and f64 was measured.
void print_published(const std::vector<measured_problem>& problems, const std::string& engine,
                     nlohmann::ordered_json& out);
/// The same of C = A A.
void print_published_spgemm(const std::vector<measured_problem>& problems,
                            const std::string& engine, nlohmann::ordered_json& out);

} // namespace lacuna::bench
