// Where results go: checked before there is work, and written as cp would.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "cli/program.hpp"

namespace lacuna::test {
namespace {

namespace fs = std::filesystem;

class CliOutput : public Cli {
protected:
  [[nodiscard]] struct stat about(const std::string& name) const {
    struct stat status {};
    EXPECT_EQ(::lstat((folder_ / name).c_str(), &status), 0) << name;
    return status;
  }
  [[nodiscard]] unsigned mode(const std::string& name) const { return about(name).st_mode & 07777; }
  /// What `convert gen:diagonal:n=2` writes.
  [[nodiscard]] std::string written() {
    return run({"convert", "gen:diagonal:n=2", "-o", "-", "--quiet"}).out;
  }
  outcome convert_to(const std::string& output) {
    return run({"convert", "gen:diagonal:n=2", "-o", output, "--quiet"});
  }
};

TEST_F(CliOutput, TwoResultsAreNotOneFile) {
  const std::string old = "% kept\n";
  write("r.mtx", old);
  fs::create_directory(folder_ / "sub");
  fs::create_symlink("r.mtx", folder_ / "link.mtx");
  fs::create_hard_link(folder_ / "r.mtx", folder_ / "other.mtx");
  fs::create_symlink("new.mtx", folder_ / "dangling.mtx");
  const std::vector<std::pair<std::string, std::string>> same = {
      {"r.mtx", "r.mtx"},          {"r.mtx", "./r.mtx"},
      {"r.mtx", "link.mtx"},       {"other.mtx", "r.mtx"},
      {"new.mtx", "new.mtx"},      {"new.mtx", "sub/../new.mtx"},
      {"new.mtx", "dangling.mtx"}, {"new.mtx", (folder_ / "new.mtx").string()}};
  for (const auto& [output, permutation] : same) {
    SCOPED_TRACE(output + " " + permutation);
    const auto r = run({"reorder", "missing.mtx", "-o", output, "--permutation", permutation});
    EXPECT_EQ(r.code, 2) << "before the matrix is read";
    EXPECT_TRUE(has(r.err, "'" + permutation + "' is the file that -o writes"));
    EXPECT_EQ(read("r.mtx"), old);
    EXPECT_FALSE(fs::exists(folder_ / "new.mtx"));
  }
  EXPECT_EQ(run({"reorder", "gen:diagonal:n=3", "-o", "new.mtx", "--permutation", "p.mtx"}).code,
            0);
  EXPECT_EQ(
      run({"reorder", "gen:diagonal:n=3", "-o", "/dev/null", "--permutation", "/dev/null"}).code,
      0);
}

/// The matrix is missing, too: which of the two is told says what was looked at first.
TEST_F(CliOutput, AreCheckedBeforeTheWork) {
  write("file", "");
  fs::create_directory(folder_ / "folder.mtx");
  const std::vector<std::vector<std::string>> commands = {{"convert", "missing.mtx"},
                                                          {"transpose", "missing.mtx"},
                                                          {"spmv", "missing.mtx"},
                                                          {"add", "missing.mtx", "gen:dense"},
                                                          {"multiply", "missing.mtx", "gen:dense"},
                                                          {"reorder", "missing.mtx"}};
  for (auto arguments : commands) {
    SCOPED_TRACE(arguments.front());
    for (const auto& [output, reason] : {std::pair("no/a.mtx", "No such file or directory"),
                                         {"file/a.mtx", "Not a directory"},
                                         {"folder.mtx", "Is a directory"}}) {
      arguments.insert(arguments.end(), {"-o", output});
      const auto r = run(arguments);
      EXPECT_EQ(r.code, 1);
      EXPECT_EQ(r.err, std::string("lacuna: cannot write ") + output + ": " + reason + "\n");
      arguments.resize(arguments.size() - 2);
    }
  }
  EXPECT_TRUE(has(run({"reorder", "missing.mtx", "--permutation", "no/p.mtx"}).err,
                  "cannot write no/p.mtx: "));
  EXPECT_TRUE(has(run({"spy", "missing.mtx", "-o", "no/a.svg"}).err, "cannot write no/a.svg: "));
  EXPECT_EQ(files(), (std::vector<std::string>{"file", "folder.mtx"}));
}

TEST_F(CliOutput, FoldersAndFilesWithoutPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::create_directory(folder_ / "closed");
  write("closed/a.mtx", "old");
  write("read-only.mtx", "old");
  ::chmod((folder_ / "closed").c_str(), 0555);
  ::chmod((folder_ / "read-only.mtx").c_str(), 0444);
  for (const std::string name : {"closed/new.mtx", "read-only.mtx"}) {
    const auto r = run({"convert", "missing.mtx", "-o", name});
    EXPECT_EQ(r.code, 1);
    EXPECT_EQ(r.err, "lacuna: cannot write " + name + ": Permission denied\n");
  }
  EXPECT_EQ(read("read-only.mtx"), "old");
  EXPECT_EQ(convert_to("closed/a.mtx").code, 0) << "the file itself may be written";
  EXPECT_EQ(read("closed/a.mtx"), written());
  ::chmod((folder_ / "closed").c_str(), 0755);
}

TEST_F(CliOutput, LinksAreFollowed) {
  fs::create_directory(folder_ / "data");
  write("data/target.mtx", "old");
  ::chmod((folder_ / "data/target.mtx").c_str(), 0640);
  fs::create_symlink("data/target.mtx", folder_ / "link.mtx");
  fs::create_symlink("link.mtx", folder_ / "chain.mtx");
  fs::create_symlink("data/new.mtx", folder_ / "dangling.mtx");
  fs::create_symlink("loop.mtx", folder_ / "loop.mtx");
  for (const std::string name : {"link.mtx", "chain.mtx"}) {
    write("data/target.mtx", "old");
    EXPECT_EQ(convert_to(name).code, 0);
    EXPECT_TRUE(fs::is_symlink(folder_ / name));
    EXPECT_EQ(read("data/target.mtx"), written());
    EXPECT_EQ(mode("data/target.mtx"), 0640U);
  }
  EXPECT_EQ(convert_to("dangling.mtx").code, 0);
  EXPECT_TRUE(fs::is_symlink(folder_ / "dangling.mtx"));
  EXPECT_EQ(read("data/new.mtx"), written());
  const auto loop = convert_to("loop.mtx");
  EXPECT_EQ(loop.code, 1);
  EXPECT_TRUE(has(loop.err, "cannot write loop.mtx: Too many levels of symbolic links"));
}

TEST_F(CliOutput, ModesAreKept) {
  const mode_t before = ::umask(027);
  EXPECT_EQ(convert_to("new.mtx").code, 0);
  EXPECT_EQ(convert_to("new.npz").code, 0);
  for (const mode_t each : {0600U, 0664U, 0755U}) {
    write("old.mtx", "old");
    ::chmod((folder_ / "old.mtx").c_str(), each);
    EXPECT_EQ(convert_to("old.mtx").code, 0);
    EXPECT_EQ(mode("old.mtx"), each);
    EXPECT_EQ(read("old.mtx"), written());
  }
  ::umask(before);
  EXPECT_EQ(mode("new.mtx"), 0640U);
  EXPECT_EQ(mode("new.npz"), 0640U);
}

TEST_F(CliOutput, OwnersAreKept) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write("theirs.mtx", "old");
  ASSERT_EQ(::chown((folder_ / "theirs.mtx").c_str(), 1234, 4321), 0);
  EXPECT_EQ(convert_to("theirs.mtx").code, 0);
  EXPECT_EQ(about("theirs.mtx").st_uid, 1234U);
  EXPECT_EQ(about("theirs.mtx").st_gid, 4321U);
  EXPECT_EQ(read("theirs.mtx"), written());
}

TEST_F(CliOutput, AFileOfTwoNamesKeepsBoth) {
  write("one.mtx", "old and much longer than what is written over it");
  fs::create_hard_link(folder_ / "one.mtx", folder_ / "two.mtx");
  EXPECT_EQ(convert_to("one.mtx").code, 0);
  EXPECT_EQ(fs::hard_link_count(folder_ / "one.mtx"), 2U);
  EXPECT_EQ(read("two.mtx"), written());
  EXPECT_EQ(files(), (std::vector<std::string>{"one.mtx", "two.mtx"}));
  // Nothing is lost when there is nothing to write.
  write("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n9 9 1\n");
  EXPECT_EQ(run({"convert", "bad.mtx", "-o", "one.mtx"}).code, 3);
  EXPECT_EQ(read("two.mtx"), written());
}

TEST_F(CliOutput, DevicesStayWhatTheyAre) {
  const auto r = convert_to("/dev/null");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    const auto out = run({"convert", "gen:diagonal:n=2", "-o", name});
    EXPECT_EQ(out.out, written()) << name;
    EXPECT_TRUE(has(out.err, "written in"));
    EXPECT_EQ(run({"convert", "gen:diagonal:n=2", "-o", name, "--json"}).code, 2);
  }
  const auto stored = run({"tune", "--only", "diagonal:n=10", "-o", "/dev/null"});
  EXPECT_EQ(stored.code, 2);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(CliOutput, PipesAreFed) {
  for (const std::string name : {"pipe", "pipe.mtx", "pipe.npz"}) {
    SCOPED_TRACE(name);
    const std::string path = folder_ / name;
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::ostringstream got;
    std::thread reader([&] { got << std::ifstream(path, std::ios::binary).rdbuf(); });
    const auto r = convert_to(name);
    reader.join();
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(fs::is_fifo(path));
    if (name == "pipe.npz") {
      write("got.npz", got.str());
      EXPECT_EQ(run({"info", "got.npz", "--json"}).json()["nnz"], 2);
    } else {
      EXPECT_EQ(got.str(), written());
    }
  }
}

} // namespace
} // namespace lacuna::test
