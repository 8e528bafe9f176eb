// Where memory lives. A space is part of every owner's and view's type, so host and device
// memory cannot be mixed by accident: the mixture does not compile.
#pragma once

#include <lacuna/core/require_cxx20.hpp>

namespace lacuna {

enum class space { host, device };

/// "host" or "device".
constexpr const char* to_string(space s) { return s == space::host ? "host" : "device"; }

} // namespace lacuna
