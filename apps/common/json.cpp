#include "common/json.hpp"

#include <cstdio>
#include <fmt/format.h>

namespace lacuna::app {

void print_json(const json& object) {
  fmt::print("{}\n", object.dump(2, ' ', false, json::error_handler_t::replace));
}

json json_size(double size) {
  return size < 0x1p63 ? json(static_cast<std::int64_t>(size)) : json(size);
}

} // namespace lacuna::app
