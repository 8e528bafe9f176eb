// Matrices that change: journals of `update`, and `closure`.
#include <filesystem>

#include "cli/program.hpp"

namespace lacuna::test {
namespace {

namespace fs = std::filesystem;

class CliJournal : public Cli {
protected:
  void SetUp() override {
    Cli::SetUp();
    write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 5\n2 1 6\n");
    write("e.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1\n2 1 0.5\n");
    write("f.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 3 8\n");
  }
  /// The entries of the journal's matrix.
  std::string entries() {
    const std::string out = run({"update", "--journal", "j", "-o", "-", "--quiet"}).out;
    return out.substr(out.find('\n', out.rfind('%')) + 1);
  }
};

TEST_F(CliJournal, IsCreatedAndContinued) {
  const auto made = run({"update", "a.mtx", "--insert", "e.mtx", "--batch", "1", "--journal", "j",
                         "--verify", "--json"});
  ASSERT_EQ(made.code, 0) << made.out << made.err;
  EXPECT_EQ(made.json()["journal_batches"], 2);
  EXPECT_EQ(made.json()["recovered_batches"], 0);
  EXPECT_EQ(made.json()["verified"], true);
  EXPECT_EQ(entries(), "2 3 3\n1 1 1\n1 3 5\n2 1 6.5\n");

  const auto more =
      run({"update", "--journal", "j", "--replace", "f.mtx", "--no-sync", "--verify"});
  EXPECT_EQ(more.code, 0) << more.err;
  EXPECT_TRUE(has(more.out, "journal j: 3 batches, 2 of them recovered (2 from the log)"));
  EXPECT_TRUE(has(more.out, "verified"));
  EXPECT_EQ(entries(), "2 3 3\n1 1 1\n1 3 8\n2 1 6.5\n");

  // A batch that was cut short.
  fs::resize_file(folder_ / "j/log", fs::file_size(folder_ / "j/log") - 3);
  const auto cut = run({"update", "--journal", "j", "--checkpoint", "--json"}).json();
  EXPECT_EQ(cut["recovered_batches"], 2);
  EXPECT_EQ(cut["cut_bytes"], 48 + 16 - 3);
  EXPECT_EQ(cut["log_bytes"], 40);
  EXPECT_EQ(entries(), "2 3 3\n1 1 1\n1 3 5\n2 1 6.5\n");
  const auto rest = run({"update", "--journal", "j", "--insert", "e.mtx", "--erase", "f.mtx",
                         "--batch", "1", "--skip", "2", "--verify", "--json"});
  EXPECT_EQ(rest.json()["batches"], 1);
  EXPECT_EQ(rest.json()["verified"], true);
  EXPECT_EQ(entries(), "2 3 2\n1 1 1\n2 1 6.5\n");
}

TEST_F(CliJournal, KeepsItsTypes) {
  EXPECT_EQ(
      run({"update", "a.mtx", "--insert", "e.mtx", "--journal", "j", "--precision", "f32"}).code,
      0);
  EXPECT_EQ(run({"update", "--journal", "j", "--insert", "e.mtx"}).code, 0);
  EXPECT_EQ(entries(), "2 3 3\n1 1 2\n1 3 5\n2 1 7\n");
}

TEST_F(CliJournal, WrongUsageAndDamage) {
  const auto missing = run({"update", "--journal", "j", "--insert", "e.mtx"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(has(missing.err, "there is no journal in 'j' yet: A is the matrix to begin with"));
  EXPECT_EQ(run({"update", "--insert", "e.mtx"}).code, 2);
  EXPECT_EQ(run({"update", "a.mtx", "--insert", "e.mtx", "--checkpoint"}).code, 2);
  EXPECT_EQ(run({"update", "a.mtx", "--insert", "e.mtx", "--journal", "j"}).code, 0);
  const auto twice = run({"update", "a.mtx", "--insert", "e.mtx", "--journal", "j"});
  EXPECT_EQ(twice.code, 2);
  EXPECT_TRUE(has(twice.err, "'j' has a matrix already: leave A out to go on with it"));
  EXPECT_EQ(run({"update", "a.mtx", "--insert", "e.mtx", "--journal", "no/j"}).code, 1);
  std::string bytes = read("j/checkpoint");
  bytes[80] = static_cast<char>(bytes[80] ^ 1);
  write("j/checkpoint", bytes);
  const auto damaged = run({"update", "--journal", "j"});
  EXPECT_EQ(damaged.code, 3);
  EXPECT_TRUE(has(damaged.err, "j/checkpoint: damaged: the checksum of its matrix, 2 rows"));
}

TEST_F(Cli, Closure) {
  write("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 3\n1 2\n2 3\n3 2\n");
  const auto r = run({"closure", "a.mtx", "-o", "r.mtx", "--verify", "--json"});
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  const auto report = r.json();
  EXPECT_EQ(report["nnz"], 6);
  EXPECT_EQ(report["rounds"], 2);
  EXPECT_EQ(report["verified"], true);
  EXPECT_TRUE(report["seconds"].is_number());
  EXPECT_TRUE(has(read("r.mtx"), "coordinate pattern general\n"));
  EXPECT_TRUE(has(read("r.mtx"), "4 4 6\n1 2\n1 3\n2 2\n2 3\n3 2\n3 3\n"));
  EXPECT_EQ(run({"closure", "a.mtx", "--reflexive", "--verify", "--json"}).json()["nnz"], 8);
  EXPECT_EQ(run({"closure", "a.mtx", "--quiet"}).out, "6 entries after 2 rounds\n");
  const auto text = run({"closure", "gen:rmat:scale=8", "--verify"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(has(text.out, "verified: a search from every vertex finds the same"));

  const auto wide = run({"closure", "gen:dense:n=3,m=4"});
  EXPECT_EQ(wide.code, 3);
  EXPECT_TRUE(has(wide.err, "closure: rows of A (3)"));
  const auto limited = run({"closure", "gen:rmat:scale=9", "--memory-limit", "200k"});
  EXPECT_EQ(limited.code, 4);
  EXPECT_EQ(run({"closure", "gen:rmat:scale=8", "--memory-limit", "20M", "--verify"}).code, 0);
}

} // namespace
} // namespace lacuna::test
