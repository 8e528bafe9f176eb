// A machine's file: written and read again, what it says when it is wrong, and where it lies.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "plan/choose.hpp"
#include "plan/formats/csr_k.hpp"

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
  spmv_machine read(const std::string& text, const spmv_machine& built_in) const {
    const std::string file = (folder_ / "m.txt").string();
    std::ofstream(file, std::ios::binary) << text;
    const auto machine = read_machine(file, built_in);
    EXPECT_TRUE(machine);
    return machine ? *machine : spmv_machine{};
  }
  /// Reads a file with one line replaced.
  spmv_machine read_with(const std::string& line, const std::string& instead) const {
    write_machine((folder_ / "m.txt").string(), tuned());
    std::string text = text_of("m.txt");
    const auto at = text.find("\n" + line);
    EXPECT_NE(at, std::string::npos) << line;
    text.replace(at + 1, text.find('\n', at + 1) - at - 1, instead);
    return read(text, x86_machine("AVX2", 4));
  }
  /// Nothing as it is built in.
  static spmv_machine tuned() {
    spmv_machine m = x86_machine("AVX2", 4);
    m.name = "tuned";
    for (auto& [kernel, c] : m.cost) c = {1e-6, 2e-12, 3e-12, 4e-9, 5e-9, 6};
    m.numbers["piece"] = 4096;
    m.numbers["few_rows"] = 77;
    m.numbers["lane_entries"] = 16;
    m.numbers["padding"] = 1.25;
    for (const char* number : {"csr_k_a_ssr", "csr_k_b_ssr", "csr_k_a_sr", "csr_k_b_sr"})
      m.numbers[number] = 2.5;
    return m;
  }
  /// The only remark, without the file's name.
  std::string remark_of(const spmv_machine& m) const {
    EXPECT_EQ(m.remarks.size(), 1U);
    if (m.remarks.empty()) return "";
    const std::string file = (folder_ / "m.txt").string() + ":";
    EXPECT_EQ(m.remarks[0].rfind(file, 0), 0U) << m.remarks[0];
    return m.remarks[0].substr(file.size());
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
  tuned.of("ell_slices") = {1.25e-6, 0.5e-12, 0, 3e-9, 0.125e-9, 11};
  tuned.numbers["piece"] = 4096;
  tuned.numbers["padding"] = 1.5;
  tuned.numbers["csr_k_a_sr"] = 17.5;
  tuned.spgemm.flat_length = 28;
  for (const spmv_machine& m : {tuned, x86_machine("AVX3", 3)}) {
    const std::string file = (folder_ / "deep" / "down" / "m.txt").string();
    write_machine(file, m);
    const auto read = read_machine(file, m.device ? hopper_machine(132) : x86_machine("AVX3", 3));
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->remarks.empty()) << read->remarks.front();
    EXPECT_EQ(read->name, m.name);
    EXPECT_EQ(read->origin, file);
    const auto numbers = numbers_of(*read), expected = numbers_of(m);
    ASSERT_EQ(numbers.size(), expected.size());
    ASSERT_EQ(numbers.size(), 2 + (m.device ? 15U : 0U) + m.numbers.size() + 6 * m.cost.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(numbers[i].name, expected[i].name);
      EXPECT_DOUBLE_EQ(numbers[i].value, expected[i].value) << numbers[i].name;
    }
    // What the file does not hold is that of its kind of machine.
    for (const double mean : {5.0, 12.0, 20.0, 40.0, 1000.0})
      EXPECT_EQ(choose_csr_k_sizes(mean, 3, planning::csr_k_format::model_of(*read)),
                choose_csr_k_sizes(mean, 3, planning::csr_k_format::model_of(m)));
  }
  EXPECT_EQ(numbers_of(tuned).front().name, "device");
  EXPECT_EQ(numbers_of(tuned).back().name, planned_formats().back() + ".convert");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "deep" / "down"), {}), 1);
}

/// Plans for some matrices; whatever the machine, that must work.
void expect_plans(const spmv_machine& m) {
  for (const std::int64_t length : {0, 3, 1000}) {
    spmv_features f;
    f.rows = f.cols = 5000;
    f.entries = length * f.rows;
    f.row_length = {static_cast<double>(length), 1, length, 0};
    f.length_histogram[length == 0 ? 0 : length == 3 ? 2 : 10] = f.rows;
    f.entries_by_length[length == 3 ? 2 : 10] = f.entries;
    f.slice_steps = f.rows / 32 * length;
    f.sampled_steps = f.steps_16 = length;
    f.sampled_entries = 32 * length;
    for (const bool reorder : {false, true}) {
      const auto decision = choose_plan(f, {}, m, {.may_reorder = reorder});
      EXPECT_TRUE(decision.chosen().refused.empty());
      for (const auto& c : decision.candidates) EXPECT_TRUE(std::isfinite(c.total_seconds));
    }
  }
}

TEST_F(Machine, ThatIsMissingIsNothing) {
  EXPECT_FALSE(read_machine((folder_ / "none.txt").string(), x86_machine("AVX2", 4)));
  EXPECT_FALSE(read_machine("", x86_machine("AVX2", 4)));
}

TEST_F(Machine, LinesThatAreNotUnderstoodAreIgnored) {
  const spmv_machine built_in = x86_machine("AVX2", 4);
  // Of a newer version, with a kernel and a number that this one does not know.
  auto m = read_with("version", "version 9\nell_future 1 2 3 4 5 6\nfuture 3");
  ASSERT_EQ(m.remarks.size(), 3U);
  EXPECT_TRUE(contains(m.remarks[0], "m.txt:3: written by a newer Lacuna (version 9, this is 3)"));
  EXPECT_TRUE(contains(m.remarks[1], "m.txt:4: unknown word 'ell_future', ignored"));
  EXPECT_TRUE(contains(m.remarks[2], "m.txt:5: unknown word 'future', ignored"));
  EXPECT_EQ(m.number("piece"), 4096);
  EXPECT_EQ(m.of("csr_k").fixed, 1e-6);
  for (const char* value : {"", " ", " x", " -1", " 0", " 1e7", " nan", " inf", " 2048 x", " 1 2",
                            " 99999999999999999999", " 1e999", " 0x10"}) {
    m = read_with("piece", std::string("piece") + value);
    ASSERT_EQ(m.remarks.size(), 2U) << value;
    EXPECT_TRUE(contains(m.remarks[0], "m.txt:7: piece is one number between 1 and 10^6; ignored"));
    EXPECT_TRUE(contains(m.remarks[1], "m.txt: nothing about piece: as built in"));
    EXPECT_EQ(m.number("piece"), built_in.number("piece")) << value;
    EXPECT_EQ(m.number("few_rows"), 77) << "the lines after it count";
  }
  for (const char* line :
       {"csr_rows 1 2 3 4 5", "csr_rows 1 2 3 4 5 6 7", "csr_rows 1 2 -3 4 5 6", "csr_rows"}) {
    m = read_with("csr_rows", line);
    ASSERT_EQ(m.remarks.size(), 2U) << line;
    EXPECT_TRUE(contains(m.remarks[0], "csr_rows has 6 numbers between 0 and 10^6; ignored"));
    EXPECT_EQ(m.of("csr_rows").stream, built_in.of("csr_rows").stream);
    EXPECT_EQ(m.of("csr_k").fixed, 1e-6);
  }
  EXPECT_EQ(remark_of(read_with("csr_k ", "# csr_k")), " nothing about csr_k: as built in");
  EXPECT_EQ(remark_of(read_with("name", "name \x1b[31m")),
            "4: a name with control characters, ignored");
  EXPECT_TRUE(read_with("piece", "piece  2048  \r").remarks.empty());
  // The file cannot make another machine of this one.
  m = read_with("workers", "workers 1000000");
  EXPECT_EQ(m.workers, 4);
  EXPECT_EQ(remark_of(m), " measured with 1000000 workers, there are 4");
  m = read_with("device", "device 1");
  EXPECT_FALSE(m.device);
  EXPECT_EQ(m.number("piece"), built_in.number("piece"));
  EXPECT_EQ(m.origin, "built in");
  EXPECT_EQ(remark_of(m), " it is of a device, so it is not used");
}

TEST_F(Machine, FilesOfTheFirstVersionAreRead) {
  write_machine((folder_ / "m.txt").string(), tuned());
  std::string text = text_of("m.txt");
  text.erase(text.find("version"), text.find("name") - text.find("version"));
  const auto m = read(text, x86_machine("AVX2", 4));
  EXPECT_TRUE(m.remarks.empty());
  EXPECT_EQ(m.number("piece"), 4096);
}

TEST_F(Machine, EmptyAndStrangeFilesAreAsBuiltIn) {
  const spmv_machine built_in = x86_machine("AVX2", 4);
  const auto expect_built_in = [&](const spmv_machine& m) {
    const auto actual = numbers_of(m), expected = numbers_of(built_in);
    for (std::size_t i = 0; i < actual.size(); ++i)
      EXPECT_EQ(actual[i].value, expected[i].value) << actual[i].name;
    EXPECT_FALSE(m.remarks.empty());
    EXPECT_LE(m.remarks.size(), 20U);
    expect_plans(m);
  };
  expect_built_in(read("", built_in));
  expect_built_in(read("\n\n\n", built_in));
  expect_built_in(read(std::string(1000, '\0'), built_in));
  expect_built_in(read(std::string(200'000, 'x'), built_in));
  std::string noise;
  for (unsigned i = 0, state = 1; i < 5000; ++i) {
    state = state * 1664525 + 1013904223;
    noise += static_cast<char>(state >> 24);
  }
  expect_built_in(read(noise, built_in));
  // A folder; a file that nobody may read is like it.
  std::filesystem::create_directory(folder_ / "folder");
  const auto folder = read_machine((folder_ / "folder").string(), built_in);
  ASSERT_TRUE(folder);
  expect_built_in(*folder);
  EXPECT_TRUE(contains(folder->remarks[0], "it cannot be read, so it is not used"));
}

TEST_F(Machine, FilesThatAreCutOffGiveWhatIsWhole) {
  const spmv_machine built_in = x86_machine("AVX2", 4), whole = tuned();
  write_machine((folder_ / "whole.txt").string(), whole);
  const std::string text = text_of("whole.txt");
  const auto before = numbers_of(built_in), after = numbers_of(whole);
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto m = read(text.substr(0, size), built_in);
    ASSERT_FALSE(m.remarks.empty()) << size;
    const auto actual = numbers_of(m);
    // Never a number that is neither the one nor the other: no digit of a cut one counts.
    for (std::size_t i = 0; i < actual.size(); ++i)
      ASSERT_TRUE(actual[i].value == before[i].value || actual[i].value == after[i].value)
          << actual[i].name << " of " << size << " bytes";
    expect_plans(m);
  }
  EXPECT_TRUE(read(text, built_in).remarks.empty());
}

device_properties gpu(const char* name, int capability, int multiprocessors, int l2_mib, int khz,
                      int bits) {
  device_properties p;
  p.name = name;
  p.compute_capability = capability;
  p.multiprocessors = multiprocessors;
  p.l2_bytes = static_cast<std::size_t>(l2_mib) << 20;
  p.memory_clock_khz = khz;
  p.memory_bus_bits = bits;
  return p;
}

TEST(ScaledMachine, FollowsTheDevice) {
  const auto h200 = gpu("NVIDIA H200", 90, 132, 60, 3'201'000, 6144);
  const auto h100 = gpu("NVIDIA H100 80GB HBM3", 90, 132, 50, 2'619'000, 5120);
  const auto a100 = gpu("NVIDIA A100-SXM4-80GB", 80, 108, 40, 1'593'000, 5120);
  const auto l4 = gpu("NVIDIA L4", 89, 58, 48, 6'251'000, 192);
  const auto rtx = gpu("NVIDIA GeForce RTX 4090", 89, 128, 72, 10'501'000, 384);
  EXPECT_NEAR(memory_bandwidth(h200), 4.9e12, 0.05e12);
  EXPECT_NEAR(memory_bandwidth(h100), 3.35e12, 0.05e12);
  EXPECT_NEAR(memory_bandwidth(a100), 2.04e12, 0.05e12);
  EXPECT_NEAR(memory_bandwidth(l4), 0.3e12, 0.01e12);
  EXPECT_NEAR(memory_bandwidth(rtx), 1.008e12, 0.01e12);

  const spmv_machine built_in = hopper_machine(132), same = scaled_machine(h200);
  EXPECT_EQ(same.origin, "built in");
  EXPECT_EQ(same.name, "NVIDIA H200");
  const auto numbers = numbers_of(same), expected = numbers_of(built_in);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(numbers[i].value, expected[i].value) << numbers[i].name;

  for (const auto& p : {h100, a100, l4, rtx}) {
    SCOPED_TRACE(p.name);
    const spmv_machine m = scaled_machine(p);
    EXPECT_EQ(m.origin, "built in, scaled from an H200");
    EXPECT_EQ(m.workers, p.multiprocessors);
    EXPECT_EQ(m.name, p.name);
    EXPECT_TRUE(m.device);
    for (const auto& [kernel, cost] : m.cost) {
      const double slower = memory_bandwidth(h200) / memory_bandwidth(p);
      EXPECT_NEAR(cost.stream, built_in.of(kernel).stream * slower, 1e-18);
      EXPECT_EQ(cost.fixed, built_in.of(kernel).fixed);
      EXPECT_GE(cost.gather, 0.99 * built_in.of(kernel).gather);
    }
    // A stencil of 100 MB takes as long as its bytes at about that bandwidth.
    const double seconds = m.of("csr_rows").seconds({1e8, 0, 1e6, 8e6});
    EXPECT_NEAR(seconds * memory_bandwidth(p) / 1e8, 1.05, 0.15);
    EXPECT_EQ(m.number("csr_k_a_ssr"),
              (p.compute_capability < 90 ? csr_k_model::ampere() : csr_k_model::hopper()).a_ssr);
    expect_plans(m);
  }
  // The L4's memory is 16 times slower than an H200's, its multiprocessors are half as many: reads
  // that stay in L2 are relatively cheap.
  const spmv_machine small = scaled_machine(l4);
  EXPECT_LT(small.of("csr_rows").gather / built_in.of("csr_rows").gather,
            0.5 * small.of("csr_rows").stream / built_in.of("csr_rows").stream);
}

TEST(ScaledMachine, GuessesWhatTheDriverDoesNotTell) {
  auto p = gpu("something new", 120, 170, 96, 0, 512);
  EXPECT_EQ(memory_bandwidth(p), 0);
  EXPECT_EQ(scaled_machine(p).origin,
            "built in, scaled from an H200, its memory's speed guessed from its bus");
  const auto stream = [](const device_properties& of) {
    return hopper_machine(132).of("csr_rows").stream / scaled_machine(of).of("csr_rows").stream *
           4.9e12;
  };
  EXPECT_NEAR(stream(p), 1.2e12, 0.1e12); // GDDR7 would have 1.8
  p.memory_bus_bits = 8192;
  EXPECT_NEAR(stream(p), 5.3e12, 0.1e12); // HBM3e would have 8
  p.memory_bus_bits = 0;
  EXPECT_EQ(scaled_machine(p).origin,
            "built in, scaled from an H200, its memory's speed guessed from its multiprocessors");
  EXPECT_NEAR(stream(p), 4.9e12 * 170 / 132, 0.05e12);
  expect_plans(scaled_machine(device_properties{}));
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
  stored.of("csr_rows").fixed = 0.5;
  const std::string file = machine_file(machine_name(some));
  write_machine(file, stored);
  EXPECT_EQ(machine_of(some).origin, file);
  EXPECT_EQ(machine_of(some).of("csr_rows").fixed, 0.5);
  EXPECT_EQ(machine_of(others).origin, "built in");
  std::filesystem::remove(file);
  EXPECT_EQ(machine_of(some).origin, file);
}

} // namespace
} // namespace lacuna::test
