// Files of real matrices, where there are any: LACUNA_MATRICES names the folder (default:
// shared/matrices beside the source tree). Its MANIFEST.tsv says what they hold.
#include <cstdlib>

#include <lacuna/io/read.hpp>
#include <lacuna/op/check.hpp>

#include "io/files.hpp"

namespace lacuna::test {
namespace {

std::filesystem::path matrices_folder() {
  if (const char* const folder = std::getenv("LACUNA_MATRICES")) return folder;
  return data_folder / "../../../shared/matrices";
}

TEST(RealMatrices, AllAreReadAsTheManifestSays) {
  const auto folder = matrices_folder();
  if (!std::filesystem::exists(folder / "MANIFEST.tsv")) GTEST_SKIP() << "no " << folder;
  const host_context ctx({2});
  auto table = read_table(folder / "MANIFEST.tsv");
  ASSERT_FALSE(table.empty());
  table.erase(table.begin()); // titles
  for (const auto& row : table) {
    SCOPED_TRACE(row.at(0));
    const auto [matrix, about] =
        io::read<double>(ctx, folder / row.at(0), {.complex = io::complex_rule::real});
    EXPECT_EQ(std::to_string(about.rows), row.at(1));
    EXPECT_EQ(std::to_string(about.cols), row.at(2));
    EXPECT_EQ(std::to_string(about.stored_entries), row.at(3));
    EXPECT_TRUE(row.at(4).ends_with(name_of(about.values))) << row.at(4); // "array real"
    EXPECT_EQ(std::string(name_of(about.structure)), row.at(5));
    std::visit([&](const auto& a) { check(ctx, a); }, matrix);
  }
}

} // namespace
} // namespace lacuna::test
