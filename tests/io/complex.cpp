// Complex matrices: real and imaginary parts go through every format with all their bits.
#include <limits>

#include "io/binary.hpp"

namespace lacuna::test {
namespace {

const auto& ctx = host_engine::context();

std::vector<std::string> endings() {
  std::vector<std::string> result = {".mtx", ".rb"};
  if (has_zlib()) result.insert(result.end(), {".mtx.gz", ".npz", ".mat"});
  if (has_hdf5()) result.emplace_back(".bsp.h5");
  return result;
}

template <class T> const csr<T, int, int>& narrow(const io::any_csr<T>& a) {
  return std::get<csr<T, int, int>>(a);
}

template <class T>
void expect_same_parts(const io::complex_file_matrix<T>& a, const io::complex_file_matrix<T>& b) {
  ASSERT_TRUE(a.imaginary && b.imaginary);
  expect_same(narrow<T>(a.real), narrow<T>(b.real));
  expect_same(narrow<T>(*a.imaginary), narrow<T>(*b.imaginary));
}

const std::string general = "%%MatrixMarket matrix coordinate complex general\n"
                            "3 2 4\n1 1 0.1 -0.2\n3 1 0 1e-300\n2 2 3 0\n3 2 -0.0 -7e20\n";
const std::string head = "%%MatrixMarket matrix coordinate complex ";

template <class T> void expect_kept(const std::string& text, io::symmetry structure) {
  const scratch_folder folder;
  const auto a = io::read_complex<T>(ctx, folder.with("a.mtx", text));
  EXPECT_EQ(a.about.values, io::field::complex);
  EXPECT_EQ(a.about.structure, structure);
  for (const std::string& ending : endings()) {
    SCOPED_TRACE(ending);
    io::write_complex(ctx, folder / ("b" + ending), narrow<T>(a.real).view(),
                      narrow<T>(*a.imaginary).view(), {.structure = structure});
    const auto b = io::read_complex<T>(ctx, folder / ("b" + ending));
    expect_same_parts(a, b);
    EXPECT_EQ(b.about.values, io::field::complex);
    const bool tells = ending != ".npz" && ending != ".mat";
    EXPECT_EQ(b.about.structure, tells ? structure : io::symmetry::general);
    // A real matrix cannot hold them.
    expect_refused<unsupported>(folder / ("b" + ending), "complex");
    io::read_options keep;
    keep.complex = io::complex_rule::keep;
    expect_refused<unsupported>(folder / ("b" + ending), "complex", keep);
  }
}

TEST(Complex, EveryFormatKeepsBothParts) {
  expect_kept<double>(general, io::symmetry::general);
  expect_kept<float>(general, io::symmetry::general);
}

TEST(Complex, EverySymmetryIsKept) {
  expect_kept<double>(head + "symmetric\n2 2 2\n1 1 1 2\n2 1 3 -4\n", io::symmetry::symmetric);
  expect_kept<double>(head + "hermitian\n2 2 2\n1 1 1 0\n2 1 3 -4\n", io::symmetry::hermitian);
  expect_kept<double>(head + "skew-symmetric\n2 2 1\n2 1 3 -4\n", io::symmetry::skew_symmetric);
}

TEST(Complex, SymmetryUnfoldsAsItMust) {
  const scratch_folder folder;
  const auto upper = [&](const std::string& structure) {
    const auto a = io::read_complex<double>(
        ctx, folder.with("a.mtx", head + structure + "\n2 2 1\n2 1 3 -4\n"));
    const auto &re = narrow<double>(a.real), &im = narrow<double>(*a.imaginary);
    EXPECT_EQ(re.size(), 2);
    EXPECT_EQ(re.values()[1], 3);
    EXPECT_EQ(im.values()[1], -4);
    return std::pair(re.values()[0], im.values()[0]);
  };
  EXPECT_EQ(upper("symmetric"), std::pair(3.0, -4.0));
  EXPECT_EQ(upper("hermitian"), std::pair(3.0, 4.0));
  EXPECT_EQ(upper("skew-symmetric"), std::pair(-3.0, 4.0));
}

TEST(Complex, ArraysDuplicatesAndRealFiles) {
  const scratch_folder folder;
  const auto dense = io::read_complex<double>(
      ctx, folder.with("a.mtx", "%%MatrixMarket matrix array complex general\n2 1\n0 0\n0 2\n"));
  ASSERT_EQ(narrow<double>(dense.real).size(), 1);
  EXPECT_EQ(narrow<double>(*dense.imaginary).values()[0], 2);
  const auto summed = io::read_complex<double>(
      ctx, folder.with("b.mtx", head + "general\n1 1 2\n1 1 1 2\n1 1 10 20\n"));
  EXPECT_EQ(narrow<double>(summed.real).values()[0], 11);
  EXPECT_EQ(narrow<double>(*summed.imaginary).values()[0], 22);
  const auto real = io::read_complex<double>(
      ctx, folder.with("c.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 5\n"));
  EXPECT_FALSE(real.imaginary.has_value());
  EXPECT_EQ(narrow<double>(real.real).values()[0], 5);
}

TEST(Complex, WritingChecksPatternAndStructure) {
  const scratch_folder folder;
  const auto a = io::read_complex<double>(ctx, folder.with("a.mtx", general));
  const auto b =
      io::read_complex<double>(ctx, folder.with("b.mtx", head + "general\n3 2 1\n1 1 1 1\n"));
  EXPECT_THROW(io::write_complex(ctx, folder / "c.mtx", narrow<double>(a.real).view(),
                                 narrow<double>(*b.imaginary).view()),
               bad_input);
  EXPECT_THROW(io::write_complex(ctx, folder / "c.mtx", narrow<double>(a.real).view(),
                                 narrow<double>(*a.imaginary).view(),
                                 {.structure = io::symmetry::hermitian}),
               bad_input);
  EXPECT_FALSE(std::filesystem::exists(folder / "c.mtx"));
}

} // namespace
} // namespace lacuna::test
