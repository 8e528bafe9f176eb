#include "io/tar.hpp"

#include <array>
#include <charconv>
#include <string_view>
#include <vector>

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

/// One file of the archive: `left` bytes of it are still to come.
class tar_stream : public byte_stream {
public:
  tar_stream(std::unique_ptr<byte_stream> archive, std::string name)
      : archive_(std::move(archive)), name_(std::move(name)) {}

  std::size_t read(char* to, std::size_t size) override {
    const auto wanted = static_cast<std::size_t>(std::min(static_cast<std::int64_t>(size), left_));
    if (wanted == 0) return 0;
    const std::size_t got = archive_->read(to, wanted);
    if (got == 0) fail("ends in the middle of a file");
    left_ -= static_cast<std::int64_t>(got);
    return got;
  }
  [[nodiscard]] std::int64_t consumed() const override { return archive_->consumed(); }
  [[nodiscard]] std::int64_t total() const override { return archive_->total(); }

  /// Goes to the next file; false at the archive's end.
  bool next(std::string& path) {
    std::string long_name;
    while (true) {
      skip(left_ + padding_);
      header h;
      if (!read_header(h)) return false;
      left_ = size_of(h);
      padding_ = (block - left_ % block) % block;
      const char type = h[156];
      if (type == 'L')
        long_name = text();
      else if (type == 'x')
        pax_path(text(), long_name);
      else if (type == '0' || type == '\0' || type == '7') {
        path = !long_name.empty() ? long_name : path_of(h);
        return true;
      } else if (type != 'g')
        long_name.clear(); // a folder or link
    }
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw bad_input("as a tar archive: " + why, name_, 0);
  }

private:
  bool read_header(header& h) {
    std::size_t done = 0;
    while (done < h.size()) {
      const std::size_t got = archive_->read(h.data() + done, h.size() - done);
      if (got == 0 && done == 0) return false;
      if (got == 0) fail("ends in the middle of a header");
      done += got;
    }
    if (h == header{}) return false; // zeros mark the end
    std::int64_t sum = 8 * ' ';      // the checksum's own place counts as blanks
    for (std::size_t k = 0; k < h.size(); ++k)
      if (k < 148 || k >= 156) sum += static_cast<unsigned char>(h[k]);
    if (octal(h, 148, 8) != sum) fail("a header's checksum is wrong");
    return true;
  }

  [[nodiscard]] std::int64_t octal(const header& h, std::size_t at, std::size_t size) const {
    auto digits = text_field(h, at, size);
    while (digits.starts_with(' ')) digits.remove_prefix(1);
    while (digits.ends_with(' ')) digits.remove_suffix(1);
    std::int64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, value, 8);
    if (parsed.ec != std::errc{} || parsed.ptr != end || value < 0)
      fail(fmt::format("'{}' is not an octal number", digits));
    return value;
  }

  /// In octal or, beyond 8 GB, in base 256.
  [[nodiscard]] std::int64_t size_of(const header& h) const {
    if ((static_cast<unsigned char>(h[124]) & 0x80U) == 0) return octal(h, 124, 12);
    std::uint64_t value = 0;
    for (std::size_t k = 128; k < 136; ++k) value = value << 8 | static_cast<unsigned char>(h[k]);
    if (value > INT64_MAX / 2) fail("a size does not fit 64 bits");
    return static_cast<std::int64_t>(value);
  }

  static std::string path_of(const header& h) {
    const std::string prefix(text_field(h, 345, 155)), name(text_field(h, 0, 100));
    const bool ustar = std::string_view(h.data() + 257, 5) == "ustar";
    return ustar && !prefix.empty() ? prefix + "/" + name : name;
  }

  /// The contents of a small file: a name or pax records.
  std::string text() {
    if (left_ > 1 << 20) fail("a name of more than 1 MiB");
    std::string result(static_cast<std::size_t>(left_), '\0');
    for (std::size_t done = 0; done < result.size();)
      done += read(result.data() + done, result.size() - done);
    while (result.ends_with('\0')) result.pop_back();
    return result;
  }

  /// Records "LENGTH key=value\n".
  static void pax_path(std::string_view records, std::string& path) {
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

  void skip(std::int64_t bytes) {
    std::array<char, 1 << 14> waste;
    while (bytes > 0) {
      const auto size = std::min(bytes, static_cast<std::int64_t>(waste.size()));
      const std::size_t got = archive_->read(waste.data(), static_cast<std::size_t>(size));
      if (got == 0) fail("ends in the middle of a file");
      bytes -= static_cast<std::int64_t>(got);
    }
  }

  std::unique_ptr<byte_stream> archive_;
  std::string name_;
  std::int64_t left_ = 0, padding_ = 0;
};

} // namespace

std::unique_ptr<byte_stream> open_in_tar(std::unique_ptr<byte_stream> archive,
                                         const std::string& name,
                                         const std::function<bool(const std::string&)>& wanted) {
  auto tar = std::make_unique<tar_stream>(std::move(archive), name);
  std::string path, seen;
  int files = 0;
  while (tar->next(path)) {
    if (wanted(path)) return tar;
    if (++files <= 10) seen += (files == 1 ? "" : ", ") + path;
  }
  tar->fail(fmt::format("no matrix in it; it has {}{}", seen.empty() ? "nothing" : seen,
                        files > 10 ? ", …" : ""));
}

} // namespace lacuna::io
