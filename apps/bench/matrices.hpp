// The matrices a suite runs on: generator specifications and files.
#pragma once

#include "bench/settings.hpp"

namespace lacuna::bench {

struct matrix_source {
  std::string name;            ///< a specification, or a file's name without folder and ending
  std::string file = {};       ///< its path; empty: generated
  bool optional = false;       ///< of --real: left out if it is small or cannot be read
  std::string stands_for = {}; ///< a matrix of a paper's; empty: none in particular
};

/// The suite's set, of the size asked for or else of `usual` size; or what the user named: "rmat"
/// picks from the set, "rmat:scale=18" (gen: may stand before it) is a specification, a.mtx.gz a
/// file, "none" nothing. Behind it the files of --real, by name. Throws bad_input for a name that
/// is none of these, and for a folder that cannot be read.
std::vector<matrix_source> choose_matrices(const settings& s, size_class usual);

/// Reads or generates. Throws what io::read_csr and gen::generate throw.
csr<double> load(const host_context& ctx, const matrix_source& source);

/// Regular grids, on which the memory's bandwidth is the only limit.
bool is_stencil(const std::string& spec);

} // namespace lacuna::bench
