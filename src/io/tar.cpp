#include "io/tar.hpp"

#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

constexpr std::int64_t block = 512;
using header = std::array<char, block>;

std::string_view text_field(const header& h, std::size_t at, std::size_t size) {
  const std::string_view all(h.data() + at, size);
  return all.substr(0, all.find('\0'));
}

[[noreturn]] void fail(const std::string& why, const std::string& name) {
  throw bad_input("as a tar archive: " + why, name, 0);
}

std::int64_t octal(const header& h, std::size_t at, std::size_t size, const std::string& name) {
  auto digits = text_field(h, at, size);
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value, 8);
  if (parsed.ec != std::errc{} || parsed.ptr != end || value < 0)
    fail(fmt::format("'{}' is not an octal number", digits), name);
  return value;
}

/// In octal or, beyond 8 GB, in base 256.
std::int64_t size_of(const header& h, const std::string& name) {
  if ((static_cast<unsigned char>(h[124]) & 0x80U) == 0) return octal(h, 124, 12, name);
  std::uint64_t value = 0;
  for (std::size_t k = 128; k < 136; ++k) value = value << 8 | static_cast<unsigned char>(h[k]);
  if (value > INT64_MAX / 2) fail("a size does not fit 64 bits", name);
  return static_cast<std::int64_t>(value);
}

std::string path_of(const header& h) {
  const std::string prefix(text_field(h, 345, 155)), name(text_field(h, 0, 100));
  const bool ustar = std::string_view(h.data() + 257, 5) == "ustar";
  return ustar && !prefix.empty() ? prefix + "/" + name : name;
}

/// Records "LENGTH key=value\n".
void pax_path(std::string_view records, std::string& path) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto parsed = std::from_chars(records.data(), records.data() + records.size(), length);
    if (parsed.ec != std::errc{} || length == 0 || length > records.size()) return;
    const auto record = records.substr(0, length);
    const auto key = record.find(" path=");
    if (key != std::string_view::npos) {
      path = record.substr(key + 6);
      if (path.ends_with('\n')) path.pop_back();
    }
    records.remove_prefix(length);
  }
}

} // namespace

bool is_tar(std::span<const char> first) {
  return first.size() >= static_cast<std::size_t>(block) &&
         std::string_view(first.data() + 257, 5) == "ustar";
}

std::size_t tar_stream::read(char* to, std::size_t size) {
  const auto wanted = static_cast<std::size_t>(std::min(static_cast<std::int64_t>(size), left_));
  if (wanted == 0) return 0;
  const std::size_t got = archive_->read(to, wanted);
  if (got == 0) fail("ends in the middle of a file", name_);
  left_ -= static_cast<std::int64_t>(got);
  return got;
}

bool tar_stream::next() {
  std::string long_name;
  while (!ended_) {
    skip(left_ + padding_);
    left_ = padding_ = 0;
    header h;
    read_header(h.data());
    if (h == header{}) { // zeros mark the end
      ended_ = true;
      break;
    }
    std::int64_t sum = 8 * ' '; // the checksum's own place counts as blanks
    for (std::size_t k = 0; k < h.size(); ++k)
      if (k < 148 || k >= 156) sum += static_cast<unsigned char>(h[k]);
    if (octal(h, 148, 8, name_) != sum) fail("a header's checksum is wrong", name_);
    left_ = size_of(h, name_);
    padding_ = (block - left_ % block) % block;
    const char type = h[156];
    if (type == 'L')
      long_name = text();
    else if (type == 'x')
      pax_path(text(), long_name);
    else if (type == '0' || type == '\0' || type == '7') {
      path_ = !long_name.empty() ? long_name : path_of(h);
      if (!path_.ends_with('/')) return true; // a folder, as tar of 1979 marked it
    } else if (type != 'g')
      long_name.clear(); // a folder or link
  }
  // What a compressed archive's checksum says is known at its very end only.
  std::array<char, 1 << 14> waste;
  while (archive_->read(waste.data(), waste.size()) > 0) {
  }
  return false;
}

void tar_stream::read_header(char* to) {
  for (std::size_t done = 0; done < static_cast<std::size_t>(block);) {
    const std::size_t got = archive_->read(to + done, static_cast<std::size_t>(block) - done);
    if (got == 0)
      fail(done == 0 ? "is cut off: the zeros that mark its end are missing"
                     : "ends in the middle of a header",
           name_);
    done += got;
  }
}

/// The contents of a small file: a name or pax records.
std::string tar_stream::text() {
  if (left_ > 1 << 20) fail("a name of more than 1 MiB", name_);
  std::string result(static_cast<std::size_t>(left_), '\0');
  for (std::size_t done = 0; done < result.size();)
    done += read(result.data() + done, result.size() - done);
  while (result.ends_with('\0')) result.pop_back();
  return result;
}

void tar_stream::skip(std::int64_t bytes) {
  std::array<char, 1 << 14> waste;
  while (bytes > 0) {
    const auto size = std::min(bytes, static_cast<std::int64_t>(waste.size()));
    const std::size_t got = archive_->read(waste.data(), static_cast<std::size_t>(size));
    if (got == 0) fail("ends in the middle of a file", name_);
    bytes -= static_cast<std::int64_t>(got);
  }
}

} // namespace lacuna::io
