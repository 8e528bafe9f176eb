// How the program ends when something is in its way.
#include <csignal>
#include <filesystem>

#include "cli/program.hpp"

namespace lacuna::test {
namespace {

const std::vector<std::string> nothing;

TEST_F(Cli, FullStdout) {
  const std::vector<std::vector<std::string>> prints = {
      {"--help"},
      {"--version"},
      {"info", "gen:dense:n=3,m=3"},
      {"man"},
      {"info", "gen:dense:n=3,m=3", "--json"},
      {"convert", "gen:dense:n=3,m=3", "-o", "-"}};
  for (const auto& arguments : prints) {
    const auto r = run(arguments, {.output = "/dev/full"});
    EXPECT_EQ(r.code, 1) << arguments.front();
    EXPECT_TRUE(has(r.err, "cannot write standard output: No space left on device"));
  }
}

TEST_F(Cli, MissingStdout) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"info", "gen:dense:n=3,m=3"}, {"convert", "gen:dense:n=3,m=3", "-o", "-"}}) {
    const auto r = run(arguments, {.without_stdout = true});
    EXPECT_EQ(r.code, 1) << arguments.front();
    EXPECT_TRUE(has(r.err, "cannot write standard output: Bad file descriptor"));
  }
  const auto r =
      run({"convert", "gen:diagonal:n=2", "-o", "a.mtx", "--quiet"}, {.without_stdout = true});
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(begins(read("a.mtx"), "%%MatrixMarket"));
}

/// What failed is said by the code, even where it cannot be printed.
TEST_F(Cli, CodesDoNotDependOnStdout) {
  EXPECT_EQ(run({"info", "missing.mtx", "--json"}, {.output = "/dev/full"}).code, 3);
  EXPECT_EQ(run({"info", "--json"}, {.output = "/dev/full"}).code, 2);
  EXPECT_EQ(run({"info", "gen:poisson3d:n=20000", "--json"}, {.output = "/dev/full"}).code, 4);
}

TEST_F(Cli, CodesDoNotDependOnStderr) {
  const std::vector<run_settings> lost = {
      {.errors = "/dev/full"}, {.without_stderr = true}, {.closed_error_pipe = true}};
  const std::vector<std::pair<std::vector<std::string>, int>> expected = {
      {{}, 2},
      {{"info"}, 2},
      {{"inof"}, 2},
      {{"info", "missing.mtx"}, 3},
      {{"info", "gen:poisson3d:n=20000"}, 4},
      {{"info", "gen:dense:n=3,m=3", "--device", "cuda:99"}, 5},
      {{"convert", "gen:dense:n=3,m=3", "-o", "no/a.mtx"}, 1},
      {{"convert", "gen:diagonal:n=2", "-o", "-"}, 0},
      {{"spmv", "gen:diagonal:n=2", "-o", "-"}, 0},
      {{"reorder", "gen:diagonal:n=2", "-o", "-"}, 0},
      {{"convert", "gen:diagonal:n=2", "-o", "a.mtx"}, 0}};
  for (const run_settings& s : lost)
    for (const auto& [arguments, code] : expected) {
      SCOPED_TRACE(::testing::PrintToString(arguments));
      const auto r = run(arguments, s);
      EXPECT_EQ(r.signal, 0);
      EXPECT_EQ(r.code, code);
      if (arguments.size() > 3 && arguments[3] == "-") {
        EXPECT_TRUE(begins(r.out, "%%MatrixMarket matrix "));
      }
    }
  // A message must not end up in the file that took stderr's place.
  EXPECT_EQ(read("a.mtx"), run({"convert", "gen:diagonal:n=2", "-o", "-"}).out);
}

TEST_F(Cli, ReaderWhoHasSeenEnough) {
  // As shells start programs: the pipe's signal ends it.
  const auto killed = run({"info", "gen:"}, {.closed_pipe = true});
  EXPECT_EQ(killed.signal, SIGPIPE);
  EXPECT_EQ(killed.err, "");
  // As some supervisors do.
  for (const std::string command : {"info", "spy"}) {
    const auto r =
        run({command, "gen:tridiagonal:n=100"}, {.closed_pipe = true, .ignore_sigpipe = true});
    EXPECT_EQ(r.signal, 0);
    EXPECT_EQ(r.code, 0);
    EXPECT_EQ(r.err, "");
  }
  EXPECT_EQ(run({"man"}, {.closed_pipe = true, .ignore_sigpipe = true}).err, "");
  // A matrix that was asked for and did not arrive is a failure.
  EXPECT_EQ(
      run({"convert", "gen:dense", "-o", "-"}, {.closed_pipe = true, .ignore_sigpipe = true}).code,
      1);
}

TEST_F(Cli, FullDisk) {
  std::filesystem::create_symlink("/dev/full", folder_ / "full.mtx");
  const auto r = run({"convert", "gen:dense:n=9,m=9", "-o", "full.mtx"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(has(r.err, "full.mtx: No space left on device"));
}

TEST_F(Cli, FolderThatIsNotThere) {
  for (const std::string name : {"no/a.mtx", "no/a.svg"}) {
    const auto r =
        run({name.ends_with("mtx") ? "convert" : "spy", "gen:dense:n=3,m=3", "-o", name});
    EXPECT_EQ(r.code, 1);
    EXPECT_TRUE(has(r.err, name + ": No such file or directory"));
  }
}

TEST_F(Cli, FailureLeavesTheOldFile) {
  write("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n9 9 1\n");
  write("kept.mtx", small_symmetric);
  EXPECT_EQ(run({"convert", "bad.mtx", "-o", "kept.mtx"}).code, 3);
  EXPECT_EQ(read("kept.mtx"), small_symmetric);
  EXPECT_EQ(files(), (std::vector<std::string>{"bad.mtx", "kept.mtx"}));
}

#ifdef LACUNA_HAS_ZLIB
/// Compressing this takes one thread 0.2 s or more: several lines of a bar that appears at once.
const std::vector<std::string> slow = {"--threads",          "1",  "convert",
                                       "gen:poisson3d:n=70", "-o", "a.mtx.gz"};

TEST_F(Cli, SignalsLeaveNoFile) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const auto r = run(slow, {.environment = {"LACUNA_PROGRESS_AFTER=0"},
                              .stderr_terminal = true,
                              .signal = signal,
                              .signal_at = "writing"});
    EXPECT_EQ(r.signal, signal);
    EXPECT_EQ(r.out, "");
    EXPECT_TRUE(r.err.ends_with("\r\033[K")) << r.err;
    EXPECT_EQ(files(), nothing);
  }
}

TEST_F(Cli, ProgressIsShownAndErased) {
  const run_settings at_once{.environment = {"LACUNA_PROGRESS_AFTER=0"}, .stderr_terminal = true};
  const auto shown = run(slow, at_once);
  EXPECT_EQ(shown.code, 0);
  EXPECT_TRUE(has(shown.err, "\rwriting a.mtx.gz "));
  EXPECT_TRUE(has(shown.err, " %  "));
  EXPECT_TRUE(shown.err.ends_with("\r\033[K"));
  EXPECT_FALSE(has(shown.out, "\r"));
  auto quiet = slow;
  quiet.emplace_back("--quiet");
  EXPECT_EQ(run(quiet, at_once).err, "");
  EXPECT_EQ(run(slow, {.environment = at_once.environment}).err, "");
}
#endif

/// What is over before a bar is worth looking at shows none.
TEST_F(Cli, ShortWorkShowsNoProgress) {
  EXPECT_EQ(run({"info", "gen:dense:n=3,m=3"}, {.stderr_terminal = true}).err, "");
}

} // namespace
} // namespace lacuna::test
