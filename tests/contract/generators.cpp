// Every generated matrix keeps its promises: the same bits everywhere, its stated size and
// structure. What specs may say is in generator_parameters.cpp.
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "contract/generators.hpp"

namespace lacuna::test {
namespace {

using namespace generated;

host_context with_threads(int threads) { return host_context({.threads = threads}); }
/// Small, but with inner rows, several parts for each thread, and every parameter somewhere away
/// from its default; with the bits they had when they were written, for double.
struct golden {
  const char* spec;
  std::uint64_t bits;
};
const std::vector<golden>& small_matrices() {
  static const std::vector<golden> all = {
      {"poisson2d:n=45", 0xebaa188cf480b196},
      {"poisson2d:n=45,points=9", 0xa58520057738996b},
      {"poisson2d9:n=40", 0xd98835080b85f469},
      {"poisson3d:n=13", 0x79ff4fc32e9dbb89},
      {"poisson3d:n=13,points=27", 0x2303f55062efea6d},
      {"poisson3d27:n=12", 0xbff97f194f6595fa},
      {"anisotropic:n=45,epsilon=0.3", 0xb62346e01a497b1b},
      {"anisotropic:n=12,dim=3", 0x39b0aa73f98817a0},
      {"variable:n=45", 0x679e4f760f7f93dc},
      {"variable:n=13,dim=3,contrast=0.7", 0xb0e5937e249384ba},
      {"tridiagonal:n=2500", 0x582bfa79989d859a},
      {"fem3d:n=7,dof=1", 0xf845d28371ca963f},
      {"fem3d:n=7,dof=4", 0x580abff44975b829},
      {"elasticity3d:n=7", 0xb0f26f6a630d1c7e},
      {"elasticity3d:n=6,poisson=0.1,clamped=0", 0x891e49ba4a6d7de0},
      {"kkt:n=9,beta=0.5", 0x08509de2c342dcc4},
      {"qcd:n=3", 0xe2de43a280249a9b},
      {"epidemiology:n=60", 0x7b4d4ff2f474967c},
      {"cage:length=4", 0x0586384d474e41a0},
      {"cage:length=5,field=0.6", 0xd4f08df8765fd7d7},
      {"diagonal:n=2000", 0x23a0eb3a80f7783f},
      {"banded:n=2000,half_bandwidth=5", 0xf5546b3e615fe872},
      {"dense:n=40,m=600", 0x1ba4707628ed8826},
      {"arrow:n=2000", 0x6f95e88b7e7be1d7},
      {"localized:n=1500,block=20,clusters=3", 0x0a0dac2612b24f8b},
      {"uniform:rows=2000", 0x64e57887a2ab533f},
      {"uniform:rows=600,cols=3001,per_row=9", 0x8d7e5dd0972e58ae},
      {"lp:rows=600,cols=4000,per_col=7.5", 0xc4a8e78d57c80104},
      {"circuit:n=3000", 0xe4b7f1af5d192d2a},
      {"circuit:n=3000,hubs=7,hub=500", 0xa8229014c03214de},
      {"rmat:scale=10,edges=8", 0x8a9ac65e8b85167d},
      {"rmat:scale=10,edges=8,a=0.57,b=0.19,c=0.19", 0x8a9ac65e8b85167d},
      {"rmat:scale=10,edges=8,a=0.5,b=0.2,c=0.2", 0xc190bd6ce6203493},
      {"kron:scale=10,edges=8", 0x923f2ac3df5ecc78},
      {"web:n=4000,degree=6.5", 0x2c41633bb92845d6},
      {"patents:n=4000", 0xd27e72ca5ae31742},
      {"debruijn:scale=11", 0x7af2a41ab65ae53c},
      {"rgg:scale=11", 0xfdd0fdcfdbe63f27},
      {"rgg:scale=12,degree=30.5", 0xf27881b7b3897c4b},
      {"mesh2d:n=45", 0x022197f902006035},
      {"mesh2d:n=45,shuffle=1", 0x9b1d108a26d29356},
      {"road:n=45", 0x52e588b29cab3367},
      {"trace3:n=45", 0xa2701feeadc1e5b2},
  };
  return all;
}

double mean_length(const matrix& a) {
  return static_cast<double>(a.size()) / static_cast<double>(a.shape().row);
}
std::int64_t longest(const matrix& a) {
  std::int64_t result = 0;
  for (std::int64_t i = 0; i < a.shape().row; ++i) result = std::max(result, length(a, i));
  return result;
}
std::int64_t shortest(const matrix& a) {
  std::int64_t result = a.shape().col;
  for (std::int64_t i = 0; i < a.shape().row; ++i) result = std::min(result, length(a, i));
  return result;
}
matrix flipped(const matrix& a) {
  auto columns = to_csc(host_engine::context(), a);
  return std::move(columns.transpose());
}
bool symmetric(const matrix& a) { return bits_of(flipped(a)) == bits_of(a); }

/// The pivots of elimination without exchanges: as many are negative as eigenvalues are.
std::vector<double> pivots(const matrix& a) {
  const auto n = static_cast<std::size_t>(a.shape().row);
  const auto all = to_dense(host_engine::context(), a);
  std::vector<double> m(all.values().begin(), all.values().end()), result(n);
  for (std::size_t k = 0; k < n; ++k) {
    result[k] = m[k * n + k];
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = m[i * n + k] / result[k];
      if (factor == 0) continue;
      for (std::size_t j = k; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return result;
}
bool positive_definite(const matrix& a) {
  return symmetric(a) && std::ranges::all_of(pivots(a), [](double p) { return p > 1e-9; });
}

TEST(Generators, AllAreTestedHereAndDescribed) {
  std::set<std::string> tested;
  for (const auto& m : small_matrices())
    tested.insert(std::string(m.spec).substr(0, std::string(m.spec).find(':')));
  std::set<std::string> names;
  for (const auto& g : gen::generators()) {
    EXPECT_TRUE(tested.contains(g.name)) << g.name;
    EXPECT_TRUE(names.insert(g.name).second) << g.name << " twice";
    EXPECT_FALSE(g.summary.empty()) << g.name;
    const auto size = gen::expected_size(g.name);
    EXPECT_GE(size.entries, 100'000) << g.name;
    EXPECT_NO_THROW((void)gen::expected_size(g.name + ":" + g.parameters));
  }
  EXPECT_EQ(tested.size(), names.size());
}

TEST(Generators, KeepTheInvariantsAndTheExpectedSize) {
  for (const auto& [spec, bits] : small_matrices()) {
    SCOPED_TRACE(spec);
    const auto a = make(spec);
    EXPECT_TRUE(a.order().sorted && a.order().unique);
    EXPECT_NO_THROW(check(host_engine::context(), a));
    const auto size = gen::expected_size(spec);
    EXPECT_EQ(size.rows, a.shape().row);
    EXPECT_EQ(size.cols, a.shape().col);
    EXPECT_GE(size.entries, a.size());
    EXPECT_GT(a.size(), 0);
  }
  for (const char* exact :
       {"poisson2d:n=9", "poisson3d:n=5", "poisson3d27:n=5", "fem3d:n=4,dof=2", "elasticity3d:n=3",
        "elasticity3d:n=3,clamped=0", "kkt:n=4", "qcd:n=3", "epidemiology:n=20", "cage:length=4",
        "banded:n=20,half_bandwidth=30", "arrow:n=9", "mesh2d:n=10", "trace3:n=10", "trace3:n=11",
        "debruijn:scale=4", "uniform:rows=50", "dense:n=3,m=4", "tridiagonal:n=5"})
    EXPECT_EQ(gen::expected_size(exact).entries, make(exact).size()) << exact;
}

TEST(Generators, RmatIsTheOneOfPublishedFigures) {
  const auto a = make("rmat:scale=17,edges=8,a=0.5,b=0.2,c=0.2");
  std::int64_t products = 0; // of A A
  for (const auto column : a.colind()) products += length(a, column);
  EXPECT_NEAR(static_cast<double>(products), 99.8e6, 1e6);
}

TEST(Generators, HaveTheSameBitsForAllThreadsWidthsAndMachines) {
  for (const auto& [spec, bits] : small_matrices()) {
    SCOPED_TRACE(spec);
    EXPECT_EQ(bits_of(make(spec)), bits);
    for (const int threads : {1, 2, 7}) {
      const auto ctx = with_threads(threads);
      EXPECT_EQ(bits_of(gen::generate<double, std::int32_t, std::int32_t>(ctx, spec)), bits);
    }
    const auto& ctx = host_engine::context();
    EXPECT_EQ(bits_of(gen::generate<double, std::int32_t, std::int64_t>(ctx, spec)), bits);
    EXPECT_EQ(bits_of(gen::generate<double, std::int64_t, std::int32_t>(ctx, spec)), bits);
    const auto narrow = gen::generate<float, std::int32_t, std::int32_t>(ctx, spec);
    EXPECT_EQ(bits_of(gen::generate<float, std::int64_t, std::int64_t>(ctx, spec)),
              bits_of(narrow));
    const auto a = make(spec);
    ASSERT_EQ(narrow.size(), a.size());
    if (std::string_view(spec).starts_with("kron") || std::string_view(spec).starts_with("rmat"))
      continue; // repeated edges are summed in the matrix's own type
    for (std::int64_t k = 0; k < a.size(); ++k)
      ASSERT_EQ(narrow.values()[k], static_cast<float>(a.values()[k]));
  }
}

TEST(Generators, SeedsMatter) {
  int tried = 0;
  for (const auto& g : gen::generators()) {
    if (g.parameters.find("seed") == std::string::npos) continue;
    for (const auto& [spec, bits] : small_matrices()) {
      const std::string text = spec;
      if (!text.starts_with(g.name + ":")) continue;
      EXPECT_NE(bits_of(make(text + ",seed=9223372036854775807")), bits) << spec;
      ++tried;
    }
  }
  EXPECT_GE(tried, 10);
}

TEST(Generators, SymmetricOnesAreSymmetricToTheBit) {
  for (const char* spec : {"poisson2d:n=20",
                           "poisson2d9:n=20",
                           "poisson3d:n=9",
                           "poisson3d27:n=9",
                           "anisotropic:n=20,epsilon=0.3",
                           "anisotropic:n=8,dim=3",
                           "variable:n=40,contrast=0.7",
                           "variable:n=20,dim=3",
                           "fem3d:n=5,dof=4",
                           "elasticity3d:n=6,poisson=0.41",
                           "kkt:n=7",
                           "kron:scale=9",
                           "rgg:scale=11",
                           "rgg:scale=8,degree=900",
                           "mesh2d:n=60",
                           "mesh2d:n=60,shuffle=1",
                           "road:n=50",
                           "trace3:n=31",
                           "tridiagonal:n=9",
                           "diagonal:n=9"})
    EXPECT_TRUE(symmetric(make(spec))) << spec;
}

TEST(Generators, PositiveDefiniteOnes) {
  for (const char* spec : {"poisson2d:n=9", "poisson2d9:n=9", "poisson3d:n=6", "poisson3d27:n=6",
                           "anisotropic:n=16,epsilon=1e-3", "anisotropic:n=6,dim=3,epsilon=100",
                           "variable:n=20,contrast=1e6", "variable:n=9,dim=3,contrast=1e-3",
                           "fem3d:n=4,dof=1", "fem3d:n=3,dof=6", "elasticity3d:n=1",
                           "elasticity3d:n=4,poisson=0.45", "mesh2d:n=15", "tridiagonal:n=100"})
    EXPECT_TRUE(positive_definite(make(spec))) << spec;
}

TEST(Generators, VariableJumps) {
  const auto a = make("variable:n=64,contrast=1e6");
  const auto [low, high] = std::ranges::minmax(a.values());
  EXPECT_EQ(-low, 1e6) << "inside a block";
  EXPECT_GE(high, 4e6);
  std::set<double> faces;
  for (const double v : a.values())
    if (v < 0) faces.insert(-v);
  EXPECT_EQ(faces.size(), 3U) << "1, contrast, and their harmonic mean";
}

TEST(Generators, RowLengths) {
  struct range {
    const char* spec;
    double mean_from, mean_to;
    std::int64_t least_from, most_from, most_to;
  };
  for (const auto& [spec, from, to, least, most_from, most_to] :
       std::vector<range>{{"poisson2d:n=50", 4.9, 5, 3, 5, 5},
                          {"poisson2d:n=50,points=9", 8.7, 9, 4, 9, 9},
                          {"poisson3d:n=20", 6.6, 7, 4, 7, 7},
                          {"poisson3d:n=20,points=27", 24, 27, 8, 27, 27},
                          {"fem3d:n=8,dof=6", 120, 162, 48, 162, 162},
                          {"elasticity3d:n=10", 65, 81, 24, 81, 81},
                          {"kkt:n=16", 20, 28, 2, 28, 30},
                          {"qcd:n=4", 39, 39, 39, 39, 39},
                          {"epidemiology:n=200", 3.9, 4, 2, 4, 4},
                          {"cage:length=6", 15, 16, 11, 25, 41},
                          {"debruijn:scale=10", 2, 2, 2, 2, 2},
                          {"rgg:scale=14", 13, 15, 1, 20, 40},
                          {"rgg:scale=13,degree=40", 34, 40, 5, 45, 80},
                          {"mesh2d:n=100", 6.9, 7, 3, 9, 9},
                          {"road:n=200", 2.35, 2.45, 1, 4, 4},
                          {"road:n=200,degree=2", 1.98, 2, 1, 3, 3},
                          {"trace3:n=200", 2.98, 3, 1, 3, 3},
                          {"circuit:n=50000", 5, 6, 1, 4500, 5500},
                          {"circuit:n=50000,hubs=2,hub=20000", 5, 7, 1, 19000, 26000},
                          {"circuit:n=5000,hubs=0", 4, 5, 1, 5, 5},
                          {"web:n=50000,degree=8", 6, 8, 1, 300, 4096},
                          {"lp:rows=400,cols=50000", 1100, 1250, 500, 10000, 50000},
                          {"patents:n=50000", 4, 4.6, 0, 400, 770},
                          {"localized:n=1000,block=10,clusters=3", 30, 30, 30, 30, 30},
                          {"uniform:rows=100,cols=1000,per_row=7", 7, 7, 7, 7, 7}}) {
    SCOPED_TRACE(spec);
    const auto a = make(spec);
    EXPECT_GE(mean_length(a), from);
    EXPECT_LE(mean_length(a), to);
    EXPECT_GE(shortest(a), least);
    EXPECT_GE(longest(a), most_from);
    EXPECT_LE(longest(a), most_to);
  }
  EXPECT_EQ(make("qcd:n=8").size(), 1916928) << "as conf5_4-8x8-05";
  EXPECT_EQ(gen::expected_size("epidemiology:n=1024").entries, 2100225) << "as mc2depi";
  EXPECT_EQ(gen::expected_size("kkt:n=80").rows, 1062400) << "as nlpkkt80";
}

TEST(Generators, MarkovChainsSumToOne) {
  for (const char* spec : {"epidemiology:n=60", "cage:length=5,field=0.9", "cage:length=1"}) {
    const auto a = make(spec);
    for (std::int64_t i = 0; i < a.shape().row; ++i) {
      double sum = 0;
      for (auto k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k) {
        EXPECT_GT(a.values()[k], 0) << spec;
        sum += a.values()[k];
      }
      ASSERT_NEAR(sum, 1, 1e-14) << spec;
    }
  }
  const auto a = make("cage:length=4"), t = flipped(a);
  EXPECT_TRUE(std::ranges::equal(a.colind(), t.colind())) << "structurally symmetric";
  EXPECT_FALSE(std::ranges::equal(a.values(), t.values()));
}

TEST(Generators, UnclampedElasticityHasSixRigidMotions) {
  constexpr std::int64_t n = 4, side = n + 1;
  const auto a = make("elasticity3d:n=4,clamped=0");
  ASSERT_EQ(a.shape().row, 3 * side * side * side);
  std::vector<double> u(static_cast<std::size_t>(a.shape().row)), f(u.size());
  for (int motion = 0; motion < 6; ++motion) {
    for (std::int64_t node = 0; node < side * side * side; ++node) {
      const std::int64_t at_node[3] = {node % side, node / side % side, node / side / side};
      double* const moved = u.data() + 3 * node;
      std::fill(moved, moved + 3, 0);
      if (motion < 3) {
        moved[motion] = 1;
      } else {
        const int i = (motion + 1) % 3, j = (motion + 2) % 3; // rotates in this plane
        moved[i] = -static_cast<double>(at_node[j]);
        moved[j] = static_cast<double>(at_node[i]);
      }
    }
    multiply(a, u, f);
    EXPECT_LT(norm_inf(f), 1e-13) << "motion " << motion;
  }
  // Stretching needs force.
  for (std::size_t k = 0; k < u.size(); ++k)
    u[k] = k % 3 == 0 ? static_cast<double>(static_cast<std::int64_t>(k) / 3 % side) : 0;
  multiply(a, u, f);
  EXPECT_GT(dot(u, f), 1);
}

TEST(Generators, KktHasANegativeEigenvalueForEachCell) {
  const auto a = make("kkt:n=4");
  const auto p = pivots(a);
  EXPECT_EQ(std::ranges::count_if(p, [](double x) { return x < -1e-9; }), 64);
  EXPECT_EQ(std::ranges::count_if(p, [](double x) { return x > 1e-9; }), 64 + 96);
  EXPECT_EQ(at(a, 64, 64), 0.01) << "beta";
}

TEST(Generators, DeBruijnShiftsInABit) {
  const auto a = make("debruijn:scale=5");
  EXPECT_NE(at(a, 0b10110, 0b01100), 0);
  EXPECT_NE(at(a, 0b10110, 0b01101), 0);
}

TEST(Generators, PatentsCiteEarlierOnes) {
  const auto a = make("patents:n=20000");
  std::int64_t empty = 0;
  for (std::int64_t i = 0; i < a.shape().row; ++i) {
    if (length(a, i) == 0) ++empty;
    for (auto k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k) ASSERT_LT(a.colind()[k], i);
  }
  EXPECT_GT(empty, 4000);
  EXPECT_LT(empty, 8000);
}

TEST(Generators, WebHasSitesAndPopularPages) {
  const auto a = make("web:n=50000");
  std::int64_t near = 0;
  std::vector<std::int64_t> in(50000);
  for (std::int64_t i = 0; i < a.shape().row; ++i)
    for (auto k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k) {
      near += std::abs(a.colind()[k] - i) < 1024 ? 1 : 0;
      ++in[static_cast<std::size_t>(a.colind()[k])];
    }
  EXPECT_GT(near, a.size() / 2);
  EXPECT_LT(near, a.size() * 9 / 10);
  EXPECT_GT(*std::ranges::max_element(in), 500);
}

TEST(Generators, LpColumnsAreShort) {
  const auto t = flipped(make("lp:rows=400,cols=20000"));
  EXPECT_NEAR(mean_length(t), 10, 0.6);
  EXPECT_LT(longest(t), 40);
}

TEST(Generators, RoadsReachEverything) {
  const auto a = make("road:n=40,degree=2");
  EXPECT_EQ(a.size(), 2 * (1600 - 1)) << "a tree";
  std::vector<bool> seen(1600);
  std::vector<std::int64_t> next = {0};
  seen[0] = true;
  while (!next.empty()) {
    const auto i = next.back();
    next.pop_back();
    for (auto k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
      if (const auto j = a.colind()[k]; !seen[static_cast<std::size_t>(j)]) {
        seen[static_cast<std::size_t>(j)] = true;
        next.push_back(j);
      }
  }
  EXPECT_TRUE(std::ranges::all_of(seen, [](bool b) { return b; }));
}

TEST(Generators, ShufflingRenumbersTheSameMesh) {
  const auto a = make("mesh2d:n=50"), b = make("mesh2d:n=50,shuffle=1");
  std::map<double, int> degrees;
  std::int64_t far_a = 0, far_b = 0;
  for (std::int64_t i = 0; i < 2500; ++i) {
    ++degrees[at(a, i, i)];
    --degrees[at(b, i, i)];
    for (auto k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
      far_a += std::abs(a.colind()[k] - i) > 51 ? 1 : 0;
    for (auto k = b.rowptr()[i]; k < b.rowptr()[i + 1]; ++k)
      far_b += std::abs(b.colind()[k] - i) > 51 ? 1 : 0;
  }
  for (const auto& [degree, difference] : degrees) EXPECT_EQ(difference, 0) << degree;
  EXPECT_GE(degrees.size(), 4U) << "an irregular mesh";
  EXPECT_EQ(far_a, 0);
  EXPECT_GT(far_b, b.size() / 2);
}

TEST(Generators, RggIsLocal) {
  const auto a = make("rgg:scale=14");
  std::int64_t near = 0;
  for (std::int64_t i = 0; i < a.shape().row; ++i)
    for (auto k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
      near += std::abs(a.colind()[k] - i) < 256 ? 1 : 0;
  EXPECT_GT(near, a.size() / 2);
}

} // namespace
} // namespace lacuna::test
