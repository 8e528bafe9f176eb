// Exceptions and arithmetic on sizes.
#include <limits>

#include "core/narrow_limit.hpp"
#include "support/engine.hpp"

namespace lacuna::test {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

TEST(Error, KindsAndBase) {
  const auto kind = [](const error& e) { return std::string(e.kind()); };
  EXPECT_EQ(kind(failed("")), "error");
  EXPECT_EQ(kind(bad_input("")), "bad_input");
  EXPECT_EQ(kind(size_mismatch("")), "size_mismatch");
  EXPECT_EQ(kind(out_of_memory("", 1)), "out_of_memory");
  EXPECT_EQ(kind(device_error("")), "device_error");
  EXPECT_EQ(kind(not_converged("")), "not_converged");
  EXPECT_EQ(kind(unsupported("")), "unsupported");
  EXPECT_THROW(throw bad_input("x"), std::invalid_argument);
  EXPECT_THROW(throw size_mismatch("x"), std::invalid_argument);
  EXPECT_THROW(throw out_of_memory("x", 1), std::runtime_error);
  EXPECT_THROW(throw bad_input("x"), std::exception);
  EXPECT_THROW(throw bad_input("x"), error);
}

TEST(Error, CarriesWhatItKnows) {
  const bad_input in_file("no header", "a.mtx", 12);
  EXPECT_STREQ(in_file.what(), "a.mtx:12: no header");
  EXPECT_EQ(in_file.file(), "a.mtx");
  EXPECT_EQ(in_file.line(), 12);
  EXPECT_EQ(bad_input("x").file(), "");
  EXPECT_EQ(bad_input("x").line(), 0);
  EXPECT_EQ(out_of_memory("x", 77).bytes(), 77U);
}

TEST(Checked, AddAndMultiply) {
  EXPECT_EQ(checked_add(2, 3), 5);
  EXPECT_EQ(checked_add(most, 0), most);
  EXPECT_THROW((void)checked_add(most, 1), bad_input);
  EXPECT_THROW((void)checked_add(-1, 3), bad_input);
  EXPECT_EQ(checked_mul(6, 7), 42);
  EXPECT_EQ(checked_mul(most, 1), most);
  EXPECT_EQ(checked_mul(0, most), 0);
  EXPECT_THROW((void)checked_mul(std::int64_t{1} << 32, std::int64_t{1} << 31), bad_input);
  EXPECT_THROW((void)checked_mul(3, -1), bad_input);
}

TEST(Checked, Fits) {
  constexpr std::int64_t most32 = std::numeric_limits<std::int32_t>::max();
  EXPECT_TRUE(fits<std::int32_t>(most32));
  EXPECT_FALSE(fits<std::int32_t>(most32 + 1));
  EXPECT_TRUE(fits<std::int64_t>(most));
  EXPECT_EQ(checked_cast<std::int32_t>(5, "rows"), 5);
  try {
    (void)checked_cast<std::int32_t>(most32 + 1, "rows");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const bad_input& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("rows"), std::string::npos) << what;
    EXPECT_NE(what.find("2147483648"), std::string::npos) << what;
    EXPECT_NE(what.find("64-bit"), std::string::npos) << what;
  }
}

TEST(Checked, LimitCanBeLowered) {
  EXPECT_EQ(detail::narrow_limit(), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(detail::set_narrow_limit(100), std::numeric_limits<std::int32_t>::max());
  EXPECT_TRUE(fits<std::int32_t>(100));
  EXPECT_FALSE(fits<std::int32_t>(101));
  EXPECT_TRUE(fits<std::int64_t>(101));
  EXPECT_EQ(detail::set_narrow_limit(0), 100);
  EXPECT_TRUE(fits<std::int32_t>(101));
}

} // namespace
} // namespace lacuna::test
