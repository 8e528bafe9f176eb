// Every file of tests/io/bad ends the program with exit code 3 and the file, line and words that
// its expected.tsv has.
#include "cli/program.hpp"
#include "io/files.hpp"

namespace lacuna::test {
namespace {

TEST_F(Cli, BadFilesAreExitCode3) {
  for (const auto& row : read_table(data_folder / "bad/expected.tsv")) {
    SCOPED_TRACE(row.at(0));
    const std::string file = data_folder / "bad" / row.at(0);
    const auto r = run({"info", file});
    if (r.err.find("build again") != std::string::npos) continue; // without its library
    EXPECT_EQ(r.code, 3);
    EXPECT_EQ(r.out, "");
    EXPECT_TRUE(begins(r.err, "lacuna: " + file + ":")) << r.err;
    EXPECT_TRUE(has(r.err, row.at(2)));
    const bool line_named = has(r.err, ":" + row.at(1) + ": ");
    EXPECT_TRUE(row.at(1) == "0" || line_named) << r.err;
  }
}

} // namespace
} // namespace lacuna::test
