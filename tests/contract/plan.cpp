// The planner's choice: a pure function, tested without a device on the recorded features of real
// matrices and of generated ones, and judged by times that were measured with those.
#include <cmath>
#include <stdexcept>

#include <gtest/gtest.h>

#include <lacuna/format/ell_csr.hpp>

#include "plan/choose.hpp"
#include "plan/formats/bsr.hpp"

namespace lacuna::test {
namespace {

struct recorded {
  const char* name;
  std::int64_t shape[3]; // rows, columns, entries
  row_statistics rows;
  std::vector<std::int64_t> histogram, entries;
  std::int64_t slices;
  std::int64_t sample[9]; // groups, entries, steps; 8, 16 bit, full; diagonals; sectors
  std::int64_t chunks[3];
  double hot_share;

  [[nodiscard]] spmv_features features() const {
    spmv_features f;
    f.rows = shape[0];
    f.cols = shape[1];
    f.entries = shape[2];
    f.row_length = rows;
    std::copy(histogram.begin(), histogram.end(), f.length_histogram.begin());
    std::copy(entries.begin(), entries.end(), f.entries_by_length.begin());
    f.slice_steps = slices;
    f.sampled_groups = sample[0];
    f.sampled_entries = sample[1];
    f.sampled_steps = sample[2];
    f.steps_8 = sample[3];
    f.steps_16 = sample[4];
    f.steps_full = sample[5];
    f.diagonal_steps = sample[6];
    f.sectors_by_row_lane = sample[7];
    f.sectors_by_entry = sample[8];
    f.chunks_8 = chunks[0];
    f.chunks_16 = chunks[1];
    f.chunks_full = chunks[2];
    f.hot_share_4096 = hot_share;
    return f;
  }
};

const std::vector<recorded>& matrices() {
  static const std::vector<recorded> all = {
      {"cnr-2000",
       {325557, 325557, 3216152},
       {9.8789213563216265, 20.537313222108466, 2716, 78056},
       {78056, 38540, 46618, 51724, 42121, 30724, 35704, 1695, 193, 123, 30, 28, 1},
       {0, 38540, 112431, 277917, 475195, 744932, 1303941, 132955, 33205, 40589, 19247, 34484,
        2716},
       320837,
       {157, 48577, 4948, 1261, 2526, 1161, 9006, 13499, 17340},
       {150, 611, 68},
       0.47449749130421398},
      {"soc-Slashdot0902",
       {82168, 82168, 948464},
       {11.54298510369, 36.917897988739725, 2511, 3727},
       {3727, 6559, 35996, 15365, 9089, 5451, 3168, 1552, 1026, 198, 29, 5, 3},
       {0, 6559, 83272, 78015, 97680, 119447, 139408, 136731, 186204, 67895, 18630, 7655, 6968},
       185460,
       {40, 11392, 2062, 0, 1267, 795, 4435, 10090, 9445},
       {1, 116, 81},
       0.21333607456140352},
      {"BOYD2_A",
       {279794, 93263, 517047},
       {1.8479559961972023, 33.878247785514219, 10992, 0},
       {0, 93263, 186522, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 1},
       {0, 93263, 373044, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 39748, 10992},
       25564,
       {135, 7200, 225, 225, 0, 0, 1125, 1305, 1485},
       {47, 61, 27},
       0.35587680703959773},
      {"Andrews",
       {60000, 60000, 760154},
       {12.669233333333333, 3.4144487225449573, 36, 0},
       {0, 0, 0, 0, 49477, 10488, 35},
       {0, 0, 0, 0, 564825, 194162, 1167},
       41475,
       {32, 12935, 695, 0, 695, 0, 1646, 12656, 12427},
       {0, 219, 0},
       0.00034202650705429671},
      {"cage10",
       {11397, 11397, 150645},
       {13.217952092655961, 3.9836972218635349, 25, 0},
       {0, 0, 0, 640, 7648, 3109},
       {0, 0, 0, 3968, 89804, 56873},
       5175,
       {30, 12201, 416, 105, 311, 0, 1072, 4071, 6473},
       {1, 201, 0},
       0.0061394891944990173},
      {"bcsstk25",
       {15439, 15439, 252241},
       {16.33791048643047, 7.0805060348618554, 59, 0},
       {0, 0, 126, 753, 6094, 8020, 446},
       {0, 0, 354, 4744, 64835, 165796, 16512},
       14291,
       {31, 15482, 835, 100, 735, 0, 1918, 6553, 5834},
       {35, 225, 0},
       0.0058982550995330552},
      {"memplus",
       {17758, 17758, 126150},
       {7.1038405225813719, 22.035446515706138, 574, 0},
       {0, 0, 5088, 10060, 2308, 87, 49, 28, 100, 37, 1},
       {0, 0, 15212, 43396, 28182, 1884, 2142, 2695, 19459, 12606, 574},
       9021,
       {31, 11672, 579, 0, 579, 0, 1343, 4178, 5738},
       {1, 188, 0},
       0.26511056511056513},
      {"email-Enron",
       {36692, 36692, 367662},
       {10.020222391802028, 36.100004407047514, 1383, 0},
       {0, 11211, 8967, 8661, 3742, 1957, 1156, 618, 256, 93, 22, 9},
       {0, 11211, 23101, 44139, 39493, 42675, 51310, 54128, 44508, 31705, 14556, 10836},
       65607,
       {32, 8997, 1263, 8, 1255, 0, 2772, 7281, 6236},
       {3, 151, 0},
       0.23510694714512992},
      {"ex31",
       {3909, 3909, 115357},
       {29.51061652596572, 16.597509186108478, 75, 0},
       {0, 0, 0, 0, 967, 1462, 1337, 143},
       {0, 0, 0, 0, 12514, 33021, 59347, 10475},
       7279,
       {16, 14355, 935, 560, 375, 0, 1624, 7843, 6570},
       {112, 119, 0},
       0.17320261437908496},
      {"Dubcova1",
       {16129, 16129, 253009},
       {15.686589373178746, 5.7769776460004927, 25, 0},
       {0, 0, 0, 252, 11908, 3969},
       {0, 0, 0, 1504, 153536, 97969},
       8041,
       {32, 15716, 496, 0, 496, 0, 1248, 7994, 8349},
       {0, 262, 0},
       0},
      {"fast0507",
       {507, 63009, 409349},
       {807.39447731755422, 929.98165779512965, 7753, 0},
       {0, 8, 6, 4, 8, 12, 20, 23, 58, 117, 128, 74, 41, 8},
       {0, 8, 15, 21, 93, 299, 873, 2086, 11075, 43079, 95677, 105923, 109983, 40217},
       56378,
       {4, 25162, 1024, 0, 1024, 0, 2080, 24826, 11925},
       {67, 328, 0},
       0},
      {"luxembourg_osm",
       {114599, 114599, 239332},
       {2.0884300910130107, 0.41120877605816858, 6, 0},
       {0, 3939, 109576, 1084},
       {0, 3939, 231034, 4359},
       10810,
       {55, 3654, 169, 19, 82, 68, 568, 1474, 1109},
       {25, 21, 42},
       0},
      {"add20",
       {2395, 2395, 17319},
       {7.2313152400835072, 13.031867979305961, 124, 0},
       {0, 0, 974, 1126, 101, 90, 58, 46},
       {0, 0, 2799, 5017, 1091, 1989, 2680, 3743},
       1619,
       {25, 5363, 547, 0, 547, 0, 1294, 3468, 2660},
       {0, 91, 0},
       0.48787528868360275},
      {"bfly",
       {49152, 49152, 196608},
       {4, 0, 4, 0},
       {0, 0, 0, 49152},
       {0, 0, 0, 196608},
       6144,
       {32, 4096, 128, 0, 128, 0, 512, 2391, 1756},
       {0, 64, 0},
       0},
      {"BentPipe2D100",
       {10000, 10000, 49600},
       {4.96, 0.19798989873223333, 5, 0},
       {0, 0, 4, 9996},
       {0, 0, 12, 49588},
       1559,
       {32, 4989, 159, 159, 0, 0, 159, 1348, 1132},
       {94, 0, 0},
       0},
      {"4elt",
       {15606, 15606, 91756},
       {5.8795335127515056, 0.57342594474632624, 10, 0},
       {0, 0, 4, 15577, 25},
       {0, 0, 12, 91538, 206},
       3333,
       {31, 5816, 208, 6, 202, 0, 664, 3362, 4233},
       {8, 87, 0},
       0.0010025062656641604},
      {"27-point stencil, 128^3",
       {2097152, 2097152, 55742968},
       {26.580318450927734, 1.9148404977928173, 27, 0},
       {0, 0, 0, 0, 1520, 2095632},
       {0, 0, 0, 0, 18208, 55724760},
       1751088,
       {1024, 870579, 27351, 13392, 13959, 0, 27351, 240126, 369957},
       {0, 14171, 0},
       0},
      {"circuit, 3 million rows",
       {3000000, 3000000, 16696505},
       {5.565501666666667, 346.33178735936389, 300148, 0},
       {0, 0, 27179, 2964031, 8786, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4},
       {0, 0, 81533, 15344724, 70501, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1199747},
       1840600,
       {1020, 168682, 7019, 0, 0, 7019, 22198, 68490, 65901},
       {60, 13, 2987},
       0.071810379058615106},
      {"poisson3d:n=128",
       {2097152, 2097152, 14581760},
       {6.953125, 0.21480823570105501, 7, 0},
       {0, 0, 0, 2097152},
       {0, 0, 0, 14581760},
       456704,
       {1024, 227797, 7135, 3528, 3607, 0, 7135, 59641, 68590},
       {0, 4063, 0},
       0},
      {"poisson2d9:n=1024",
       {1048576, 1048576, 9424900},
       {8.9882850646972656, 0.18720500306271765, 9, 0},
       {0, 0, 0, 4092, 1044484},
       {0, 0, 0, 24544, 9400356},
       294720,
       {512, 147177, 4602, 4341, 261, 0, 4602, 39884, 28550},
       {0, 2556, 0},
       0},
      {"poisson2d:n=1000",
       {1000000, 1000000, 4996000},
       {4.9960000000000004, 0.063182275995725262, 5, 0},
       {0, 0, 4, 999996},
       {0, 0, 12, 4995988},
       156188,
       {481, 76866, 2403, 2308, 95, 0, 2403, 20208, 17294},
       {0, 1441, 0},
       0},
      {"qcd:n=16",
       {786432, 786432, 30670848},
       {39, 0, 39, 0},
       {0, 0, 0, 0, 0, 0, 786432},
       {0, 0, 0, 0, 0, 0, 30670848},
       958464,
       {384, 479232, 14976, 0, 13104, 1872, 33024, 129444, 223011},
       {0, 5922, 1758},
       0.0001220703125},
      {"uniform:rows=1048576,per_row=8",
       {1048576, 1048576, 8388608},
       {8, 0, 8, 0},
       {0, 0, 0, 0, 1048576},
       {0, 0, 0, 0, 8388608},
       262144,
       {512, 131072, 4096, 0, 0, 4096, 12288, 131019, 131068},
       {0, 0, 2048},
       0},
      {"trace3:n=2145",
       {4601025, 4601025, 13796640},
       {2.9986013986013984, 0.037383347686208775, 3, 0},
       {0, 2, 4601023},
       {0, 2, 13796638},
       431347,
       {1020, 97880, 3060, 3, 3057, 0, 4079, 42836, 32622},
       {0, 2040, 0},
       0},
      {"kron:scale=18",
       {262144, 262144, 7610781},
       {29.032825469970703, 188.02800930184873, 25272, 88386},
       {88386, 34967, 33095, 32053, 17922, 24415, 13672, 5018, 8568, 50, 3010, 816, 0, 153, 18, 1},
       {0, 34967, 79319, 169874, 193932, 496904, 756028, 343664, 1575788, 25201, 1688086, 1335052,
        0, 684590, 202104, 25272},
       1768553,
       {128, 73064, 10418, 3, 7, 10408, 21758, 70798, 69659},
       {13, 410, 794},
       0.39889790295423239},
      {"lp:rows=4284,cols=1090000",
       {4284, 1090000, 10776890},
       {2515.6139122315594, 2852.7011792456906, 83266, 0},
       {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2631, 1240, 310, 78, 19, 5, 1},
       {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4127528, 3384757, 1692024, 853224, 416275, 219816, 83266},
       1610598,
       {4, 32768, 1024, 0, 0, 1024, 2080, 32699, 32768},
       {0, 512, 0},
       0},
      {"web:n=1000000",
       {1000000, 1000000, 3342569},
       {3.3425690000000001, 3.8955011847307914, 698, 0},
       {0, 39401, 715253, 196030, 38961, 8275, 1679, 325, 61, 11, 4},
       {0, 39401, 1682757, 943049, 393508, 171011, 70134, 26893, 9785, 3705, 2326},
       466768,
       {481, 51657, 7338, 0, 0, 7338, 18015, 42443, 37009},
       {6, 4, 1011},
       0.0094290204295442645},
      {"rgg:scale=20",
       {1048576, 1048576, 14663666},
       {13.98436164855957, 2.1436802716079697, 25, 0},
       {0, 0, 8, 2144, 801865, 244559},
       {0, 0, 23, 14052, 10536609, 4112982},
       593404,
       {512, 229986, 9291, 1084, 7916, 291, 22678, 93635, 58377},
       {1952, 1824, 73},
       0},
      {"fem3d:n=40,dof=3",
       {192000, 192000, 14787288},
       {77.017124999999993, 9.8822736115923746, 81, 0},
       {0, 0, 0, 0, 0, 24, 27360, 164616},
       {0, 0, 0, 0, 0, 576, 1452816, 13333896},
       471528,
       {93, 227943, 7245, 4968, 2277, 0, 8855, 63937, 80705},
       {8, 3589, 0},
       0.0011003790194400293},
      {"dense 2000 x 2000",
       {2000, 2000, 4000000},
       {2000, 0, 2000, 0},
       {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2000},
       {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4000000},
       126000,
       {4, 32768, 1024, 1024, 0, 0, 1148, 1024, 8192},
       {512, 0, 0},
       1},
  };
  return all;
}

const spmv_machine machines[] = {hopper_machine(132), x86_machine("AVX2", 2),
                                 x86_machine("AVX3", 16)};

/// Calls f(matrix, features, machine).
template <class F> void for_each_case(F f) {
  for (const recorded& m : matrices())
    for (const spmv_machine& machine : machines) {
      SCOPED_TRACE(std::string(m.name) + " on " + machine.name);
      f(m, m.features(), machine);
    }
}

TEST(ChoosePlan, IsPure) {
  for_each_case([](const recorded&, const spmv_features& f, const spmv_machine& machine) {
    const auto decision = choose_plan(f, {}, machine, {});
    ASSERT_GE(decision.candidates.size(), 2u);
    EXPECT_TRUE(decision.chosen().refused.empty());
    EXPECT_FALSE(decision.reasons.empty());
    for (const auto& c : decision.candidates) {
      EXPECT_GT(c.seconds, 0);
      EXPECT_GT(c.bytes, 0);
    }
    const auto again = choose_plan(f, {}, machine, {});
    EXPECT_EQ(again.chosen().format, decision.chosen().format);
    EXPECT_EQ(again.reasons, decision.reasons);
  });
}

/// GFLOP/s in double on an H200, as docs/ell_csr.md and docs/packed.md have them (one run, medians
/// of 7 queues of 30 products); 0: not told there.
struct measured {
  const char* name;
  double csr, ell_csr, packed_csr;

  [[nodiscard]] double of(const std::string& f) const {
    return f == "csr" ? csr : f == "ell_csr" ? ell_csr : f == "packed_csr" ? packed_csr : 0;
  }
  [[nodiscard]] double best() const { return std::max({csr, ell_csr, packed_csr}); }
};
constexpr measured on_h200[] = {{"27-point stencil, 128^3", 599, 921, 0},
                                {"poisson3d:n=128", 520, 752, 572},
                                {"poisson2d9:n=1024", 395, 849, 0},
                                {"poisson2d:n=1000", 419, 713, 433},
                                {"fem3d:n=40,dof=3", 587, 771, 619},
                                {"rgg:scale=20", 492, 563, 0},
                                {"qcd:n=16", 528, 771, 0},
                                {"uniform:rows=1048576,per_row=8", 221, 250, 0},
                                {"trace3:n=2145", 422, 454, 438},
                                {"kron:scale=18", 226, 317, 0},
                                {"circuit, 3 million rows", 366, 404, 0},
                                {"lp:rows=4284,cols=1090000", 219, 231, 0},
                                {"web:n=1000000", 231, 240, 0},
                                {"dense 2000 x 2000", 422, 657, 580}};

const recorded& recorded_as(const std::string& name) {
  for (const recorded& m : matrices())
    if (name == m.name) return m;
  throw std::logic_error("no features of " + name);
}

/// How much slower the measured format that a machine ranks first is than the fastest one.
double slowdown(const measured& m, const spmv_machine& machine) {
  const auto decision =
      choose_plan(recorded_as(m.name).features(), {}, machine, {.multiplies = 1e6});
  for (const plan_candidate& c : decision.candidates)
    if (m.of(c.format) > 0) return m.best() / m.of(c.format);
  throw std::logic_error("nothing that was measured is a candidate");
}

TEST(ChoosePlan, TakesWhatWasMeasuredToBeFast) {
  int near = 0;
  for (const measured& m : on_h200) {
    const double slower = slowdown(m, hopper_machine(132));
    near += slower <= 1.1 ? 1 : 0;
    EXPECT_LE(slower, 1.25) << m.name;
  }
  EXPECT_GE(near, static_cast<int>(std::size(on_h200)) - 1);
  // Costs that are wrong are found out.
  spmv_machine wrong = hopper_machine(132);
  for (const char* kernel : {"ell_diagonal", "ell_even", "ell_slices", "ell_sorted"})
    wrong.of(kernel).entry *= 10;
  near = 0;
  for (const measured& m : on_h200) near += slowdown(m, wrong) <= 1.1 ? 1 : 0;
  EXPECT_LT(near, 10);
}

TEST(ChoosePlan, PredictsWhatWasMeasured) {
  double errors = 0;
  int count = 0;
  for (const measured& m : on_h200) {
    const spmv_features f = recorded_as(m.name).features();
    std::vector<std::string> seen; // of two candidates in ell_csr the first is what was measured
    for (const plan_candidate& c :
         choose_plan(f, {}, hopper_machine(132), {.multiplies = 1e6}).candidates) {
      if (m.of(c.format) == 0 || std::find(seen.begin(), seen.end(), c.format) != seen.end())
        continue;
      seen.push_back(c.format);
      const double seconds = 2e-9 * static_cast<double>(f.entries) / m.of(c.format);
      const double error = std::abs(c.seconds - seconds) / seconds;
      EXPECT_LT(error, 0.6) << m.name << " in " << c.format << ": " << c.seconds << " s predicted, "
                            << seconds << " measured";
      errors += error;
      ++count;
    }
  }
  EXPECT_GE(count, 28);
  EXPECT_LT(errors / count, 0.2);
}

TEST(ChoosePlan, OneProductIsNeverConverted) {
  for_each_case([](const recorded&, const spmv_features& f, const spmv_machine& machine) {
    for (const double multiplies : {0.0, 1.0})
      EXPECT_EQ(choose_plan(f, {}, machine, {.multiplies = multiplies}).chosen().format, "csr");
  });
}

TEST(ChoosePlan, MoreProductsNeverLeadBackToCsr) {
  for_each_case([](const recorded&, const spmv_features& f, const spmv_machine& machine) {
    bool converted = false;
    for (double multiplies = 1; multiplies < 1e9; multiplies *= 3) {
      const bool csr =
          choose_plan(f, {}, machine, {.multiplies = multiplies}).chosen().format == "csr";
      EXPECT_FALSE(converted && csr) << multiplies;
      converted = converted || !csr;
    }
  });
}

TEST(ChoosePlan, KeepsToTheMemoryLimit) {
  for_each_case([](const recorded& m, const spmv_features& f, const spmv_machine& machine) {
    const double csr =
        12.0 * static_cast<double>(m.shape[2]) + 4.0 * static_cast<double>(m.shape[0]);
    EXPECT_LE(choose_plan(f, {}, machine, {}).chosen().bytes, 2.01 * csr);
    const auto little = choose_plan(f, {}, machine, {.memory_limit = 1});
    EXPECT_EQ(little.chosen().format, "csr");
    for (const auto& c : little.candidates) {
      if (c.format != "csr") {
        EXPECT_NE(c.refused.find("allowed"), std::string::npos);
      }
    }
  });
}

/// Announced updates choose dynamic_csr, within the limit that the caller sets.
void expect_dynamic(const spmv_features& f, const spmv_machine& machine) {
  const auto changing = choose_plan(f, {}, machine, {.will_change = true, .updates = 20});
  EXPECT_EQ(changing.chosen().format, "dynamic_csr");
  ASSERT_FALSE(changing.reasons.empty());
  EXPECT_NE(changing.reasons.front().find("20 batches of changes are announced"),
            std::string::npos);
  if (f.entries > 0) {
    EXPECT_NE(changing.reasons.back().find("compact()"), std::string::npos);
  }
  for (std::size_t i = 1; i < changing.candidates.size(); ++i)
    EXPECT_FALSE(changing.candidates[i].refused.empty()) << changing.candidates[i].format;
  EXPECT_EQ(choose_plan(f, {}, machine, {.format = "bsr", .updates = 20}).chosen().format, "bsr");
  const auto little = choose_plan(f, {}, machine, {.memory_limit = 1, .updates = 20});
  EXPECT_EQ(little.chosen().format, "csr");
  EXPECT_NE(little.reasons.front().find("allowed"), std::string::npos) << little.reasons.front();
  EXPECT_THROW(choose_plan(f, {}, machine, {.updates = -1}), bad_input);
}

TEST(ChoosePlan, HintsAreHeeded) {
  for_each_case([](const recorded& m, const spmv_features& f, const spmv_machine& machine) {
    EXPECT_EQ(choose_plan(f, {}, machine, {.will_change = true}).chosen().format, "csr");
    expect_dynamic(f, machine);
    for (const std::string& format : planned_formats())
      EXPECT_EQ(choose_plan(f, {}, machine, {.format = format}).chosen().format, format);
    const auto reorder = choose_plan(f, {}, machine, {.may_reorder = true});
    const bool offered =
        std::any_of(reorder.candidates.begin(), reorder.candidates.end(), [](const auto& c) {
          return c.format == "csr_k" && c.options.back() == plan_option{"reordered", 1};
        });
    EXPECT_EQ(offered, !machine.device && m.shape[0] == m.shape[1]);
  });
}

TEST(ChoosePlan, SeesWhatAMatrixIs) {
  const spmv_machine& h200 = machines[0];
  const auto kernel_for = [&](const char* name) {
    for (const recorded& m : matrices())
      if (std::string(name) == m.name)
        return choose_plan(m.features(), {}, h200, {}).chosen().kernel;
    ADD_FAILURE() << name;
    return std::string();
  };
  EXPECT_EQ(kernel_for("27-point stencil, 128^3"), "ell_diagonal");
  // Both take the few huge rows apart.
  const std::string circuit = kernel_for("circuit, 3 million rows");
  EXPECT_TRUE(circuit == "ell_sorted" || circuit == "csr_k");
  EXPECT_EQ(kernel_for("email-Enron"), "ell_sorted");
}

TEST(ChoosePlan, FindsBlocks) {
  // In blocks of b x b, b - 1 of b rows have the columns of the row before, and b - 1 of b columns
  // follow their neighbour.
  for (int b = 2; b <= 8; ++b) {
    spmv_features f;
    f.rows = f.cols = 1 << 20;
    f.sampled_groups = 1000;
    f.sampled_rows = 32 * 1000;
    f.sampled_entries = 32 * 27 * b * 1000;
    f.twin_rows = 31 * 1000 * (b - 1) / b;
    f.following_entries = f.sampled_entries * (b - 1) / b;
    EXPECT_EQ(planning::bsr_format::block_of(f), b);
    f.following_entries = f.sampled_entries / 10; // like rows, but scattered columns
    EXPECT_EQ(planning::bsr_format::block_of(f), 0);
    f.following_entries = f.sampled_entries * (b - 1) / b;
    f.twin_rows = 0; // runs of columns, but rows that differ: a band
    EXPECT_EQ(planning::bsr_format::block_of(f), 0);
  }
  EXPECT_EQ(planning::bsr_format::block_of({}), 0);
}

TEST(ChoosePlan, EmptyMatrices) {
  for (const spmv_machine& machine : machines)
    for (const std::int64_t rows : {0, 1000}) {
      spmv_features f;
      f.rows = f.cols = rows;
      f.row_length.empty = rows;
      f.length_histogram[0] = rows;
      const auto decision = choose_plan(f, {}, machine, {});
      EXPECT_EQ(decision.chosen().format, "csr");
      EXPECT_EQ(decision.reasons.size(), 1u);
    }
}

TEST(EllCsrThresholds, AreThePapers) {
  // Rows shorter than 256 with 40 entries on average: T = 64, M = 32, L = 32 x 32.
  const auto forty = paper_thresholds(1000, 40'000);
  EXPECT_EQ(forty.long_row, 64);
  EXPECT_EQ(forty.lane_entries, 32);
  EXPECT_EQ(forty.piece, 32 * 32);
  const auto three = paper_thresholds(1000, 3'000); // T = 32, M at least 6
  EXPECT_EQ(three.long_row, 32);
  EXPECT_EQ(three.lane_entries, 6);
  EXPECT_EQ(three.piece, 32 * 6);
  EXPECT_EQ(paper_thresholds(10, 2'500).long_row, 256);
  const auto none = paper_thresholds(0, 0); // every row is longer: all of them are long
  EXPECT_EQ(none.long_row, 1);
  EXPECT_EQ(none.piece, 32 * 32);
}

} // namespace
} // namespace lacuna::test
