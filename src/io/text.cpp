#include "io/text.hpp"

#include <fmt/format.h>

namespace lacuna::io {

std::string shown(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 60))
    if (c >= ' ' && c <= '~')
      result += c;
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  if (text.size() > 60) result += "...";
  return result;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

} // namespace lacuna::io
