// Arrays and the account of what they hold.
#include <cstdint>
#include <utility>

#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class Memory : public engine_test<C> {
protected:
  static constexpr space where = C::memory_space;
  static std::int64_t in_use() { return memory(where).in_use; }
};
TYPED_TEST_SUITE(Memory, value_configs, config_name);

TYPED_TEST(Memory, CountsWhatArraysHold) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const auto before = TestFixture::in_use();
  {
    const array<T, TypeParam::memory_space> a(ctx, 1000);
    EXPECT_EQ(TestFixture::in_use() - before, static_cast<std::int64_t>(1000 * sizeof(T)));
    EXPECT_EQ(a.bytes(), 1000 * sizeof(T));
    const array<T, TypeParam::memory_space> b(ctx, 3);
    EXPECT_EQ(TestFixture::in_use() - before, static_cast<std::int64_t>(1003 * sizeof(T)));
  }
  EXPECT_EQ(TestFixture::in_use(), before);
}

TYPED_TEST(Memory, KeepsThePeak) {
  using array_t = array<typename TypeParam::value, TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(typename TypeParam::value));
  const auto before = TestFixture::in_use();
  reset_memory_peak(TestFixture::where);
  EXPECT_EQ(memory(TestFixture::where).peak, before);
  { const array_t a(ctx, 5000); }
  { const array_t a(ctx, 2000); }
  EXPECT_EQ(memory(TestFixture::where).peak, before + 5000 * bytes);
  reset_memory_peak(TestFixture::where);
  EXPECT_EQ(memory(TestFixture::where).peak, before);
  EXPECT_EQ(TestFixture::in_use(), before);
}

TYPED_TEST(Memory, MovesKeepTheAccount) {
  using array_t = array<typename TypeParam::value, TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(typename TypeParam::value));
  const auto before = TestFixture::in_use();
  {
    array_t a(ctx, 100);
    const auto* data = a.data();
    array_t b(std::move(a));
    EXPECT_EQ(b.data(), data);
    // NOLINTBEGIN(bugprone-use-after-move): this is what is tested
    EXPECT_EQ(a.data(), nullptr);
    EXPECT_EQ(a.size(), 0);
    EXPECT_TRUE(a.empty());
    EXPECT_EQ(a.bytes(), 0U);
    EXPECT_TRUE(a.view().empty());
    array_t c(ctx, 50);
    c = std::move(b); // lets go of the 50
    EXPECT_EQ(TestFixture::in_use() - before, 100 * bytes);
    EXPECT_EQ(c.data(), data);
    array_t& alias = c;
    c = std::move(alias); // onto itself
    EXPECT_EQ(c.data(), data);
    EXPECT_EQ(c.size(), 100);
    a = array_t(ctx, 7); // a moved-from array can be used again
    EXPECT_EQ(a.size(), 7);
    a.swap(c);
    EXPECT_EQ(a.data(), data);
    EXPECT_EQ(c.size(), 7);
    // NOLINTEND(bugprone-use-after-move)
  }
  EXPECT_EQ(TestFixture::in_use(), before);
}

TYPED_TEST(Memory, NothingIsHeldByNothing) {
  using array_t = array<typename TypeParam::value, TypeParam::memory_space>;
  const auto before = TestFixture::in_use();
  const array_t a(TypeParam::context(), 0), b;
  EXPECT_EQ(TestFixture::in_use(), before);
  EXPECT_EQ(a.size(), 0);
  EXPECT_EQ(b.size(), 0);
}

TYPED_TEST(Memory, RefusesImpossibleSizes) {
  using array_t = array<typename TypeParam::value, TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  const auto before = TestFixture::in_use();
  EXPECT_THROW(array_t(ctx, -1), bad_input);
  EXPECT_THROW(array_t(ctx, std::int64_t{1} << 62), bad_input);
  EXPECT_EQ(TestFixture::in_use(), before);
}

TYPED_TEST(Memory, ReportsExhaustion) {
  using array_t = array<typename TypeParam::value, TypeParam::memory_space>;
  const auto before = TestFixture::in_use();
  // More than any machine's address space holds.
  const std::int64_t size = (std::int64_t{1} << 58) / static_cast<std::int64_t>(sizeof(double));
  try {
    const array_t a(TypeParam::context(), size);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const out_of_memory& e) {
    EXPECT_EQ(e.bytes(), static_cast<std::size_t>(size) * sizeof(typename TypeParam::value));
    EXPECT_NE(std::string(e.what()).find(to_string(TypeParam::memory_space)), std::string::npos);
  }
  EXPECT_EQ(TestFixture::in_use(), before);
  // And goes on.
  const array_t a(TypeParam::context(), 10);
  EXPECT_NE(a.data(), nullptr);
}

TYPED_TEST(Memory, HookSeesAllocationsAndRefuses) {
  using array_t = array<typename TypeParam::value, TypeParam::memory_space>;
  static int calls;
  static std::size_t last_bytes;
  calls = 0;
  const auto before_hook = set_allocation_hook([](space s, std::size_t bytes) {
    ++calls;
    last_bytes = bytes;
    return s != TypeParam::memory_space || bytes < 1000;
  });
  const auto before = TestFixture::in_use();
  EXPECT_NO_THROW(array_t(TypeParam::context(), 10));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(last_bytes, 10 * sizeof(typename TypeParam::value));
  EXPECT_THROW(array_t(TypeParam::context(), 1000), out_of_memory);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(TestFixture::in_use(), before);
  EXPECT_NE(set_allocation_hook(before_hook), nullptr);
  EXPECT_NO_THROW(array_t(TypeParam::context(), 1000));
  EXPECT_EQ(calls, 2);
}

TYPED_TEST(Memory, NoOperationLeaks) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  const auto before = TestFixture::in_use();
  for (const char* name : {"unsorted with duplicates", "power law", "no entries"}) {
    SCOPED_TRACE(name);
    auto a = copy_to(ctx, make_csr<T, I, O>(battery_matrix(name)));
    const auto x = copy_to(ctx, random_vector<T>(a.shape().col, 1));
    auto y = copy_to(ctx, random_vector<T>(a.shape().row, 2));
    const auto held = TestFixture::in_use();
    multiply(ctx, a, x, y);
    { const auto info = multiply_inspect(ctx, a, x, y); }
    { const auto info = multiply_inspect(ctx, transposed(a), y, x); }
    (void)transpose(ctx, a);
    (void)to_csc(ctx, to_coo(ctx, a));
    (void)merge_duplicates(ctx, a);
    (void)norm2(ctx, x);
    (void)dot(ctx, x, x);
    sort(ctx, a);
    check(ctx, a);
    EXPECT_EQ(TestFixture::in_use(), held);
  }
  EXPECT_EQ(TestFixture::in_use(), before);
}

TEST(HostMemory, IsAligned) {
  const auto& ctx = default_context<space::host>();
  for (const std::int64_t size : {1, 100, 100'000, 3'000'000}) {
    const array<double> a(ctx, size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0U) << size;
  }
}

} // namespace
} // namespace lacuna::test
