// Binsparse in HDF5: matrices and vectors come back as they were; files made by the writer and then
// changed. Files of other programs are in odd/.
#include <sys/resource.h>

#include <lacuna/gen/generate.hpp>

#include "io/binary.hpp"

namespace lacuna::test {
namespace {

template <class C> class Binsparse : public ::testing::Test {
protected:
  void SetUp() override {
    if (!has_hdf5()) GTEST_SKIP() << "this build lacks HDF5";
  }
};
TYPED_TEST_SUITE(Binsparse, host_configs, config_name);

TYPED_TEST(Binsparse, BringsEveryMatrixBack) { expect_round_trips<TypeParam>(".bsp.h5"); }

class BinsparseFile : public ::testing::Test {
protected:
  void SetUp() override {
    if (!has_hdf5()) GTEST_SKIP() << "this build lacks HDF5";
  }
  std::string file(const std::string& bytes) { return folder_.with("a.bsp.h5", bytes); }
  std::string written(const triplets& m, const io::write_options& options = {}) {
    io::write(host_engine::context(), folder_ / "w.bsp.h5",
              make_csr<double, std::int32_t, std::int64_t>(m), options);
    return contents(folder_ / "w.bsp.h5");
  }
  auto read(const std::string& bytes) {
    return io::read<double>(host_engine::context(), file(bytes));
  }

  scratch_folder folder_;
  /// Symmetric.
  const triplets matrix_{"m", 4, 4, {0, 1, 1, 2, 3}, {0, 1, 2, 1, 3}, {1.5, 2, 3, 3, 7}};
};

TEST_F(BinsparseFile, KeepsVectorsDense) {
  const std::vector<float> v = {1, 0, -2.5};
  io::write_vector<float>(host_engine::context(), folder_ / "v.bsp.h5", v);
  const auto read = io::read_vector<float>(host_engine::context(), folder_ / "v.bsp.h5");
  EXPECT_EQ(std::vector<float>(read.begin(), read.end()), v);
  EXPECT_EQ(io::read<float>(host_engine::context(), folder_ / "v.bsp.h5").about.format,
            "Binsparse DVEC");
}

TEST_F(BinsparseFile, KeepsTheStructure) {
  io::write_options options;
  options.structure = io::symmetry::symmetric;
  const auto bytes = written(matrix_, options);
  EXPECT_NE(bytes.find("\"symmetric_lower\""), std::string::npos);
  const auto [matrix, about] = read(bytes);
  EXPECT_EQ(about.structure, io::symmetry::symmetric);
  EXPECT_EQ(about.stored_entries, 4);
  expect_same(make_csr<double, std::int32_t, std::int32_t>(matrix_),
              std::get<csr<double, std::int32_t, std::int32_t>>(matrix));
  triplets other = matrix_;
  other.value[2] = 4;
  EXPECT_THROW(written(other, options), bad_input);
}

TEST_F(BinsparseFile, KeepsPatternsAndIntegers) {
  io::write_options options;
  options.values = io::field::pattern;
  EXPECT_THROW(written(matrix_, options), bad_input);
  triplets ones = matrix_;
  ones.value.assign(5, 1.0);
  EXPECT_EQ(read(written(ones, options)).about.values, io::field::pattern);
  options.values = io::field::integer;
  EXPECT_EQ(read(written(ones, options)).about.values, io::field::integer);
  EXPECT_THROW(written(matrix_, options), bad_input); // 1.5
}

TEST_F(BinsparseFile, RefusesDescriptorsThatAreWrong) {
  const std::string good = written(matrix_);
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& words) {
    ASSERT_EQ(from.size(), to.size());
    expect_refused(file(with(good, from, to)), words);
  };
  refused("{\"binsparse\"", "{\"binsparce\"", "not JSON with the key");
  refused("{\"binsparse\"", "{\"binsparse\\", "not JSON with the key");
  refused("\"format\"", "\"farmat\"", "no \"format\"");
  refused("\"shape\"", "\"shope\"", "no \"shape\"");
  refused("[4, 4]", "[4,-4]", "\"shape\" is not a size: -4");
  refused("[4, 4]", "[4, x]", "not JSON");
  refused("[4, 4]", "[NaN4]", "not JSON");
  refused("[4, 4]", "[4.5,4", "not JSON");
  refused("[4, 4]", "[1e9,]", "not JSON");
  refused("[4, 4]", "[ 4  ]", "CSR with a shape of 1 dimensions");
  refused("[4, 4]", "[9, 4]", "pointers_to_1 has 5 elements, the shape asks for 10");
  refused("[4, 4]", "[4, 2]", "indices_1[2] is 2, not in 0..1");
  refused("values\": 5", "values\": 6", "number_of_stored_values is 6, there are 5 entries");
  refused("\"uint64\"", "\"uint32\"", "pointers_to_1 is not of type uint32");
  refused("\"indices_1\"", "\"indices_2\"", "does not tell the type of indices_1");
  const auto not_served = [&](const std::string& from, const std::string& to,
                              const std::string& words) {
    expect_refused<unsupported>(file(with(good, from, to)), words);
  };
  not_served("\"0.1\"", "\"9.1\"", "version \"9.1\"");
  not_served("\"CSR\"", "\"XYZ\"", "format XYZ");
  not_served("\"float64\"", "\"quantum\"", "quantum");
  EXPECT_EQ(read(with(good, "\"CSR\"", "\"CSC\"")).about.format, "Binsparse CSC");
}

TEST_F(BinsparseFile, RefusesArraysThatDisagree) {
  const std::string good = written(matrix_);
  const std::string pointers = bytes_of(std::vector<std::int64_t>{0, 1, 3, 4, 5}),
                    indices = bytes_of(std::vector<std::int32_t>{0, 1, 2, 1, 3});
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& words) {
    expect_refused(file(with(good, from, to)), words);
  };
  refused(indices, bytes_of(std::vector<std::int32_t>{0, 1, 4, 1, 3}), "indices_1[2] is 4");
  refused(indices, bytes_of(std::vector<std::int32_t>{0, 1, -1, 1, 3}),
          "indices_1[2] is 4294967295");
  refused(pointers, bytes_of(std::vector<std::int64_t>{0, 1, 0, 4, 5}), "pointers_to_1[2] is 0");
  refused(pointers, bytes_of(std::vector<std::int64_t>{0, 1, 3, 4, 4}), "ends at 4");
  refused(pointers, bytes_of(std::vector<std::int64_t>{1, 1, 3, 4, 5}), "pointers_to_1[0] is 1");
  refused(pointers, bytes_of(std::vector<std::int64_t>{0, 1, 3, 6, 5}), "pointers_to_1[3] is 6");
  refused("values", "valuez", "");
  io::write_options symmetric;
  symmetric.structure = io::symmetry::symmetric;
  const std::string lower = written(matrix_, symmetric);
  expect_refused(file(with(lower, "symmetric_lower", "symmetric_upper")),
                 "not in the upper triangle");
  expect_refused<unsupported>(file(with(lower, "symmetric_lower", "symmetric_LOWER")), "structure");
}

TEST_F(BinsparseFile, RefusesDamagedFiles) {
  const std::string good = written(matrix_);
  expect_refused(file("not HDF5"), "HDF5");
  expect_refused(file(good.substr(0, good.size() / 2)), "HDF5");
  expect_refused(file(good.substr(0, good.size() - 1)), "HDF5");
  expect_refused(file(with(good, "HDF", "HDX")), "HDF5");
  io::read_options options;
  options.member = "nowhere";
  expect_refused(file(good), "there is no /nowhere", options);
  std::string claims = good; // every size that is 5 becomes 2^60
  const std::string five = byte_of(std::uint64_t{5}), huge = byte_of(std::uint64_t{1} << 60);
  for (auto at = claims.find(five); at != std::string::npos; at = claims.find(five, at + 8))
    claims.replace(at, 8, huge);
  expect_refused(file(claims), "");
}

TEST_F(BinsparseFile, FilesThatCannotGrowAreRefusedBefore) {
  const auto& ctx = host_engine::context();
  const scratch_folder folder;
  const auto a = gen::generate<double, int, int>(ctx, "poisson2d:n=100");
  struct limit {
    rlimit before{};
    explicit limit(rlim_t bytes) {
      getrlimit(RLIMIT_FSIZE, &before);
      const rlimit low{bytes, before.rlim_max};
      setrlimit(RLIMIT_FSIZE, &low);
    }
    ~limit() { setrlimit(RLIMIT_FSIZE, &before); }
  };
  const auto words = [&](rlim_t bytes, const std::string& path) -> std::string {
    const limit guard(bytes);
    try {
      io::write(ctx, path, a);
    } catch (const error& e) {
      return e.what();
    }
    return "";
  };
  const std::string path = folder / "a.bsp.h5";
  for (const rlim_t bytes : {1000, 100000})
    EXPECT_EQ(words(bytes, path), "cannot write " + path + ": File too large");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  std::filesystem::create_symlink("/dev/full", folder / "full.bsp.h5");
  // Made in a file of its own, then copied to what cannot be replaced.
  EXPECT_EQ(words(RLIM_INFINITY, folder / "full.bsp.h5"),
            "cannot write " + folder / "full.bsp.h5" + ": No space left on device");
}

} // namespace
} // namespace lacuna::test
