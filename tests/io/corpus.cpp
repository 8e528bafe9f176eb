// Every file in bad/ is refused with the line and words that bad/expected.tsv has; every file in
// odd/ reads as odd/expected.tsv says.
#include <charconv>
#include <cmath>

#include <lacuna/core/error.hpp>
#include <lacuna/core/memory.hpp>
#include <lacuna/io/read.hpp>

#include "io/files.hpp"

namespace lacuna::test {
namespace {

TEST(Files, BadOnesAreRefusedWithTheirLine) {
  const auto table = read_table(data_folder / "bad/expected.tsv");
  EXPECT_GE(table.size(), 80U);
  for (const int threads : {1, 3})
    for (const auto& row : table) {
      const std::string file = data_folder / "bad" / row.at(0);
      SCOPED_TRACE(file);
      ASSERT_TRUE(std::filesystem::exists(file));
      reset_memory_peak(space::host);
      try {
        io::read<double>(host_context({threads}), file);
        ADD_FAILURE() << "was read";
      } catch (const bad_input& e) {
        EXPECT_EQ(e.line(), std::stoll(row.at(1))) << e.what();
        EXPECT_NE(std::string(e.what()).find(row.at(2)), std::string::npos) << e.what();
        EXPECT_TRUE(e.file().starts_with(file)) << e.file();
      } catch (const unsupported& e) { // only for want of a library
        EXPECT_NE(std::string(e.what()).find("build again"), std::string::npos) << e.what();
      }
      EXPECT_LT(memory(space::host).peak, 50 << 20);
    }
}

TEST(Files, EveryBadFileIsListed) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data_folder / "bad"))
    files += entry.path().filename() != "expected.tsv" ? 1 : 0;
  EXPECT_EQ(files, read_table(data_folder / "bad/expected.tsv").size());
}

double number(const std::string& text) {
  double v = 0;
  std::from_chars(text.data(), text.data() + text.size(), v);
  return v;
}

struct entry {
  std::int64_t row, col;
  double value;
};

/// "2 3: 1,1=1.5 2,3=-2"
std::vector<entry> parse_entries(std::istream& in) {
  std::vector<entry> result;
  for (std::string word; in >> word;) {
    const auto comma = word.find(','), equals = word.find('=');
    result.push_back({std::stoll(word.substr(0, comma)) - 1,
                      std::stoll(word.substr(comma + 1, equals)) - 1,
                      number(word.substr(equals + 1))});
  }
  return result;
}

template <class A> void expect_entries(const A& a, const std::vector<entry>& expected) {
  ASSERT_EQ(static_cast<std::size_t>(a.size()), expected.size());
  std::size_t at = 0;
  for (std::int64_t i = 0; i < a.shape().row; ++i)
    for (std::int64_t k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k, ++at) {
      EXPECT_EQ(i, expected[at].row);
      EXPECT_EQ(a.colind()[k], expected[at].col);
      if (std::isnan(expected[at].value))
        EXPECT_TRUE(std::isnan(a.values()[k]));
      else
        EXPECT_EQ(a.values()[k], expected[at].value);
    }
}

TEST(Files, OddOnesAreReadAsTheyAreMeant) {
  for (const auto& row : read_table(data_folder / "odd/expected.tsv")) {
    const std::string file = data_folder / "odd" / row.at(0);
    SCOPED_TRACE(file);
    std::istringstream in(row.at(1));
    std::int64_t rows = 0, cols = 0;
    char colon = 0;
    in >> rows >> cols >> colon;
    const auto expected = parse_entries(in);
    try {
      const auto [matrix, about] = io::read<double>(host_context({2}), file);
      EXPECT_EQ(about.rows, rows);
      EXPECT_EQ(about.cols, cols);
      std::visit([&](const auto& a) { expect_entries(a, expected); }, matrix);
    } catch (const unsupported& e) { // only for want of a library
      EXPECT_NE(std::string(e.what()).find("build again"), std::string::npos) << e.what();
    } catch (const error& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

} // namespace
} // namespace lacuna::test
