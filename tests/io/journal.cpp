// Journals: the matrix after the last complete batch, wherever the log was cut; errors that name
// file and byte for what is damaged; never another matrix.
#include <csignal>
#include <sys/resource.h>
#include <unistd.h>

#include "io/files.hpp"
#include "support/changes.hpp"
#include "support/engine.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

namespace fs = std::filesystem;
using matrix = dynamic_csr<double>;
using journaled_matrix = io::journaled<matrix>;

const host_context one({1});
constexpr io::journal_options unsynced{.sync = io::journal_sync::never};

/// Not by way of an empty file, which some file systems flush to the disk.
void put(const std::string& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::app).close();
  std::ofstream(file, std::ios::binary | std::ios::in) << bytes;
  fs::resize_file(file, bytes.size());
}
/// What a call throws.
template <class F> std::string message(F&& f) {
  try {
    f();
  } catch (const error& e) {
    return std::string(e.kind()) + ": " + e.what();
  }
  return "nothing";
}
void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

/// A dozen batches and more, and the matrix after each.
class Journal : public ::testing::Test {
protected:
  static constexpr std::int64_t batches = 15, entries = 4;

  void SetUp() override {
    auto m = create();
    note(m);
    for (std::int64_t n = 1; n <= batches; ++n) {
      make_change(one, m, n, entries);
      note(m);
    }
    log_ = contents(folder_ / "j/log");
    checkpoint_ = contents(folder_ / "j/checkpoint");
    ASSERT_EQ(static_cast<std::int64_t>(log_.size()), ends_.back());
  }
  journaled_matrix create(const io::journal_options& options = unsynced) const {
    return io::create_journal(one, folder_ / "j", matrix(one, {20, 30}), options);
  }
  journaled_matrix open(const io::journal_options& options = unsynced) const {
    return io::open_journal<matrix>(one, folder_ / "j", options);
  }
  void note(const journaled_matrix& m) {
    states_.push_back(to_csr(one, m.matrix()));
    ends_.push_back(m.log_bytes());
  }
  /// The journal as it was, with another log.
  void put_log(const std::string& bytes) const { put(folder_ / "j/log", bytes); }
  ::testing::AssertionResult is_state(const journaled_matrix& m, std::int64_t n) const {
    check(one, m.matrix());
    return same_matrix(to_csr(one, m.matrix()), states_.at(static_cast<std::size_t>(n)));
  }

  scratch_folder folder_;
  std::vector<csr<double>> states_;
  std::vector<std::int64_t> ends_; ///< of the log after each batch
  std::string log_, checkpoint_;
};

TEST_F(Journal, OpensAsItWas) {
  for (int again = 0; again < 2; ++again) {
    const auto m = open();
    EXPECT_TRUE(is_state(m, batches));
    EXPECT_EQ(m.batches(), batches);
    EXPECT_EQ(m.recovery().replayed, batches);
    EXPECT_EQ(m.recovery().cut_bytes, 0);
    EXPECT_EQ(m.recovery().checkpoint_batches, 0);
  }
  const io::journal_facts facts = io::read_journal_facts(folder_ / "j");
  EXPECT_EQ(facts.value_bytes + facts.index_bytes + facts.offset_bytes, 16);
  EXPECT_EQ(facts.rows, 20);
  EXPECT_EQ(facts.cols, 30);
}

TEST_F(Journal, CutAtEveryByte) {
  std::size_t complete = 0;
  for (std::size_t cut = 0; cut <= log_.size(); ++cut) {
    SCOPED_TRACE(cut);
    put_log(log_.substr(0, cut));
    if (cut < 40) {
      expect_part(message([&] { open(); }), "bad_input: " + (folder_ / "j/log"));
      continue;
    }
    while (complete < batches && ends_[complete + 1] <= static_cast<std::int64_t>(cut)) ++complete;
    auto m = open();
    ASSERT_TRUE(is_state(m, static_cast<std::int64_t>(complete)));
    EXPECT_EQ(m.recovery().cut_bytes, static_cast<std::int64_t>(cut) - ends_[complete]);
    EXPECT_EQ(fs::file_size(folder_ / "j/log"), static_cast<std::uintmax_t>(ends_[complete]));
    if (cut % 64 != 5 || complete == batches) continue;
    make_change(one, m, static_cast<std::int64_t>(complete) + 1, entries); // it goes on from there
    EXPECT_TRUE(is_state(m, static_cast<std::int64_t>(complete) + 1));
    EXPECT_EQ(contents(folder_ / "j/log"),
              log_.substr(0, static_cast<std::size_t>(ends_[complete + 1])));
  }
}

bool within_a_megabyte(space, std::size_t bytes) { return bytes < 1'000'000; }

/// A flipped byte is found: an error, or where nothing follows it, the state before.
TEST_F(Journal, FlipsOfEveryByte) {
  const auto hook = set_allocation_hook(within_a_megabyte);
  random_source random(1);
  std::size_t batch = 0;
  int errors = 0;
  for (std::size_t at = 0; at < log_.size(); ++at) {
    SCOPED_TRACE(at);
    while (ends_[batch] <= static_cast<std::int64_t>(at)) ++batch; // the batch it is in; 0: head
    std::string bytes = log_;
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + random.below(255)));
    put_log(bytes);
    std::int64_t opened = -1;
    const std::string said = message([&] {
      const auto m = open();
      opened = m.batches();
      EXPECT_TRUE(is_state(m, opened));
    });
    errors += opened < 0 ? 1 : 0;
    if (opened < 0) expect_part(said, folder_ / "j/log");
    // Bytes that fill a record up belong to no checksum.
    if (batch > 0 && batch < batches && opened < batches) {
      expect_part(said, "a good record follows at byte " + std::to_string(ends_[batch]));
    } else if (opened < batches) {
      EXPECT_EQ(opened, batch == 0 ? -1 : batches - 1) << said;
    }
    EXPECT_EQ(said.find("out_of_memory"), std::string::npos) << said;
  }
  EXPECT_GT(errors, 1000);
  put_log(log_);
  for (std::size_t at = 0; at < checkpoint_.size(); ++at) {
    SCOPED_TRACE(at);
    std::string bytes = checkpoint_;
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + random.below(255)));
    put(folder_ / "j/checkpoint", bytes);
    bool opened = false;
    const std::string said = message([&] {
      EXPECT_TRUE(is_state(open(), batches)); // what fills it up
      opened = true;
    });
    if (!opened) expect_part(said, folder_ / "j/checkpoint");
    EXPECT_TRUE(!opened || at >= 72 + 21 * 4) << at;
  }
  set_allocation_hook(hook);
}

/// As a machine that lost power may leave it: pages that were never written are zeros.
TEST_F(Journal, DamageInTheMiddleAndAtTheEnd) {
  const auto zeroed = [&](std::size_t batch) {
    std::string bytes = log_;
    const auto begin = static_cast<std::size_t>(ends_[batch - 1]);
    bytes.replace(begin, static_cast<std::size_t>(ends_[batch]) - begin,
                  static_cast<std::size_t>(ends_[batch]) - begin, '\0');
    return bytes;
  };
  put_log(zeroed(batches));
  EXPECT_TRUE(is_state(open(), batches - 1));
  put_log(log_ + std::string(5000, '\0'));
  EXPECT_TRUE(is_state(open(), batches));
  put_log(zeroed(7));
  const std::string said = message([&] { open(); });
  expect_part(said, "damaged: byte " + std::to_string(ends_[6]) + " of " +
                        std::to_string(log_.size()) + " should be in batch 7");
  EXPECT_EQ(contents(folder_ / "j/log"), zeroed(7)) << "an error must change nothing";
  const auto m = open({.sync = io::journal_sync::never, .salvage = true});
  EXPECT_TRUE(is_state(m, 6));
  EXPECT_EQ(m.recovery().cut_bytes, static_cast<std::int64_t>(log_.size()) - ends_[6]);
}

TEST_F(Journal, CheckpointsAndLogsMatch) {
  {
    auto m = open({}); // on the disk after every batch
    checkpoint(one, m);
    EXPECT_EQ(m.log_bytes(), 40);
    make_change(one, m, batches + 1, entries);
    note(m);
  }
  const std::string new_log = contents(folder_ / "j/log");
  const std::string new_checkpoint = contents(folder_ / "j/checkpoint");
  {
    const auto m = open();
    EXPECT_TRUE(is_state(m, batches + 1));
    EXPECT_EQ(m.recovery().checkpoint_batches, batches);
    EXPECT_EQ(m.recovery().replayed, 1);
  }
  // Killed between the checkpoint and its log; and in the writing of either.
  for (const std::string& old_log : {log_, log_.substr(0, log_.size() - 9), log_.substr(0, 700)}) {
    put_log(old_log);
    put(folder_ / "j/checkpoint.new", new_checkpoint.substr(0, 100));
    put(folder_ / "j/log.new", "LAC");
    auto m = open();
    EXPECT_TRUE(is_state(m, batches));
    EXPECT_EQ(m.recovery().replayed, 0);
    make_change(one, m, batches + 1, entries);
    EXPECT_TRUE(is_state(m, batches + 1));
    EXPECT_EQ(contents(folder_ / "j/log"), new_log);
  }
  put(folder_ / "j/checkpoint", checkpoint_);
  expect_part(message([&] { open(); }),
              "log: begins after batch 15, but the checkpoint beside it has 0 batches");
  fs::remove(folder_ / "j/checkpoint");
  expect_part(message([&] { open(); }), "checkpoint: cannot read: No such file");
  put(folder_ / "j/checkpoint", checkpoint_);
  fs::remove(folder_ / "j/log");
  expect_part(message([&] { open(); }), "log: cannot read: No such file");
}

TEST_F(Journal, CreationThatWasInterrupted) {
  put_log(log_.substr(0, 40));
  EXPECT_TRUE(io::has_journal(folder_ / "j"));
  expect_part(message([&] { create(); }), "there is a journal already");
  fs::remove(folder_ / "j/checkpoint");
  EXPECT_FALSE(io::has_journal(folder_ / "j"));
  expect_part(message([&] { open(); }), "its creation was interrupted");
  auto m = create();
  make_change(one, m, 1, entries);
  EXPECT_TRUE(is_state(m, 1));
}

TEST_F(Journal, WhatIsNoJournalOfOurs) {
  expect_part(message([&] { io::open_journal<matrix>(one, folder_ / "no"); }),
              "no: no journal: No such file or directory");
  fs::create_directory(folder_ / "empty");
  expect_part(message([&] { io::open_journal<matrix>(one, folder_ / "empty"); }),
              "empty: no journal: it has neither");
  expect_part(
      message([&] { io::open_journal<dynamic_csr<float, std::int64_t>>(one, folder_ / "j"); }),
      "checkpoint: holds double with 32-bit columns and 32-bit offsets, not float with 64-bit "
      "columns and 64-bit offsets");
  expect_part(message([&] {
                io::create_journal(one, folder_ / "no/such/j", matrix(one, {2, 2}));
              }),
              "cannot write " + (folder_ / "no/such/j") + ": No such file or directory");
  std::string other = log_;
  other[8] = 2;
  put_log(other);
  expect_part(message([&] { open(); }), "version 2 of a journal; this build knows version 1");
  put_log("MZ");
  expect_part(message([&] { open(); }), "log: not a journal's: its 2 bytes do not begin with");
  io::create_journal(one, folder_ / "k", matrix(one, {20, 30}));
  put_log(contents(folder_ / "k/log"));
  expect_part(message([&] { open(); }), "log: belongs to another journal than the checkpoint");
}

TEST_F(Journal, HasOneWriter) {
  const auto m = open();
  expect_part(message([&] { open(); }), "error: journal " + (folder_ / "j") + " is in use");
}

TEST_F(Journal, RefusedBatchesLeaveNoRecord) {
  auto m = open();
  const auto expect_as_it_was = [&] {
    EXPECT_TRUE(is_state(m, batches));
    EXPECT_EQ(m.batches(), batches);
    EXPECT_EQ(contents(folder_ / "j/log"), log_);
  };
  random_source random(1);
  const auto outer = some_entries<double, std::int32_t, std::int32_t>(random, 90, 90, 50);
  const auto large = some_entries<double, std::int32_t, std::int32_t>(random, 20, 30, 5000);
  expect_part(message([&] { insert(one, m, outer.view()); }), "bad_input: insert: entry");
  expect_as_it_was();
  expect_part(message([&] { erase(one, m, outer.view()); }), "bad_input: erase: entry");
  expect_part(message([&] { scale_rows(one, m, std::as_const(large).values()); }),
              "size_mismatch: ");
  const auto hook = set_allocation_hook([](space, std::size_t bytes) { return bytes < 10'000; });
  expect_part(message([&] { insert(one, m, large.view()); }), "out_of_memory: ");
  set_allocation_hook(hook);
  expect_as_it_was();
  const coo<double> none(one, {20, 30}, 0);
  EXPECT_EQ(insert(one, m, none.view()).inserted, 0);
  expect_as_it_was();
}

/// Killed after it was written and before it was refused.
TEST_F(Journal, RefusedBatchAtTheEndOfTheLog) {
  const std::int32_t place[2] = {500, 500};
  const double value = 1;
  const auto append = [&] {
    detail::journal_files files(folder_ / "j", detail::journal_types<double, int, int>, unsynced);
    for (detail::journal_record each; files.next(each);) {
    }
    files.append(
        {detail::journal_kind::insert, {}, {}, 20, 30, 1, {}},
        {{reinterpret_cast<const char*>(place), 8}, {reinterpret_cast<const char*>(&value), 8}});
  };
  append();
  EXPECT_GT(fs::file_size(folder_ / "j/log"), log_.size());
  {
    const auto m = open();
    EXPECT_TRUE(is_state(m, batches));
    EXPECT_EQ(m.recovery().replayed, batches);
  }
  EXPECT_EQ(contents(folder_ / "j/log"), log_);
  append();
  append();
  expect_part(message([&] { open(); }), "batch 16 at byte " + std::to_string(log_.size()) +
                                            " cannot be applied: insert: entry 0");
}

/// A full disk, by a limit on the size of files.
class file_limit {
public:
  explicit file_limit(std::int64_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{static_cast<rlim_t>(bytes), before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~file_limit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  file_limit(const file_limit&) = delete;
  file_limit& operator=(const file_limit&) = delete;

private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(Journal, FullDisk) {
  auto m = open({});
  random_source random(1);
  const auto large = some_entries<double, std::int32_t, std::int32_t>(random, 20, 30, 5000);
  for (const std::int64_t room : {0, 1, 48, 300, 5000}) {
    const file_limit full(static_cast<std::int64_t>(log_.size()) + room);
    expect_part(message([&] { insert(one, m, large.view()); }),
                "batch 16 is not in the log, which has " + std::to_string(log_.size()) + " bytes");
    EXPECT_TRUE(is_state(m, batches));
    EXPECT_EQ(contents(folder_ / "j/log"), log_);
  }
  {
    const file_limit full(200);
    expect_part(message([&] { checkpoint(one, m); }), "cannot write " + (folder_ / "j/checkpoint"));
    EXPECT_EQ(contents(folder_ / "j/checkpoint"), checkpoint_);
  }
  insert(one, m, large.view());
  checkpoint(one, m);
  note(m);
  EXPECT_EQ(m.batches(), batches + 1);
  m = io::create_journal(one, folder_ / "other", matrix(one, {1, 1}));
  EXPECT_TRUE(is_state(open(), batches + 1));
}

} // namespace
} // namespace lacuna::test
