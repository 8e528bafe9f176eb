// SciPy's .npz: matrices come back as they were; archives made by hand, right and wrong ones.
#include <array>

#include "io/binary.hpp"

namespace lacuna::test {
namespace {

template <class C> class Npz : public ::testing::Test {};
TYPED_TEST_SUITE(Npz, host_configs, config_name);

TYPED_TEST(Npz, BringsEveryMatrixBack) { expect_round_trips<TypeParam>(".npz"); }

std::uint32_t crc32(const std::string& bytes) {
  std::uint32_t crc = ~0U;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
  }
  return ~crc;
}

struct member {
  std::string name;
  std::string bytes;
  std::string packed = {}; // empty: stored
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::uint32_t size = 0; // 0: the true one
};

std::string zip(const std::vector<member>& members) {
  std::string file, directory;
  for (const member& m : members) {
    const std::string& packed = m.packed.empty() ? m.bytes : m.packed;
    const auto offset = static_cast<std::uint32_t>(file.size());
    const std::string common =
        byte_of(std::uint16_t{20}) + byte_of(m.flags) + byte_of(m.method) +
        byte_of(std::uint32_t{0}) + byte_of(crc32(m.bytes)) +
        byte_of(static_cast<std::uint32_t>(packed.size())) +
        byte_of(m.size != 0 ? m.size : static_cast<std::uint32_t>(m.bytes.size())) +
        byte_of(static_cast<std::uint16_t>(m.name.size())) + byte_of(std::uint16_t{0});
    file += "PK\3\4" + common + m.name + packed;
    directory += "PK\1\2" + byte_of(std::uint16_t{20}) + common + std::string(10, '\0') +
                 byte_of(offset) + m.name;
  }
  const auto count = static_cast<std::uint16_t>(members.size());
  return file + directory + "PK\5\6" + std::string(4, '\0') + byte_of(count) + byte_of(count) +
         byte_of(static_cast<std::uint32_t>(directory.size())) +
         byte_of(static_cast<std::uint32_t>(file.size())) + std::string(2, '\0');
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& bytes,
                const std::string& order = "False") {
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\1\0", 8) + byte_of(static_cast<std::uint16_t>(header.size())) +
         header + bytes;
}
std::string list(const std::vector<std::int32_t>& v) {
  return npy("<i4", "(" + std::to_string(v.size()) + ",)", bytes_of(v));
}
std::string list(const std::vector<double>& v) {
  return npy("<f8", "(" + std::to_string(v.size()) + ",)", bytes_of(v));
}
std::string word(const std::string& w) { return npy("|S" + std::to_string(w.size()), "()", w); }
using integers = std::vector<std::int32_t>;
using reals = std::vector<double>;

/// 2 x 3 with the entries (0, 0) = 1, (0, 2) = 2, (1, 1) = 3, unless members are replaced.
std::string csr_file(const std::vector<member>& instead = {}) {
  std::vector<member> members = {{"format.npy", word("csr")},
                                 {"shape.npy", list(integers{2, 3})},
                                 {"indptr.npy", list(integers{0, 2, 3})},
                                 {"indices.npy", list(integers{0, 2, 1})},
                                 {"data.npy", list(reals{1, 2, 3})}};
  for (const member& m : instead)
    for (member& old : members)
      if (old.name == m.name) old = m;
  return zip(members);
}

/// "0,0=1 0,2=2 1,1=3"
std::string entries_of(const std::string& file, const io::read_options& options = {}) {
  const auto a = io::read_csr<double, std::int64_t>(host_engine::context(), file, options);
  std::string result;
  for (std::int64_t i = 0; i < a.shape().row; ++i)
    for (auto k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
      result += (result.empty() ? "" : " ") + std::to_string(i) + "," +
                std::to_string(a.colind()[k]) + "=" +
                std::to_string(static_cast<std::int64_t>(a.values()[k]));
  return result;
}

class NpzFile : public ::testing::Test {
protected:
  std::string file(const std::string& bytes) { return folder_.with("a.npz", bytes); }

private:
  scratch_folder folder_;
};

TEST_F(NpzFile, ReadsEveryFormat) {
  const std::string expected = "0,0=1 0,2=2 1,1=3";
  EXPECT_EQ(entries_of(file(csr_file())), expected);
  EXPECT_EQ(entries_of(file(zip({{"format.npy", word("csc")},
                                 {"shape.npy", list(integers{2, 3})},
                                 {"indptr.npy", list(integers{0, 1, 2, 3})},
                                 {"indices.npy", list(integers{0, 1, 0})},
                                 {"data.npy", list(reals{1, 3, 2})}}))),
            expected);
  EXPECT_EQ(entries_of(file(zip({{"format.npy", word("coo")},
                                 {"shape.npy", list(integers{2, 3})},
                                 {"row.npy", list(integers{1, 0, 0})},
                                 {"col.npy", list(integers{1, 2, 0})},
                                 {"data.npy", list(reals{3, 2, 1})}}))),
            expected);
  EXPECT_EQ(entries_of(
                file(zip({{"format.npy", word("dia")},
                          {"shape.npy", list(integers{2, 3})},
                          {"offsets.npy", list(integers{0, 2})},
                          {"data.npy", npy("<f8", "(2, 3)", bytes_of(reals{1, 3, 9, 9, 9, 2}))}}))),
            expected);
  // Blocks of 1 x 3; a zero within a block is an entry.
  EXPECT_EQ(entries_of(file(
                zip({{"format.npy", word("bsr")},
                     {"shape.npy", list(integers{2, 3})},
                     {"indptr.npy", list(integers{0, 1, 2})},
                     {"indices.npy", list(integers{0, 0})},
                     {"data.npy", npy("<f8", "(2, 1, 3)", bytes_of(reals{1, 0, 2, 0, 3, 0}))}}))),
            "0,0=1 0,1=0 0,2=2 1,0=0 1,1=3 1,2=0");
  EXPECT_EQ(
      entries_of(file(zip({{"x.npy", npy("<f8", "(2, 3)", bytes_of(reals{1, 0, 2, 0, 3, 0}))}}))),
      expected);
}

TEST_F(NpzFile, ReadsEveryTypeInBothOrders) {
  const auto with_data = [&](const std::string& descr, const std::string& bytes) {
    return entries_of(file(csr_file({{"data.npy", npy(descr, "(3,)", bytes)}})));
  };
  const std::string expected = "0,0=1 0,2=2 1,1=3";
  for (const bool swapped : {false, true}) {
    const std::string order = swapped ? ">" : "<";
    EXPECT_EQ(with_data(order + "f4", bytes_of(std::vector<float>{1, 2, 3}, swapped)), expected);
    EXPECT_EQ(with_data(order + "f8", bytes_of(reals{1, 2, 3}, swapped)), expected);
    EXPECT_EQ(with_data(order + "i2", bytes_of(std::vector<std::int16_t>{1, 2, 3}, swapped)),
              expected);
    EXPECT_EQ(with_data(order + "u2", bytes_of(std::vector<std::uint16_t>{1, 2, 3}, swapped)),
              expected);
    EXPECT_EQ(with_data(order + "i4", bytes_of(integers{1, 2, 3}, swapped)), expected);
    EXPECT_EQ(with_data(order + "u4", bytes_of(integers{1, 2, 3}, swapped)), expected);
    EXPECT_EQ(with_data(order + "i8", bytes_of(std::vector<std::int64_t>{1, 2, 3}, swapped)),
              expected);
    EXPECT_EQ(with_data(order + "u8", bytes_of(std::vector<std::uint64_t>{1, 2, 3}, swapped)),
              expected);
  }
  EXPECT_EQ(with_data("|i1", "\1\2\3"), expected);
  EXPECT_EQ(with_data("|u1", "\1\2\3"), expected);
  EXPECT_EQ(with_data("|b1", "\1\2\3"), "0,0=1 0,2=1 1,1=1");
  EXPECT_EQ(
      entries_of(file(csr_file(
          {{"indices.npy", npy(">u8", "(3,)", bytes_of(std::vector<std::uint64_t>{0, 2, 1}, true))},
           {"indptr.npy", npy("|u1", "(3,)", std::string("\0\2\3", 3))}}))),
      expected);
}

TEST_F(NpzFile, ReadsComplexValuesAsTold) {
  const std::string complex =
      file(csr_file({{"data.npy", npy("<c16", "(3,)", bytes_of(reals{3, 4, 6, -8, 0, 5}))}}));
  expect_refused<unsupported>(complex, "--complex real|abs");
  io::read_options options;
  options.complex = io::complex_rule::real;
  EXPECT_EQ(entries_of(complex, options), "0,0=3 0,2=6 1,1=0");
  options.complex = io::complex_rule::abs;
  EXPECT_EQ(entries_of(complex, options), "0,0=5 0,2=10 1,1=5");
}

TEST_F(NpzFile, ReadsHugeShapesWithFewEntries) {
  const std::int64_t huge = std::int64_t{1} << 60;
  const auto bytes = zip({{"format.npy", word("coo")},
                          {"shape.npy", npy("<i8", "(2,)", bytes_of(std::vector{huge, huge}))},
                          {"row.npy", npy("<i8", "(1,)", byte_of(huge - 1))},
                          {"col.npy", list(integers{7})},
                          {"data.npy", list(reals{1})}});
  const auto read = io::read_triplets<double>(host_engine::context(), file(bytes));
  EXPECT_EQ(read.about.rows, huge);
  EXPECT_EQ((std::get<io::triplets<double, std::int64_t>>(read.entries).rowind[0]), huge - 1);
}

/// Deflate can also store: one last block of literal bytes.
std::string deflated(const std::string& bytes) {
  const auto size = static_cast<std::uint16_t>(bytes.size());
  return '\1' + byte_of(size) + byte_of(static_cast<std::uint16_t>(~size)) + bytes;
}

TEST_F(NpzFile, ReadsDeflatedMembersIfZlibIsThere) {
  const std::string data = list(reals{1, 2, 3});
  const auto with_data = [&](const member& m) { return file(csr_file({m})); };
  if (!has_zlib()) GTEST_SKIP() << "this build lacks zlib";
  EXPECT_EQ(entries_of(with_data({"data.npy", data, deflated(data), 8})), "0,0=1 0,2=2 1,1=3");
  expect_refused(with_data({"data.npy", data, "\7\7\7\7", 8}), "damaged");
  expect_refused(with_data({"data.npy", data, deflated(data).substr(0, 20), 8}), "cut off");
  expect_refused(with_data({"data.npy", data, deflated(data), 8, 0, 90}), "its header asks for 24");
  expect_refused(with_data({"data.npy", data, deflated(data + "x"), 8}), "there are more");
  expect_refused(with_data({"data.npy", data, deflated(data), 8, 0, 4000000000U}), "cannot become");
}

TEST_F(NpzFile, RefusesDamagedArchives) {
  const std::string good = csr_file();
  expect_refused(file(good.substr(0, good.size() - 10)), "cut off");
  expect_refused(file(with(good, "PK\1\2", "PK\1\3")), "central directory is damaged");
  expect_refused(file(with(good, "PK\3\4", "PK\3\5")), "no member format.npy at byte 0");
  expect_refused(file(with(good, bytes_of(reals{1, 2}), bytes_of(reals{1, 4}))), "checksum");
  expect_refused(file(good.substr(100)), "zip");
  expect_refused<unsupported>(file(csr_file({{"data.npy", "x", "x", 12}})), "method 12");
  expect_refused<unsupported>(file(csr_file({{"data.npy", "x", "x", 0, 1}})), "encrypted");
  expect_refused(file(csr_file({{"data.npy", "x", "", 0, 0, 77}})), "has 1 bytes, not 77");
}

TEST_F(NpzFile, RefusesArraysThatDisagree) {
  const auto refused = [&](const member& m, const std::string& words) {
    expect_refused(file(csr_file({m})), words);
  };
  refused({"format.npy", word("xyz")}, "no format \"xyz\"");
  refused({"shape.npy", list(integers{-2, 3})}, "a shape of -2 x 3");
  refused({"shape.npy", list(integers{2, 2})}, "indices.npy[1] is 2, not in 0..1");
  refused({"shape.npy", list(reals{2, 3})}, "does not hold integers");
  refused({"shape.npy", list(integers{3, 3})}, "indptr.npy has 3 elements, the shape asks for 4");
  refused({"indices.npy", list(integers{0, -1, 1})}, "indices.npy[1] is -1");
  refused({"indices.npy", list(reals{0, 2, 1})}, "does not hold integers");
  refused({"indptr.npy", list(integers{0, 4, 3})}, "indptr.npy[1] is 4");
  refused({"indptr.npy", list(integers{0, 2, 1})}, "indptr.npy[2] is 1");
  refused({"indptr.npy", list(integers{0, 2, 2})}, "ends at 2, there are 3 entries");
  refused({"indptr.npy", list(integers{1, 2, 3})}, "indptr.npy[0] is 1");
  refused({"data.npy", list(reals{1, 2})}, "2 values for 3 entries");
  refused({"data.npy", npy("<f8", "(3, 1)", bytes_of(reals{1, 2, 3}))}, "has 2 dimensions");
}

TEST_F(NpzFile, ComparesHeadersBeforeItInflates) {
  if (!has_zlib()) GTEST_SKIP() << "this build lacks zlib";
  const std::int64_t claimed = std::int64_t{1} << 29;
  // The header is right for the size that the archive tells; nothing behind it is ever looked at.
  const auto header = [&](const std::string& descr) {
    return npy(descr, "(" + std::to_string(claimed) + ",)", "");
  };
  const auto member_of = [&](const std::string& name, const std::string& descr, int bytes) {
    const std::string h = header(descr);
    const std::string packed = deflated(h) + std::string(5 << 20, '\0');
    return member{
        name, h, packed,
        8,    0, static_cast<std::uint32_t>(static_cast<std::int64_t>(h.size()) + bytes * claimed)};
  };
  expect_refused(file(csr_file({member_of("indices.npy", "<i4", 4)})),
                 "indptr.npy ends at 3, there are 536870912 entries");
  expect_refused(file(csr_file({member_of("data.npy", "|i1", 1)})),
                 "536870912 values for 3 entries");
  expect_refused(file(csr_file({member_of("indptr.npy", "<i4", 4)})),
                 "indptr.npy has 536870912 elements, the shape asks for 3");
  expect_refused<unsupported>(file(csr_file({member_of("shape.npy", "<i4", 4)})),
                              "536870912 dimensions");
}

TEST_F(NpzFile, RefusesIntegersThatNoDoubleIs) {
  const auto with_data = [&](const std::string& descr, const std::string& bytes) {
    return file(csr_file({{"data.npy", npy(descr, "(3,)", bytes)}}));
  };
  const std::int64_t most = std::int64_t{1} << 53;
  expect_refused(with_data("<i8", bytes_of(std::vector<std::int64_t>{1, -most - 1, 3})),
                 "data.npy[1] is -9007199254740993, which no double is");
  expect_refused(with_data("<u8", bytes_of(std::vector<std::uint64_t>{1, 2, UINT64_MAX})),
                 "data.npy[2] is 18446744073709551615, which no double is");
  const auto exact = io::read_csr<double>(
      host_engine::context(),
      with_data("<i8", bytes_of(std::vector<std::int64_t>{most, -2 * most - 4, INT64_MIN})));
  EXPECT_EQ(exact.values()[0], 0x1p53);
  EXPECT_EQ(exact.values()[1], -0x1p54 - 4);
  EXPECT_EQ(exact.values()[2], -0x1p63);
}

TEST_F(NpzFile, RefusesDamagedArrays) {
  const auto refused = [&](const std::string& data, const std::string& words) {
    expect_refused(file(csr_file({{"data.npy", data}})), words);
  };
  refused("", "is not a NumPy array");
  refused("\x93NUMPX\1\0aa", "is not a NumPy array");
  refused(std::string("\x93NUMPY\1\0\xff\xff{}", 12), "header is cut off");
  refused(npy("<f8", "(3", bytes_of(reals{1, 2, 3})), "header is damaged");
  refused(npy("<f8", "(3,)", bytes_of(reals{1, 2})), "16 bytes of data, its header asks for 24");
  refused(npy("<f8", "(3,)", bytes_of(reals{1, 2, 3, 4})), "32 bytes of data");
  refused(npy("<f8", "(1152921504606846976,)", ""), "no file holds that many");
  refused(npy("<f8", "(99999999999999999999,)", ""), "header is damaged");
  refused(npy("<f8", "(-3,)", ""), "header is damaged");
  refused(npy("<f8", "(nan,)", ""), "header is damaged");
  expect_refused<unsupported>(file(csr_file({{"data.npy", npy("|O", "(3,)", "abc")}})), "pickled");
  expect_refused<unsupported>(file(csr_file({{"data.npy", npy("<f2", "(3,)", "abcdef")}})), "f2");
  expect_refused<unsupported>(
      file(csr_file({{"data.npy", std::string("\x93NUMPY\x4\0\0\0\0\0", 12)}})), "version 4");
}

TEST_F(NpzFile, RefusesBlocksAndDiagonalsThatDoNotFit) {
  const auto blocks = [&](const std::string& shape) {
    return file(zip({{"format.npy", word("bsr")},
                     {"shape.npy", list(integers{2, 3})},
                     {"indptr.npy", list(integers{0, 1, 2})},
                     {"indices.npy", list(integers{0, 0})},
                     {"data.npy", npy("<f8", shape, bytes_of(reals{1, 0, 2, 0, 3, 0}))}}));
  };
  expect_refused(blocks("(3, 1, 2)"), "do not tile");
  expect_refused(blocks("(2, 3)"), "has 2 dimensions, not 3");
  expect_refused(blocks("(6, 1, 1)"), "6 blocks");
  expect_refused(file(zip({{"format.npy", word("dia")},
                           {"shape.npy", list(integers{2, 3})},
                           {"offsets.npy", list(integers{1, 1})},
                           {"data.npy", npy("<f8", "(2, 1)", bytes_of(reals{1, 2}))}})),
                 "a diagonal twice");
  expect_refused(file(zip({{"a.npy", list(reals{1})}, {"b.npy", list(reals{1})}})),
                 "2 arrays to choose from");
  expect_refused(file(zip({{"format.npy", word("csr")}})), "no array shape");
}

TEST_F(NpzFile, SurvivesEveryCutAndEveryChangedByte) {
  const std::string good = csr_file();
  const auto& ctx = host_engine::context();
  const auto attempt = [&](const std::string& bytes) {
    try {
      io::read_triplets<double>(ctx, file(bytes));
    } catch (const error&) { // as it should be; a change in what is not used may also pass
    }
  };
  for (std::size_t k = 0; k < good.size(); ++k) {
    attempt(good.substr(0, k));
    std::string changed = good;
    changed[k] = static_cast<char>(changed[k] ^ 0x41);
    attempt(changed);
  }
}

} // namespace
} // namespace lacuna::test
