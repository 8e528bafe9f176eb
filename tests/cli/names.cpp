// Names and terminals: what is not ours is shown escaped, and plain terminals get ASCII.
#include <algorithm>

#include "cli/program.hpp"

namespace lacuna::test {
namespace {

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// No control character but the ends of lines.
bool is_harmless(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  });
}

const std::string odd_name = "a\033[31m\n\x7f\xff.mtx";
const std::string odd_shown = "a\\x1b[31m\\n\\x7f\\xff.mtx";

TEST_F(Cli, ControlCharactersAreShownEscaped) {
  write(odd_name, small_symmetric);
  const auto r = run({"info", odd_name});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(begins(r.out, odd_shown + ": Matrix Market coordinate\n"));
  const std::vector<std::vector<std::string>> all = {
      {"info", odd_name},
      {"info", odd_name, "--quiet"},
      {"spy", odd_name},
      {"spy", odd_name, "-o", odd_name + ".svg"},
      {"plan", odd_name},
      {"spmv", odd_name, "--repeat", "1"},
      {"multiply", odd_name, odd_name, "-o", odd_name},
      {"add", odd_name, odd_name, "-o", odd_name},
      {"transpose", odd_name, "-o", odd_name},
      {"convert", odd_name, "-o", odd_name},
      {"reorder", odd_name},
      {"solve", odd_name},
      {"demo", odd_name}};
  for (const auto& arguments : all) {
    SCOPED_TRACE(arguments.front());
    const auto each = run(arguments);
    EXPECT_EQ(each.code, 0) << each.err;
    EXPECT_TRUE(is_harmless(each.out)) << each.out;
    EXPECT_TRUE(has(each.out, odd_shown));
    EXPECT_EQ(each.err, "");
  }
  const std::string svg = read(odd_name + ".svg");
  EXPECT_TRUE(is_harmless(svg));
  EXPECT_TRUE(has(svg, ">" + odd_shown + "</text>"));
}

TEST_F(Cli, MessagesAreLinesWhateverTheNamesAre) {
  const auto missing = run({"info", "no" + odd_name});
  EXPECT_EQ(missing.code, 3);
  EXPECT_EQ(missing.err, "lacuna: no" + odd_shown + ": cannot read: No such file or directory\n");
  const auto usage = run({"info", "gen:dense", "--\033[1mbold\n"});
  EXPECT_EQ(usage.code, 2);
  EXPECT_TRUE(is_harmless(usage.err)) << usage.err;
  EXPECT_TRUE(is_harmless(run({"\033[1m"}).err));
  // What a file says, too.
  write("bad.mtx", "%%MatrixMarket matrix coordinate \033]0;title\007 general\n1 1 1\n1 1 1\n");
  const auto bad = run({"info", "bad.mtx"});
  EXPECT_EQ(bad.code, 3);
  EXPECT_TRUE(is_harmless(bad.err)) << bad.err;
}

TEST_F(Cli, JsonIsJsonWhateverTheNamesAre) {
  write("a\033\n.mtx", small_symmetric);
  EXPECT_EQ(run({"info", "a\033\n.mtx", "--json"}).json()["matrix"], "a\033\n.mtx");
  write(odd_name, small_symmetric);
  EXPECT_EQ(run({"info", odd_name, "--json"}).json()["nnz"], 5);
  EXPECT_EQ(run({"info", "no" + odd_name, "--json"}).json()["error"]["kind"], "bad_input");
}

TEST_F(Cli, EveryMessageNamesItsFiles) {
  write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 3 5\n");
  write("v.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n10\n");
  EXPECT_TRUE(begins(run({"multiply", "a.mtx", "a.mtx"}).err, "lacuna: a.mtx times a.mtx: "));
  EXPECT_TRUE(begins(run({"add", "a.mtx", "v.mtx"}).err, "lacuna: a.mtx + v.mtx: "));
  EXPECT_TRUE(begins(run({"spmv", "a.mtx", "-x", "v.mtx"}).err, "lacuna: a.mtx times v.mtx: "));
  EXPECT_TRUE(
      begins(run({"info", "gen:poisson3d:n=20000"}).err, "lacuna: gen:poisson3d:n=20000: "));
}

TEST_F(Cli, PlainTerminalsGetAscii) {
  write("s.mtx", small_symmetric);
  write("caf\xc3\xa9.mtx", small_symmetric);
  const std::vector<std::vector<std::string>> all = {
      {"info", "gen:rmat:scale=8"},
      {"info", "caf\xc3\xa9.mtx"},
      {"info", "caf\xc3\xa9.mtx", "--json"},
      {"spy", "gen:circuit:n=500"},
      {"plan", "gen:poisson2d:n=30"},
      {"plan", "gen:poisson2d:n=30", "--json"},
      {"spmv", "s.mtx", "--verify"},
      {"multiply", "s.mtx", "s.mtx", "--verify"},
      {"reorder", "s.mtx"},
      {"solve", "s.mtx", "--verify"},
      {"tune", "--only", "diagonal:n=50", "--quick", "--dry-run", "--device", "host"},
      {"demo", "s.mtx"},
      {"info", "missing-caf\xc3\xa9.mtx"},
      {"--help"}};
  const std::vector<std::vector<std::string>> plain = {{"LC_ALL=C"},
                                                       {"LC_ALL=POSIX"},
                                                       {"LC_ALL=", "LC_CTYPE=", "LANG="},
                                                       {"LC_ALL=en_GB.ISO-8859-1"},
                                                       {"TERM=dumb"}};
  for (const auto& arguments : all)
    for (const auto& environment : plain) {
      if (environment != plain.front() && arguments[0] == "tune") continue; // it takes its time
      SCOPED_TRACE(arguments.front() + " " + environment.front());
      const auto r = run(arguments, {.environment = environment, .stdout_terminal = true});
      EXPECT_TRUE(is_ascii(r.out + r.err)) << r.out << r.err;
      EXPECT_EQ((r.out + r.err).find('\033'), std::string::npos);
      EXPECT_FALSE(r.out.empty() && r.err.empty());
    }
  EXPECT_EQ(run({"spy", "s.mtx", "--quiet"}, {.environment = {"LC_ALL=C"}}).out,
            "+---+\n|:: |\n|  '|\n+---+\n");
  for (const char* utf8 : {"LC_ALL=C.UTF-8", "LC_ALL=de_DE.utf8@euro"})
    EXPECT_TRUE(has(run({"spy", "s.mtx"}, {.environment = {utf8}}).out, "┌──┐"));
  const auto by_lang = {std::string("LC_ALL="), std::string("LC_CTYPE="),
                        std::string("LANG=en_US.UTF-8")};
  EXPECT_TRUE(has(run({"spy", "s.mtx"}, {.environment = by_lang}).out, "┌──┐"));
}

#ifdef LACUNA_HAS_ZLIB
TEST_F(Cli, ProgressOnPlainTerminals) {
  const std::vector<std::string> command = {"--threads",          "1",  "convert",
                                            "gen:poisson3d:n=70", "-o", "a.mtx.gz"};
  const std::string at_once = "LACUNA_PROGRESS_AFTER=0";
  const auto plain = run(command, {.environment = {"LC_ALL=C", at_once}, .stderr_terminal = true});
  EXPECT_TRUE(has(plain.err, "\rwriting a.mtx.gz #"));
  EXPECT_TRUE(is_ascii(plain.err)) << plain.err;
  EXPECT_EQ(run(command, {.environment = {"TERM=dumb", at_once}, .stderr_terminal = true}).err, "");
}
#endif

} // namespace
} // namespace lacuna::test
