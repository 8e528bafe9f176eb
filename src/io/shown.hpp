// Pieces of a file in messages.
#pragma once

#include <string>
#include <string_view>

namespace lacuna::io {

/// Cut after 60 bytes; what is not printable ASCII becomes \xNN: files may hold anything.
std::string shown(std::string_view piece);

} // namespace lacuna::io
