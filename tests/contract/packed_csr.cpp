// packed_csr: its layout to the byte, what it costs, what check() finds, what is refused.
#include <functional>

#include "core/narrow_limit.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

using i32 = std::int32_t;
using i64 = std::int64_t;

static_assert(std::is_trivially_copyable_v<packed_csr_view<const double>>);
static_assert(std::is_nothrow_move_constructible_v<packed_csr<double>>);
static_assert(std::is_nothrow_move_assignable_v<packed_csr<float, i64>>);
static_assert(!std::is_copy_constructible_v<packed_csr<double>>);
static_assert(sizeof(packed_chunk<i32>) == 8 && alignof(packed_chunk<i32>) == 8);
static_assert(sizeof(packed_chunk<i64>) == 16 && alignof(packed_chunk<i64>) == 16);

/// The arrays of a packed host matrix, to be damaged and put together again.
template <class C> struct parts_of {
  using I = typename C::index;
  index<I> shape;
  array<typename C::offset> rowptr;
  array<packed_chunk<I>> chunks;
  array<std::uint8_t> columns;
  array<typename C::value> values;
  facts order;
};

template <class C> class PackedCsrContract : public engine_test<C> {
protected:
  /// Takes the battery's band (4444 entries, 70 chunks of 1 byte per column) apart, damages it,
  /// puts it on the engine and expects bad_input whose message has all of `words`.
  static void broken(const std::function<void(parts_of<C>&)>& damage,
                     const std::vector<std::string>& words) {
    const host_context ctx;
    const auto a = to_packed_csr(ctx, C::host_csr(battery_matrix("band")));
    const auto v = a.view();
    parts_of<C> p{v.shape(),
                  copy_to(ctx, v.rowptr()),
                  copy_to(ctx, v.chunks()),
                  copy_to(ctx, v.columns()),
                  copy_to(ctx, v.values()),
                  v.order()};
    damage(p);
    const packed_csr<typename C::value, typename C::index, typename C::offset> bad(
        p.shape, std::move(p.rowptr), std::move(p.chunks), std::move(p.columns),
        std::move(p.values), p.order);
    const auto on_engine = copy_to(C::context(), bad);
    try {
      check(C::context(), on_engine);
      ADD_FAILURE() << "nothing was thrown; expected " << words.front();
    } catch (const bad_input& e) {
      const std::string what = e.what();
      EXPECT_EQ(what.find("packed_csr: "), 0U) << what;
      for (const std::string& word : words)
        EXPECT_NE(what.find(word), std::string::npos) << "no '" << word << "' in: " << what;
    }
  }
};
TYPED_TEST_SUITE(PackedCsrContract, few_configs, config_name);

TYPED_TEST(PackedCsrContract, LayoutOfAnExample) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  // 64 entries in columns 1000, 1003, …; then 64 of which one is far; then two.
  csr<T, I, O> a(host_context(), {2, 100'000}, 130, {});
  a.rowptr()[0] = 0;
  a.rowptr()[1] = 70;
  a.rowptr()[2] = 130;
  for (I k = 0; k < 64; ++k) {
    a.colind()[k] = 1000 + 3 * k;
    a.colind()[64 + k] = k == 10 ? 66'000 : 500 + k;
  }
  a.colind()[128] = 80'000;
  a.colind()[129] = 9;
  std::fill(a.values().begin(), a.values().end(), T{2});
  const auto packed = to_packed_csr(ctx, copy_to(ctx, a));
  const auto chunks = host_vector(packed.view().chunks());
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0].base, 1000);
  EXPECT_EQ(chunks[0].place, 0U * 4 + 0); // at byte 0, 1 byte per column
  EXPECT_EQ(chunks[1].base, 500);
  EXPECT_EQ(chunks[1].place, 1U * 4 + 1); // at byte 64, 2 bytes
  EXPECT_EQ(chunks[2].base, 9);
  EXPECT_EQ(chunks[2].place, 3U * 4 + 2); // at byte 192, 4 bytes
  const auto bytes = host_vector(packed.view().columns());
  ASSERT_EQ(bytes.size(), 64U + 128 + 256);
  for (unsigned k = 0; k < 64; ++k) {
    EXPECT_EQ(bytes[k], 3 * k);
    const unsigned distance = k == 10 ? 65'500 : k;
    EXPECT_EQ(bytes[64 + 2 * k] + 256U * bytes[65 + 2 * k], distance);
    for (unsigned b = 0; b < 4; ++b) // little-endian; 79'991 and 62 zeros, which are no entries
      EXPECT_EQ(bytes[192 + 4 * k + b], k == 0 ? 79'991U >> (8 * b) & 255 : 0U);
  }
  EXPECT_TRUE(same(host_vector(packed.view().rowptr()), host_vector(a.rowptr())));
  EXPECT_TRUE(same(host_vector(packed.values()), host_vector(a.values())));
}

TYPED_TEST(PackedCsrContract, BytesOfABand) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  for (const I half : {5, 300}) { // 64 neighbouring entries span some 20 columns, or more than 255
    triplets m{"band", 3000, 3000, {}, {}, {}};
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (const std::int64_t j : {i - half, i - 1, i, i + 1, i + half})
        if (j >= 0 && j < m.cols) m.add(i, j, 1);
    const auto packed = to_packed_csr(ctx, TypeParam::put_csr(m));
    const auto entries = static_cast<std::size_t>(m.size());
    const std::size_t chunks = (entries + 63) / 64;
    const std::size_t tiles =
        packed.view().schedule() == nullptr ? 0 : packed.view().schedule()->bytes();
    EXPECT_EQ(packed.bytes(), 3001 * sizeof(O) + entries * sizeof(T) +
                                  chunks * (64 * (half == 5 ? 1 : 2) + 2 * sizeof(I)) + tiles);
  }
}

TYPED_TEST(PackedCsrContract, MemoryIsCounted) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("band"));
  const auto before = memory(TypeParam::memory_space).in_use;
  {
    const auto packed = to_packed_csr(ctx, a);
    EXPECT_EQ(memory(TypeParam::memory_space).in_use - before,
              static_cast<std::int64_t>(packed.bytes()));
  }
  EXPECT_EQ(memory(TypeParam::memory_space).in_use, before);
}

TYPED_TEST(PackedCsrContract, DefaultAndMovedFrom) {
  using T = typename TypeParam::value;
  using packed_t =
      packed_csr<T, typename TypeParam::index, typename TypeParam::offset, TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  const packed_t empty;
  EXPECT_EQ(empty.size(), 0);
  EXPECT_EQ(empty.bytes(), 0U);
  EXPECT_NO_THROW(check(ctx, empty));
  const auto x = TypeParam::put(std::vector<T>{});
  auto y = TypeParam::put(std::vector<T>{});
  EXPECT_NO_THROW(multiply(ctx, empty, x, y));
  auto packed = to_packed_csr(ctx, TypeParam::put_csr(battery_matrix("band")));
  const auto view = packed.view();
  const packed_t taken = std::move(packed);
  EXPECT_EQ(taken.view().columns().data(), view.columns().data()); // views outlive a move
  EXPECT_NO_THROW(check(ctx, taken));
}

TYPED_TEST(PackedCsrContract, ValuesMayChange) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const auto host = TypeParam::host_csr(battery_matrix("band"));
  auto packed = to_packed_csr(ctx, TypeParam::put_csr(battery_matrix("band")));
  scale(ctx, 2, packed.values());
  const auto x = random_vector<T>(host.shape().col, 1);
  auto y = TypeParam::put(all_nan<T>(host.shape().row));
  multiply(ctx, packed, TypeParam::put(x), y);
  EXPECT_TRUE(within(host_vector(y), expected_product(2, host, false, x)));
}

TYPED_TEST(PackedCsrContract, CheckFindsBrokenChunks) {
  using parts = parts_of<TypeParam>;
  using I = typename TypeParam::index;
  const host_context ctx;
  TestFixture::broken([](parts& p) { p.chunks[0].place += 4; }, {"chunk 0", "byte 64", "at 0"});
  TestFixture::broken([](parts& p) { p.chunks[20].place -= 4; },
                      {"chunk 20", std::to_string(19 * 64), std::to_string(20 * 64)});
  TestFixture::broken([](parts& p) { p.chunks[33].place += 1; }, {"chunk 34"}); // twice as wide
  TestFixture::broken([](parts& p) { p.chunks[69].place += 1; },
                      {"last chunk", std::to_string(71 * 64), std::to_string(70 * 64)});
  if (sizeof(I) == 4)
    TestFixture::broken([](parts& p) { p.chunks[7].place += 3; }, {"chunk 7", "8 bytes"});
  TestFixture::broken(
      [&](parts& p) {
        p.chunks = copy_to(ctx, vector_view<packed_chunk<I>>(p.chunks.data(), p.chunks.size() - 1));
      },
      {"69 chunks", "4444", "70"});
  TestFixture::broken(
      [&](parts& p) {
        p.columns = copy_to(ctx, vector_view<std::uint8_t>(p.columns.data(), 10 * 64));
      },
      {"columns has 640"});
}

TYPED_TEST(PackedCsrContract, CheckFindsBrokenRowsAndColumns) {
  using parts = parts_of<TypeParam>;
  TestFixture::broken([](parts& p) { p.rowptr[0] = 1; }, {"rowptr[0]", "1"});
  TestFixture::broken([](parts& p) { p.rowptr[150] = p.rowptr[151] + 1; }, {"rowptr", "150"});
  TestFixture::broken([](parts& p) { ++p.rowptr[300]; }, {"rowptr[300]"});
  TestFixture::broken([](parts& p) { p.columns[70] = 255; }, {"sorted", "71"});
  TestFixture::broken([](parts& p) { p.chunks[69].base = 295; }, {"colind[", "outside"});
  TestFixture::broken([](parts& p) { p.chunks[2].base = -5; }, {"colind[137]", "-5"});
  TestFixture::broken([](parts& p) { p.columns[71] = p.columns[70]; }, {"unique", "71"});
}

TYPED_TEST(PackedCsrContract, TooLargeFor32BitHeads) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("band")); // 70 units of 64 bytes
  const auto pack = [&](std::int64_t limit) {
    const std::int64_t before = detail::set_narrow_limit(limit);
    try {
      (void)to_packed_csr(ctx, a);
      detail::set_narrow_limit(before);
    } catch (...) {
      detail::set_narrow_limit(before);
      throw;
    }
  };
  EXPECT_NO_THROW(pack(140));
  if (sizeof(typename TypeParam::index) == 4)
    EXPECT_THROW(pack(139), bad_input);
  else
    EXPECT_NO_THROW(pack(139));
}

TYPED_TEST(PackedCsrContract, RefusesWhatDoesNotFit) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const auto packed = to_packed_csr(ctx, TypeParam::put_csr(battery_matrix("wide"))); // 20 x 3000
  const auto x = TypeParam::put(random_vector<T>(3000, 1));
  auto y = TypeParam::put(random_vector<T>(20, 2));
  auto other = TypeParam::put(random_vector<T>(21, 3));
  EXPECT_THROW(multiply(ctx, packed, y, y), size_mismatch);
  EXPECT_THROW(multiply(ctx, packed, x, other), size_mismatch);
  EXPECT_THROW(multiply(ctx, packed, x, other, y), size_mismatch);
  EXPECT_THROW(multiply(ctx, transposed(packed), y, other), unsupported);
}

} // namespace
} // namespace lacuna::test
