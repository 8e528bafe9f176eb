// The matrices a suite runs on: generator specifications.
#pragma once

#include "bench/settings.hpp"

namespace lacuna::bench {

/// The set of the size asked for, or else of `usual` size; or what the user named: "rmat" picks
/// from the set, "rmat:scale=18" (gen: may stand before it) is a specification. Throws bad_input
/// for a name that is neither.
std::vector<std::string> choose_matrices(const settings& s, size_class usual);

/// Regular grids, on which the memory's bandwidth is the only limit.
bool is_stencil(const std::string& spec);

} // namespace lacuna::bench
