// Transposition of matrices that fill many of a device's tiles, with columns of every kind of use.
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class TransposeLarge : public engine_test<C> {
protected:
  /// As it is, and with nothing stated about it.
  static void expect_transposed(const triplets& m) {
    SCOPED_TRACE(std::string(C::engine::name) + ": " + m.name);
    const auto& ctx = C::context();
    auto a = C::put_csr(m);
    const auto want = reference::transpose(entries_of(a));
    for (int stated = 1; stated >= 0; --stated) {
      if (stated == 0) a.state({});
      const auto b = transpose(ctx, a);
      EXPECT_NO_THROW(check(ctx, b));
      EXPECT_TRUE(same_entries(entries_of(b), want));
    }
  }
};
TYPED_TEST_SUITE(TransposeLarge, few_configs, config_name);

triplets random_matrix(std::int64_t rows, std::int64_t cols, std::int64_t entries) {
  triplets m{std::to_string(rows) + " x " + std::to_string(cols), rows, cols, {}, {}, {}};
  random_source random(11);
  for (std::int64_t k = 0; k < entries; ++k)
    m.add(random.below(rows), random.below(cols), random.value());
  return m;
}

TYPED_TEST(TransposeLarge, ColumnsAroundTheSplits) {
  // One split up to 2^11 columns, two up to 2^24, a sort beyond.
  for (const std::int64_t cols : {1, 2, 2047, 2048, 2049, 4097, 65536, 65537, 1 << 20})
    TestFixture::expect_transposed(random_matrix(777, cols, 70'000));
  TestFixture::expect_transposed(random_matrix(5, (1 << 24) + 3, 100));
}

TYPED_TEST(TransposeLarge, TilesThatAreJustFull) {
  for (const std::int64_t entries : {1, 31, 3071, 3072, 3073, 15359, 15360, 15361, 46080})
    TestFixture::expect_transposed(random_matrix(97, 5000, entries));
}

TYPED_TEST(TransposeLarge, OneColumnHasAll) {
  for (const std::int64_t column : {0, 3000, 4999}) {
    triplets m{"column " + std::to_string(column), 60'000, 5000, {}, {}, {}};
    random_source random(3);
    for (std::int64_t i = 0; i < m.rows; ++i) m.add(i, column, random.value());
    TestFixture::expect_transposed(m);
  }
}

TYPED_TEST(TransposeLarge, SymmetricAndNearlySo) {
  triplets m{"symmetric", 20'000, 20'000, {}, {}, {}};
  random_source random(4);
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (const std::int64_t j : {i - 150, i - 1, i, i + 1, i + 150})
      if (j >= 0 && j < m.cols) m.add(i, j, random.value());
  TestFixture::expect_transposed(m);
  m.name = "symmetric but for the last entry";
  m.row.back() = m.rows - 1;
  m.col.back() = 0;
  TestFixture::expect_transposed(sorted(m));
  // A row and a column that are full, as in an arrow.
  triplets arrow{"arrow", 30'000, 30'000, {}, {}, {}};
  for (std::int64_t i = 0; i < arrow.rows; ++i) {
    arrow.add(0, i, random.value());
    if (i > 0) arrow.add(i, 0, random.value());
  }
  TestFixture::expect_transposed(sorted(arrow));
}

} // namespace
} // namespace lacuna::test
