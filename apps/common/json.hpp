// The one JSON object that a command prints with --json.
#pragma once

#include <nlohmann/json.hpp>

namespace lacuna::app {

using json = nlohmann::ordered_json;

/// On stdout. Bytes of names that are no UTF-8 are replaced; numbers that JSON lacks are null.
void print_json(const json& object);

/// A size that may be beyond 2^63: a whole number if it fits.
json json_size(double size);

} // namespace lacuna::app
