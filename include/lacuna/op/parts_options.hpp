// How work in parts on several devices treats those in the caller's own place.
#pragma once

#include <lacuna/core/require_cxx20.hpp>

namespace lacuna {

struct parts_options {
  /// Matrices and vectors are copied to parts in ctx's own place, too, as to another device: for
  /// tests where there is only one.
  bool copy_always = false;
};

} // namespace lacuna
