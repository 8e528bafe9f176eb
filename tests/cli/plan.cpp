// lacuna plan and tune, and spmv in every format.
#include <algorithm>
#include <filesystem>

#include <lacuna/plan/decision.hpp>

#include "cli/program.hpp"

namespace lacuna::test {
namespace {

using nlohmann::json;

/// Plans with what is built in, whatever the user has stored.
class CliPlan : public Cli {
protected:
  outcome go(const std::vector<std::string>& arguments) {
    run_settings s;
    s.environment = {"LACUNA_CONFIG=" + (folder_ / "config").string()};
    return run(arguments, s);
  }
};

TEST_F(CliPlan, PlanHasItsKeys) {
  const auto r = go({"plan", "gen:poisson2d:n=60", "--json", "--device", "host"});
  EXPECT_EQ(r.code, 0) << r.err;
  const json planned = r.json();
  EXPECT_TRUE(planned["format"].is_string());
  EXPECT_TRUE(planned["kernel"].is_string());
  EXPECT_EQ(planned["device"], "host");
  EXPECT_EQ(planned["multiplies"], 1000);
  EXPECT_EQ(planned["origin"], "built in");
  EXPECT_TRUE(planned["bytes"].is_number_integer());
  EXPECT_GT(planned["bytes_per_entry"].get<double>(), 8);
  EXPECT_GT(planned["reasons"].size(), 1U);
  ASSERT_GT(planned["candidates"].size(), 3U);
  EXPECT_EQ(planned["candidates"][0]["format"], planned["format"]);
  EXPECT_EQ(planned["candidates"][0]["kernel"], planned["kernel"]);
  for (const json& c : planned["candidates"]) {
    EXPECT_GT(c["predicted_seconds"].get<double>(), 0);
    EXPECT_GE(c["total_seconds"].get<double>(), c["conversion_seconds"].get<double>());
    EXPECT_TRUE(c["refused"].is_null());
  }
  EXPECT_FALSE(planned.contains("transposed"));
}

TEST_F(CliPlan, PlanTakesHints) {
  const std::vector<std::string> plan = {"plan", "gen:poisson2d:n=60", "--json", "--device",
                                         "host"};
  const auto with = [&](std::vector<std::string> hints) {
    hints.insert(hints.begin(), plan.begin(), plan.end());
    const auto r = go(hints);
    EXPECT_EQ(r.code, 0) << r.err;
    return r.json();
  };
  EXPECT_EQ(with({"--multiplies", "1"})["format"], "csr");
  EXPECT_EQ(with({"--will-change"})["format"], "csr");
  EXPECT_EQ(with({"--updates", "20"})["format"], "dynamic_csr");
  EXPECT_EQ(with({"--memory-limit", "1G"})["format"], with({})["format"]);
  for (const std::string& format : planned_formats()) {
    const json planned = with({"--format", format});
    EXPECT_EQ(planned["format"], format);
  }
  const json across = with({"--transposed-multiplies", "500"});
  EXPECT_TRUE(across["transposed"]["format"].is_string());
  EXPECT_GT(across["transposed"]["candidates"].size(), 3U);
  const json reordered = with({"--may-reorder"});
  bool offered = false;
  for (const json& c : reordered["candidates"])
    offered = offered || c["options"].value("reordered", 0) == 1;
  EXPECT_TRUE(offered);
}

TEST_F(CliPlan, OverTheMemoryLimitIsFour) {
  const std::vector<std::string> plan = {"plan", "gen:poisson2d:n=60", "--device", "host"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), plan.begin(), plan.end());
    return go(more);
  };
  const auto r = with({"--memory-limit", "1"});
  EXPECT_EQ(r.code, 4);
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(begins(r.err, "lacuna: gen:poisson2d:n=60: csr takes "));
  EXPECT_TRUE(has(r.err, " bytes, over the --memory-limit of 1"));
  EXPECT_EQ(with({"--memory-limit", "1", "--json"}).json()["error"]["kind"], "out_of_memory");
  // Just what csr takes, and a byte less.
  const auto bytes = with({"--format", "csr", "--json"}).json()["candidates"][0]["bytes"];
  const auto limit = bytes.get<std::int64_t>();
  for (const std::string& format : planned_formats()) {
    const auto within =
        with({"--format", format, "--memory-limit", std::to_string(limit), "--json"});
    EXPECT_EQ(within.code, 0) << format;
    EXPECT_LE(within.json()["candidates"][0]["bytes"], limit);
  }
  EXPECT_EQ(with({"--format", "csr", "--memory-limit", std::to_string(limit - 1)}).code, 4);
  const auto small = with({"--memory-limit", std::to_string(limit - 1), "--json"});
  EXPECT_EQ(small.code, 0) << "another format is smaller and faster";
  EXPECT_LT(small.json()["bytes"], limit);
  // Also where csr would be faster.
  const std::vector<std::string> few = {"--multiplies", "5", "--json"};
  EXPECT_EQ(with(few).json()["format"], "csr");
  const auto kept =
      with({"--multiplies", "5", "--json", "--memory-limit", std::to_string(limit - 1)});
  EXPECT_EQ(kept.code, 0) << kept.out;
  EXPECT_NE(kept.json()["format"], "csr");
  EXPECT_LT(kept.json()["candidates"][0]["bytes"], limit);
}

TEST_F(CliPlan, PlanForPeople) {
  const auto r = go({"plan", "gen:circuit:n=2000", "--transposed-multiplies", "10"});
  EXPECT_EQ(r.err, "");
  EXPECT_TRUE(begins(r.out, "gen:circuit:n=2000: 2000 x 2000, "));
  for (const char* part : {"  take ", " bytes per entry)\n", "  because\n", "  predicted for 1000",
                           "  for A^T take ", "  predicted for 10 products", ": built in\n"})
    EXPECT_TRUE(has(r.out, part));
  EXPECT_TRUE(
      begins(go({"plan", "gen:dense:n=3,m=3", "--multiplies", "1", "--quiet"}).out, "csr "));
}

TEST_F(CliPlan, SpmvInEveryFormat) {
  std::vector<std::string> formats = planned_formats();
  formats.emplace_back("auto");
  for (const std::string& format : formats)
    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(format + (transposed ? " transposed" : ""));
      std::vector<std::string> arguments = {
          "spmv", "gen:lp:rows=50,cols=700", "--format", format, "--verify", "--json", "--repeat",
          "3"};
      if (transposed) arguments.emplace_back("--transpose");
      const auto r = go(arguments);
      ASSERT_EQ(r.code, 0) << r.err;
      const json report = r.json();
      if (format != "auto") {
        EXPECT_EQ(report["format"], format);
      }
      EXPECT_LE(report["verify_error"].get<double>(), 1);
      EXPECT_EQ(report["planned_multiplies"], 1000);
      for (const char* key : {"kernel", "device", "repeat", "seconds", "gflops", "gbytes_per_s",
                              "share_of_copy", "bytes_moved", "csr_bytes_moved", "reasons"})
        EXPECT_TRUE(report.contains(key)) << key;
      // Beside the matrix a device has its tiles.
      if (format == "csr") {
        EXPECT_NEAR(report["bytes_moved"].get<double>(), report["csr_bytes_moved"].get<double>(),
                    8 * 700);
      }
    }
  const auto r = go({"spmv", "gen:poisson2d:n=30", "--format", "ell_csr", "--precision", "f32"});
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(has(r.out, "as ell_csr in f32"));
  EXPECT_TRUE(has(r.out, ", planned for 1000 products\n  - rows have "));
  EXPECT_TRUE(has(r.out, " in csr's bytes: "));
}

TEST_F(CliPlan, TuneStoresWhatPlansRead) {
  const std::vector<std::string> small = {"--only", "poisson2d:n=30,uniform:rows=500,per_row=4",
                                          "--quick", "--device", "host"};
  const auto tune = [&](std::vector<std::string> more) {
    more.insert(more.begin(), small.begin(), small.end());
    more.insert(more.begin(), "tune");
    return go(more);
  };
  const auto dry = tune({"--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_TRUE(has(dry.out, "measured with 2 matrices in "));
  EXPECT_TRUE(has(dry.out, "nothing was stored\n"));
  EXPECT_EQ(files(), std::vector<std::string>());

  const auto r = tune({"--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  const json report = r.json();
  EXPECT_EQ(report["device"], "host");
  EXPECT_EQ(report["origin"], "built in");
  ASSERT_EQ(report["matrices"].size(), 2U);
  EXPECT_EQ(report["matrices"][1]["matrix"], "uniform:rows=500,per_row=4");
  EXPECT_EQ(report["choices"].size(), 2U);
  // Which of the other kernels are candidates depends on the times.
  for (const char* kernel : {"csr_rows", "packed_csr"})
    EXPECT_EQ(std::ranges::count_if(report["classes"],
                                    [&](const json& c) { return c["kernel"] == kernel; }),
              1)
        << kernel;
  for (const char* key : {"machine", "seconds", "scatter", "within_10_percent",
                          "within_10_percent_before", "slowdown", "slowdown_built_in"})
    EXPECT_TRUE(report.contains(key)) << key;
  // Two small matrices say nothing about one another: nothing is stored that does not choose
  // better on matrices it was not fitted to.
  const auto file = report["kept_in"].get<std::string>();
  EXPECT_TRUE(begins(file, (folder_ / "config" / "spmv-").string()));
  EXPECT_EQ(std::filesystem::exists(file), report["better"].get<bool>());
  EXPECT_EQ(report["file"].is_null(), !report["better"].get<bool>());
  std::filesystem::create_directories(folder_ / "config");
  const std::string name = std::filesystem::path(file).filename().string();
  write("config/" + name, "version 3\nname measured\ncsr_rows 1e-6 2e-12 1e-11 1e-9 2e-10 0\n");

  const std::vector<std::string> plan = {"plan", "gen:poisson2d:n=30", "--device", "host"};
  EXPECT_TRUE(has(go(plan).out, "  with the costs of "));
  EXPECT_TRUE(has(go(plan).out, ": " + file + "\n"));
  // Stored for this many threads alone.
  auto many = plan;
  many.insert(many.end(), {"--threads", "59", "--json"});
  EXPECT_EQ(go(many).json()["origin"], "built in");

  // What is not understood in a file is told and does no harm.
  write("config/" + name, "name x\nnonsense\n");
  const auto odd = go(plan);
  EXPECT_EQ(odd.code, 0) << odd.err;
  EXPECT_TRUE(has(odd.out, "note: " + file + ":2: unknown word 'nonsense', ignored\n"));
  auto as_json = plan;
  as_json.emplace_back("--json");
  EXPECT_EQ(go(as_json).json()["remarks"].size(), 2U);
  const auto again = tune({});
  EXPECT_EQ(again.code, 0);
  EXPECT_TRUE(has(again.out, "unknown word 'nonsense'"));
  EXPECT_EQ(go(plan).code, 0);
}

TEST_F(CliPlan, TheEnvironmentForcesAFormat) {
  const auto with = [&](const std::string& format, std::vector<std::string> arguments) {
    run_settings s;
    s.environment = {"LACUNA_CONFIG=" + (folder_ / "config").string(),
                     "LACUNA_FORCE_FORMAT=" + format};
    return run(arguments, s);
  };
  for (const std::string& format : planned_formats()) {
    SCOPED_TRACE(format);
    const auto planned = with(format, {"plan", "gen:circuit:n=3000", "--json"});
    ASSERT_EQ(planned.code, 0) << planned.err;
    EXPECT_EQ(planned.json()["format"], format);
    EXPECT_EQ(planned.json()["reasons"][0], format + " was asked for by LACUNA_FORCE_FORMAT");
    const auto ran =
        with(format, {"spmv", "gen:circuit:n=3000", "--verify", "--repeat", "2", "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.json()["format"], format);
    // What the command line says comes first.
    EXPECT_EQ(with(format, {"spmv", "gen:circuit:n=3000", "--format", "packed_csr", "--repeat", "2",
                            "--json"})
                  .json()["format"],
              "packed_csr");
  }
  const auto unknown = with("coo", {"plan", "gen:circuit:n=3000"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_TRUE(
      has(unknown.err, "LACUNA_FORCE_FORMAT is 'coo'; it may be " + planned_formats_in_words()));
}

TEST_F(CliPlan, TuneRefuses) {
  const std::vector<std::string> tiny = {"tune", "--only", "diagonal:n=10"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), tiny.begin(), tiny.end());
    return more;
  };
  EXPECT_EQ(go({"tune", "something"}).code, 2);
  EXPECT_EQ(go({"tune", "--only"}).code, 2);
  EXPECT_EQ(go({"tune", "--slow"}).code, 2);
  EXPECT_EQ(go(with({"-o", "-"})).code, 2);
  const auto unknown = go({"tune", "--only", "unheard_of", "--dry-run"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_TRUE(has(unknown.err, "no generator 'unheard_of'"));
  const auto homeless =
      run(with({}), {.environment = {"LACUNA_CONFIG=", "XDG_CONFIG_HOME=", "HOME="}});
  EXPECT_EQ(homeless.code, 2);
  EXPECT_TRUE(has(homeless.err, "no place to store the result"));
  write("file", "x");
  const auto blocked = go(with({"-o", "file/m.txt"}));
  EXPECT_EQ(blocked.code, 1);
  EXPECT_TRUE(has(blocked.err, "file/m.txt.new: cannot write: "));
  EXPECT_EQ(files(), (std::vector<std::string>{"file"}));
}

} // namespace
} // namespace lacuna::test
