// Where memory lives. A space is part of every owner's and view's type, so host and device
// memory cannot be mixed by accident: the mixture does not compile.
#pragma once

#include <lacuna/core/export.hpp>

namespace lacuna {

/// Exported: Clang hides what is instantiated for a value of a hidden type.
enum class LACUNA_EXPORT space { host, device };

/// "host" or "device".
constexpr const char* to_string(space s) { return s == space::host ? "host" : "device"; }

} // namespace lacuna
