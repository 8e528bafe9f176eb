// Matrix Market: writing and reading is the identity; the text may be cut into blocks anywhere;
// any number of threads gives the same matrix and the same error.
#include <cstring>
#include <limits>
#include <cmath>
#include <unistd.h>

#include <rapidcheck.h>

#include <lacuna/gen/generate.hpp>
#include <lacuna/io/read.hpp>
#include <lacuna/io/write.hpp>

#include "core/narrow_limit.hpp"
#include "io/files.hpp"
#include "io/same.hpp"
#include "support/engine.hpp"

namespace lacuna::test {
namespace {

template <class C> class MatrixMarket : public ::testing::Test {};
TYPED_TEST_SUITE(MatrixMarket, internal::all_on<host_engine>, config_name);

TYPED_TEST(MatrixMarket, WritingAndReadingIsTheIdentity) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = host_engine::context();
  const scratch_folder folder;
  // Compression sees text, whatever types it was made from.
  auto endings = std::is_same_v<TypeParam, on<host_engine, double, std::int32_t, std::int32_t>>
                     ? packed_endings()
                     : std::vector<std::string>{};
  endings.emplace_back(".mtx");
  for (const std::string& ending : endings) {
    const std::string file = folder / ("a" + ending);
    for (const triplets& m : battery()) {
      SCOPED_TRACE(m.name + ending);
      const auto a = merge_duplicates(ctx, make_csr<T, I, O>(m));
      io::write(ctx, file, a);
      expect_same(io::read_csr<T, I, O>(ctx, file), a);
    }
  }
}

const host_context& ctx = host_engine::context();

TEST(MatrixMarketText, AnyDoubleKeepsItsBits) {
  const scratch_folder folder;
  const std::string file = folder / "v.mtx";
  const bool held = rc::check("bits", [&](std::vector<std::uint64_t> bits) {
    std::vector<double> v(bits.size());
    if (!v.empty()) std::memcpy(v.data(), bits.data(), 8 * v.size());
    for (double& x : v)
      if (std::isnan(x)) x = std::numeric_limits<double>::quiet_NaN(); // NaNs have one spelling
    io::write_vector(ctx, file, vector_view<const double>(v));
    const auto read = io::read_vector<double>(ctx, file);
    RC_ASSERT(read.size() == static_cast<std::int64_t>(v.size()));
    if (!v.empty()) RC_ASSERT(std::memcmp(v.data(), read.data(), 8 * v.size()) == 0);
  });
  EXPECT_TRUE(held);
}

TEST(MatrixMarketText, DecimalsRoundAsStrtodDoes) {
  const scratch_folder folder;
  const bool held = rc::check("decimals", [&](std::uint64_t digits, std::int16_t exponent) {
    const std::string text = std::to_string(digits % 100000000000000000U) + "." +
                             std::to_string(digits % 977) + "e" + std::to_string(exponent % 340);
    const std::string file = folder.with(
        "d.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 " + text + "\n");
    const auto read = io::read_csr<double>(ctx, file);
    const auto narrow = io::read_csr<float>(ctx, file);
    const double expected = std::strtod(text.c_str(), nullptr);
    const float expected_narrow = std::strtof(text.c_str(), nullptr);
    RC_ASSERT(std::memcmp(&expected, read.values().data(), sizeof expected) == 0);
    RC_ASSERT(std::memcmp(&expected_narrow, narrow.values().data(), sizeof expected_narrow) == 0);
  });
  EXPECT_TRUE(held);
}

/// Longer than several blocks of the reader, its lines of many lengths, comments between.
std::string long_file(std::int64_t entries, std::int64_t promised) {
  random_source random(7);
  std::string text = "%%MatrixMarket matrix coordinate real general\n1000000 1000000 " +
                     std::to_string(promised) + "\n";
  for (std::int64_t k = 0; k < entries; ++k) {
    text += std::to_string(random.below(1000000) + 1) + " " +
            std::to_string(random.below(1000000) + 1) + " " + std::to_string(random.value()) + "\n";
    if (k % 1000 == 999) text += "% comment\n\n";
  }
  return text;
}

TEST(MatrixMarketText, ThreadsAndStreamsGiveTheSameMatrix) {
  const scratch_folder folder;
  const std::string text = long_file(150000, 150000);
  const std::string file = folder.with("a.mtx", text);
  const auto one = io::read_csr<double>(host_context({1}), file);
  EXPECT_GT(one.size(), 149000);
  for (const int threads : {2, 3, 8})
    expect_same(io::read_csr<double>(host_context({threads}), file), one);
  for (const std::string& ending : packed_endings()) {
    io::write(ctx, folder / ("b" + ending), one);
    for (const int threads : {1, 4})
      expect_same(io::read_csr<double>(host_context({threads}), folder / ("b" + ending)), one);
  }
}

TEST(MatrixMarketText, LateFaultsHaveTheirLine) {
  const scratch_folder folder;
  std::string text = long_file(150000, 150001);
  const auto lines = std::count(text.begin(), text.end(), '\n');
  text += "5 5 wrong\n" + std::string(3000000, '%') + "\n1 1 also wrong\n";
  const std::string file = folder.with("a.mtx", text);
  for (const int threads : {1, 2, 8}) {
    try {
      io::read<double>(host_context({threads}), file);
      FAIL();
    } catch (const bad_input& e) {
      EXPECT_EQ(e.line(), lines + 1);
    }
  }
}

TEST(MatrixMarketText, EntriesBeyondTheSizeLineHaveTheirLine) {
  const scratch_folder folder;
  const std::string file = folder.with("a.mtx", long_file(150000, 149999));
  for (const int threads : {1, 3}) {
    try {
      io::read<double>(host_context({threads}), file);
      FAIL();
    } catch (const bad_input& e) {
      // The last entry: behind the banner, the sizes, and 149 pairs of comment and blank line.
      EXPECT_EQ(e.line(), 2 + 150000 + 2 * 149) << e.what();
    }
  }
}

TEST(MatrixMarketText, SymmetricFilesHoldOneTriangle) {
  const scratch_folder folder;
  const auto a = gen::poisson2d<double>(ctx, 12);
  io::write(ctx, folder / "s.mtx", a,
            {.structure = io::symmetry::symmetric, .comment = "one\ntwo"});
  const auto [matrix, about] = io::read<double>(ctx, folder / "s.mtx");
  EXPECT_EQ(about.structure, io::symmetry::symmetric);
  EXPECT_EQ(about.stored_entries, (a.size() + 144) / 2);
  EXPECT_EQ(about.comment, "one\ntwo\n");
  expect_same(std::get<csr<double>>(matrix), a);
  EXPECT_THROW(io::write(ctx, folder / "k.mtx", a, {.structure = io::symmetry::skew_symmetric}),
               bad_input);
  EXPECT_FALSE(std::filesystem::exists(folder / "k.mtx"));
  const auto rectangular = gen::uniform<double>(ctx, 5, 6, 2);
  EXPECT_THROW(
      io::write(ctx, folder / "r.mtx", rectangular, {.structure = io::symmetry::symmetric}),
      bad_input);
}

TEST(MatrixMarketText, FieldsOfTheWriter) {
  const scratch_folder folder;
  auto a = gen::poisson2d<double>(ctx, 3);
  io::write(ctx, folder / "i.mtx", a, {.values = io::field::integer});
  const auto [whole, about] = io::read<double>(ctx, folder / "i.mtx");
  EXPECT_EQ(about.values, io::field::integer);
  expect_same(std::get<csr<double>>(whole), a);
  EXPECT_THROW(io::write(ctx, folder / "p.mtx", a, {.values = io::field::pattern}), bad_input);
  std::fill(a.values().begin(), a.values().end(), 1.0);
  io::write(ctx, folder / "p.mtx", a, {.values = io::field::pattern});
  expect_same(io::read_csr<double>(ctx, folder / "p.mtx"), a);
  a.values()[3] = 1.5;
  EXPECT_THROW(io::write(ctx, folder / "h.mtx", a, {.values = io::field::integer}), bad_input);
}

TEST(MatrixMarketText, DuplicatesAsAskedFor) {
  const scratch_folder folder;
  const std::string file =
      folder.with("d.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1\n2 2 5\n"
                           "% c\n1 1 2\n1 1 4\n");
  EXPECT_EQ(io::read_csr<double>(ctx, file).values()[0], 7);
  EXPECT_EQ(io::read_csr<double>(ctx, file, {.duplicates = duplicates::last}).values()[0], 4);
  try {
    io::read<double>(ctx, file, {.duplicates = duplicates::error});
    FAIL();
  } catch (const bad_input& e) {
    EXPECT_EQ(e.line(), 6);
    EXPECT_NE(std::string(e.what()).find("(1, 1) is stored more than once, first on line 3"),
              std::string::npos)
        << e.what();
  }
}

TEST(MatrixMarketText, ComplexAsAskedFor) {
  const scratch_folder folder;
  const std::string file =
      folder.with("c.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 3 0\n"
                           "2 1 3 -4\n");
  try {
    io::read<double>(ctx, file);
    FAIL();
  } catch (const unsupported& e) {
    EXPECT_EQ(e.line(), 1);
    EXPECT_NE(std::string(e.what()).find("--complex real"), std::string::npos);
  }
  const auto real = io::read_csr<double>(ctx, file, {.complex = io::complex_rule::real});
  const auto abs = io::read_csr<double>(ctx, file, {.complex = io::complex_rule::abs});
  EXPECT_EQ(std::vector<double>(real.values().begin(), real.values().end()),
            (std::vector<double>{3, 3, 3}));
  EXPECT_EQ(std::vector<double>(abs.values().begin(), abs.values().end()),
            (std::vector<double>{3, 5, 5}));
}

TEST(MatrixMarketText, WidthsAreChosenBySize) {
  const scratch_folder folder;
  const std::string file = folder.with(
      "w.mtx", "%%MatrixMarket matrix coordinate real general\n3 5000000000 1\n2 4999999999 1\n");
  const auto [matrix, about] = io::read<double>(ctx, file);
  using wide = csr<double, std::int64_t, std::int64_t>;
  EXPECT_TRUE(std::holds_alternative<wide>(matrix));
  EXPECT_THROW((io::read_csr<double, std::int32_t>(ctx, file)), bad_input);
  EXPECT_EQ((io::read_csr<double, std::int64_t>(ctx, file).colind()[0]), 4999999998);
  // On small matrices by a lowered limit.
  const std::string small = folder.with("s.mtx", long_file(1000, 1000));
  const auto before = detail::set_narrow_limit(999);
  const auto limited = io::read<double>(ctx, small).matrix;
  detail::set_narrow_limit(before);
  EXPECT_TRUE(std::holds_alternative<wide>(limited));
}

TEST(MatrixMarketText, VectorsAreOneColumnOrOneRow) {
  const scratch_folder folder;
  const auto read = [&](const char* text) {
    const auto v = io::read_vector<double>(ctx, folder.with("v.mtx", text));
    return std::vector<double>(v.begin(), v.end());
  };
  const std::vector<double> expected{0, 5, 0};
  EXPECT_EQ(read("%%MatrixMarket matrix array real general\n3 1\n0\n5\n0\n"), expected);
  EXPECT_EQ(read("%%MatrixMarket matrix array real general\n1 3\n0\n5\n0\n"), expected);
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate real general\n3 1 1\n2 1 5\n"), expected);
  EXPECT_THROW(read("%%MatrixMarket matrix array real general\n2 2\n0\n5\n0\n1\n"), bad_input);
}

TEST(MatrixMarketText, ArchivesHoldMatrixAndRightHandSide) {
  if (!has_zlib()) GTEST_SKIP() << "this build lacks zlib";
  const std::string file = data_folder / "odd/archive.tar.gz";
  const auto b = io::read_vector<double>(ctx, file);
  EXPECT_EQ(std::vector<double>(b.begin(), b.end()), (std::vector<double>{3, 4}));
  EXPECT_EQ(io::read<double>(ctx, file, {.member = "archive_b.mtx"}).about.rows, 2);
}

TEST(Writing, LeavesNothingHalfDone) {
  const scratch_folder folder;
  const auto a = gen::poisson2d<double>(ctx, 12);
  const std::string file = folder.with("a.mtx", "what was here before");
  EXPECT_THROW(io::write(ctx, file, a, {.values = io::field::pattern}), bad_input);
  EXPECT_EQ(contents(file), "what was here before");
  io::write(ctx, file, a);
  EXPECT_TRUE(contents(file).starts_with("%%MatrixMarket"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Writing, FailsWithTheSystemsReason) {
  const auto a = gen::poisson2d<double>(ctx, 12);
  const scratch_folder folder;
  const auto message = [&](const std::string& file) -> std::string {
    try {
      io::write(ctx, file, a);
      return "written";
    } catch (const error& e) {
      return e.what();
    }
  };
  EXPECT_NE(message(folder / "no/such/folder/a.mtx").find("No such file"), std::string::npos);
  EXPECT_NE(message(folder.path().string() + "/a.unknown").find("writable are .mtx"),
            std::string::npos);
  std::filesystem::create_directory(folder / "d.mtx");
  EXPECT_NE(message(folder / "d.mtx").find("Is a directory"), std::string::npos);
  std::filesystem::create_symlink("/dev/full", folder / "full.mtx");
  EXPECT_NE(message(folder / "full.mtx").find("No space left"), std::string::npos);
}

/// What reading the file fails with.
std::string refusal(const std::string& file) {
  try {
    io::read<double>(ctx, file);
    return "read";
  } catch (const bad_input& e) {
    EXPECT_EQ(e.file(), file);
    return e.what();
  }
}

TEST(Reading, FailsWithTheSystemsReason) {
  const scratch_folder folder;
  EXPECT_NE(refusal(folder / "none.mtx").find("No such file"), std::string::npos);
  EXPECT_NE(refusal(folder.path()).find("Is a directory"), std::string::npos);
}

TEST(Reading, FailsWherePermissionIsMissing) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const scratch_folder folder;
  const std::string file = folder.with("a.mtx", "x");
  std::filesystem::permissions(file, std::filesystem::perms::none);
  EXPECT_NE(refusal(file).find("Permission denied"), std::string::npos);
}

TEST(Reading, TellsItsProgress) {
  const scratch_folder folder;
  const std::string file = folder.with("a.mtx", long_file(150000, 150000));
  std::int64_t last = 0, calls = 0, all = 0;
  io::read<double>(host_context({3}), file,
                   {.progress = [&](std::int64_t done, std::int64_t total) {
                     EXPECT_GT(done, last);
                     last = done;
                     all = total;
                     ++calls;
                   }});
  EXPECT_EQ(last, all);
  EXPECT_EQ(all, static_cast<std::int64_t>(std::filesystem::file_size(file)));
  EXPECT_GT(calls, 5);
}

} // namespace
} // namespace lacuna::test
