// lacuna report, and lacuna-bench --html: one page, with nothing fetched from elsewhere.
#include "cli/program.hpp"

namespace lacuna::test {
namespace {

using nlohmann::json;

class Report : public Cli {};

/// A page that is whole, and stands alone.
void expect_page(const std::string& page) {
  EXPECT_TRUE(begins(page, "<!DOCTYPE html>\n"));
  EXPECT_TRUE(page.ends_with("</body>\n</html>\n"));
  for (const std::string elsewhere : {"<script", "<link", "<img", "src=", "href=", "url("})
    EXPECT_FALSE(has(page, elsewhere)) << elsewhere;
}

TEST_F(Report, ShowsPatternPlanProductsAndSolution) {
  const json found =
      run({"report", "gen:poisson2d:n=40", "-o", "a.html", "--repeat", "2", "--json"}).json();
  EXPECT_EQ(found["command"], "report");
  EXPECT_EQ(found["nnz"], 7840);
  EXPECT_EQ(found["output"], "a.html");
  ASSERT_GE(found["measured"].size(), 2u);
  EXPECT_EQ(found["measured"][0]["format"], found["format"]);
  for (const json& m : found["measured"]) {
    EXPECT_GT(m["seconds"], 0);
    EXPECT_GT(m["bytes"], 0);
  }
  EXPECT_EQ(found["solve"]["converged"], true);
  const std::string page = read("a.html");
  expect_page(page);
  for (const std::string part :
       {"<svg", "1600 x 1600", "<td>7840</td>", "The plan for 1000 products", "</ul>",
        "GFLOP/s of y = A x", "packed_csr", "converged after", "1e-08"})
    EXPECT_TRUE(has(page, part)) << part;
}

TEST_F(Report, WhatCannotBeSolvedIsSaid) {
  EXPECT_EQ(run({"report", "gen:lp:rows=20,cols=90", "-o", "a.html", "--repeat", "1"}).code, 0);
  EXPECT_TRUE(has(read("a.html"), "A is not square."));
  const auto r = run({"report", "gen:poisson2d:n=30", "-o", "a.html", "--repeat", "1", "--max-iter",
                      "2", "--json"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.json()["solve"]["reason"], "iteration_limit");
  EXPECT_TRUE(has(read("a.html"), "iteration_limit after 2 iterations"));
  const auto without = run(
      {"report", "gen:poisson2d:n=30", "-o", "a.html", "--repeat", "1", "--no-solve", "--json"});
  EXPECT_TRUE(without.json()["solve"].is_null());
  write("none.mtx", "%%MatrixMarket matrix coordinate real general\n4 4 0\n");
  EXPECT_EQ(run({"report", "none.mtx", "-o", "a.html", "--repeat", "1"}).code, 0);
  EXPECT_TRUE(has(read("a.html"), "A has no entries."));
  write("null.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
  EXPECT_EQ(run({"report", "null.mtx", "-o", "a.html", "--repeat", "1"}).code, 0);
  expect_page(read("a.html"));
}

TEST_F(Report, NamesAreText) {
  const std::string name = "a<b>&\"c\".mtx";
  write(name, small_symmetric);
  const auto r = run({"report", name, "-o", "-", "--repeat", "1"});
  EXPECT_EQ(r.code, 0);
  expect_page(r.out);
  EXPECT_TRUE(has(r.out, "<h1>a&lt;b&gt;&amp;&quot;c&quot;.mtx</h1>"));
  EXPECT_TRUE(has(r.err, "3 x 3"));
}

TEST_F(Report, IsRefusedBeforeTheWork) {
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{"report", "gen:dense"},
        {"report", "gen:dense", "-o", "a.txt"},
        {"report", "gen:dense", "-o", "-", "--json"},
        {"report", "gen:dense", "-o", "a.html", "--repeat", "0"}})
    EXPECT_EQ(run(bad).code, 2);
  EXPECT_EQ(run({"report", "gen:dense", "-o", "no/such/folder/a.html"}).code, 1);
  EXPECT_EQ(run({"report", "no-such-file.mtx", "-o", "a.html"}).code, 3);
  EXPECT_TRUE(files().empty());
}

TEST_F(Report, FiguresOfABenchmark) {
  run_settings s;
  s.program = LACUNA_BENCH_PROGRAM;
  for (const std::string suite : {"spmv", "update", "paper:004"}) {
    const auto r = run({suite, "--device", "host", "--repeat", "1", "--size", "small", "--batches",
                        "100", "--matrices", "poisson2d:n=20", "--html", "a.html"},
                       s);
    EXPECT_EQ(r.code, 0) << r.err;
    const std::string page = read("a.html");
    expect_page(page);
    EXPECT_TRUE(has(page, "<h1>lacuna-bench " + suite + "</h1>"));
    EXPECT_TRUE(has(page, "poisson2d:n=20"));
    if (suite != "paper:004") {
      EXPECT_TRUE(has(page, "<td>Lacuna</td>"));
    }
  }
}

} // namespace
} // namespace lacuna::test
