// The bytes of a journal's files; docs/journal.md tells them. Little-endian, every structure and
// every array begins at a multiple of 8.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include <lacuna/io/journal.hpp>

#include "io/crc32c.hpp"

namespace lacuna::io {

static_assert(std::endian::native == std::endian::little, "journals are little-endian");

inline constexpr std::uint32_t journal_version = 1;
inline constexpr char log_magic[9] = "LACUNAJL", checkpoint_magic[9] = "LACUNAJC";
inline constexpr std::uint32_t record_magic = 0x4345524c; // "LREC"

/// Of both files.
struct journal_head {
  char magic[8];
  std::uint32_t version;
  std::uint8_t value_bytes, index_bytes, offset_bytes, zero;
  std::uint64_t id;     ///< a random number, the same in both files
  std::int64_t batches; ///< that the checkpoint has; that were there before the log's first
};
struct log_head {
  journal_head journal;
  std::uint32_t zero;
  std::uint32_t crc; ///< of all before it
};
struct checkpoint_head {
  journal_head journal;
  std::int64_t rows, cols, entries;
  std::uint32_t unique;
  std::uint32_t data_crc; ///< of rowptr, colind and values, without what fills them up
  std::uint32_t zero;
  std::uint32_t crc; ///< of all before it
};
struct record_head {
  std::uint32_t magic;
  std::uint8_t kind, existing, outside, zero;
  std::int64_t sequence;          ///< 1 is the first batch of all
  std::int64_t rows, cols, count; ///< of the batch
  std::uint32_t payload_crc;
  std::uint32_t crc; ///< of the journal's id and all before it
};
static_assert(sizeof(log_head) == 40 && sizeof(checkpoint_head) == 72 && sizeof(record_head) == 48);

inline std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

template <class H> std::span<const char> bytes_of(const H& head) {
  return {reinterpret_cast<const char*>(&head), sizeof head};
}
/// A head's crc, its last four bytes.
template <class H> std::uint32_t crc_of(const H& head, std::uint32_t before = 0) {
  return crc32c(bytes_of(head).first(sizeof head - 4), before);
}
inline std::uint32_t crc_of(const record_head& head, std::uint64_t id) {
  return crc_of<record_head>(head, crc32c(bytes_of(id)));
}
/// There must be that many bytes.
template <class H> H head_at(std::span<const char> bytes, std::size_t at = 0) {
  static_assert(std::is_trivially_copyable_v<H>);
  H head;
  std::memcpy(&head, bytes.data() + at, sizeof head);
  return head;
}

/// Bytes of a record's arrays; -1: no record has this kind, or this count.
inline std::int64_t payload_bytes(const record_head& head, const journal_head& types) {
  constexpr std::int64_t most = std::int64_t{1} << 56U;
  if (head.count < 0 || head.count > most) return -1;
  using detail::journal_kind;
  const std::int64_t index = types.index_bytes, value = types.value_bytes;
  switch (static_cast<journal_kind>(head.kind)) {
  case journal_kind::insert: return head.count * (2 * index + value);
  case journal_kind::erase: return head.count * 2 * index;
  case journal_kind::erase_rows:
  case journal_kind::erase_vertices:
  case journal_kind::erase_columns: return head.count * index;
  case journal_kind::scale_rows: return head.count * value;
  case journal_kind::merge: return 0;
  case journal_kind::replace_rows:
    if (head.rows < 0 || head.rows > most / 16) return -1;
    return static_cast<std::int64_t>(padded(static_cast<std::size_t>(head.rows * index))) +
           head.count * (2 * index + value);
  }
  return -1;
}

} // namespace lacuna::io
