// Text from outside, such as names of files, as a terminal can show it.
#pragma once

#include <string>
#include <string_view>

#include <lacuna/core/export.hpp>

namespace lacuna {

/// Control characters, among them escape sequences and line ends, and bytes that are not UTF-8 as
/// \xNN; all else as it is. What Lacuna throws about a file has been through it.
LACUNA_EXPORT std::string printable(std::string_view text);

} // namespace lacuna
