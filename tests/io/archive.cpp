// Archives: damage is seen wherever it is; which member is read and what is told of the others.
#include <cmath>

#include "io/binary.hpp"
#include <lacuna/core/printable.hpp>

namespace lacuna::test {
namespace {

struct tar_file {
  std::string path, text;
};

/// POSIX ustar, as tar writes it.
std::string tar(const std::vector<tar_file>& files, std::size_t zeros = 1024) {
  std::string result;
  for (const auto& [path, text] : files) {
    std::string h(512, '\0');
    const auto put = [&](std::size_t at, const std::string& bytes) {
      h.replace(at, bytes.size(), bytes);
    };
    const auto octal = [](std::size_t n, int digits) {
      char buffer[32];
      std::snprintf(buffer, sizeof buffer, "%0*zo", digits, n);
      return std::string(buffer);
    };
    put(0, path);
    put(100, "0000644");
    put(124, octal(text.size(), 11));
    put(148, "        ");
    put(156, "0");
    put(257, std::string("ustar\00000", 8));
    std::size_t sum = 0;
    for (const char c : h) sum += static_cast<unsigned char>(c);
    put(148, octal(sum, 6) + std::string("\0 ", 2));
    result += h + text + std::string((512 - text.size() % 512) % 512, '\0');
  }
  return result + std::string(zeros, '\0');
}

std::string matrix(int value) {
  return "%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 " + std::to_string(value) +
         "\n";
}

class Archive : public ::testing::Test {
protected:
  std::string file(const std::string& name, const std::string& bytes) {
    return folder_.with(name, bytes);
  }
  static io::file_matrix<double> read(const std::string& file, const std::string& member = {}) {
    io::read_options options;
    options.member = member;
    return io::read<double>(host_engine::context(), file, options);
  }
  static double value_of(const io::file_matrix<double>& m) {
    return std::visit([](const auto& a) { return a.size() == 1 ? a.values()[0] : NAN; }, m.matrix);
  }

  scratch_folder folder_;
};

/// Error, or the same matrix: never another one.
void expect_same_or_refused(const std::string& file, const csr<double, int, int>& right) {
  try {
    const auto a = io::read_csr<double>(host_engine::context(), file);
    expect_same(a, right);
  } catch (const bad_input& e) {
    EXPECT_TRUE(e.file().starts_with(file)) << e.what();
  } catch (const unsupported& e) {
    EXPECT_TRUE(e.file().starts_with(file)) << e.what();
  }
}

// Files are changed in place: on most systems writing each one anew takes far longer than reading.

TEST_F(Archive, EveryFlippedBitIsSeen) {
  if (!has_zlib()) GTEST_SKIP() << "this build lacks zlib";
  const std::string good = contents(data_folder / "odd/archive.tar.gz");
  const std::string changed = file("archive.tar.gz", good);
  const auto right = io::read_csr<double>(host_engine::context(), changed);
  const auto put = [&](std::size_t at, char byte) {
    std::fstream out(changed, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(at));
    out.put(byte);
  };
  for (std::size_t k = 0; k < good.size(); ++k) {
    for (int bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE("byte " + std::to_string(k) + ", bit " + std::to_string(bit));
      put(k, static_cast<char>(good[k] ^ (1 << bit)));
      expect_same_or_refused(changed, right);
    }
    put(k, good[k]);
  }
  expect_same(io::read_csr<double>(host_engine::context(), changed), right);
}

/// Cuts the file shorter and shorter.
void expect_cuts_refused(const std::string& file) {
  for (auto size = std::filesystem::file_size(file); size-- > 0;) {
    std::filesystem::resize_file(file, size);
    EXPECT_THROW(io::read<double>(host_engine::context(), file), bad_input) << size;
  }
}

TEST_F(Archive, EveryCutIsRefused) {
  if (!has_zlib()) GTEST_SKIP() << "this build lacks zlib";
  expect_cuts_refused(file("archive.tar.gz", contents(data_folder / "odd/archive.tar.gz")));
}

TEST_F(Archive, EveryCutOfAPlainOneIsRefused) {
  const std::string plain =
      file("x.tar", tar({{"x/x.mtx", matrix(3)}, {"x/readme.txt", "a"}}, 512));
  EXPECT_EQ(value_of(read(plain)), 3);
  expect_cuts_refused(plain);
}

TEST_F(Archive, TellsWhatItReadAndWhatElseThereIs) {
  const std::string all = file("x.tar", tar({{"x/readme.txt", "a"},
                                             {"x/x_b.mtx", matrix(1)},
                                             {"x/x.mtx", matrix(2)},
                                             {"x/x_x.mtx", matrix(3)}}));
  const auto unasked = read(all);
  EXPECT_EQ(value_of(unasked), 2);
  EXPECT_EQ(unasked.about.member, "x/x.mtx");
  EXPECT_EQ(unasked.about.others,
            (std::vector<std::string>{"x/readme.txt", "x/x_b.mtx", "x/x_x.mtx"}));
  const auto asked = read(all, "x_x.mtx");
  EXPECT_EQ(value_of(asked), 3);
  EXPECT_EQ(asked.about.member, "x/x_x.mtx");
  expect_refused(all, "no other.mtx in it; it has x/readme.txt, x/x_b.mtx",
                 {.member = "other.mtx"});
}

TEST_F(Archive, MayBeRenamed) {
  // The only matrix, whatever it is called.
  const auto only = read(file("dwg.tar", tar({{"d/readme", "a"}, {"d/dwg961b.mtx", matrix(4)}})));
  EXPECT_EQ(value_of(only), 4);
  EXPECT_EQ(only.about.member, "d/dwg961b.mtx");
  EXPECT_EQ(value_of(read(file("a.tar", tar({{"unnamed", matrix(5)}, {"notes", "% no"}})))), 5);
  // That of its folder's name among vectors.
  const std::vector<tar_file> files = {{"dwg961b/dwg961b_b.mtx", matrix(1)},
                                       {"dwg961b/dwg961b.mtx", matrix(2)}};
  EXPECT_EQ(value_of(read(file("dwg.tar", tar(files)))), 2);
  expect_refused(file("c.tar", tar({{"a.mtx", matrix(1)}, {"b.mtx", matrix(2)}})),
                 "2 matrices in it, none of the archive's name; choose one with --member: a.mtx, "
                 "b.mtx");
  // Without the ending, too.
  EXPECT_EQ(value_of(read(file("archive", tar({{"a.mtx", matrix(6)}})))), 6);
}

TEST_F(Archive, HoldsEveryFormat) {
  const auto& ctx = host_engine::context();
  const auto a = io::read_csr<double>(ctx, file("m.mtx", matrix(7)));
  for (const std::string ending : {".npz", ".mat", ".rb", ".mtx.gz"}) {
    if (!has_zlib() && ending != ".rb") continue;
    io::write(ctx, folder_ / ("a" + ending), a);
    const std::string inside = contents(folder_ / ("a" + ending));
    EXPECT_EQ(value_of(read(file("t.tar", tar({{"t/a" + ending, inside}})))), 7) << ending;
  }
}

TEST_F(Archive, NamesAreShownEscaped) {
  const std::string name = "a\033[31m.mtx";
  try {
    read(file("x.tar", tar({{name, matrix(1)}, {"b.mtx", matrix(1)}})));
    FAIL();
  } catch (const bad_input& e) {
    EXPECT_NE(std::string(e.what()).find("a\\x1b[31m.mtx"), std::string::npos) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\033'), std::string::npos);
  }
  EXPECT_EQ(printable("a\tb\xffñ\xc2\x9bz…\u202ec"), "a\\tb\\xffñ\\xc2\\x9bz…\\xe2\\x80\\xaec");
  // Neither an overlong '/', nor half of a surrogate pair, nor what lies beyond U+10FFFF is UTF-8.
  EXPECT_EQ(printable("\xe0\x80\xaf \xed\xa0\x80 \xf4\x90\x80\x80"),
            "\\xe0\\x80\\xaf \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80");
}

} // namespace
} // namespace lacuna::test
