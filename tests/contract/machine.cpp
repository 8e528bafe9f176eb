// A machine's file: written and read again, what it says when it is wrong, and where it lies.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include <lacuna/plan/machine.hpp>

namespace lacuna::test {
namespace {

/// A folder of its own, and the environment as it was afterwards.
class Machine : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "lacuna-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    for (const char* variable : {"LACUNA_CONFIG", "XDG_CONFIG_HOME", "HOME"}) {
      if (const char* const value = std::getenv(variable)) before_[variable] = value;
      ::unsetenv(variable);
    }
  }
  void TearDown() override {
    for (const char* variable : {"LACUNA_CONFIG", "XDG_CONFIG_HOME", "HOME"}) ::unsetenv(variable);
    for (const auto& [variable, value] : before_) ::setenv(variable.c_str(), value.c_str(), 1);
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  /// Reads the file with one line replaced, or appended.
  std::string error_of(const std::string& line, const std::string& instead) const {
    write_machine((folder_ / "m.txt").string(), x86_machine("AVX2", 4));
    std::string text = text_of("m.txt");
    const auto at = text.find("\n" + line);
    if (at == std::string::npos) return "no line " + line;
    text.replace(at + 1, text.find('\n', at + 1) - at - 1, instead);
    std::ofstream(folder_ / "m.txt") << text;
    try {
      (void)read_machine((folder_ / "m.txt").string());
    } catch (const bad_input& e) {
      EXPECT_EQ(e.file(), (folder_ / "m.txt").string());
      return std::to_string(e.line()) + " " + e.what();
    }
    return "nothing";
  }

  std::filesystem::path folder_;
  std::map<std::string, std::string> before_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(Machine, IsReadAsItWasWritten) {
  spmv_machine tuned = hopper_machine(132);
  tuned.name = "NVIDIA H200";
  tuned.of(spmv_class::ell_slices) = {1.25e-6, 0.5e-12, 0, 3e-9, 0.125e-9, 11};
  tuned.piece = 4096;
  tuned.padding = 1.5;
  tuned.csr_k.a_sr = 17.5;
  tuned.spgemm.flat_length = 28;
  for (const spmv_machine& m : {tuned, x86_machine("AVX3", 3)}) {
    const std::string file = (folder_ / "deep" / "down" / "m.txt").string();
    write_machine(file, m);
    const auto read = read_machine(file);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->name, m.name);
    EXPECT_EQ(read->origin, file);
    const auto numbers = numbers_of(*read), expected = numbers_of(m);
    ASSERT_EQ(numbers.size(), expected.size());
    ASSERT_EQ(numbers.size(), (m.device ? 19U : 11U) + 6 * spmv_class_count);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(numbers[i].name, expected[i].name);
      EXPECT_DOUBLE_EQ(numbers[i].value, expected[i].value) << numbers[i].name;
    }
    // What the file does not hold is that of its kind of machine.
    for (const double mean : {5.0, 12.0, 20.0, 40.0, 1000.0})
      EXPECT_EQ(choose_csr_k_sizes(mean, 3, read->csr_k), choose_csr_k_sizes(mean, 3, m.csr_k));
  }
  EXPECT_EQ(numbers_of(tuned).front().name, "device");
  EXPECT_EQ(numbers_of(tuned).back().name, "csr_k.convert");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "deep" / "down"), {}), 1);
}

TEST_F(Machine, ThatIsMissingIsNothing) {
  EXPECT_FALSE(read_machine((folder_ / "none.txt").string()));
  EXPECT_FALSE(read_machine(""));
}

TEST_F(Machine, ErrorsHaveFileAndLine) {
  EXPECT_TRUE(contains(error_of("piece", "pieces 2048"), "unknown word 'pieces'"));
  EXPECT_TRUE(contains(error_of("name", "name x\nnonsense"), "4 "));
  EXPECT_TRUE(contains(error_of("name", "name x\nnonsense"), "m.txt:4: unknown word"));
  for (const char* value : {"", " ", " x", " -1", " 1e7", " nan", " inf"})
    EXPECT_TRUE(contains(error_of("piece", std::string("piece") + value),
                         "m.txt:7: a number between 0 and 10^6 was expected"))
        << value;
  EXPECT_TRUE(contains(error_of("piece", "piece 2048 x"), "m.txt:7: more follows"));
  EXPECT_TRUE(contains(error_of("csr_rows", "csr_rows 1 2 3 4 5"), "a number"));
  EXPECT_TRUE(contains(error_of("csr_rows", "csr_rows 1 2 3 4 5 6 7"), "more follows"));
  EXPECT_TRUE(contains(error_of("csr_rows", "# 1 2 3 4 5 6"), "0 "));
  EXPECT_TRUE(contains(error_of("csr_rows", "# 1 2 3 4 5 6"), "m.txt: no line for csr_rows"));
  EXPECT_TRUE(contains(error_of("workers", "workers 0"), "must be at least 1"));
  EXPECT_EQ(error_of("piece", "piece  2048  "), "nothing");
}

TEST_F(Machine, ThatCannotBeWrittenSaysSo) {
  const spmv_machine m = x86_machine("AVX2", 1);
  std::ofstream(folder_ / "file") << "x";
  try {
    write_machine((folder_ / "file" / "m.txt").string(), m);
    ADD_FAILURE() << "no error";
  } catch (const error& e) {
    EXPECT_TRUE(contains(e.what(), "m.txt.new: cannot write: "));
    EXPECT_STREQ(e.kind(), "error");
  }
  // A folder is in the way: what was there stays.
  std::filesystem::create_directory(folder_ / "m.txt");
  EXPECT_THROW(write_machine((folder_ / "m.txt").string(), m), error);
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "m.txt"));
}

TEST_F(Machine, LiesWhereTheEnvironmentSays) {
  EXPECT_EQ(machine_file("AVX2, 2 threads"), "");
  ::setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(machine_file("AVX2, 2 threads"),
            "/home/someone/.config/lacuna/spmv-AVX2--2-threads.txt");
  ::setenv("XDG_CONFIG_HOME", "/etc/there", 1);
  EXPECT_EQ(machine_file("NVIDIA H200"), "/etc/there/lacuna/spmv-NVIDIA-H200.txt");
  ::setenv("LACUNA_CONFIG", folder_.c_str(), 1);
  EXPECT_EQ(machine_file("a/b"), (folder_ / "spmv-a-b.txt").string());
  ::setenv("LACUNA_CONFIG", "", 1);
  EXPECT_EQ(machine_file("a"), "/etc/there/lacuna/spmv-a.txt");
}

TEST_F(Machine, IsTheStoredOneOfThisManyThreads) {
  ::setenv("LACUNA_CONFIG", folder_.c_str(), 1);
  // Read once in a process: numbers of threads that no other test asks for.
  const host_context some({61}), others({62});
  spmv_machine stored = x86_machine("x", 61);
  stored.of(spmv_class::csr_rows).fixed = 0.5;
  const std::string file = machine_file(machine_name(some));
  write_machine(file, stored);
  EXPECT_EQ(machine_of(some).origin, file);
  EXPECT_EQ(machine_of(some).of(spmv_class::csr_rows).fixed, 0.5);
  EXPECT_EQ(machine_of(others).origin, "built in");
  std::filesystem::remove(file);
  EXPECT_EQ(machine_of(some).origin, file);
}

} // namespace
} // namespace lacuna::test
