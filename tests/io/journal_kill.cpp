// A process that writes batches as fast as it can is killed (kill -9) a thousand times, whatever it
// is doing: in the middle of a record, of a checkpoint, of opening. What opens afterwards is the
// matrix after the last complete batch.
#include <csignal>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/files.hpp"
#include "support/changes.hpp"
#include "support/engine.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

using matrix = dynamic_csr<double>;

// One thread: OpenMP's do not survive a fork.
const host_context one({1});
/// Rows that make scale_rows, a quarter of all batches, a record of 64 KB: some kills hit one.
constexpr std::int64_t rows = 8192;

void change(auto& m, std::int64_t n) {
  if (n % 4 != 0) return make_change(one, m, n / 4 * 3 + n % 4, 30);
  array<double> factors(one, rows);
  for (std::int64_t i = 0; i < rows; ++i) factors[i] = (i + n / 4) % 2 == 0 ? 2 : 0.5;
  scale_rows(one, m, factors.view());
}

/// What the child has told before it was killed.
struct told {
  std::int64_t done = 0; ///< the last batch whose call has returned
  bool opened = false;
};

[[noreturn]] void write_batches(const std::string& folder, io::journal_sync sync,
                                volatile told* by_child) {
  try {
    auto m = io::open_journal<matrix>(one, folder, {.sync = sync});
    by_child->opened = true;
    for (;;) {
      change(m, m.batches() + 1);
      by_child->done = m.batches();
      if (m.log_bytes() > 1'000'000) checkpoint(one, m);
    }
  } catch (const error& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  ::_exit(1);
}

TEST(JournalKill, AThousandTimes) {
  const scratch_folder folder;
  matrix model(one, {rows, 50});
  std::int64_t applied = 0, cut = 0, wrote = 0;
  io::create_journal(one, folder / "j", matrix(one, {rows, 50}));
  void* const shared =
      ::mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const by_child = static_cast<volatile told*>(shared);
  random_source random(15);
  for (int kill = 0; kill < 1000; ++kill) {
    const auto sync = kill % 20 == 0 ? io::journal_sync::every_batch : io::journal_sync::never;
    by_child->opened = false;
    const pid_t child = ::fork();
    if (child == 0) write_batches(folder / "j", sync, by_child);
    ASSERT_GT(child, 0);
    // A fifth of the kills may come while it is still opening.
    for (int wait = 0; kill % 5 != 0 && !by_child->opened && wait < 10'000; ++wait) ::usleep(100);
    ::usleep(static_cast<useconds_t>(random.below(3000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself";

    auto m = io::open_journal<matrix>(one, folder / "j", {.sync = io::journal_sync::never});
    const std::int64_t batches = m.batches(), done = by_child->done;
    ASSERT_GE(batches, done);
    ASSERT_LE(batches, done + 1);
    wrote += batches > applied ? 1 : 0;
    cut += m.recovery().cut_bytes > 0 ? 1 : 0;
    while (applied < batches) change(model, ++applied);
    ASSERT_TRUE(same_matrix(to_csr(one, m.matrix()), to_csr(one, model))) << "after kill " << kill;
    by_child->done = batches;
    // Children may never come to the end of one where the disk is slow.
    if (m.log_bytes() > 2'000'000) checkpoint(one, m);
  }
  ::munmap(shared, sizeof(told));
  EXPECT_GT(wrote, 300) << "children had no time to write";
  std::printf("%lld batches; %lld kills of processes that had written some, %lld within a record\n",
              static_cast<long long>(applied), static_cast<long long>(wrote),
              static_cast<long long>(cut));
}

} // namespace
} // namespace lacuna::test
