// Numbers as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lacuna::app {

std::string human_bytes(double bytes);       ///< "176 MB", powers of 1000
std::string human_count(std::int64_t count); ///< "14.6 M"
std::string human_seconds(double seconds);   ///< "12.3 ms"

/// Progress lines go there only then.
bool stderr_is_terminal();

} // namespace lacuna::app
