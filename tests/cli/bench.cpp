// lacuna-bench: what it measures on tiny matrices, and the keys of its JSON. Times say nothing
// here.
#include "cli/program.hpp"

#include <algorithm>

#include <lacuna/plan/decision.hpp>

namespace lacuna::test {
namespace {

class Bench : public Cli {
protected:
  outcome bench(std::vector<std::string> arguments) {
    for (const char* each : {"--device", "host", "--threads", "1", "--repeat", "1"})
      arguments.emplace_back(each);
    run_settings s;
    s.program = LACUNA_BENCH_PROGRAM;
    return run(arguments, s);
  }
  /// With --json, which must be there and well-formed.
  nlohmann::json figures(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "figures.json"});
    const outcome r = bench(std::move(arguments));
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    return nlohmann::json::parse(read("figures.json"));
  }
};

const nlohmann::json& named(const nlohmann::json& list, const std::string& name) {
  const auto match = std::ranges::find_if(list, [&](const auto& c) { return c["name"] == name; });
  EXPECT_NE(match, list.end()) << name;
  return *match;
}

TEST_F(Bench, TriangularSolves) {
  const auto all = figures({"trisolve", "--matrices", "poisson2d:n=20,lp:rows=50,cols=700"});
  ASSERT_EQ(all["results"].size(), 1u);
  EXPECT_EQ(all["skipped"].size(), 1u) << "not square";
  const auto& r = all["results"][0];
  EXPECT_EQ(r["levels"], 39);
  EXPECT_EQ(r["widest_level"], 20);
  for (const auto& c : r["contestants"]) {
    EXPECT_FALSE(c.contains("trouble")) << c.dump();
    EXPECT_LE(c["verify_error"], 1);
  }
}

TEST_F(Bench, SumsTransposesAndProducts) {
  for (const std::string suite : {"add", "add-t", "transpose", "spgemm"}) {
    SCOPED_TRACE(suite);
    const auto all =
        figures({suite, "--precision", "both", "--matrices", "poisson2d:n=20,lp:rows=50,cols=700"});
    if (suite == "add-t") {
      ASSERT_EQ(all["results"].size(), 2u);
      EXPECT_EQ(all["skipped"].size(), 2u) << "not square, in either precision";
    } else {
      ASSERT_EQ(all["results"].size(), 4u);
    }
    for (const auto& r : all["results"]) {
      EXPECT_GT(r["bytes_moved"], 0);
      EXPECT_GT(r["entries"], 0);
      for (const auto& c : r["contestants"]) {
        EXPECT_FALSE(c.contains("trouble")) << c.dump();
        EXPECT_GT(c["seconds"], 0);
        EXPECT_LE(c["verify_error"], 1);
      }
      const auto& ours = named(r["contestants"], "Lacuna");
      EXPECT_FALSE(ours["peer"]);
      EXPECT_GE(ours["peak_ratio"], 1);
    }
  }
}

TEST_F(Bench, PlainTerminalsGetAscii) {
  for (const std::string suite : {"spmv", "transpose", "spgemm", "update", "cg", "paper:000",
                                  "paper:001", "paper:002", "paper:003"}) {
    run_settings s;
    s.program = LACUNA_BENCH_PROGRAM;
    s.environment = {"LC_ALL=C"};
    const auto r = run({suite, "--device", "host", "--threads", "1", "--repeat", "1", "--size",
                        "small", "--matrices", "poisson2d:n=20"},
                       s);
    EXPECT_EQ(r.code, 0) << suite << r.err;
    EXPECT_TRUE(std::ranges::all_of(r.out + r.err, [](unsigned char c) { return c < 0x80; }))
        << suite << r.out << r.err;
  }
}

TEST_F(Bench, ProductsOfMatrices) {
  const auto all = figures({"spgemm", "--matrices", "poisson2d:n=60,poisson2d:n=2"});
  ASSERT_EQ(all["results"].size(), 2u);
  const auto& r = all["results"][0];
  EXPECT_EQ(r["products"], 87848);
  EXPECT_EQ(r["entries"], 45604);
  EXPECT_GT(r["compression"], 1.9);
  const auto& ours = named(r["contestants"], "Lacuna");
  EXPECT_NEAR(ours["gflops"], 2e-9 * 87848 / double{ours["seconds"]}, 1e-6);
  EXPECT_TRUE(all["summary"][0].contains("largest_peak_ratio"));
  EXPECT_EQ(all["means"][0]["count"], 1) << "15000 products and fewer are in no mean";
}

TEST_F(Bench, Paper001) {
  const auto all = figures({"paper:001", "--matrices", "poisson2d:n=60,lp:rows=50,cols=700"});
  ASSERT_EQ(all["results"].size(), 2u);
  const auto& paper = all["paper"][0];
  for (const char* key : {"statistics", "memory"}) EXPECT_EQ(paper[key].size(), 2u) << key;
  for (const char* key : {"longest_row", "mean_row", "products", "entries", "compression"})
    EXPECT_GT(paper["statistics"][1][key], 0) << key;
  const auto& ours = named(paper["contestants"], "Lacuna");
  EXPECT_EQ(ours["failed"], 0);
  EXPECT_GE(ours["slowdown"], 1);
  EXPECT_GE(paper["memory"][0]["peak_ratio"]["Lacuna"], 1);
  EXPECT_EQ(paper["thresholds"]["thresholds"]["merged_entries"], 10);
  const auto& decided = paper["thresholds"]["decided"];
  ASSERT_EQ(decided.size(), 2u);
  EXPECT_FALSE(decided[0]["symbolic"]["paper_balances"]) << "all rows of a stencil are alike";
  EXPECT_NEAR(decided[0]["symbolic"]["longest_over_mean"], 25 * 3600 / 87848.0, 1e-9);
  EXPECT_EQ(paper["figure_6"][0]["least_products"], 10000);
  EXPECT_EQ(paper["figure_7"].size(), 8u);
  ASSERT_EQ(paper["figure_15"].size(), 2u);
  EXPECT_LT(paper["figure_15"][0]["products"], paper["figure_15"][1]["products"]);
  EXPECT_GE(paper["accumulators"][0]["slowdown"]["chosen"], 1);
}

TEST_F(Bench, HeadingsOfPaper001) {
  const auto r = bench({"paper:001", "--matrices", "poisson2d:n=9"});
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* heading : {"Table 2", "Table 3", "Table 4", "Figure 6", "Figure 7", "Figure 15",
                              "Figure 10", "Figure 11", "Figure 12"})
    EXPECT_EQ(r.out.find(heading) == std::string::npos, std::string(heading) == "Figure 7")
        << heading << ": of more than 15000 products alone is figure 7\n"
        << r.out;
}

TEST_F(Bench, SpmvOfEveryFormat) {
  const auto all =
      figures({"spmv", "--exhaustive", "--matrices", "poisson2d:n=20,web:n=3000,degree=20"});
  ASSERT_EQ(all["results"].size(), 2u);
  for (const auto& r : all["results"]) {
    for (const char* key : {"matrix", "precision", "rows", "nnz", "row_variance", "bytes_moved",
                            "limits_bytes_per_s"})
      EXPECT_TRUE(r.contains(key)) << key;
    std::vector<std::string> names = {"Lacuna"};
    for (const std::string& format : planned_formats()) names.push_back("Lacuna: " + format);
    for (const std::string& name : names) {
      const auto& c = named(r["contestants"], name);
      if (c.contains("refused")) continue;
      EXPECT_GT(c["seconds"], 0) << name;
      EXPECT_LE(c["verify_error"], 1) << name;
      EXPECT_TRUE(c.contains("ratio_to_best_candidate"));
    }
    EXPECT_TRUE(named(r["contestants"], "Lacuna").contains("format"));
  }
  EXPECT_TRUE(named(all["results"][0]["contestants"], "Lacuna: ell_csr").contains("seconds"));
  EXPECT_TRUE(named(all["results"][1]["contestants"], "Lacuna: bsr").contains("refused"))
      << "its blocks would hold one entry each";
  const auto& summary = all["summary"][0];
  for (const char* key : {"choice_within_10_percent", "largest_memory_ratio", "count"})
    EXPECT_TRUE(summary.contains(key)) << key;
  EXPECT_LE(summary["largest_memory_ratio"], 2);
}

TEST_F(Bench, SpmvInBothPrecisionsAndTransposed) {
  const auto all = figures({"spmv-t", "--precision", "both", "--matrices", "rmat:scale=8"});
  ASSERT_EQ(all["results"].size(), 2u);
  EXPECT_EQ(all["summary"].size(), 2u);
  for (const auto& r : all["results"]) EXPECT_GT(named(r["contestants"], "Lacuna")["seconds"], 0);
}

TEST_F(Bench, RealMatricesOfAFolder) {
  std::filesystem::create_directory(folder_ / "real");
  write("real/small.mtx", small_symmetric);
  write("real/bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 3 1\n");
  write("real/tiny.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n");
  write("real/notes.txt", "no matrix");
  const auto all = figures({"spmv", "--matrices", "none", "--real", "real", "--real-least", "4"});
  ASSERT_EQ(all["results"].size(), 1u);
  EXPECT_EQ(all["results"][0]["matrix"], "small");
  EXPECT_EQ(all["skipped"].size(), 2u);
  EXPECT_EQ(figures({"spmv", "--matrices", "real/tiny.mtx"})["results"][0]["matrix"], "tiny");
  EXPECT_EQ(bench({"spmv", "--matrices", "real/bad.mtx"}).code, 3);
  EXPECT_EQ(bench({"spmv", "--matrices", "none"}).code, 3);
  EXPECT_EQ(bench({"spmv", "--matrices", "none", "--real", "nowhere"}).code, 3);
}

TEST_F(Bench, Updates) {
  const auto all = figures({"update", "--precision", "both", "--batches", "50,3000", "--matrices",
                            "uniform:rows=300,per_row=4,rmat:scale=8,edges=6"});
  ASSERT_EQ(all["results"].size(), 4u);
  for (const auto& r : all["results"]) {
    ASSERT_EQ(r["batches"].size(), 2u);
    EXPECT_TRUE(r["batches"][1]["fresh"]) << "a batch beyond the matrix";
    for (const auto* part : {&r["batches"][0], &r["batches"][1], &r["streaming"], &r["rounds"]})
      for (const auto& c : (*part)["contestants"]) EXPECT_TRUE(c["verified"]) << c.dump();
    for (const auto& b : r["batches"]) {
      EXPECT_GT(b["limit_entries_per_s"], 0);
      for (const char* name : {"Lacuna", "Lacuna, replace"})
        for (const char* key : {"inserts_per_s", "erases_per_s"})
          EXPECT_GT(named(b["contestants"], name)[key], 0) << name << key;
      for (const char* name : {"Lacuna: sort, add", "Lacuna: from triplets", "HYB, append"})
        EXPECT_GT(named(b["contestants"], name)["inserts_per_s"], 0) << name;
    }
    EXPECT_EQ(r["rounds"]["rounds"], 50);
    EXPECT_GT(named(r["rounds"]["contestants"], "Lacuna")["peak_bytes"], 0);
    EXPECT_GT(named(r["streaming"]["contestants"], "Lacuna, append")["inserts_per_s"], 0);
    for (const char* key : {"csr_seconds", "fragmented_seconds", "compacted_seconds", "hyb_seconds",
                            "compact_seconds", "copy_seconds", "to_dynamic_seconds",
                            "to_csr_seconds", "dynamic_bytes"})
      EXPECT_GT(r["products"][key], 0) << key;
  }
  EXPECT_TRUE(all["summary"].contains("fragmented_to_csr"));
}

TEST_F(Bench, Paper000) {
  const auto all =
      figures({"paper:000", "--size", "small", "--matrices", "web:n=900,lp:rows=20,cols=300"});
  const auto& paper = all["paper"][0];
  for (const char* key : {"matrices", "memory", "conversions", "overheads", "updates", "products"})
    ASSERT_EQ(paper[key].size(), 2u) << key;
  for (const char* key : {"segments_2", "segments_3", "segments_4", "csr"})
    EXPECT_GT(paper["memory"][0][key]["measured"], 0) << key;
  EXPECT_GT(paper["conversions"][1]["csr_to_dynamic"]["measured"], 0);
  EXPECT_GT(paper["overheads"][1]["hyb_updates"]["measured"], 0);
  EXPECT_GT(paper["updates"][0]["iterative_dynamic"], 0);
  EXPECT_GT(paper["updates"][0]["streaming"], 0);
  EXPECT_GT(paper["products"][0]["fragmented_gflops"], 0);
}

TEST_F(Bench, ConjugateGradients) {
  const auto all = figures({"cg", "--matrices", "poisson2d:n=30,circuit:n=200"});
  ASSERT_EQ(all["results"].size(), 1u) << "the circuit is no system for cg";
  EXPECT_GT(named(all["results"][0]["contestants"], "Lacuna")["seconds"], 0);
  const auto& cg = all["cg"][0];
  EXPECT_GT(cg["rates"]["Lacuna"]["iterations_per_s"], 0);
  EXPECT_GT(cg["solutions"][0]["iterations"], 10);
  for (const auto& solution : cg["solutions"]) EXPECT_EQ(solution["right"], true) << solution;
  EXPECT_EQ(cg["solutions"][1]["preconditioner"], "incomplete Cholesky");
  EXPECT_LT(cg["solutions"][1]["iterations"], cg["solutions"][0]["iterations"]);
}

TEST_F(Bench, Paper002) {
  const auto all = figures({"paper:002", "--precision", "both", "--matrices",
                            "fem3d:n=4,dof=3,lp:rows=9,cols=40,per_col=3"});
  ASSERT_EQ(all["results"].size(), 4u);
  ASSERT_EQ(all["paper"].size(), 2u) << "both precisions";
  for (const auto& paper : all["paper"]) {
    for (const char* key : {"bytes_of_csr", "bytes_of_coo", "over_csr", "over_transposed_copy",
                            "add_over_csr", "add_itself_over_csr", "add_over_converted_csr",
                            "product_over_csr", "conversion_products"})
      EXPECT_GT(paper[key], 0) << key;
    for (const std::string operation :
         {"y = A x", "y = Aᵀ x", "A + A", "A + Aᵀ", "A + Aᵀ, transposed before", "A A"})
      EXPECT_TRUE(std::ranges::any_of(paper["times"], [&](const auto& row) {
        return row["operation"] == operation && row["name"] == "block_tree" && row["mean_ms"] > 0;
      })) << operation;
  }
}

TEST_F(Bench, Paper003) {
  const auto all = figures({"paper:003", "--matrices", "circuit:n=500,dense:n=40,m=40"});
  ASSERT_EQ(all["results"].size(), 2u);
  const auto& paper = all["paper"][0];
  for (const char* name : {"ell_csr, paper's", "ell_csr, paper's, packed", "ell_csr, planned"})
    for (const char* key :
         {"mean_gain_percent", "mean_conversion_products", "mean_storage_percent"})
      EXPECT_TRUE(named(paper["ways"], name).contains(key)) << name << " " << key;
  const auto& bytes = paper["bytes_per_operation"];
  EXPECT_EQ(bytes[0]["mean"], 12) << "COO, as the paper's Table I has it";
  EXPECT_EQ(bytes[1]["paper"], 10);
  EXPECT_GT(bytes[1]["least"], 10) << "a CSR has row pointers, too";
  ASSERT_EQ(paper["sweeps"].size(), 2u);
  const auto& rule = paper["sweeps"][1]["rule"];
  EXPECT_EQ(rule["T"], 64) << "the multiple of 32 above 40";
  EXPECT_EQ(rule["M"], 32);
  EXPECT_EQ(rule["L"], 1024);
  for (const char* axis : {"T", "M", "L"})
    EXPECT_GE(paper["sweeps"][0][axis].size(), 5u) << axis << ": four values and the rule";
  EXPECT_EQ(paper["sweep_means"].size(), 16u);
}

TEST_F(Bench, AllOfPaper003) {
  const auto r = bench({"paper:003", "--full", "--size", "small", "--matrices", "poisson2d:n=9",
                        "--json", "figures.json"});
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* heading :
       {"Table I:", "Figure 2:", "Figures 4 to 7:", "T, M and L", "Figure 8:"})
    EXPECT_NE(r.out.find(heading), std::string::npos) << heading << r.out;
  const auto all = nlohmann::json::parse(read("figures.json"));
  const auto& paper = all["paper"][0];
  EXPECT_EQ(paper["sweep_means"].size(), 16u + 20u + 8u) << "what the paper tried";
  ASSERT_EQ(paper["figure_2"].size(), 9u);
  for (const auto& each : paper["figure_2"]) EXPECT_GT(each["ours_gflops"], 0);
}

TEST_F(Bench, Paper004) {
  const auto all = figures({"paper:004", "--full", "--matrices",
                            "poisson2d:n=20,circuit:n=900,lp:rows=9,cols=40,per_col=3"});
  ASSERT_EQ(all["results"].size(), 3u);
  const auto& square = all["results"][0]["contestants"];
  for (const char* name : {"csr", "csr_k 2", "csr_k 3", "csr, RCM", "csr, Band-k", "csr_k 2, RCM",
                           "csr_k 2, Band-k", "csr_k 3, Band-k", "csr_k, paper's"})
    EXPECT_GT(named(square, name)["seconds"], 0) << name;
  for (const auto& c : square) {
    EXPECT_FALSE(c.contains("trouble")) << c.dump();
    const std::string name = c["name"];
    if (!c["peer"] || name.find(',') != std::string::npos) continue;
    for (const char* order : {", RCM", ", Band-k"})
      EXPECT_GT(named(square, name + order)["seconds"], 0) << name << order;
  }
  const auto& paper = all["paper"];
  EXPECT_GT(named(paper["classes"][0]["lines"], "csr_k, paper's")["irregular_count"], 0);
  EXPECT_TRUE(paper["classes"][0].contains("regular"));
  EXPECT_EQ(paper["costs"].size(), 3u);
  EXPECT_GT(paper["costs"][0]["band_k_seconds"], 0);
  EXPECT_EQ(paper["costs"][2]["band_k_seconds"], 0) << "not square";
  ASSERT_EQ(paper["sweeps"].size(), 2u) << "one regular, one not";
  EXPECT_EQ(paper["sweeps"][0]["grid"].size(), 18u);
  EXPECT_TRUE(paper["sweeps"][0].contains("model"));
  EXPECT_EQ(paper["scaling"].size(), 0u) << "of one thread alone there is nothing to tell";
}

TEST_F(Bench, ThreadsOfPaper004) {
  run_settings s;
  s.program = LACUNA_BENCH_PROGRAM;
  const auto r = run({"paper:004", "--matrices", "poisson2d:n=9", "--device", "host", "--threads",
                      "2", "--repeat", "1", "--json", "figures.json"},
                     s);
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* heading : {"Figure 6: GFLOP/s", "dashed lines", "Pre-processing", "Figure 5"})
    EXPECT_NE(r.out.find(heading), std::string::npos) << heading << r.out;
  const auto all = nlohmann::json::parse(read("figures.json"));
  std::vector<int> threads;
  for (const auto& each : all["paper"]["scaling"])
    if (each["name"] == "csr_k 2, Band-k") {
      EXPECT_GT(each["speedup"], 0);
      threads.push_back(each["threads"]);
    }
  EXPECT_EQ(threads, (std::vector<int>{1, 2}));
}

} // namespace
} // namespace lacuna::test
