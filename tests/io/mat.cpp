// MATLAB files: matrices come back as they were; level 5 files made by hand, right and wrong ones;
// 7.3 files made by the writer and then damaged.
#include "core/narrow_limit.hpp"
#include "io/binary.hpp"

namespace lacuna::test {
namespace {

template <class C> class Mat : public ::testing::Test {};
TYPED_TEST_SUITE(Mat, host_configs, config_name);

TYPED_TEST(Mat, BringsEveryMatrixBack) { expect_round_trips<TypeParam>(".mat"); }

/// What is written when files beyond `limit` bytes count as too large for 32 bits.
template <class T, class I, class O>
std::string written_as_73(const csr<T, I, O>& a, std::int64_t limit) {
  struct lowered {
    std::int64_t before;
    ~lowered() { detail::set_narrow_limit(before); }
  };
  const scratch_folder folder;
  const lowered guard{detail::set_narrow_limit(limit)};
  io::write(host_engine::context(), folder / "a.mat", a);
  return contents(folder / "a.mat");
}

TYPED_TEST(Mat, BringsLargeMatricesBackFromVersion73) {
  if (!has_hdf5()) GTEST_SKIP() << "this build lacks HDF5";
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const scratch_folder folder;
  TypeParam::for_each_matrix([&](const triplets& m) {
    if (m.size() < 10) return; // written as version 7 all the same
    const auto a = make_csr<T, I, O>(m);
    // The least limit that leaves the matrix itself in range.
    const std::string bytes = written_as_73(a, std::max({m.size(), m.rows, m.cols}));
    EXPECT_EQ(bytes.substr(0, 10), "MATLAB 7.3");
    const auto file = folder.with("a.mat", bytes);
    expect_same(merge_duplicates(TypeParam::context(), a),
                io::read_csr<T, I, O>(TypeParam::context(), file));
    EXPECT_EQ(io::read<T>(TypeParam::context(), file).about.format, "MATLAB 7.3 sparse");
  });
}

/// Elements of a level 5 file, in either byte order.
struct builder {
  bool big = false;

  template <class U> [[nodiscard]] std::string numbers(const std::vector<U>& v) const {
    return bytes_of(v, big);
  }
  [[nodiscard]] std::string element(std::uint32_t type, const std::string& data) const {
    const auto size = static_cast<std::uint32_t>(data.size());
    std::string result = numbers<std::uint32_t>({type, size}) + data;
    return result + std::string((8 - result.size() % 8) % 8, '\0');
  }
  /// Up to 4 bytes of data within the tag.
  [[nodiscard]] std::string small(std::uint32_t type, const std::string& data) const {
    const auto size = static_cast<std::uint32_t>(data.size());
    return numbers<std::uint32_t>({size << 16 | type}) + data + std::string(4 - data.size(), '\0');
  }
  [[nodiscard]] std::string front(std::uint32_t flags, const std::vector<std::int32_t>& dimensions,
                                  const std::string& name) const {
    return element(6, numbers<std::uint32_t>({flags, 0})) + element(5, numbers(dimensions)) +
           (name.size() <= 4 ? small(1, name) : element(1, name));
  }
  [[nodiscard]] std::string matrix(std::uint32_t flags, const std::vector<std::int32_t>& dimensions,
                                   const std::string& name, const std::string& data) const {
    return element(14, front(flags, dimensions, name) + data);
  }
  [[nodiscard]] std::string header() const {
    std::string result = "MATLAB 5.0 MAT-file";
    result.resize(124, ' ');
    return result + (big ? std::string("\1\0MI", 4) : std::string("\0\1IM", 4));
  }
  using integers = std::vector<std::int32_t>;
  using reals = std::vector<double>;
  /// 2 x 3 with (0, 0) = 1, (1, 1) = 3, (0, 2) = 2.
  [[nodiscard]] std::string sparse(const std::string& name, integers ir = {0, 1, 0},
                                   integers jc = {0, 1, 2, 3}, reals pr = {1, 3, 2},
                                   integers dimensions = {2, 3}) const {
    return matrix(5, dimensions, name,
                  element(5, numbers(ir)) + element(5, numbers(jc)) + element(9, numbers(pr)));
  }
};
using integers = builder::integers;
using reals = builder::reals;

class MatFile : public ::testing::Test {
protected:
  std::string file(const std::string& bytes) { return folder_.with("a.mat", bytes); }
  /// "0,0=1 0,2=2 1,1=3"
  std::string entries(const std::string& bytes, const io::read_options& options = {}) {
    const auto a = io::read_csr<double>(host_engine::context(), file(bytes), options);
    std::string result;
    for (std::int64_t i = 0; i < a.shape().row; ++i)
      for (auto k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
        result += (result.empty() ? "" : " ") + std::to_string(i) + "," +
                  std::to_string(a.colind()[k]) + "=" +
                  std::to_string(static_cast<std::int64_t>(a.values()[k]));
    return result;
  }
  static io::read_options member(const std::string& name) {
    io::read_options options;
    options.member = name;
    return options;
  }

private:
  scratch_folder folder_;
};

const char* const expected = "0,0=1 0,2=2 1,1=3";

TEST_F(MatFile, ReadsBothByteOrders) {
  for (const bool big : {false, true}) {
    const builder b{big};
    EXPECT_EQ(entries(b.header() + b.sparse("A")), expected);
    // Room for more entries than there are.
    EXPECT_EQ(entries(b.header() + b.sparse("A", {0, 1, 0, 7}, {0, 1, 2, 3}, {1, 3, 2, 9})),
              expected);
    EXPECT_EQ(entries(b.header() +
                      b.matrix(6, {2, 3}, "A", b.element(9, b.numbers(reals{1, 0, 0, 3, 2, 0})))),
              expected);
    // Doubles that are stored as bytes, as MATLAB does with small whole numbers.
    EXPECT_EQ(entries(b.header() +
                      b.matrix(6, {2, 3}, "A", b.element(2, std::string("\1\0\0\3\2\0", 6)))),
              expected);
    EXPECT_EQ(entries(b.header() + b.matrix(5, {2, 3}, "A",
                                            b.element(5, b.numbers(integers{0, 1, 0})) +
                                                b.element(5, b.numbers(integers{0, 1, 2, 3})) +
                                                b.small(2, "\1\3\2"))),
              expected);
    EXPECT_EQ(
        entries(b.header() +
                b.matrix(10, {1, 2}, "A", b.small(3, b.numbers(std::vector<std::int16_t>{-5, 6})))),
        "0,0=-5 0,1=6");
  }
}

TEST_F(MatFile, ReadsLogicalAndComplexMatrices) {
  const builder b;
  const std::string indices =
      b.element(5, b.numbers(integers{0, 1, 0})) + b.element(5, b.numbers(integers{0, 1, 2, 3}));
  EXPECT_EQ(entries(b.header() + b.matrix(0x205, {2, 3}, "A", indices + b.small(2, "\1\2\1"))),
            "0,0=1 0,2=1 1,1=1");
  const std::string complex =
      b.header() + b.matrix(0x805, {2, 3}, "A",
                            indices + b.element(9, b.numbers(reals{3, 6, 0})) +
                                b.element(9, b.numbers(reals{4, 8, -5})));
  expect_refused<unsupported>(file(complex), "--complex real|abs");
  io::read_options options;
  options.complex = io::complex_rule::real;
  EXPECT_EQ(entries(complex, options), "0,0=3 0,2=0 1,1=6");
  options.complex = io::complex_rule::abs;
  EXPECT_EQ(entries(complex, options), "0,0=5 0,2=5 1,1=10");
}

TEST_F(MatFile, ChoosesTheMatrix) {
  const builder b;
  const std::string text = b.matrix(4, {1, 2}, "t", b.element(4, "a\0b\0"));
  const std::string full = b.matrix(6, {1, 1}, "f", b.element(9, b.numbers(reals{7})));
  const std::string problem = b.matrix(
      2, {1, 1}, "Problem",
      b.small(5, b.numbers(integers{8})) +
          b.element(1, std::string("title\0\0\0A\0\0\0\0\0\0\0", 16)) + text + b.sparse(""));
  EXPECT_EQ(entries(b.header() + text + full + b.sparse("A")), expected);
  EXPECT_EQ(entries(b.header() + text + full), "0,0=7");
  EXPECT_EQ(entries(b.header() + full + problem), expected);
  EXPECT_EQ(entries(b.header() + b.sparse("A") + full, member("f")), "0,0=7");
  EXPECT_EQ(entries(b.header() + full + problem, member("Problem")), expected);
  EXPECT_EQ(entries(b.header() + full + problem, member("Problem.A")), expected);
  expect_refused(file(b.header() + full + problem), "no B among the variables: f, Problem",
                 member("B"));
  expect_refused(file(b.header() + full + problem), "no field b", member("Problem.b"));
  expect_refused<unsupported>(file(b.header() + full + text), "not a numeric matrix", member("t"));
  expect_refused(file(b.header() + text), "no numeric matrix");
  expect_refused(file(b.header()), "no numeric matrix");
}

TEST_F(MatFile, RefusesWhatDisagrees) {
  const builder b;
  const auto refused = [&](const std::string& variable, const std::string& words) {
    expect_refused(file(b.header() + variable), words);
  };
  refused(b.sparse("A", {0, 2, 0}), "ir[1] is 2, not in 0..1");
  refused(b.sparse("A", {0, -1, 0}), "ir[1] is -1");
  refused(b.sparse("A", {0, 1, 0}, {0, 2, 1, 3}), "jc[2] is 1");
  refused(b.sparse("A", {0, 1, 0}, {0, 1, 2, 4}), "the last column ends at 4");
  refused(b.sparse("A", {0, 1, 0}, {0, 1, 2, -1}), "the last column ends at -1");
  refused(b.sparse("A", {0, 1, 0}, {1, 1, 2, 3}), "jc[0] is 1");
  refused(b.sparse("A", {0, 1, 0}, {0, 1, 3}), "jc has 3 elements, the shape asks for 4");
  refused(b.sparse("A", {0, 1}, {0, 1, 2, 3}), "ir has 2 elements");
  refused(b.sparse("A", {0, 1, 0}, {0, 1, 2, 3}, {1, 2}), "values has 2 elements");
  refused(b.sparse("A", {0, 1, 0}, {0, 1, 2, 3}, {1, 2, 3}, {-2, 3}), "a dimension of -2");
  refused(b.sparse("A", {0, 1, 0}, {0, 1, 2, 3}, {1, 2, 3}, {2}), "1 dimensions");
  refused(b.sparse("A", {0, 1, 0}, {0, 1, 2, 3}, {1, 2, 3}, {2, 2147483647}),
          "asks for 2147483648");
  refused(b.matrix(6, {2, 3}, "A", b.element(9, b.numbers(reals{1}))),
          "1 elements, the matrix 2 x 3");
  refused(b.matrix(6, {2147483647, 2147483647}, "A", b.element(9, b.numbers(reals{1}))),
          "1 elements");
  refused(b.matrix(6, {1, 1}, "A", b.element(9, "1234567")), "ends within a number");
  refused(b.matrix(6, {1, 1}, "A", b.element(17, "12345678")), "has type 17");
  refused(b.matrix(0x805, {2, 3}, "A",
                   b.element(5, b.numbers(integers{0, 1, 0})) +
                       b.element(5, b.numbers(integers{0, 1, 2, 3})) +
                       b.element(9, b.numbers(reals{1, 2, 3}))),
          "cut off");
  expect_refused<unsupported>(
      file(b.header() + b.matrix(6, {1, 1, 1}, "A", b.element(9, b.numbers(reals{1})))),
      "3 dimensions");
}

TEST_F(MatFile, RefusesDamagedFiles) {
  const builder b;
  const std::string good = b.header() + b.sparse("A");
  expect_refused(file(good.substr(0, 100)), "not a MATLAB file");
  expect_refused(file(with(good, "IM", "XX")), "not a MATLAB file");
  expect_refused(file(with(good, "\1IM", "\3IM")), "level 3");
  expect_refused(file(good.substr(0, good.size() - 8)), "cut off");
  expect_refused(file(good + "abc"), "cut off");
  expect_refused(file(with(good, b.numbers(integers{5, 12}), b.numbers(integers{5, 0x7fffffff}))),
                 "cut off");
  if (has_zlib())
    expect_refused(file(b.header() + b.numbers(integers{15, 8}) + "notzlib!"), "damaged");
}

TEST_F(MatFile, SurvivesEveryCutAndEveryChangedByte) {
  const builder b;
  const scratch_folder folder;
  const auto a = make_csr<double, std::int32_t, std::int32_t>(battery_matrix("tridiagonal"));
  io::write(host_engine::context(), folder / "a.mat", a); // compressed where it can be
  for (const std::string& good : {b.header() + b.sparse("A"), contents(folder / "a.mat")})
    for (std::size_t k = 0; k < good.size(); ++k)
      for (const bool cut : {false, true}) {
        std::string bad = cut ? good.substr(0, k) : good;
        if (!cut) bad[k] = static_cast<char>(bad[k] ^ 0x41);
        try {
          io::read_triplets<double>(host_engine::context(), file(bad));
        } catch (const error&) { // as it should be; a change in what is not used may also pass
        }
      }
}

TEST_F(MatFile, RefusesDamagedVersion73) {
  if (!has_hdf5()) GTEST_SKIP() << "this build lacks HDF5";
  triplets m{"m", 5, 4, {0, 3, 1, 4}, {0, 1, 2, 3}, {1.5, 2.5, 3.5, 4.5}};
  const std::string good = written_as_73(make_csr<double, std::int32_t, std::int32_t>(m), 16);
  using wide = std::vector<std::uint64_t>;
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& words) {
    expect_refused(file(with(good, from, to)), words);
  };
  const std::string ir = bytes_of(wide{0, 3, 1, 4}), jc = bytes_of(wide{0, 1, 2, 3, 4});
  refused(ir, bytes_of(wide{0, 5, 1, 4}), "A/ir[1] is 5, not in 0..4");
  refused(ir, bytes_of(wide{0, ~0ULL, 1, 4}), "A/ir[1] is 18446744073709551615");
  refused(jc, bytes_of(wide{0, 1, 0, 3, 4}), "A/jc[2] is 0");
  refused(jc, bytes_of(wide{0, 1, 2, 3, 5}), "A/jc[4] is 5");
  refused(jc, bytes_of(wide{0, 1, 2, 3, 3}), "A/jc ends at 3, there are 4 entries");
  refused(jc, bytes_of(wide{1, 1, 2, 3, 4}), "A/jc[0] is 1");
  refused("MATLAB_sparse", "MATLAB_spurse", "");
  expect_refused(file(good.substr(0, good.size() / 2)), "HDF5");
  expect_refused(file(good.substr(0, 600)), "HDF5");
  expect_refused(file(good), "no variable B", member("B"));
  std::string claims = good; // 5 is the length of jc, and the number of rows
  const std::string five = byte_of(std::uint64_t{5}), huge = byte_of(std::uint64_t{1} << 60);
  for (auto at = claims.find(five); at != std::string::npos; at = claims.find(five, at + 8))
    claims.replace(at, 8, huge);
  expect_refused(file(claims), "");
}

} // namespace
} // namespace lacuna::test
