// What is kept of a run: all its figures, as JSON and as a page with tables and bars.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "bench/settings.hpp"

namespace lacuna::bench {

/// Of what --json keeps, whatever the suite: objects become headings and tables of facts, lists of
/// objects tables, and what was measured of several contestants bars.
std::string figures_page(const nlohmann::ordered_json& figures);

/// Writes the files that --json and --html name. Throws bad_input if one cannot be written.
void keep_figures(const settings& s, const nlohmann::ordered_json& figures);

} // namespace lacuna::bench
