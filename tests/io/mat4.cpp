// MATLAB files of version 4, made by hand in both byte orders.
#include "io/binary.hpp"

namespace lacuna::test {
namespace {

using words = std::vector<std::int32_t>;
using reals = std::vector<double>;

/// A variable: type (tens: number type, ones: full, text, sparse), sizes, name and numbers.
std::string variable(bool big, std::int32_t type, std::int32_t rows, std::int32_t cols,
                     bool complex, const std::string& name, const std::string& data) {
  const auto length = static_cast<std::int32_t>(name.size() + 1);
  return bytes_of(words{type + (big ? 1000 : 0), rows, cols, complex ? 1 : 0, length}, big) + name +
         '\0' + data;
}
/// 2 x 3 with (1, 1) = 1, (2, 2) = 3, (1, 3) = 2.
std::string sparse(bool big, const std::string& name, const reals& rows = {1, 2, 1, 2}) {
  reals all = rows;
  for (const double v : {1, 2, 3, 3, 1, 3, 2, 0}) all.push_back(v);
  return variable(big, 2, 4, 3, false, name, bytes_of(all, big));
}

class Mat4 : public ::testing::Test {
protected:
  std::string file(const std::string& bytes) { return folder_.with("a.mat", bytes); }
  static std::string entries(const io::file_matrix<double>& m) {
    std::string result;
    std::visit(
        [&](const auto& a) {
          for (std::int64_t i = 0; i < a.shape().row; ++i)
            for (std::int64_t k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
              result += (result.empty() ? "" : " ") + std::to_string(i) + "," +
                        std::to_string(a.colind()[k]) + "=" +
                        std::to_string(static_cast<int>(a.values()[k]));
        },
        m.matrix);
    return result;
  }
  io::file_matrix<double> read(const std::string& bytes, const io::read_options& options = {}) {
    return io::read<double>(host_engine::context(), file(bytes), options);
  }

private:
  scratch_folder folder_;
};

const char* const expected = "0,0=1 0,2=2 1,1=3";

TEST_F(Mat4, ReadsSparseAndFullInBothByteOrders) {
  for (const bool big : {false, true}) {
    const auto a = read(sparse(big, "A"));
    EXPECT_EQ(entries(a), expected);
    EXPECT_EQ(a.about.format, "MATLAB 4 sparse");
    EXPECT_EQ(a.about.cols, 3);
    const std::string full =
        variable(big, 0, 2, 3, false, "B", bytes_of(reals{1, 0, 0, 3, 2, 0}, big));
    EXPECT_EQ(entries(read(full)), expected);
    const std::string bytes = variable(big, 50, 2, 3, false, "C", std::string("\1\0\0\3\2\0", 6));
    EXPECT_EQ(entries(read(bytes)), expected);
    const std::string narrow = variable(big, 30, 2, 3, false, "D",
                                        bytes_of(std::vector<std::int16_t>{1, 0, 0, 3, 2, 0}, big));
    EXPECT_EQ(entries(read(narrow)), expected);
  }
}

TEST_F(Mat4, TellsVariablesAndTakesTheOneAskedFor) {
  const std::string all = variable(false, 1, 1, 2, false, "words", bytes_of(reals{65, 66})) +
                          variable(false, 0, 1, 1, false, "b", bytes_of(reals{7})) +
                          sparse(false, "A");
  const auto first = read(all);
  EXPECT_EQ(entries(first), expected);
  EXPECT_EQ(first.about.member, "A");
  EXPECT_EQ(first.about.others, (std::vector<std::string>{"words", "b"}));
  EXPECT_EQ(entries(read(all, {.member = "b"})), "0,0=7");
  expect_refused(file(all), "no c among the variables: words, b, A", {.member = "c"});
  expect_refused<unsupported>(file(all), "is text", {.member = "words"});
}

TEST_F(Mat4, ReadsComplexValuesAsTold) {
  const std::string full = variable(false, 0, 1, 2, true, "A", bytes_of(reals{3, 0, 4, 0}));
  const std::string pairs =
      variable(false, 2, 2, 4, false, "A", bytes_of(reals{1, 1, 1, 1, 3, 0, 4, 0}));
  for (const std::string& bytes : {full, pairs}) {
    expect_refused<unsupported>(file(bytes), "complex");
    EXPECT_EQ(entries(read(bytes, {.complex = io::complex_rule::abs})), "0,0=5");
    EXPECT_EQ(entries(read(bytes, {.complex = io::complex_rule::real})), "0,0=3");
  }
}

TEST_F(Mat4, RefusesWhatIsWrong) {
  expect_refused(file(sparse(false, "A", {1, 3, 1, 2})), "A: rows[1] is 3, not in 1..2");
  expect_refused(file(sparse(false, "A", {1, 1.5, 1, 2})), "rows[1] is 1.5");
  expect_refused(file(sparse(false, "A", {1, 1, 1, -2})), "a size of -2");
  expect_refused(file(variable(false, 2, 1, 2, false, "A", bytes_of(reals{1, 2}))),
                 "are no sparse matrix");
  expect_refused(file(variable(false, 0, 1 << 20, 1 << 20, false, "A", "12345678")), "is cut off");
  expect_refused<unsupported>(
      file(sparse(false, "A") + variable(false, 2000, 1, 1, false, "B", "12345678")), "VAX");
}

TEST_F(Mat4, SurvivesEveryCutAndEveryChangedByte) {
  const std::string good = sparse(false, "A") + sparse(false, "B");
  for (std::size_t k = 0; k < good.size(); ++k) {
    std::string changed = good;
    changed[k] = static_cast<char>(changed[k] ^ 0x41);
    for (const std::string& bytes : {good.substr(0, k), changed}) {
      try {
        io::read_triplets<double>(host_engine::context(), file(bytes));
      } catch (const error&) { // as it should be; another matrix may be as good
      }
    }
  }
}

} // namespace
} // namespace lacuna::test
