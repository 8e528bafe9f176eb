#include "common/json.hpp"

#include "common/print.hpp"

namespace lacuna::app {

void print_json(const json& object) {
  print_bytes(object.dump(2, ' ', !shows_unicode(), json::error_handler_t::replace) + "\n");
}

json json_size(double size) {
  return size < 0x1p63 ? json(static_cast<std::int64_t>(size)) : json(size);
}

} // namespace lacuna::app
