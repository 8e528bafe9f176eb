// lacuna reorder, on matrices small enough to know the answer.
#include "cli/program.hpp"

namespace lacuna::test {
namespace {

using nlohmann::json;

/// The chain 1 - 3 - 2 - 4.
const char* const chain = "%%MatrixMarket matrix coordinate real symmetric\n4 4 5\n"
                          "1 1 2\n3 1 -1\n3 2 -2\n4 2 -3\n4 4 5\n";

TEST_F(Cli, ReorderHasItsKeys) {
  write("a.mtx", chain);
  const auto r = run(
      {"reorder", "a.mtx", "--method", "rcm", "-o", "b.mtx", "--permutation", "p.mtx", "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  const json report = r.json();
  EXPECT_EQ(report["method"], "rcm");
  EXPECT_EQ(report["rows"], 4);
  EXPECT_EQ(report["nnz"], 8);
  EXPECT_EQ(report["bandwidth_before"], 2);
  EXPECT_EQ(report["bandwidth_after"], 1);
  EXPECT_EQ(report["profile_before"], 4);
  EXPECT_EQ(report["profile_after"], 3);
  EXPECT_EQ(report["device"], "host");
  for (const char* key : {"seconds", "permute_seconds"})
    EXPECT_GE(report[key].get<double>(), 0) << key;
  // Both ends are as good; the one it took is what the two files say together.
  const std::string order = read("p.mtx");
  const std::string head = "%%MatrixMarket matrix array integer general\n4 1\n";
  EXPECT_TRUE(order == head + "1\n3\n2\n4\n" || order == head + "4\n2\n3\n1\n") << order;
  const std::string b = read("b.mtx");
  EXPECT_TRUE(begins(b, "%%MatrixMarket matrix coordinate real symmetric\n4 4 5\n"));
  EXPECT_TRUE(has(b, "\n3 2 -2\n"));
  EXPECT_EQ(run({"info", "b.mtx", "--json"}).json()["bandwidth"], 1);
}

TEST_F(Cli, ReorderIntoSuperRows) {
  const json report = run({"reorder", "gen:mesh2d:n=40,shuffle=1", "--method", "band-k", "--sizes",
                           "16,4", "--json"})
                          .json();
  EXPECT_EQ(report["method"], "band-k");
  ASSERT_EQ(report["groups"].size(), 2U);
  EXPECT_NEAR(report["groups"][0].get<double>(), 100, 15);
  EXPECT_NEAR(report["groups"][1].get<double>(), 25, 8);
  EXPECT_LT(report["bandwidth_after"], report["bandwidth_before"]);
}

TEST_F(Cli, ReorderForPeople) {
  write("a.mtx", chain);
  const auto r = run({"reorder", "a.mtx"});
  EXPECT_EQ(r.err, "");
  EXPECT_TRUE(begins(r.out, "a.mtx: 4 x 4, 8 entries; rcm in "));
  EXPECT_TRUE(has(r.out, "\n  bandwidth  2 -> 1\n  profile    4 -> 3\n"));
  EXPECT_EQ(run({"reorder", "a.mtx", "--quiet"}).out, "bandwidth 2 -> 1\n");
  EXPECT_TRUE(has(run({"reorder", "a.mtx", "--method", "band-k"}).out, "\n  1 super-rows, of 4.0"));
  const auto pure = run({"reorder", "a.mtx", "-o", "-", "--permutation", "p.mtx"});
  EXPECT_TRUE(begins(pure.out, "%%MatrixMarket matrix coordinate real symmetric\n4 4 5\n"));
  EXPECT_TRUE(has(pure.err, "bandwidth  2 -> 1"));
  EXPECT_TRUE(begins(run({"reorder", "a.mtx", "--permutation", "-"}).out,
                     "%%MatrixMarket matrix array integer general\n4 1\n"));
}

TEST_F(Cli, ReorderRefuses) {
  write("a.mtx", chain);
  const auto flat = run({"reorder", "gen:dense:n=3,m=5", "-o", "b.mtx"});
  EXPECT_EQ(flat.code, 3);
  EXPECT_TRUE(has(flat.err, "gen:dense:n=3,m=5 is 3 x 5"));
  EXPECT_TRUE(has(flat.err, "must be square"));
  EXPECT_EQ(run({"reorder", "gen:dense:n=3,m=5", "--json"}).json()["error"]["kind"],
            "size_mismatch");
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"reorder"},
           {"reorder", "a.mtx", "--method", "amd"},
           {"reorder", "a.mtx", "--method", "band-k", "--sizes", "0"},
           {"reorder", "a.mtx", "--permutation", "p.npz"},
           {"reorder", "a.mtx", "-o", "-", "--permutation", "-"},
           {"reorder", "a.mtx", "--permutation", "-", "--json"}})
    EXPECT_EQ(run(wrong).code, 2);
  EXPECT_EQ(files(), std::vector<std::string>{"a.mtx"});
  EXPECT_EQ(run({"reorder", "missing.mtx"}).code, 3);
}

TEST_F(Cli, ReorderOfNothing) {
  write("none.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
  for (const std::string method : {"rcm", "band-k"}) {
    const auto r = run({"reorder", "none.mtx", "--method", method, "--permutation", "p.mtx"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(read("p.mtx"), "%%MatrixMarket matrix array integer general\n0 1\n");
  }
}

} // namespace
} // namespace lacuna::test
