// Rutherford-Boeing and Harwell-Boeing: what the formats allow, and the line of what they do not.
#include <cmath>

#include "io/binary.hpp"

namespace lacuna::test {
namespace {

class RutherfordBoeing : public ::testing::Test {
protected:
  std::string file(const std::string& text) { return folder_.with("a.rb", text); }
  /// "0,0=1.5 0,2=2"
  std::string entries(const std::string& text, const io::read_options& options = {}) {
    const auto a = io::read_csr<double>(host_engine::context(), file(text), options);
    std::string result;
    for (std::int64_t i = 0; i < a.shape().row; ++i)
      for (auto k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k) {
        char value[32];
        std::snprintf(value, sizeof value, "%g", a.values()[k]);
        result += (result.empty() ? "" : " ") + std::to_string(i) + "," +
                  std::to_string(a.colind()[k]) + "=" + value;
      }
    return result;
  }
  void refused(const std::string& text, std::int64_t line, const std::string& words) {
    expect_refused(file(text), words);
    expect_refused(file(text), "a.rb:" + std::to_string(line) + ":");
  }

private:
  scratch_folder folder_;
};

/// 3 x 3 with (1, 1) = 1.5, (3, 1) = -2, (2, 2) = 3, (3, 3) = 4.
const std::string general =
    "A title                                                     KEY     \n"
    "             4             1             1             2\n"
    "rua                        3             3             4             0\n"
    "(4I3)           (4I3)           (3E10.2)\n"
    "  1  3  4  5\n"
    "  1  3  2  3\n"
    "  1.50E+00 -2.00E+00  3.00E+00\n"
    "  4.00E+00\n";
const char* const expected = "0,0=1.5 1,1=3 2,0=-2 2,2=4";

TEST_F(RutherfordBoeing, ReadsNumbersAsFortranDoes) {
  EXPECT_EQ(entries(general), expected);
  EXPECT_EQ(entries(with(general, "1.50E+00", "1.50D+00")), expected);
  EXPECT_EQ(entries(with(general, "1.50E+00", "1.50d+00")), expected);
  EXPECT_EQ(entries(with(general, "1.50E+00", " 1.50+00")), expected); // the letter left out
}

TEST_F(RutherfordBoeing, ReadsFormatsInAllSpellings) {
  for (const char* format : {"(3e10.2)", "( 3 E 10.2 )", "(1P,3E10.2)", "(1P3E10.2)", "(3E10.2E2)",
                             "(3D10.2)", "(3G10.2)", "(0P,3F10.2)"})
    EXPECT_EQ(entries(with(general, "(3E10.2)", format)), expected) << format;
  // Numbers that touch.
  EXPECT_EQ(entries(with(with(general, "(4I3)           (4I3)", "(4I1)           (4I3)"),
                         "  1  3  4  5\n", "1345\n")),
            expected);
  EXPECT_EQ(entries(with(with(general, "(3E10.2)", "(3E9.2) "), "  1.50E+00 -2.00E+00  3.00E+00\n",
                         " 1.50E+00-2.00E+00 3.00E+00\n")),
            expected);
  // Carriage returns, capitals, and a last line without an end.
  std::string windows;
  for (const char c : general) windows += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_EQ(entries(windows), expected);
  EXPECT_EQ(entries(with(general, "rua", "RUA")), expected);
  EXPECT_EQ(entries(general.substr(0, general.size() - 1)), expected);
}

TEST_F(RutherfordBoeing, ReadsEveryType) {
  EXPECT_EQ(entries(with(general, "rua", "rsa")), "0,0=1.5 0,2=-2 1,1=3 2,0=-2 2,2=4");
  EXPECT_EQ(entries(with(with(general, "rua", "pua"), "             2\n", "             0\n")),
            "0,0=1 1,1=1 2,0=1 2,2=1");
  EXPECT_EQ(entries(with(with(with(with(general, "rua", "iua"), "(3E10.2)", "(3I10)  "),
                              "  1.50E+00 -2.00E+00  3.00E+00", "         1        -2         3"),
                         "  4.00E+00", "         4")),
            "0,0=1 1,1=3 2,0=-2 2,2=4");
  const std::string skew = "skew\n 3 1 1 1\nrza 2 2 1\n(3I2) (1I2) (F5.1)\n 1 2 2\n 2\n  2.5\n";
  EXPECT_EQ(entries(skew), "0,1=-2.5 1,0=2.5");
  const std::string complex =
      "complex\n 3 1 1 1\ncza 2 2 1\n(3I2) (1I2) (2F5.1)\n 1 2 2\n 2\n  3.0  4.0\n";
  expect_refused<unsupported>(file(complex), "--complex real|abs");
  io::read_options options;
  options.complex = io::complex_rule::real;
  EXPECT_EQ(entries(complex, options), "0,1=-3 1,0=3");
  options.complex = io::complex_rule::abs;
  EXPECT_EQ(entries(complex, options), "0,1=5 1,0=5");
  EXPECT_EQ(entries(with(complex, "cza", "cha"), options), "0,1=5 1,0=5");
}

TEST_F(RutherfordBoeing, IgnoresRightHandSides) {
  EXPECT_EQ(
      entries(with(with(general, "             2\n", "             2             1\n"),
                   "(3E10.2)\n", "(3E10.2)            (3E10.2)\nF              1             0\n") +
              "  1.00E+00  1.00E+00  1.00E+00\n"),
      expected);
}

TEST_F(RutherfordBoeing, NamesTheLineOfWhatIsWrong) {
  refused("", 1, "the file ends here");
  refused("title only\n", 2, "the file ends here");
  refused(with(general, "             4", "             x"), 2, "\"x\" is not a size");
  refused(with(general, "             4             1", "             4            -1"), 2,
          "\"-1\" is not a size");
  refused(with(general, "             1             2\n", "\n"), 2,
          "numbers of lines are expected");
  refused(with(general, "rua", "xyz"), 3, "\"xyz\" is not a type");
  refused(with(general, "rua", "ru"), 3, "not a type");
  refused(with(general, "     3             4             0\n", "\n"), 3,
          "rows, columns and entries");
  refused(with(with(general, "rua", "rsa"), "     3             3", "     4             3"), 3,
          "symmetric matrix of 4 rows");
  refused(with(general, "(4I3)", "(4Q3)"), 4, "\"(4Q3)\" is not a format");
  refused(with(general, "(3E10.2)", "(3E10.2"), 4, "without its \")\"");
  refused(with(general, "(3E10.2)", ""), 4, "formats of pointers, indices and values");
  refused(with(general, "(4I3)", "(4E3)"), 4, "not integers");
  refused(with(general, "  1  3  4  5", "  1  3  x  5"), 5, "\"x\" is not a number");
  refused(with(general, "  1  3  4  5", "  1  3  2  5"), 5, "pointer 3 is 2, not at least 3");
  refused(with(general, "  1  3  4  5", "  1  3  4  4"), 5, "pointer 4 is 4, not 5");
  refused(with(general, "  1  3  4  5", "  2  3  4  5"), 5, "pointer 1 is 2, not 1");
  refused(with(general, "  1  3  4  5", "  1  3  9  5"), 5, "9 is out of range among the pointers");
  refused(with(general, "  1  3  2  3\n", "  1  4  2  3\n"), 6,
          "4 is out of range among the row indices");
  refused(with(general, "  1  3  2  3\n", "  1  0  2  3\n"), 6, "0 is out of range");
  refused(with(general, "  1  3  2  3\n", "  1  3  2\n"), 6,
          "number 4 of the 4 row indices is missing");
  refused(with(general, "-2.00E+00", "-2.00E+xx"), 7, "is not a number");
  refused(with(general, "  4.00E+00\n", ""), 8, "the file ends here");
  refused(with(general, "  4.00E+00\n", "\n"), 8, "number 4 of the 4 values is missing");
  refused(with(general, "             2\n", "             3\n"), 2,
          "take 2 lines, the header says 3");
  refused(with(general, "3.00E+00", "  300E+0"), 7, "has no point");
  refused(with(with(general, "(3E10.2)", "(1P3E10.2)"), "3.00E+00", "    3.00"), 7,
          "has no exponent");
  expect_refused<unsupported>(file(with(general, "rua", "rue")), "finite elements");
  expect_refused(file(with(with(general, "rua", "rsa"), "  1  3  2  3", "  1  3  1  2")),
                 "both sides");
  expect_refused(file(with(general, "rua", "rza")), "an entry on the diagonal");
}

TEST_F(RutherfordBoeing, TakesNoMemoryForWhatIsOnlyClaimed) {
  const std::string claim =
      "claims\n 4 1 1152921504606846976 1152921504606846976\n"
      "rua 3 3 1152921504606846976\n(4I3) (1I3) (1E10.2)\n  1  3  4 1152921504606846977\n  1\n";
  expect_refused(file(claim), "before all of its 1152921504606846976 row indices");
  expect_refused(file("claims\n 1 288230376151711745 1 1\nrua 3 1152921504606846976 1\n"
                      "(4I3) (1I3) (1E10.2)\n  1  3  4  5\n  1\n"),
                 "before all of its");
  expect_refused(file("claims\n 1 1 1 1\nrua 3 3 9223372036854775807\n(4I3) (4I3) (1E10.2)\n"),
                 "no file holds");
}

TEST_F(RutherfordBoeing, SurvivesEveryCutAndEveryChangedByte) {
  for (std::size_t k = 0; k < general.size(); ++k)
    for (const char* change : {"", "-", "9", ")", "\n"}) {
      std::string bad = general.substr(0, k);
      if (*change != '\0') bad += change + general.substr(k + 1);
      try {
        io::read_triplets<double>(host_engine::context(), file(bad));
      } catch (const error&) { // as it should be; a change of a digit may also pass
      }
    }
}

template <class C> class WrittenRutherfordBoeing : public ::testing::Test {};
TYPED_TEST_SUITE(WrittenRutherfordBoeing, host_configs, config_name);

TYPED_TEST(WrittenRutherfordBoeing, BringsEveryMatrixBack) { expect_round_trips<TypeParam>(".rb"); }

TEST_F(RutherfordBoeing, WritesFieldsAndStructures) {
  const auto& ctx = host_engine::context();
  const scratch_folder folder;
  const auto written = [&](const std::string& text, const io::write_options& o) {
    io::write(ctx, folder / "b.rb", io::read_csr<double>(ctx, folder.with("a.mtx", text)), o);
    const auto back = io::read<double>(ctx, folder / "b.rb");
    EXPECT_EQ(back.about.values, o.values);
    EXPECT_EQ(back.about.structure, o.structure);
    return contents(folder / "b.rb");
  };
  const std::string head = "%%MatrixMarket matrix coordinate ";
  EXPECT_EQ(written(head + "integer symmetric\n2 2 2\n1 1 -12\n2 1 3\n",
                    {.values = io::field::integer,
                     .structure = io::symmetry::symmetric,
                     .comment = "a title\nmore"}),
            "a title" + std::string(65, ' ') +
                "LACUNA  \n"
                "             3             1             1             1\n"
                "isa                        2             2             2             0\n"
                "(40I2)          (40I2)          (20I4)              \n"
                " 1 3 3\n"
                " 1 2\n"
                " -12   3\n");
  const std::string pattern =
      written(head + "pattern general\n1 2 1\n1 2\n", {.values = io::field::pattern});
  EXPECT_NE(pattern.find("\npra "), std::string::npos);
  const std::string skew = written(head + "real skew-symmetric\n2 2 1\n2 1 0.1\n",
                                   {.structure = io::symmetry::skew_symmetric});
  EXPECT_NE(skew.find("\nrza "), std::string::npos);
  EXPECT_NE(skew.find("\n   1.0000000000000001e-01\n"), std::string::npos) << skew;
  EXPECT_FALSE(io::is_writable_name("a.rua")); // its name would be wrong for most matrices
}

} // namespace
} // namespace lacuna::test
