// What users see when they ask for help or get it wrong.
#include <cstdio>
#include <sstream>

#include "cli/program.hpp"

namespace lacuna::test {
namespace {

const std::vector<std::string> commands = {"info", "spy",        "plan",    "spmv",    "multiply",
                                           "add",  "transpose",  "convert", "reorder", "tune",
                                           "demo", "completion", "man"};

TEST_F(Cli, AloneItShowsShortHelp) {
  const auto r = run({});
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.out, "");
  for (const auto& each : commands) EXPECT_TRUE(has(r.err, "\n  " + each));
}

TEST_F(Cli, HelpListsTheCommands) {
  const auto r = run({"--help"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_TRUE(begins(r.out, "Lacuna: sparse matrices that adapt, change and solve, on CPUs and "
                            "NVIDIA GPUs.\n\nUsage: lacuna [OPTIONS] COMMAND ...\n\nOptions:\n"));
  for (const auto& each : commands) EXPECT_TRUE(has(r.out, "\n  " + each + " "));
}

TEST_F(Cli, EveryCommandHasHelpWithAnExample) {
  for (const auto& each : commands) {
    SCOPED_TRACE(each);
    const auto r = run({each, "--help"});
    EXPECT_EQ(r.code, 0);
    EXPECT_EQ(r.err, "");
    EXPECT_TRUE(has(r.out, "\n\nUsage: lacuna " + each));
    const auto example = r.out.find("\nExample");
    ASSERT_NE(example, std::string::npos);
    EXPECT_TRUE(has(r.out.substr(example), "lacuna " + each));
    std::istringstream lines(r.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST_F(Cli, FirstLinesOfHelp) {
  EXPECT_TRUE(begins(run({"info", "--help"}).out,
                     "sizes, symmetry, row lengths, bands, blocks, bytes\n\n"
                     "Usage: lacuna info A [OPTIONS]\n\nArguments:\n  A MATRIX"));
  EXPECT_TRUE(begins(run({"convert", "--help"}).out,
                     "the same matrix in another file format\n\n"
                     "Usage: lacuna convert A -o FILE [OPTIONS]\n\nArguments:\n  A MATRIX"));
}

TEST_F(Cli, UnknownCommandsAreGuessed) {
  const auto r = run({"inof", "gen:dense"});
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(begins(r.err, "lacuna: there is no command 'inof'; did you mean 'info'?\n"));
  EXPECT_TRUE(has(run({"--device", "host", "spvm", "gen:dense"}).err, "did you mean 'spmv'?"));
  EXPECT_TRUE(has(run({"gen:dense"}).err, "there are info, spy,"));
}

TEST_F(Cli, WrongUsageIsTwo) {
  const std::vector<std::vector<std::string>> wrong = {
      {"info"},
      {"info", "gen:dense", "--nonsense"},
      {"info", "gen:dense", "--duplicates", "never"},
      {"info", "gen:dense", "--device", "tpu"},
      {"info", "gen:dense", "--threads", "0"},
      {"convert", "gen:dense"},
      {"transpose", "gen:dense"},
      {"multiply", "gen:dense"},
      {"multiply", "-", "-"},
      {"multiply", "gen:dense", "gen:dense", "--memory-limit", "much"},
      {"multiply", "gen:dense", "gen:dense", "--times", "0"},
      {"multiply", "gen:dense", "gen:dense", "--method", "guess"},
      {"add", "gen:dense"},
      {"add", "-", "-"},
      {"add", "gen:dense", "gen:dense", "--alpha", "much"},
      {"convert", "gen:dense", "-o", "a.xyz"},
      {"convert", "gen:dense", "-o", "-", "--json"},
      {"spy", "gen:dense", "-o", "a.gif"},
      {"spmv", "-", "-x", "-"},
      {"spmv", "gen:dense", "--format", "dynamic_csr"},
      {"plan", "gen:dense", "--multiplies", "-1"},
      {"plan", "gen:dense", "--memory-limit", "much"},
      {"spmv", "gen:dense", "--format", "unheard_of"},
      {"completion", "fish"},
      {"--json"}};
  for (const auto& arguments : wrong) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    EXPECT_EQ(run(arguments).code, 2);
    EXPECT_EQ(files(), std::vector<std::string>());
  }
}

TEST_F(Cli, ErrorsAreObjectsWithJson) {
  const auto r = run({"info", "missing.mtx", "--json"});
  EXPECT_EQ(r.code, 3);
  EXPECT_EQ(r.err, "");
  const auto error = r.json()["error"];
  EXPECT_EQ(error["kind"], "bad_input");
  EXPECT_TRUE(has(error["message"].get<std::string>(), "No such file or directory"));
  EXPECT_EQ(error["file"], "missing.mtx");
  EXPECT_TRUE(error["line"].is_null());
  EXPECT_EQ(run({"--json", "nonsense"}).json()["error"]["kind"], "usage");
}

TEST_F(Cli, UnreadableInputIsThree) {
  write("outside.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n1 9 1\n");
  write("complex.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 3 4\n");
  const auto fails = [&](const std::string& name, const std::string& message) {
    SCOPED_TRACE(name);
    const auto r = run({"info", name});
    EXPECT_EQ(r.code, 3);
    EXPECT_EQ(r.out, "");
    EXPECT_TRUE(begins(r.err, "lacuna: " + message));
    EXPECT_FALSE(has(r.err, "--help"));
  };
  fails("outside.mtx", "outside.mtx:4: ");
  fails("complex.mtx", "complex.mtx:1: complex");
  fails("missing.mtx", "missing.mtx: cannot read: No such file or directory");
  fails(".", ".: cannot read: Is a directory");
  fails("gen:unheard_of", "no generator 'unheard_of'");
  fails("gen:dense:q=3", "dense: no parameter 'q'");
  const auto r = run({"info", "complex.mtx", "--json"});
  EXPECT_EQ(r.json()["error"]["kind"], "unsupported");
  EXPECT_EQ(r.json()["error"]["line"], 1);
}

TEST_F(Cli, TooLittleMemoryIsFour) {
  const auto r = run({"info", "gen:poisson3d:n=20000", "--json"});
  EXPECT_EQ(r.code, 4);
  EXPECT_EQ(r.json()["error"]["kind"], "out_of_memory");
}

TEST_F(Cli, MissingDeviceIsFive) {
  const auto found = run({"--version", "--json"}).json()["devices"].size();
  const auto device = "cuda:" + std::to_string(found);
  for (const std::string command : {"info", "spmv", "plan"}) {
    const auto r = run({"--device", device, command, "gen:dense:n=3,m=3"});
    EXPECT_EQ(r.code, 5) << command;
    EXPECT_EQ(r.out, "");
  }
}

TEST_F(Cli, BashCompletion) {
  write("completion", run({"completion", "bash"}).out);
  write("some.mtx", "");
  write("some.txt", "");
  const auto complete = [&](const std::string& line) {
    write("try", "cd " + folder_.string() + "\nsource ./completion\nCOMP_LINE='" + line +
                     "'\nCOMP_POINT=${#COMP_LINE}\n_lacuna\nprintf '%s ' \"${COMPREPLY[@]}\"\n");
    std::string text;
    std::FILE* const bash = ::popen(("bash --norc " + (folder_ / "try").string()).c_str(), "r");
    if (bash == nullptr) return text;
    char buffer[4096];
    while (std::fgets(buffer, sizeof buffer, bash) != nullptr) text += buffer;
    ::pclose(bash);
    return text;
  };
  EXPECT_EQ(complete("lacuna conv"), "convert ");
  EXPECT_EQ(complete("lacuna --device "), "auto host cuda ");
  EXPECT_EQ(complete("lacuna info some"), "some.mtx ");
  EXPECT_TRUE(begins(complete("lacuna info gen:tri"), "tridiagonal tridiagonal:n="));
  EXPECT_EQ(complete("lacuna info A.mtx --dup"), "--duplicates ");
  EXPECT_EQ(complete("lacuna --json spmv A.mtx --format el"), "ell_csr ");
}

TEST_F(Cli, ManualPage) {
  const auto r = run({"man"});
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(begins(r.out, ".TH LACUNA 1"));
  for (const auto& each : commands) EXPECT_TRUE(has(r.out, ".SS \"" + each + "\"\n"));
  EXPECT_TRUE(has(r.out, "\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR"));
}

} // namespace
} // namespace lacuna::test
