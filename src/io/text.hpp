// Words of files and names.
#pragma once

#include <string>
#include <string_view>

namespace lacuna::io {

/// For messages: cut after 60 bytes; what is not printable ASCII becomes \xNN: files may hold
/// anything.
std::string shown(std::string_view text);
/// ASCII letters only, whatever the locale.
std::string lower_case(std::string_view text);

} // namespace lacuna::io
