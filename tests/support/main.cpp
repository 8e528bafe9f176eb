// main of every test executable.
#include <cstdio>

#include <gtest/gtest.h>

#include <lacuna/core/export.hpp>

// Under a sanitizer an allocation that is too large must fail as it does without one; in other
// builds nobody calls these.
// NOLINTBEGIN(bugprone-reserved-identifier): the sanitizers' names
extern "C" LACUNA_EXPORT const char* __asan_default_options();
extern "C" LACUNA_EXPORT const char* __tsan_default_options();
const char* __asan_default_options() { return "allocator_may_return_null=1"; }
const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
// NOLINTEND(bugprone-reserved-identifier)

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!::testing::GTEST_FLAG(list_tests)) {
    const int result = RUN_ALL_TESTS();
    const auto& all = *::testing::UnitTest::GetInstance();
    const bool all_skipped = all.skipped_test_count() > 0 && all.successful_test_count() == 0;
    return result == 0 && all_skipped ? 77 : result; // as ctest is told (suites.cmake)
  }
  // The list without GoogleTest's comments on types, for suites.cmake.
  const auto& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const auto& suite = *all.GetTestSuite(i);
    std::printf("%s.\n", suite.name());
    for (int k = 0; k < suite.total_test_count(); ++k)
      std::printf("  %s\n", suite.GetTestInfo(k)->name());
  }
}
