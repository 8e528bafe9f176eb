// All generators by name.
#pragma once

#include "gen/parameters.hpp"
#include "gen/source.hpp"

namespace lacuna::gen {

struct generator {
  std::string_view name;
  std::vector<parameter> parameters;
  std::string_view summary;
  std::string_view resembles; ///< a matrix of the SuiteSparse collection, or of practice
  source (*make)(const arguments&);
};

const std::vector<generator>& table();

} // namespace lacuna::gen
