#include "io/shown.hpp"

#include <fmt/format.h>

namespace lacuna::io {

std::string shown(std::string_view piece) {
  std::string result;
  for (const char c : piece.substr(0, 60))
    if (c >= ' ' && c <= '~')
      result += c;
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  if (piece.size() > 60) result += "...";
  return result;
}

} // namespace lacuna::io
