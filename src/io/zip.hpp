// Zip archives (APPNOTE.TXT 6.3): members that are stored or deflated, of any size (zip64).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/formats.hpp"
#include "io/write_progress.hpp"

namespace lacuna::io {

struct zip_member {
  std::string name;
  std::uint16_t method = 0; ///< 0: stored, 8: deflate
  std::uint32_t crc = 0;
  std::int64_t size = 0;
  bytes_view packed; ///< as it stands in the file
};

/// The members that the central directory lists, each within the file. Throws bad_input;
/// unsupported for encrypted or split archives.
std::vector<zip_member> zip_members(bytes_view file, const std::string& name);

/// The first `size` bytes of a member, or all of it: in the file, or inflated into `owned`. Throws
/// as unzip() does, but does not know the checksum.
bytes_view unzip_first(const zip_member& member, std::size_t size, std::string& owned,
                       const std::string& name);
/// A member's bytes, with their checksum verified: in the file if it is stored, else inflated into
/// `owned`. Throws bad_input; unsupported for other methods, or a deflated one without zlib.
bytes_view unzip(const host_context& ctx, const zip_member& member, array<char>& owned,
                 const std::string& name);

/// An archive of stored members, to be written one after the other.
class zip_writer {
public:
  zip_writer(output_file& file, write_progress& progress) : file_(file), progress_(progress) {}
  /// The member is head and body, one after the other.
  void add(const host_context& ctx, const std::string& name, std::string_view head,
           std::string_view body);
  void finish(); ///< writes the central directory

private:
  struct entry {
    std::string name;
    std::uint32_t crc;
    std::int64_t size;
    std::int64_t offset;
  };
  output_file& file_;
  write_progress& progress_;
  std::vector<entry> entries_;
};

} // namespace lacuna::io
