// A journal's files: what is in them is believed only as far as checksums and sizes agree.
#include <lacuna/io/journal.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <lacuna/core/printable.hpp>

#include "io/journal_folder.hpp"
#include "io/journal_format.hpp"
#include "io/mapped_file.hpp"

namespace lacuna::io {
namespace {

using bytes = std::span<const char>;

/// The head of a file, if it is one of this kind and version and undamaged.
template <class H> H read_head(bytes file, const char* magic, const std::string& name) {
  if (file.size() < sizeof(H) || std::memcmp(file.data(), magic, 8) != 0)
    throw bad_input(
        fmt::format("not a journal's: its {} bytes do not begin with {}", file.size(), magic), name,
        0);
  const H head = head_at<H>(file);
  if (head.journal.version != journal_version)
    throw unsupported(fmt::format("version {} of a journal; this build knows version {}",
                                  head.journal.version, journal_version),
                      name, 0);
  if (head.crc != crc_of(head))
    throw bad_input(fmt::format("damaged: the checksum of bytes 0 to {} is wrong", sizeof(H) - 1),
                    name, 0);
  return head;
}

std::string in_words(int value_bytes, int index_bytes, int offset_bytes) {
  return fmt::format("{} with {}-bit columns and {}-bit offsets",
                     value_bytes == 4 ? "float" : "double", 8 * index_bytes, 8 * offset_bytes);
}

/// The checkpoint's arrays, if the file has exactly their bytes.
detail::journal_matrix read_checkpoint(bytes file, const std::string& name) {
  const auto head = read_head<checkpoint_head>(file, checkpoint_magic, name);
  const journal_head& j = head.journal;
  detail::journal_matrix m{
      {j.value_bytes, j.index_bytes, j.offset_bytes, head.rows, head.cols, head.entries, j.batches},
      head.unique != 0,
      {},
      {},
      {}};
  // No array is longer than the file, so sizes below do not overflow.
  const auto most = static_cast<std::int64_t>(file.size());
  const auto throw_size = [&] {
    throw bad_input(fmt::format("damaged: {} bytes are not what {} rows and {} entries take",
                                file.size(), head.rows, head.entries),
                    name, 0);
  };
  if (head.rows < 0 || head.cols < 0 || head.entries < 0 || head.rows > most || head.entries > most)
    throw_size();
  const auto size = [](std::int64_t count, int each) {
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(each);
  };
  const std::size_t rowptr = size(head.rows + 1, j.offset_bytes),
                    colind = size(head.entries, j.index_bytes),
                    values = size(head.entries, j.value_bytes);
  if (sizeof head + padded(rowptr) + padded(colind) + padded(values) != file.size()) throw_size();
  m.rowptr = file.subspan(sizeof head, rowptr);
  m.colind = file.subspan(sizeof head + padded(rowptr), colind);
  m.values = file.subspan(sizeof head + padded(rowptr) + padded(colind), values);
  return m;
}
std::uint32_t data_crc(const detail::journal_matrix& m) {
  return crc32c(m.values, crc32c(m.colind, crc32c(m.rowptr)));
}

/// Whether a record's head begins at a byte of a log.
bool is_record(bytes log, std::size_t at, const journal_head& journal, record_head& head) {
  if (log.size() - at < sizeof head) return false;
  head = head_at<record_head>(log, at);
  return head.magic == record_magic && head.crc == crc_of(head, journal.id);
}
/// The first one at or behind a byte; the log's size: none. A write that was cut short has none.
std::size_t next_record(bytes log, std::size_t at, const journal_head& journal) {
  record_head head;
  for (at = padded(at); at < log.size(); at += 8)
    if (is_record(log, at, journal, head)) return at;
  return log.size();
}

} // namespace

bool has_journal(const std::string& folder) {
  struct stat about {};
  if (::stat((folder + "/checkpoint").c_str(), &about) == 0) return true;
  // create_journal writes a log without records first: left alone, it was killed.
  return ::stat((folder + "/log").c_str(), &about) == 0 &&
         about.st_size != static_cast<off_t>(sizeof(log_head));
}

journal_facts read_journal_facts(const std::string& folder) {
  const std::string name = folder + "/checkpoint";
  const mapped_file file(name);
  return read_checkpoint(file.bytes(), name).facts;
}

} // namespace lacuna::io

namespace lacuna::detail {

using namespace io; // what the files are made of

struct journal_files::state {
  journal_folder folder;
  journal_sync sync;
  bool salvage;
  journal_head head{}; // of the log; its id and types are the checkpoint's
  descriptor_owner log;
  std::int64_t size = 0, previous = 0; // of the log; before the last record
  std::int64_t batches = 0;
  int broken = 0; // the system's reason why nothing can be appended; 0: it can
  journal_recovery recovery;

  // While the files are read.
  std::unique_ptr<mapped_file> checkpoint_file, log_file;
  journal_matrix matrix;
  bytes unread; // the log, from its begin; cut at its end as that is found
  std::size_t at = 0, record_at = 0;

  state(const std::string& path, bool make, const journal_options& options)
      : folder(path, make), sync(options.sync), salvage(options.salvage) {}

  [[nodiscard]] std::string log_name() const { return folder.file("log"); }
  [[nodiscard]] std::string checkpoint_name() const { return folder.file("checkpoint"); }

  void begin_log() {
    log_head first{head, 0, 0};
    first.journal.batches = batches;
    std::memcpy(first.journal.magic, log_magic, 8);
    first.crc = io::crc_of(first);
    log = folder.replace("log", {bytes_of(first)});
    head = first.journal;
    size = previous = sizeof first;
    broken = 0;
  }
  void write_checkpoint(const journal_matrix& m) {
    checkpoint_head first{
        head, m.facts.rows, m.facts.cols, m.facts.entries, m.unique ? 1U : 0U, data_crc(m), 0, 0};
    std::memcpy(first.journal.magic, checkpoint_magic, 8);
    first.journal.batches = batches;
    first.crc = io::crc_of(first);
    folder.replace("checkpoint", {bytes_of(first), m.rowptr, m.colind, m.values});
  }

  /// What is at `at` is no good record.
  void end_or_damage(const char* what) {
    const std::size_t good = next_record(unread, at + 1, head);
    if (good < unread.size() && !salvage)
      throw bad_input(fmt::format("damaged: byte {} of {} should be in batch {}, but {}; a good "
                                  "record follows at byte {}, so this is no write that was cut "
                                  "short",
                                  at, unread.size(), batches + 1, what, good),
                      log_name(), 0);
    cut(at);
  }
  void cut(std::size_t end) {
    recovery.cut_bytes += static_cast<std::int64_t>(unread.size() - end);
    unread = unread.first(end);
    at = end;
  }
  /// All is read: the log can be written to.
  void finish() {
    const bool stale = batches <= matrix.facts.batches && head.batches < matrix.facts.batches;
    batches = std::max(batches, matrix.facts.batches);
    size = previous = static_cast<std::int64_t>(unread.size());
    unread = {};
    matrix = {};
    checkpoint_file.reset();
    log_file.reset();
    if (stale) return begin_log(); // a kill came between a checkpoint and its new log
    log = folder.open("log");
    if (recovery.cut_bytes > 0 && ::ftruncate(log.get(), size) != 0)
      throw failed(fmt::format("cannot write {}: {}", printable(log_name()), std::strerror(errno)));
  }
  /// The log ends where it did before a record. If it cannot be made to, nothing goes in any more.
  void drop_tail(int reason) noexcept {
    if (::ftruncate(log.get(), size) != 0)
      reason = errno;
    else if (sync == journal_sync::every_batch && ::fdatasync(log.get()) != 0)
      reason = errno;
    else
      return;
    broken = reason;
  }
};

journal_files::journal_files(journal_files&&) noexcept = default;
journal_files& journal_files::operator=(journal_files&&) noexcept = default;
journal_files::~journal_files() = default;

const journal_matrix& journal_files::matrix() const { return state_->matrix; }
const journal_recovery& journal_files::recovery() const { return state_->recovery; }
std::int64_t journal_files::batches() const { return state_->batches; }
std::int64_t journal_files::log_bytes() const { return state_->size; }

journal_files::journal_files(const std::string& folder, const journal_matrix& first,
                             const journal_options& options)
    : state_(std::make_unique<state>(folder, true, options)) {
  if (has_journal(folder)) throw bad_input("there is a journal already", folder, 0);
  state& s = *state_;
  std::random_device random;
  s.head.version = journal_version;
  s.head.value_bytes = static_cast<std::uint8_t>(first.facts.value_bytes);
  s.head.index_bytes = static_cast<std::uint8_t>(first.facts.index_bytes);
  s.head.offset_bytes = static_cast<std::uint8_t>(first.facts.offset_bytes);
  s.head.id = std::uint64_t{random()} << 32U | random();
  s.begin_log();
  s.write_checkpoint(first);
}

journal_files::journal_files(const std::string& folder, const journal_facts& types,
                             const journal_options& options)
    : state_(std::make_unique<state>(folder, false, options)) {
  state& s = *state_;
  if (!has_journal(folder))
    throw bad_input("no journal: its creation was interrupted before there was a matrix", folder,
                    0);
  s.checkpoint_file = std::make_unique<mapped_file>(s.checkpoint_name());
  s.log_file = std::make_unique<mapped_file>(s.log_name());
  s.matrix = read_checkpoint(s.checkpoint_file->bytes(), s.checkpoint_name());
  const journal_facts& is = s.matrix.facts;
  if (is.value_bytes != types.value_bytes || is.index_bytes != types.index_bytes ||
      is.offset_bytes != types.offset_bytes)
    throw bad_input(fmt::format("holds {}, not {}",
                                in_words(is.value_bytes, is.index_bytes, is.offset_bytes),
                                in_words(types.value_bytes, types.index_bytes, types.offset_bytes)),
                    s.checkpoint_name(), 0);
  const auto checkpoint = head_at<checkpoint_head>(s.checkpoint_file->bytes());
  if (data_crc(s.matrix) != checkpoint.data_crc)
    throw bad_input(fmt::format("damaged: the checksum of its matrix, {} rows and {} entries in "
                                "bytes {} to {}, is wrong",
                                is.rows, is.entries, sizeof checkpoint,
                                s.checkpoint_file->bytes().size() - 1),
                    s.checkpoint_name(), 0);
  s.unread = s.log_file->bytes();
  s.head = read_head<log_head>(s.unread, log_magic, s.log_name()).journal;
  if (s.head.id != checkpoint.journal.id)
    throw bad_input("belongs to another journal than the checkpoint beside it", s.log_name(), 0);
  if (s.head.batches > is.batches)
    throw bad_input(fmt::format("begins after batch {}, but the checkpoint beside it has {} "
                                "batches: an older one was put there",
                                s.head.batches, is.batches),
                    s.log_name(), 0);
  s.at = sizeof(log_head);
  s.batches = s.head.batches;
  s.recovery.checkpoint_batches = is.batches;
}

bool journal_files::next(journal_record& record) {
  state& s = *state_;
  while (s.at < s.unread.size()) {
    record_head head;
    if (!is_record(s.unread, s.at, s.head, head)) {
      s.end_or_damage("no record begins there");
      continue;
    }
    const std::int64_t payload = payload_bytes(head, s.head);
    if (payload < 0 || head.sequence != s.batches + 1)
      throw bad_input(fmt::format("byte {}: a record of kind {}, batch {}, {} entries, where batch "
                                  "{} should be",
                                  s.at, head.kind, head.sequence, head.count, s.batches + 1),
                      s.log_name(), 0);
    const std::size_t begin = s.at + sizeof head, size = static_cast<std::size_t>(payload);
    if (s.unread.size() - begin < padded(size)) { // its writing was cut short
      s.cut(s.at);
      continue;
    }
    const bytes arrays = s.unread.subspan(begin, size);
    if (crc32c(arrays) != head.payload_crc) {
      s.end_or_damage("the checksum of its entries is wrong");
      continue;
    }
    s.record_at = s.at;
    s.at = begin + padded(size);
    ++s.batches;
    if (s.batches <= s.matrix.facts.batches) continue; // the checkpoint has it
    ++s.recovery.replayed;
    record = {static_cast<journal_kind>(head.kind),
              static_cast<existing>(head.existing),
              static_cast<outside>(head.outside),
              head.rows,
              head.cols,
              head.count,
              arrays};
    return true;
  }
  s.finish();
  return false;
}

void journal_files::refuse(const char* reason) {
  state& s = *state_;
  if (next_record(s.unread, s.at, s.head) < s.unread.size() && !s.salvage)
    throw bad_input(
        fmt::format("batch {} at byte {} cannot be applied: {}", s.batches, s.record_at, reason),
        s.log_name(), 0);
  --s.batches;
  --s.recovery.replayed;
  s.cut(s.record_at);
}

void journal_files::append(const journal_record& record, std::initializer_list<bytes> arrays) {
  state& s = *state_;
  const auto throw_failed = [&](const std::string& reason) {
    throw failed(fmt::format("cannot write {}: {}; batch {} is not in the log, which has {} bytes, "
                             "and was not applied",
                             printable(s.log_name()), reason, s.batches + 1, s.size));
  };
  if (s.broken != 0)
    throw_failed(std::string(std::strerror(s.broken)) +
                 " (earlier; a checkpoint begins a new log)");
  record_head head{record_magic,
                   static_cast<std::uint8_t>(record.kind),
                   static_cast<std::uint8_t>(record.existing),
                   static_cast<std::uint8_t>(record.outside),
                   0,
                   s.batches + 1,
                   record.rows,
                   record.cols,
                   record.count,
                   0,
                   0};
  std::array<bytes, 6> parts; // head, up to four arrays, filling
  std::size_t count = 1, payload = 0;
  for (const bytes each : arrays) {
    head.payload_crc = crc32c(each, head.payload_crc);
    parts.at(count++) = each;
    payload += each.size();
  }
  head.crc = io::crc_of(head, s.head.id);
  parts[0] = bytes_of(head);
  parts.at(count) = filling(payload);
  int reason = write_parts(s.log.get(), s.size, parts);
  if (reason != 0) {
    s.drop_tail(reason);
    throw_failed(std::strerror(reason));
  }
  if (s.sync == journal_sync::every_batch && ::fdatasync(s.log.get()) != 0) {
    reason = errno;
    s.drop_tail(reason);
    s.broken = reason; // what else the system has dropped cannot be known
    throw_failed(std::strerror(reason));
  }
  s.previous = s.size;
  s.size += static_cast<std::int64_t>(sizeof head + padded(payload));
  ++s.batches;
}

void journal_files::take_back() noexcept {
  state_->size = state_->previous;
  --state_->batches;
  state_->drop_tail(0);
}

void journal_files::checkpoint(const journal_matrix& now) {
  state_->write_checkpoint(now);
  state_->begin_log();
}

} // namespace lacuna::detail
