// What users see when they ask for help or get it wrong.
#include <cstdio>
#include <sstream>

#include "cli/program.hpp"

namespace lacuna::test {
namespace {

const std::vector<std::string> commands = {
    "info",    "spy",     "plan",  "spmv", "multiply", "update",     "add", "transpose", "convert",
    "reorder", "closure", "solve", "tune", "demo",     "completion", "man", "help",      "report"};

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

TEST_F(Cli, UnknownOptionsAreGuessed) {
  const auto guess = [&](std::vector<std::string> arguments) {
    const auto r = run(arguments);
    EXPECT_EQ(r.code, 2);
    EXPECT_EQ(r.out, "");
    return r.err;
  };
  EXPECT_EQ(guess({"spy", "gen:dense", "--sise", "512"}),
            "lacuna: spy has no option '--sise'; did you mean '--size'?\n"
            "Run lacuna spy --help for usage.\n");
  EXPECT_TRUE(has(guess({"spy", "gen:dense", "--sise=512"}), "did you mean '--size'?"));
  EXPECT_TRUE(has(guess({"info", "gen:dense", "--jsno"}), "did you mean '--json'?"));
  EXPECT_TRUE(has(guess({"--devise", "host", "info", "gen:dense"}), "did you mean '--device'?"));
  EXPECT_TRUE(has(guess({"info", "gen:dense", "--nothing-like-it"}),
                  "info has no option '--nothing-like-it'\n"));
  EXPECT_TRUE(has(guess({"info", "gen:dense", "another"}), "info has no use for 'another'"));
  EXPECT_TRUE(has(guess({"reorder", "gen:dense", "--method", "rmc"}), "did you mean 'rcm'?"));
  EXPECT_TRUE(has(guess({"help", "inof"}), "did you mean 'info'?"));
}

TEST_F(Cli, HelpAsACommand) {
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  for (const auto& each : commands) {
    const auto r = run({"help", each});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out, run({each, "--help"}).out) << each;
  }
}

TEST_F(Cli, Version) {
  const auto r = run({"-V"});
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(begins(r.out, "lacuna "));
  EXPECT_EQ(r.out, run({"--version"}).out);
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
      {"plan", "gen:dense", "--multiplies", "-1"},
      {"plan", "gen:dense", "--memory-limit", "much"},
      {"spmv", "gen:dense", "--format", "unheard_of"},
      {"completion", "tcsh"},
      {"help", "unheard_of"},
      {"help", "info", "spy"},
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
  const auto devices = run({"--version", "--json"}).json()["devices"].size();
  const auto device = "cuda:" + std::to_string(devices);
  for (const std::string command : {"info", "spmv", "plan"}) {
    const auto r = run({"--device", device, command, "gen:dense:n=3,m=3"});
    EXPECT_EQ(r.code, 5) << command;
    EXPECT_EQ(r.out, "");
  }
}

/// What a shell command prints; its errors too.
std::string printed(const std::string& command) {
  std::string text;
  std::FILE* const shell = ::popen((command + " 2>&1").c_str(), "r");
  if (shell == nullptr) return text;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, shell) != nullptr) text += buffer;
  ::pclose(shell);
  return text;
}

bool is_there(const std::string& shell) { return printed(shell + " -c 'echo yes'") == "yes\n"; }

TEST_F(Cli, BashCompletion) {
  write("completion", run({"completion", "bash"}).out);
  write("some.mtx", "");
  write("some.txt", "");
  const auto complete = [&](const std::string& line) {
    write("try", "cd " + folder_.string() + "\nsource ./completion\nCOMP_LINE='" + line +
                     "'\nCOMP_POINT=${#COMP_LINE}\n_lacuna\nprintf '%s ' \"${COMPREPLY[@]}\"\n");
    return printed("bash --norc " + (folder_ / "try").string());
  };
  EXPECT_EQ(complete("lacuna conv"), "convert ");
  EXPECT_EQ(complete("lacuna --device "), "auto host cuda ");
  EXPECT_EQ(complete("lacuna --device=h"), "host ");
  EXPECT_EQ(complete("lacuna info some"), "some.mtx ");
  EXPECT_EQ(complete("lacuna spy A.mtx -o some"), "some.mtx some.txt ");
  EXPECT_TRUE(begins(complete("lacuna info gen:tri"), "tridiagonal tridiagonal:n="));
  EXPECT_EQ(complete("lacuna info A.mtx --dup"), "--duplicates ");
  EXPECT_EQ(complete("lacuna --json spmv A.mtx --format el"), "ell_csr ");
  EXPECT_EQ(complete("lacuna help spm"), "spmv ");
  EXPECT_EQ(complete("lacuna completion "), "bash zsh fish ");
  EXPECT_EQ(complete("lacuna --seed info "), complete("lacuna ")) << "info is the seed";
  for (const auto& each : commands) EXPECT_TRUE(has(" " + complete("lacuna "), " " + each + " "));
}

/// Every name that a command's help has, as `--size` or `-o`, at the start of a line.
std::vector<std::string> option_names(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  -") || line.starts_with("      --")) {
      std::istringstream words(line);
      for (std::string word; words >> word && word.starts_with("-");)
        names.push_back(word.substr(0, word.find(',')));
    }
  return names;
}

TEST_F(Cli, CompletionsHaveEveryOption) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const auto script = run({"completion", shell});
    EXPECT_EQ(script.code, 0);
    for (const auto& each : commands)
      for (const auto& name : option_names(run({each, "--help"}).out)) {
        const std::string bare = name.substr(name.find_first_not_of('-'));
        const std::string in_fish =
            name.starts_with("--") ? " -l " + bare + " " : " -s " + bare + " ";
        EXPECT_TRUE(has(script.out, shell == "fish" ? in_fish : name)) << shell << " " << each;
      }
  }
}

TEST_F(Cli, ZshCompletion) {
  if (!is_there("zsh")) GTEST_SKIP() << "no zsh";
  write("_lacuna", run({"completion", "zsh"}).out);
  EXPECT_EQ(printed("zsh -n " + (folder_ / "_lacuna").string()), "");
  write("some.mtx", "");
  write("some.txt", "");
  // Completion needs a line editor: zsh runs in a terminal of its own, where a tab is typed and the
  // line is run. A function of lacuna's name prints what arrived.
  const auto complete = [&](const std::string& line) {
    write("try.zsh", "zmodload zsh/zpty\n"
                     "zpty z zsh -f -i\n"
                     "zpty -w z 'PS1=; cd " +
                         folder_.string() +
                         "; stty columns 200'\n"
                         "zpty -w z 'autoload -U compinit; compinit -D -u; source ./_lacuna'\n"
                         "zpty -w z 'lacuna() { print -r -- \"<$*>\" }; echo rea\"\"dy'\n"
                         "zpty -r -m z seen '*ready*'\n"
                         "zpty -n -w z $'" +
                         line +
                         "\\t\\n'\n"
                         "zpty -r -m z seen '*<*>*'\n"
                         "print -r -- \"<${${seen#*<}%%>*}>\"\n"
                         "zpty -d z\n");
    return printed("timeout 60 zsh -f " + (folder_ / "try.zsh").string());
  };
  EXPECT_EQ(complete("lacuna conv"), "<convert>\n");
  EXPECT_EQ(complete("lacuna info some."), "<info some.mtx>\n");
  EXPECT_EQ(complete("lacuna info gen:tridiagonal:"), "<info gen:tridiagonal:n=300000>\n");
  EXPECT_EQ(complete("lacuna --json spmv A.mtx --format el"),
            "<--json spmv A.mtx --format ell_csr>\n");
  EXPECT_EQ(complete("lacuna --device=h"), "<--device=host>\n");
  EXPECT_EQ(complete("lacuna help spm"), "<help spmv>\n");
  EXPECT_EQ(complete("lacuna completion f"), "<completion fish>\n");
}

TEST_F(Cli, FishCompletion) {
  if (!is_there("fish")) GTEST_SKIP() << "no fish";
  write("lacuna.fish", run({"completion", "fish"}).out);
  write("some.mtx", "");
  write("some.txt", "");
  const auto complete = [&](const std::string& line) {
    write("try.fish", "cd " + folder_.string() + "\nsource lacuna.fish\ncomplete -C '" + line +
                          "' | string replace -r '\\t.*' ''\n");
    return printed("HOME=" + folder_.string() + " fish --no-config " +
                   (folder_ / "try.fish").string());
  };
  EXPECT_EQ(complete("lacuna conv"), "convert\n");
  EXPECT_EQ(complete("lacuna --device "), "auto\ncuda\nhost\n");
  EXPECT_EQ(complete("lacuna info some"), "some.mtx\n");
  EXPECT_TRUE(has(complete("lacuna info gen:tri"), "gen:tridiagonal\n"));
  EXPECT_EQ(complete("lacuna info A.mtx --dup"), "--duplicates\n");
  EXPECT_EQ(complete("lacuna --json spmv A.mtx --format el"), "ell_csr\n");
  EXPECT_EQ(complete("lacuna help spm"), "spmv\n");
  EXPECT_EQ(complete("lacuna completion z"), "zsh\n");
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
