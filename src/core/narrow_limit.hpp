// For tests: a lower limit of 32-bit indices.
#pragma once

#include <lacuna/core/checked.hpp>

namespace lacuna::detail {

/// Sets narrow_limit() (0 restores 2^31 - 1) and returns what it was.
LACUNA_EXPORT std::int64_t set_narrow_limit(std::int64_t limit) noexcept;

} // namespace lacuna::detail
