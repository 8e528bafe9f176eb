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
/// Rows that make scale_rows, a quarter of all batches, a record of 256 KB: many kills hit one.
constexpr std::int64_t rows = 32768;

void change(auto& m, std::int64_t n) {
  if (n % 4 != 0) return make_change(one, m, n / 4 * 3 + n % 4, 30);
  array<double> factors(one, rows);
  for (std::int64_t i = 0; i < rows; ++i) factors[i] = (i + n / 4) % 2 == 0 ? 2 : 0.5;
  scale_rows(one, m, factors.view());
}

/// Never returns. `done`: the last batch whose call has returned.
[[noreturn]] void write_batches(const std::string& folder, io::journal_sync sync,
                                volatile std::int64_t* done) {
  try {
    auto m = io::open_journal<matrix>(one, folder, {.sync = sync});
    for (;;) {
      change(m, m.batches() + 1);
      *done = m.batches();
      if (m.batches() % 50 == 0) checkpoint(one, m);
    }
  } catch (const error& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  ::_exit(1);
}

TEST(JournalKill, AThousandTimes) {
  const scratch_folder folder;
  matrix model(one, {rows, 50});
  std::int64_t applied = 0, cut = 0, opened = 0;
  io::create_journal(one, folder / "j", matrix(one, {rows, 50}));
  auto* const done = static_cast<volatile std::int64_t*>(::mmap(
      nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(done, MAP_FAILED);
  random_source random(15);
  for (int kill = 0; kill < 1000; ++kill) {
    const auto sync = kill % 20 == 0 ? io::journal_sync::every_batch : io::journal_sync::never;
    const pid_t child = ::fork();
    if (child == 0) write_batches(folder / "j", sync, done);
    ASSERT_GT(child, 0);
    ::usleep(static_cast<useconds_t>(500 + random.below(9000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself";

    const auto m = io::open_journal<matrix>(one, folder / "j", {.sync = io::journal_sync::never});
    ASSERT_GE(m.batches(), *done);
    ASSERT_LE(m.batches(), *done + 1);
    opened += m.batches() > applied ? 1 : 0;
    cut += m.recovery().cut_bytes > 0 ? 1 : 0;
    while (applied < m.batches()) change(model, ++applied);
    ASSERT_TRUE(same_matrix(to_csr(one, m.matrix()), to_csr(one, model))) << "after kill " << kill;
    *done = m.batches();
  }
  ::munmap(const_cast<std::int64_t*>(done), sizeof(std::int64_t));
  EXPECT_GT(opened, 200) << "children had no time to write";
  RecordProperty("batches", std::to_string(applied));
  RecordProperty("records_cut", std::to_string(cut));
  std::printf("%lld batches; %lld kills after a complete one, %lld within a record\n",
              static_cast<long long>(applied), static_cast<long long>(opened),
              static_cast<long long>(cut));
}

} // namespace
} // namespace lacuna::test
