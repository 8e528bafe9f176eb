#include "io/zip.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "io/deflate.hpp"
#include "io/raw_array.hpp"
#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

constexpr std::uint32_t local_signature = 0x04034b50, central_signature = 0x02014b50,
                        end_signature = 0x06054b50, end64_signature = 0x06064b50,
                        locator64_signature = 0x07064b50;
constexpr std::size_t local_bytes = 30, central_bytes = 46, end_bytes = 22, end64_bytes = 56,
                      locator64_bytes = 20;
constexpr std::uint16_t extra64 = 1;
constexpr std::uint32_t in_extra = 0xffffffff; // the number stands in the zip64 extra field

/// The bytes from `at` on, or bad_input.
bytes_view part(bytes_view file, std::uint64_t at, std::uint64_t size, const char* what,
                const std::string& name) {
  if (at > file.size() || size > file.size() - at)
    throw_bad(fmt::format("zip: the file ends within {} at byte {}", what, at), name);
  return file.subspan(at, size);
}

template <class U> U get(bytes_view bytes, std::size_t at) {
  U u;
  std::memcpy(&u, bytes.data() + at, sizeof(U));
  return u;
}

/// The end record is the last thing in the file but for a comment of up to 65535 bytes.
std::size_t find_end(bytes_view file, const std::string& name) {
  const std::size_t least = file.size() > end_bytes + 65535 ? file.size() - end_bytes - 65535 : 0;
  for (std::size_t at = file.size() < end_bytes ? 0 : file.size() - end_bytes + 1; at-- > least;)
    if (get<std::uint32_t>(file, at) == end_signature &&
        at + end_bytes + get<std::uint16_t>(file, at + 20) == file.size())
      return at;
  throw_bad("not a zip archive, or cut off: it has no central directory", name);
}

struct directory {
  std::uint64_t entries, size, offset;
};

directory find_directory(bytes_view file, const std::string& name) {
  const std::size_t end = find_end(file, name);
  const auto disk = get<std::uint16_t>(file, end + 4);
  directory result{get<std::uint16_t>(file, end + 10), get<std::uint32_t>(file, end + 12),
                   get<std::uint32_t>(file, end + 16)};
  const bool zip64 = end >= locator64_bytes &&
                     get<std::uint32_t>(file, end - locator64_bytes) == locator64_signature;
  if (zip64) {
    const auto at = get<std::uint64_t>(file, end - locator64_bytes + 8);
    const auto record = part(file, at, end64_bytes, "the zip64 end record", name);
    if (get<std::uint32_t>(record, 0) != end64_signature)
      throw_bad(fmt::format("zip: no zip64 end record at byte {}", at), name);
    result = {get<std::uint64_t>(record, 32), get<std::uint64_t>(record, 40),
              get<std::uint64_t>(record, 48)};
  } else if (disk != 0) {
    throw unsupported("zip archive split over several files", name, 0);
  }
  return result;
}

/// Reads, in this order, those of the sizes and the offset that did not fit 32 bits.
void read_extra64(bytes_view extra, std::uint64_t& size, std::uint64_t& packed,
                  std::uint64_t& offset, const std::string& name) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const auto length = get<std::uint16_t>(extra, at + 2);
    const auto data = part(extra, at + 4, length, "an extra field", name);
    if (get<std::uint16_t>(extra, at) == extra64) {
      std::size_t from = 0;
      for (std::uint64_t* number : {&size, &packed, &offset})
        if (*number == in_extra) {
          if (from + 8 > data.size()) throw_bad("zip: short zip64 extra field", name);
          *number = get<std::uint64_t>(data, from);
          from += 8;
        }
      return;
    }
    at += 4 + length;
  }
}

void require_readable(const zip_member& member, const std::string& name) {
  const std::size_t packed = member.packed.size();
  if (member.method != 0 && member.method != 8)
    throw unsupported(fmt::format("zip: member {} is compressed by method {}; only deflate is read",
                                  member.name, member.method),
                      name, 0);
  if (member.method == 0 && packed != static_cast<std::size_t>(member.size))
    throw_bad(fmt::format("zip: member {} has {} bytes, not {}", member.name, packed, member.size),
              name);
  if (static_cast<std::uint64_t>(member.size) / most_inflated > packed)
    throw_bad(
        fmt::format("{}: {} compressed bytes cannot become {}", member.name, packed, member.size),
        name);
}

template <class U> void put(std::string& to, U u) {
  to.append(reinterpret_cast<const char*>(&u), sizeof(U));
}

/// The number, or the sign that it stands in the zip64 extra field.
std::uint32_t short_form(std::int64_t n) {
  return n >= in_extra ? in_extra : static_cast<std::uint32_t>(n);
}

} // namespace

std::vector<zip_member> zip_members(bytes_view file, const std::string& name) {
  const directory d = find_directory(file, name);
  bytes_view rest = part(file, d.offset, d.size, "the central directory", name);
  std::vector<zip_member> members;
  for (std::uint64_t k = 0; k < d.entries; ++k) {
    const auto entry = part(rest, 0, central_bytes, "the central directory", name);
    if (get<std::uint32_t>(entry, 0) != central_signature)
      throw_bad(fmt::format("zip: entry {} of the central directory is damaged", k), name);
    const std::size_t name_length = get<std::uint16_t>(entry, 28),
                      extra_length = get<std::uint16_t>(entry, 30),
                      comment_length = get<std::uint16_t>(entry, 32);
    const auto text = part(rest, central_bytes, name_length, "a member's name", name);
    const auto extra =
        part(rest, central_bytes + name_length, extra_length, "an extra field", name);
    rest = rest.subspan(part(rest, 0, central_bytes + name_length + extra_length + comment_length,
                             "a comment", name)
                            .size());

    zip_member member{std::string(text.begin(), text.end()),
                      get<std::uint16_t>(entry, 10),
                      get<std::uint32_t>(entry, 16),
                      0,
                      {}};
    std::uint64_t packed = get<std::uint32_t>(entry, 20), size = get<std::uint32_t>(entry, 24),
                  offset = get<std::uint32_t>(entry, 42);
    read_extra64(extra, size, packed, offset, name);
    if (get<std::uint16_t>(entry, 8) & 1)
      throw unsupported("zip: member " + member.name + " is encrypted", name, 0);
    const auto local = part(file, offset, local_bytes, "a member's header", name);
    if (get<std::uint32_t>(local, 0) != local_signature)
      throw_bad(fmt::format("zip: no member {} at byte {}", member.name, offset), name);
    // The sizes of the local header may be 0 (streamed); the central ones hold.
    member.packed = part(
        file, offset + local_bytes + get<std::uint16_t>(local, 26) + get<std::uint16_t>(local, 28),
        packed, member.name.c_str(), name);
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      throw_bad(fmt::format("zip: member {} claims {} bytes", member.name, size), name);
    member.size = static_cast<std::int64_t>(size);
    members.push_back(std::move(member));
  }
  return members;
}

bytes_view unzip_first(const zip_member& member, std::size_t size, std::string& owned,
                       const std::string& name) {
  require_readable(member, name);
  size = std::min(size, static_cast<std::size_t>(member.size));
  if (member.method == 0) return member.packed.subspan(0, size);
  owned = inflate_first(member.packed, size, wrapping::none, member.name, name);
  return owned;
}

bytes_view unzip(const host_context& ctx, const zip_member& member, array<char>& owned,
                 const std::string& name) {
  require_readable(member, name);
  bytes_view bytes = member.packed;
  if (member.method != 0) {
    owned = inflate(ctx, member.packed, member.size, wrapping::none, member.name, name);
    bytes = {owned.data(), static_cast<std::size_t>(owned.size())};
  }
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION // a fuzzer would hardly get past checksums
  if (crc32_of(ctx, bytes) != member.crc)
    throw_bad("zip: member " + member.name + " is damaged: its checksum differs", name);
#endif
  return bytes;
}

void zip_writer::add(const host_context& ctx, const std::string& name, std::string_view head,
                     std::string_view body) {
  const entry e{name, crc32_of(ctx, body, crc32_of(ctx, head)),
                static_cast<std::int64_t>(head.size() + body.size()), file_.size()};
  const bool zip64 = e.size >= in_extra;
  std::string header;
  put(header, local_signature);
  put<std::uint16_t>(header, zip64 ? 45 : 20); // version needed
  put<std::uint16_t>(header, 0);               // flags
  put<std::uint16_t>(header, 0);               // stored
  put<std::uint32_t>(header, 0x00210000);      // 1980-01-01: the same bytes every time
  put(header, e.crc);
  put(header, short_form(e.size));
  put(header, short_form(e.size));
  put(header, static_cast<std::uint16_t>(name.size()));
  put<std::uint16_t>(header, zip64 ? 20 : 0);
  header += name;
  if (zip64) {
    put(header, extra64);
    put<std::uint16_t>(header, 16);
    put(header, e.size);
    put(header, e.size);
  }
  file_.write(header);
  file_.write(head);
  progress_.write(file_, body);
  entries_.push_back(e);
}

void zip_writer::finish() {
  std::string directory;
  for (const entry& e : entries_) {
    std::string extra; // in the order: size, packed size, offset
    if (e.size >= in_extra) {
      put(extra, e.size);
      put(extra, e.size);
    }
    if (e.offset >= in_extra) put(extra, e.offset);
    const bool zip64 = !extra.empty();
    put(directory, central_signature);
    put<std::uint16_t>(directory, zip64 ? 45 : 20); // made by: no particular system
    put<std::uint16_t>(directory, zip64 ? 45 : 20);
    put<std::uint16_t>(directory, 0);
    put<std::uint16_t>(directory, 0);
    put<std::uint32_t>(directory, 0x00210000);
    put(directory, e.crc);
    put(directory, short_form(e.size));
    put(directory, short_form(e.size));
    put(directory, static_cast<std::uint16_t>(e.name.size()));
    put(directory, static_cast<std::uint16_t>(zip64 ? extra.size() + 4 : 0));
    put<std::uint16_t>(directory, 0); // comment
    put<std::uint16_t>(directory, 0); // disk
    put<std::uint16_t>(directory, 0); // internal attributes
    put<std::uint32_t>(directory, 0); // external attributes
    put(directory, short_form(e.offset));
    directory += e.name;
    if (zip64) {
      put(directory, extra64);
      put(directory, static_cast<std::uint16_t>(extra.size()));
      directory += extra;
    }
  }
  const std::int64_t at = file_.size();
  const auto size = static_cast<std::int64_t>(directory.size());
  const auto count = static_cast<std::uint16_t>(entries_.size());
  if (at >= in_extra) {
    const std::int64_t end64 = at + size;
    put(directory, end64_signature);
    put<std::uint64_t>(directory, end64_bytes - 12);
    put<std::uint16_t>(directory, 45);
    put<std::uint16_t>(directory, 45);
    put<std::uint32_t>(directory, 0); // this disk
    put<std::uint32_t>(directory, 0); // the directory's disk
    put<std::uint64_t>(directory, count);
    put<std::uint64_t>(directory, count);
    put(directory, size);
    put(directory, at);
    put(directory, locator64_signature);
    put<std::uint32_t>(directory, 0);
    put(directory, end64);
    put<std::uint32_t>(directory, 1); // disks
  }
  put(directory, end_signature);
  put<std::uint32_t>(directory, 0); // disks
  put(directory, count);
  put(directory, count);
  put(directory, static_cast<std::uint32_t>(size));
  put(directory, short_form(at));
  put<std::uint16_t>(directory, 0); // comment
  file_.write(directory);
}

} // namespace lacuna::io
