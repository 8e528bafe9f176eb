// What each command does, on matrices small enough to know the answer.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/program.hpp"
#include "io/files.hpp"

namespace lacuna::test {
namespace {

using nlohmann::json;

/// Rows, columns and values of a Matrix Market file, without its comments.
std::string without_comments(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("%")) result += line + "\n";
  return result;
}

TEST_F(Cli, InfoHasItsKeys) {
  write("s.mtx", small_symmetric);
  const auto r = run({"info", "s.mtx", "--json"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  const json info = r.json();
  EXPECT_EQ(info["rows"], 3);
  EXPECT_EQ(info["cols"], 3);
  EXPECT_EQ(info["stored_entries"], 4);
  EXPECT_EQ(info["nnz"], 5);
  EXPECT_EQ(info["field"], "real");
  EXPECT_EQ(info["symmetry"], "symmetric");
  EXPECT_EQ(info["symmetry_found"],
            (json{{"pattern", true}, {"symmetric", true}, {"skew_symmetric", false}}));
  EXPECT_EQ(info["row_length"]["min"], 1);
  EXPECT_NEAR(info["row_length"]["mean"].get<double>(), 5.0 / 3, 1e-12);
  EXPECT_EQ(info["row_length"]["max"], 2);
  EXPECT_NEAR(info["row_length"]["stddev"].get<double>(), std::sqrt(2.0) / 3, 1e-12);
  EXPECT_EQ(info["row_length"]["empty"], 0);
  EXPECT_EQ(info["bandwidth"], 1);
  EXPECT_EQ(info["explicit_zeros"], 1);
  EXPECT_EQ(info["diagonal_entries"], 3);
  EXPECT_EQ(info["blocks_128"]["occupied"], 1);
  EXPECT_EQ(info["block_tree"]["leaves"]["sparse"], 1);
  EXPECT_EQ(info["block_tree"]["leaves"]["mean_entries"], 5);
  EXPECT_EQ(info["bytes"]["coo"], 5 * 16);
  EXPECT_EQ(info["bytes"]["csr"], 5 * 12 + 4 * 4);
  EXPECT_EQ(info["bytes"]["dense"], 9 * 8);
  EXPECT_EQ(run({"info", "s.mtx", "--json", "--precision", "f32"}).json()["bytes"]["dense"], 9 * 4);
}

TEST_F(Cli, InfoForPeople) {
  write("s.mtx", small_symmetric);
  const auto r = run({"info", "s.mtx"});
  EXPECT_EQ(r.err, "");
  EXPECT_TRUE(begins(r.out, "s.mtx: Matrix Market coordinate\n"
                            "  size          3 x 3, 5 entries (4 in the file)\n"));
  EXPECT_TRUE(has(r.out, "            2-3 │████████████████████████████████████████ 2\n"));
  EXPECT_EQ(run({"info", "s.mtx", "--quiet"}).out, "s.mtx: 3 x 3, 5 entries\n");
}

TEST_F(Cli, InfoTellsWhichMatrixItRead) {
  const std::string archive = data_folder / "odd/archive.tar.gz";
  const auto r = run({"info", archive});
  if (r.err.find("build again") != std::string::npos) GTEST_SKIP() << r.err;
  EXPECT_TRUE(has(r.out, "\n  read          archive/archive.mtx\n  also there    archive/"))
      << r.out << r.err;
  const json info = run({"info", data_folder / "odd/scipy_problem.mat", "--json"}).json();
  EXPECT_EQ(info["member"], "Problem.A");
  EXPECT_FALSE(info["others"].empty());
  write("s.mtx", small_symmetric);
  EXPECT_TRUE(run({"info", "s.mtx", "--json"}).json()["member"].is_null());
}

TEST_F(Cli, StandardInputMayBePacked) {
  for (const std::string name :
       {"gz_two_members.mtx.gz", "zst.mtx.zst", "bz2.mtx.bz2", "archive.tar.gz", "scipy_csr.npz"}) {
    const std::string file = data_folder / "odd" / name;
    const auto r = run({"info", "-", "--json"}, {.input = contents(file)});
    if (r.out.find("build again") != std::string::npos) continue; // without its library
    EXPECT_EQ(r.code, 0) << name << r.out;
    EXPECT_EQ(r.json()["nnz"], run({"info", file, "--json"}).json()["nnz"]);
  }
}

TEST_F(Cli, InfoOfEmptyAndOddShapes) {
  write("none.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
  write("flat.mtx", "%%MatrixMarket matrix coordinate real general\n0 7 0\n");
  for (const std::string name : {"none.mtx", "flat.mtx"}) {
    for (const std::string command : {"info", "spy", "plan", "spmv"}) {
      SCOPED_TRACE(command + " " + name);
      EXPECT_EQ(run({command, name}).code, 0);
      const auto r = run({command, name, "--json"});
      EXPECT_EQ(r.code, 0);
      EXPECT_TRUE(r.json().is_object());
    }
    EXPECT_EQ(run({"spy", name, "-o", name + ".svg"}).code, 0);
  }
}

TEST_F(Cli, InfoListsGenerators) {
  const auto r = run({"info", "gen:", "--json"});
  const json list = r.json()["generators"];
  ASSERT_GT(list.size(), 10U);
  for (const json& g : list)
    for (const char* key : {"name", "parameters", "summary", "resembles"})
      EXPECT_TRUE(g.contains(key));
  EXPECT_TRUE(has(run({"info", "gen:"}).out, "\n  poisson3d "));
  for (const json& g : list) {
    const std::string name = "gen:" + g["name"].get<std::string>();
    EXPECT_TRUE(has(run({"info", "gen:", "--quiet"}).out, name + "\n"));
  }
}

TEST_F(Cli, StandardInput) {
  const auto r = run({"info", "-", "--json"}, {.input = small_symmetric});
  EXPECT_EQ(r.json()["nnz"], 5);
  const auto bad =
      run({"info", "-"}, {.input = "%%MatrixMarket matrix coordinate real general\n1"});
  EXPECT_EQ(bad.code, 3);
  EXPECT_TRUE(has(bad.err, "standard input"));
}

TEST_F(Cli, Duplicates) {
  write("twice.mtx",
        "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 2 5\n1 1 2.5\n");
  const auto kept = [&](const std::string& rule) {
    return without_comments(run({"convert", "twice.mtx", "-o", "-", "--duplicates", rule}).out);
  };
  EXPECT_EQ(kept("sum"), "2 2 2\n1 1 3.5\n2 2 5\n");
  EXPECT_EQ(kept("last"), "2 2 2\n1 1 2.5\n2 2 5\n");
  const auto r = run({"info", "twice.mtx", "--duplicates", "error"});
  EXPECT_EQ(r.code, 3);
  EXPECT_TRUE(begins(r.err, "lacuna: twice.mtx:5: "));
}

TEST_F(Cli, ComplexValues) {
  write("c.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 3 4\n");
  const auto kept = [&](const std::string& rule) {
    return without_comments(run({"convert", "c.mtx", "-o", "-", "--complex", rule}).out);
  };
  EXPECT_EQ(kept("real"), "1 1 1\n1 1 3\n");
  EXPECT_EQ(kept("abs"), "1 1 1\n1 1 5\n");
}

TEST_F(Cli, ConvertKeepsComplexValues) {
  const std::string text =
      "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 3 0\n2 1 0.1 -4\n";
  write("c.mtx", text);
  EXPECT_EQ(run({"convert", "c.mtx", "-o", "c.rb"}).code, 0);
  const auto r = run({"convert", "c.rb", "-o", "d.mtx"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(without_comments(read("d.mtx")), without_comments(text));
  EXPECT_EQ(run({"info", "d.mtx"}).code, 3);
}

TEST_F(Cli, ConvertKeepsFieldAndSymmetry) {
  write("s.mtx", small_symmetric);
  write("p.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 1\n");
  write("i.mtx", "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 7\n");
  for (const std::string name : {"s.mtx", "p.mtx", "i.mtx"}) {
    const auto r = run({"convert", name, "-o", "copy.mtx"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(read("copy.mtx"), read(name));
  }
  EXPECT_EQ(without_comments(run({"convert", "s.mtx", "-o", "-", "--general"}).out),
            "3 3 5\n1 1 2\n1 2 -1\n2 1 -1\n2 2 0\n3 3 4\n");
  EXPECT_EQ(run({"convert", "s.mtx", "-o", "s.npz"}).code, 0);
  EXPECT_EQ(run({"convert", "s.npz", "-o", "back.mtx", "--json"}).json()["nnz"], 5);
}

TEST_F(Cli, OutputOnStdoutStaysPure) {
  write("s.mtx", small_symmetric);
  const auto r = run({"transpose", "s.mtx", "-o", "-"});
  EXPECT_EQ(r.out, small_symmetric);
  EXPECT_TRUE(has(r.err, "transposed in"));
  EXPECT_EQ(run({"transpose", "s.mtx", "-o", "-", "--quiet"}).err, "");
}

TEST_F(Cli, Transpose) {
  write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 3 5\n2 1 6\n2 2 7\n");
  const json report = run({"transpose", "a.mtx", "-o", "t.mtx", "--json"}).json();
  EXPECT_EQ(without_comments(read("t.mtx")), "3 2 3\n1 2 6\n2 2 7\n3 1 5\n");
  EXPECT_EQ(report["rows"], 3);
  EXPECT_EQ(report["cols"], 2);
  EXPECT_EQ(report["nnz"], 3);
  for (const char* key : {"products", "seconds", "peak_bytes", "device"})
    EXPECT_TRUE(report.contains(key)) << key;
}

TEST_F(Cli, Multiply) {
  write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 3 5\n2 1 6\n2 2 7\n");
  write("b.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 2 1\n2 2 2\n3 1 0.5\n");
  const json report =
      run({"multiply", "a.mtx", "b.mtx", "-o", "c.mtx", "--verify", "--json"}).json();
  EXPECT_EQ(without_comments(read("c.mtx")), "2 2 2\n1 1 2.5\n2 2 20\n");
  EXPECT_EQ(report["rows"], 2);
  EXPECT_EQ(report["cols"], 2);
  EXPECT_EQ(report["nnz"], 2);
  EXPECT_EQ(report["products"], 3);
  EXPECT_LE(report["verify_error"], 1);
  for (const char* key : {"seconds", "peak_bytes", "device", "gflops"})
    EXPECT_TRUE(report.contains(key)) << key;
  // In parts, transposed, several times; whole numbers stay such.
  EXPECT_EQ(
      run({"multiply", "a.mtx", "a.mtx", "--transpose-b", "--times", "3", "-o", "d.mtx"}).code, 0);
  EXPECT_EQ(without_comments(read("d.mtx")), "2 2 2\n1 1 25\n2 2 85\n");
  const auto parts = run(
      {"multiply", "gen:poisson2d:n=60", "gen:poisson2d:n=60", "--memory-limit", "1M", "--verify"});
  EXPECT_EQ(parts.code, 0) << parts.err;
  EXPECT_TRUE(has(parts.out, "✓ largest error"));
  // By sorting: the same bits.
  for (const char* method : {"adaptive", "expand-sort"}) {
    const json made = run({"multiply", "gen:rmat:scale=8", "gen:rmat:scale=8", "--method", method,
                           "--verify", "--json", "-o", std::string(method) + ".mtx"})
                          .json();
    EXPECT_EQ(made["method"], method);
    EXPECT_GT(made["verify_error"], 0);
    EXPECT_LE(made["verify_error"], 1);
  }
  EXPECT_EQ(read("adaptive.mtx"), read("expand-sort.mtx"));
  const auto relaxed =
      run({"multiply", "gen:rmat:scale=8", "gen:rmat:scale=8", "--relaxed", "--verify"});
  EXPECT_EQ(relaxed.code, 0) << relaxed.err;
  EXPECT_TRUE(has(relaxed.out, "✓ largest error"));
  const auto wrong = run({"multiply", "a.mtx", "a.mtx"});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_TRUE(has(wrong.err, "columns of A (3)"));
}

TEST_F(Cli, Add) {
  write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 3 5\n2 1 6\n2 2 7\n");
  write("b.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1\n2 2 3.5\n");
  const json report =
      run({"add", "a.mtx", "b.mtx", "-o", "c.mtx", "--beta", "-2", "--json"}).json();
  EXPECT_EQ(without_comments(read("c.mtx")), "2 3 4\n1 1 -2\n1 3 5\n2 1 6\n2 2 0\n");
  EXPECT_EQ(report["rows"], 2);
  EXPECT_EQ(report["cols"], 3);
  EXPECT_EQ(report["nnz"], 4);
  for (const char* key : {"products", "seconds", "peak_bytes", "device"})
    EXPECT_TRUE(report.contains(key)) << key;
  // Without -o a line for people; whole numbers stay such, and symmetry where it holds.
  const auto line = run({"add", "a.mtx", "b.mtx", "--alpha", "0.5"});
  EXPECT_EQ(line.code, 0);
  EXPECT_TRUE(begins(line.out, "0.5 a.mtx + b.mtx: 2 x 3, 4 entries; added in "));
  write("s.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n1 1 4\n2 1 7\n");
  EXPECT_EQ(run({"add", "s.mtx", "s.mtx", "-o", "t.mtx"}).code, 0);
  EXPECT_TRUE(begins(read("t.mtx"), "%%MatrixMarket matrix coordinate integer symmetric\n"));
  EXPECT_EQ(without_comments(read("t.mtx")), "2 2 2\n1 1 8\n2 1 14\n");
}

TEST_F(Cli, AddTransposed) {
  write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 3 5\n2 1 6\n2 2 7\n");
  write("b.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 2\n1 2 1\n2 1 4\n");
  EXPECT_EQ(run({"add", "a.mtx", "b.mtx", "--transpose-b", "-o", "c.mtx"}).code, 0);
  EXPECT_EQ(without_comments(read("c.mtx")), "2 3 4\n1 2 4\n1 3 5\n2 1 7\n2 2 7\n");
  const auto wrong = run({"add", "a.mtx", "b.mtx"});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_TRUE(has(wrong.err, "rows of A (2)"));
}

TEST_F(Cli, Update) {
  write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 3 5\n2 1 6\n2 2 7\n");
  write("e.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1\n2 2 3.5\n");
  write("f.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 8\n2 3 9\n");
  write("g.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 2 1\n2 1 1\n");
  const json report = run({"update", "a.mtx", "--insert", "e.mtx", "--replace", "f.mtx", "--erase",
                           "g.mtx", "--batch", "1", "-o", "b.mtx", "--verify", "--json"})
                          .json();
  EXPECT_EQ(without_comments(read("b.mtx")), "2 3 4\n1 1 1\n1 3 8\n2 2 10.5\n2 3 9\n");
  EXPECT_EQ(report["inserted"], 2);
  EXPECT_EQ(report["replaced"], 2);
  EXPECT_EQ(report["erased"], 1);
  EXPECT_EQ(report["nnz"], 4);
  EXPECT_EQ(report["batches"], 6);
  EXPECT_EQ(report["verified"], true);
  for (const char* key : {"segments_max", "compactions", "seconds", "updates_per_s"})
    EXPECT_TRUE(report.contains(key)) << key;

  const auto outer = run({"update", "gen:poisson2d:n=10", "--insert", "gen:poisson2d:n=11"});
  EXPECT_EQ(outer.code, 3);
  EXPECT_TRUE(has(outer.err, "is at (89, 100), outside of 100 x 100; nothing was changed"));
  const auto grown =
      run({"update", "gen:poisson2d:n=10", "--insert", "gen:poisson2d:n=11", "--grow", "--json"});
  EXPECT_EQ(grown.json()["rows"], 121);
  EXPECT_EQ(run({"update", "a.mtx"}).code, 2);
}

TEST_F(Cli, Spmv) {
  write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 3 5\n2 1 6\n2 2 7\n");
  write("x.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n");
  write("z.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n10\n");
  EXPECT_EQ(run({"spmv", "a.mtx", "-x", "x.mtx", "-o", "y.mtx", "--repeat", "2"}).code, 0);
  EXPECT_EQ(without_comments(read("y.mtx")), "2 1\n15\n20\n");
  const json report = run({"spmv", "a.mtx", "-x", "z.mtx", "-o", "w.mtx", "--transpose", "--verify",
                           "--repeat", "3", "--json", "--device", "host"})
                          .json();
  EXPECT_EQ(without_comments(read("w.mtx")), "3 1\n60\n70\n5\n");
  EXPECT_TRUE(report["format"].is_string());
  EXPECT_EQ(report["device"], "host");
  EXPECT_EQ(report["repeat"], 3);
  EXPECT_LE(report["verify_error"].get<double>(), 1);
  for (const char* key : {"kernel", "seconds", "gflops", "gbytes_per_s", "share_of_copy"})
    EXPECT_TRUE(report.contains(key)) << key;
  // Sizes that do not fit.
  const auto wrong = run({"spmv", "a.mtx", "-x", "z.mtx"});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_TRUE(has(wrong.err, "(2)"));
}

TEST_F(Cli, SpmvTakesVectorsOfNumpy) {
  write("s.mtx", small_symmetric); // 2 -1 0 / -1 0 0 / 0 0 4
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
  header.resize(117, ' ');
  write("x.npy", std::string("\x93NUMPY\1\0\x76\0", 10) + header + "\n" +
                     std::string("\1\0\0\0\2\0\0\0\3\0\0\0", 12));
  const auto r = run({"spmv", "s.mtx", "-x", "x.npy", "-o", "y.mtx", "--repeat", "1"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(without_comments(read("y.mtx")), "3 1\n0\n-1\n12\n");
}

TEST_F(Cli, SpmvSaysWhichVectorItTook) {
  const auto product = [&](const std::string& seed) {
    const auto r = run({"spmv", "gen:tridiagonal:n=20", "-o", "-", "--seed", seed});
    EXPECT_TRUE(has(r.err, "x is seeded with " + seed));
    return r.out;
  };
  EXPECT_EQ(product("1"), product("1"));
  EXPECT_NE(product("1"), product("2"));
  EXPECT_TRUE(run({"spmv", "gen:tridiagonal:n=20", "--json"}).json()["verify_error"].is_null());
}

TEST_F(Cli, SpmvVerifies) {
  for (const std::string precision : {"f64", "f32"}) {
    const auto r = run({"spmv", "gen:rmat:scale=10", "--verify", "--precision", precision});
    EXPECT_EQ(r.code, 0);
    EXPECT_TRUE(has(r.out, "✓ largest error "));
    // Rounding is seen, so what is compared was computed twice.
    const json report =
        run({"spmv", "gen:rmat:scale=10", "--verify", "--precision", precision, "--json"}).json();
    EXPECT_GT(report["verify_error"], 0);
    EXPECT_LE(report["verify_error"], 1);
  }
}

TEST_F(Cli, DemoTakesFilesToo) {
  write("s.mtx", small_symmetric);
  const json report = run({"demo", "s.mtx", "--json"}).json();
  EXPECT_EQ(report["nnz"], 5);
  EXPECT_EQ(report["passed"], true);
  std::vector<std::string> steps;
  for (const json& step : report["steps"]) {
    EXPECT_TRUE(step["passed"].get<bool>()) << step;
    EXPECT_LE(step["verify_error"], 1) << step;
    if (step["engine"] == "host") steps.push_back(step["step"]);
  }
  for (const char* each :
       {"csr → coo", "B = Aᵀ", "y = A x", "y = A x, planned", "new values in the same plan",
        "Y = A X, 8 vectors, column-major", "C = A + Aᵀ", "C = A Aᵀ", "reordered (Cuthill-McKee)",
        "2-norm", "A x = b"})
    EXPECT_EQ(std::count(steps.begin(), steps.end(), each), 1) << each;
}

TEST_F(Cli, DemoSaysWhyAndEndsWithAVerdict) {
  const auto r = run({"demo", "gen:poisson2d:n=20", "--device", "host"});
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(has(r.out, " times as fast as plain CSR; planned for 1000 products in ")) << r.out;
  EXPECT_TRUE(has(r.out, ", because\n      - ")) << r.out;
  EXPECT_TRUE(has(r.out, "\n\n✓ All ")) << r.out;
  EXPECT_TRUE(has(r.out, " results agree with the reference loops")) << r.out;
  // Without two square sides nothing is reordered.
  EXPECT_FALSE(has(run({"demo", "gen:uniform:rows=30,cols=20,per_row=3", "--device", "host"}).out,
                   "reorder"));
}

TEST_F(Cli, SpyInTheTerminal) {
  write("none.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
  EXPECT_EQ(run({"spy", "none.mtx", "--quiet"}).out, "┌─┐\n│ │\n└─┘\n");
  write("s.mtx", small_symmetric);
  EXPECT_EQ(run({"spy", "s.mtx", "--quiet"}).out, "┌──┐\n│⠛⠄│\n└──┘\n");
  const auto drawn = run({"spy", "gen:tridiagonal:n=500", "-o", "tree.svg", "--tree", "--json"});
  EXPECT_EQ(drawn.code, 0);
  EXPECT_EQ(drawn.json()["leaves"], 10) << "four blocks on the diagonal and their neighbours";
  EXPECT_TRUE(has(read("tree.svg"), "class=\"leaves\""));
  const auto wide = run({"spy", "gen:tridiagonal:n=5000"}, {.environment = {"COLUMNS=40"}});
  EXPECT_EQ(wide.out.find('\n'), 3U * 40); // each of these characters has three bytes
}

TEST_F(Cli, ColourOnlyOnTerminals) {
  const std::vector<std::string> spy = {"spy", "gen:tridiagonal:n=500"};
  EXPECT_FALSE(has(run(spy).out, "\033["));
  EXPECT_TRUE(has(run(spy, {.stdout_terminal = true}).out, "\033[38;5;"));
  EXPECT_FALSE(
      has(run(spy, {.environment = {"NO_COLOR=1"}, .stdout_terminal = true}).out, "\033["));
}

TEST_F(Cli, SpyAsSvg) {
  write("a<b>.mtx", small_symmetric);
  const json report = run({"spy", "a<b>.mtx", "-o", "a.svg", "--json"}).json();
  EXPECT_EQ(report["cells_occupied"], 5);
  const std::string svg = read("a.svg");
  EXPECT_TRUE(begins(svg, "<svg xmlns="));
  EXPECT_TRUE(has(svg, ">a&lt;b&gt;.mtx</text>"));
  EXPECT_TRUE(has(svg, ">3 x 3, 5 entries</text>"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_TRUE(has(svg, " height=\"1024\""));
  // A number at each edge of a row and of a column.
  for (const char* number : {"0", "1", "2", "3"}) {
    const std::string mark = std::string(">") + number + "</text>";
    const auto first = svg.find(mark);
    ASSERT_NE(first, std::string::npos);
    EXPECT_NE(svg.find(mark, first + 1), std::string::npos) << number;
  }
  EXPECT_EQ(run({"spy", "gen:tridiagonal:n=20000", "-o", "b.svg"}).code, 0);
  EXPECT_TRUE(has(read("b.svg"), ">20k</text>"));
}

/// Width and height that a PNG has in its header.
std::pair<int, int> png_size(const std::string& png) {
  const auto number = [&](std::size_t at) {
    return static_cast<unsigned char>(png[at + 2]) * 256 + static_cast<unsigned char>(png[at + 3]);
  };
  return {number(16), number(20)};
}

TEST_F(Cli, SpyHasTheSizeAskedFor) {
  for (const std::string matrix :
       {"gen:poisson2d:n=40", "gen:dense:n=1,m=5000", "gen:dense:n=5000,m=1", "gen:dense:n=3,m=3",
        "gen:dense:n=0,m=0", "gen:lp:rows=50,cols=700", "gen:uniform:rows=700,cols=50,per_row=3"})
    for (const int size : {16, 100, 239, 240, 500, 1024}) {
      SCOPED_TRACE(matrix + " " + std::to_string(size));
      const auto r = run({"spy", matrix, "-o", "a.svg", "--size", std::to_string(size), "--json"});
      ASSERT_EQ(r.code, 0) << r.out;
      const json report = r.json();
      const int width = report["width"], height = report["height"];
      EXPECT_EQ(std::max(width, height), size);
      EXPECT_GE(std::min(width, height), size / 24);
      EXPECT_TRUE(has(read("a.svg"), "width=\"" + std::to_string(width) + "\" height=\"" +
                                         std::to_string(height) + "\""));
#ifdef LACUNA_HAS_PNG
      const json png =
          run({"spy", matrix, "-o", "a.png", "--size", std::to_string(size), "--json"}).json();
      EXPECT_EQ(png_size(read("a.png")), std::pair(width, height));
      EXPECT_EQ(png["width"], width);
#endif
    }
}

TEST_F(Cli, SpyAsPng) {
  const auto r = run({"spy", "gen:poisson2d:n=40", "-o", "a.png", "--size", "300"});
#ifdef LACUNA_HAS_PNG
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(read("a.png").starts_with("\x89PNG\r\n\x1a\n"));
  EXPECT_TRUE(has(r.out, " x 300 pixels -> a.png"));
  // The caption has the name; where there is no room for text, names make no difference.
  write("one.mtx", small_symmetric);
  write("two.mtx", small_symmetric);
  const auto picture = [&](const std::string& name, const std::string& size) {
    EXPECT_EQ(run({"spy", name, "-o", "b.png", "--size", size}).code, 0);
    return read("b.png");
  };
  EXPECT_NE(picture("one.mtx", "300"), picture("two.mtx", "300"));
  EXPECT_EQ(picture("one.mtx", "200"), picture("two.mtx", "200"));
#else
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(has(r.err, "libpng-dev"));
  EXPECT_TRUE(files().empty());
#endif
}

} // namespace
} // namespace lacuna::test
