// What a spec may say: degenerate parameters make small matrices, and what makes no sense or does
// not fit is refused in words, before the work.
#include <atomic>
#include <map>
#include <set>

#include "core/narrow_limit.hpp"
#include "contract/generators.hpp"

namespace lacuna::test {
namespace {

using namespace generated;

TEST(Generators, DegenerateParametersMakeSmallMatrices) {
  for (const char* name :
       {"poisson2d",   "poisson2d9", "poisson3d",    "poisson3d27", "anisotropic", "variable",
        "tridiagonal", "fem3d",      "elasticity3d", "kkt",         "qcd",         "epidemiology",
        "diagonal",    "banded",     "dense",        "arrow",       "localized",   "circuit",
        "web",         "patents",    "mesh2d",       "road",        "trace3"})
    for (const char* n : {":n=0", ":n=1", ":n=2", ":n=3"}) {
      const std::string spec = std::string(name) + n;
      SCOPED_TRACE(spec);
      const auto a = make(spec);
      EXPECT_NO_THROW(check(host_engine::context(), a));
      const auto size = gen::expected_size(spec);
      EXPECT_EQ(size.rows, a.shape().row);
      EXPECT_GE(size.entries, a.size());
    }
  for (const char* spec : {"rmat:scale=0",
                           "rmat:scale=3,edges=0",
                           "kron:scale=0",
                           "debruijn:scale=0",
                           "debruijn:scale=1",
                           "rgg:scale=0",
                           "rgg:scale=1",
                           "rgg:scale=2",
                           "rgg:scale=3",
                           "rgg:scale=4,degree=1000",
                           "rgg:scale=9,degree=0",
                           "cage:length=0",
                           "cage:length=1",
                           "cage:length=2",
                           "uniform:rows=0",
                           "uniform:rows=3,cols=1,per_row=1",
                           "uniform:rows=3,per_row=0",
                           "lp:rows=0,cols=0",
                           "lp:rows=0,cols=0,per_col=0",
                           "lp:rows=5,cols=0",
                           "lp:rows=1,cols=9,per_col=1",
                           "lp:rows=9,cols=1,per_col=9",
                           "dense:n=0,m=5",
                           "dense:n=5,m=0",
                           "banded:n=3,half_bandwidth=1000000",
                           "localized:n=5,block=4096,clusters=1024",
                           "localized:n=5,clusters=0",
                           "circuit:n=1,hubs=64,hub=1",
                           "circuit:n=3,hubs=64,hub=1000",
                           "web:n=5,degree=1000",
                           "web:n=5,degree=0",
                           "patents:n=5,degree=500",
                           "mesh2d:n=1,shuffle=1",
                           "mesh2d:n=2,shuffle=1",
                           "road:n=3,degree=4",
                           "poisson2d:",
                           "diagonal:n=3,"}) {
    SCOPED_TRACE(spec);
    const auto a = make(spec);
    EXPECT_NO_THROW(check(host_engine::context(), a));
    EXPECT_GE(gen::expected_size(spec).entries, a.size());
  }
  EXPECT_EQ(make("cage:length=0").values()[0], 1);
  EXPECT_EQ(make("debruijn:scale=0").size(), 1);
}

TEST(Generators, GreatestParametersAreRefusedAtOnce) {
  for (const char* spec : {"poisson2d:n=16777216,points=9",
                           "poisson2d9:n=16777216",
                           "poisson3d:n=65536,points=27",
                           "poisson3d27:n=65536",
                           "anisotropic:n=65536,dim=3",
                           "variable:n=65536,dim=3",
                           "fem3d:n=65536,dof=6",
                           "elasticity3d:n=65536",
                           "kkt:n=65536",
                           "qcd:n=1024",
                           "epidemiology:n=16777216",
                           "cage:length=18",
                           "tridiagonal:n=1099511627776",
                           "diagonal:n=1099511627776",
                           "banded:n=1099511627776,half_bandwidth=1048576",
                           "dense:n=2147483648,m=2147483648",
                           "arrow:n=1099511627776",
                           "localized:n=1099511627776,block=4096,clusters=1024",
                           "uniform:rows=1099511627776,cols=4611686018427387904,per_row=1048576",
                           "lp:rows=1099511627776,cols=1099511627776,per_col=1048576",
                           "circuit:n=1099511627776,hubs=64,hub=1099511627776",
                           "rmat:scale=40,edges=1048576",
                           "kron:scale=40,edges=1048576",
                           "web:n=1099511627776,degree=1000",
                           "patents:n=1099511627776,degree=500",
                           "debruijn:scale=40",
                           "rgg:scale=40,degree=1000",
                           "mesh2d:n=16777216",
                           "road:n=16777216",
                           "trace3:n=16777216"}) {
    SCOPED_TRACE(spec);
    const auto size = gen::expected_size(spec);
    EXPECT_GE(size.rows, INT64_C(1) << 31);
    EXPECT_GT(size.entries, INT64_C(1) << 31);
    EXPECT_THROW(make(spec), out_of_memory);
    EXPECT_THROW((gen::generate<float, std::int32_t, std::int32_t>(host_engine::context(), spec)),
                 bad_input);
  }
}

TEST(Generators, AreSquareUnlessTheOtherSizeIsGiven) {
  const auto is = [](const char* spec, std::int64_t rows, std::int64_t cols) {
    SCOPED_TRACE(spec);
    EXPECT_EQ(gen::expected_size(spec).rows, rows);
    EXPECT_EQ(gen::expected_size(spec).cols, cols);
  };
  is("dense:n=1500", 1500, 1500);
  is("dense:m=7", 1000, 7);
  is("dense:m=7,n=9", 9, 7);
  is("dense:m=n,n=9", 9, 9);
  is("dense:m=7,m=n", 1000, 1000); // the last one counts
  is("uniform:rows=50", 50, 50);
  is("uniform:rows=50,cols=rows", 50, 50);
  is("uniform:rows=50,cols=0,per_row=0", 50, 0);
  for (const auto& g : gen::generators())
    if (g.name != "lp") { // whose rows are few
      const auto size = gen::expected_size(g.name);
      EXPECT_EQ(size.rows, size.cols) << g.name;
    }
}

TEST(Generators, NarrowWidthsAreRefused) {
  const std::int64_t before = detail::set_narrow_limit(1000);
  const auto narrow = [](const char* spec) {
    return message_of([&] {
      (void)gen::generate<double, std::int32_t, std::int32_t>(host_engine::context(), spec);
    });
  };
  const auto rows = narrow("diagonal:n=1001"), entries = narrow("dense:n=100,m=100");
  const auto edges = narrow("rmat:scale=9,edges=4");
  detail::set_narrow_limit(before);
  EXPECT_NE(rows.find("1001"), std::string::npos) << rows;
  EXPECT_NE(entries.find("10000"), std::string::npos) << entries;
  EXPECT_NE(edges.find("2048"), std::string::npos) << edges;
}

TEST(Generators, RefusalsSayWhatIsAllowed) {
  const auto says = [](std::string_view spec, std::initializer_list<const char*> words) {
    const auto text = refusal(spec);
    for (const char* word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
    EXPECT_EQ(message_of([&] { (void)gen::expected_size(spec); }), text);
  };
  says("poisson4d", {"no generator 'poisson4d'",
                     "; did you mean 'poisson2d'? There are poisson2d, ", ", trace3"});
  says("Rmat:scale=3", {"'Rmat'", "did you mean 'rmat'"});
  says("", {"no generator ''; there are poisson2d, "});
  says("poisson2d:m=3", {"poisson2d", "no parameter 'm'", "n=512,points=5"});
  says("poisson2d:=3", {"no parameter ''"});
  says("poisson2d:n", {"n=''", "a whole number from 0 to 16777216"});
  says("poisson2d:n=", {"n=''"});
  says("poisson2d:n=-1", {"poisson2d: n='-1' is not a whole number from 0 to"});
  says("poisson2d:n=1.5", {"n='1.5'"});
  says("poisson2d:n= 5", {"n=' 5'"});
  says("poisson2d:n=99999999999999999999", {"n='99999999999999999999'"});
  says("poisson2d:points=7", {"poisson2d: points='7' is not 5 or 9"});
  says("poisson3d:points=9", {"7 or 27"});
  says("fem3d:dof=7", {"fem3d: dof='7'", "from 1 to 6"});
  says("fem3d:dof=0", {"from 1 to 6"});
  says("anisotropic:epsilon=0", {"anisotropic: epsilon='0' is not a number from 1e-12 to"});
  says("anisotropic:epsilon=nan", {"epsilon='nan'"});
  says("anisotropic:epsilon=inf", {"epsilon='inf'"});
  says("anisotropic:epsilon=1e999", {"epsilon='1e999'"});
  says("anisotropic:epsilon=0.1x", {"epsilon='0.1x'"});
  says("rmat:scale=41", {"rmat: scale='41'", "0 to 40"});
  says("rmat:a=0.6,b=0.3,c=0.2", {"rmat: a + b + c = 0.6 + 0.3 + 0.2 is more than 1"});
  says("kron:c=1.5", {"kron: c='1.5' is not a number from 0 to 1"});
  says("dense:m=rows", {"dense: m='rows' is not a whole number from 0 to"});
  says("uniform:rows=4", {"uniform: per_row=16 is more than the 4 columns"});
  says("lp:rows=4,per_col=5", {"lp: per_col=5 is more than the 4 rows"});
  EXPECT_EQ(refusal(std::string(100'000, 'x')).find("did you mean"), std::string::npos);
}

TEST(Generators, ManyColumnsWithNarrowOffsets) {
  const auto a = gen::generate<double, std::int64_t, std::int32_t>(
      host_engine::context(), "uniform:rows=600,cols=5000000000,per_row=9");
  EXPECT_NO_THROW(check(host_engine::context(), a));
  EXPECT_EQ(a.size(), 5400);
  EXPECT_GT(std::ranges::max(a.colind()), INT64_C(4900000000));
}

TEST(Generators, AnAllocationThatFailsLeavesNothingBehind) {
  static std::atomic<int> left;
  const auto before = memory(space::host).in_use;
  for (const char* spec : {"poisson2d:n=40", "kron:scale=8"}) {
    int failures = 0;
    for (bool done = false; !done; ++failures) {
      left = failures;
      const auto hook = set_allocation_hook([](space, std::size_t) { return left-- != 0; });
      try {
        (void)make(spec);
        done = true;
      } catch (const out_of_memory&) {
        EXPECT_EQ(memory(space::host).in_use, before) << spec;
      }
      set_allocation_hook(hook);
    }
    EXPECT_GT(failures, 3) << spec;
  }
}

TEST(Generators, FractionsAreRead) {
  EXPECT_EQ(at(make("anisotropic:n=4,epsilon=0.25"), 0, 1), -0.25);
  EXPECT_EQ(at(make("anisotropic:n=4,epsilon=1e-3"), 0, 0), 2 * 1e-3 + 2);
}

TEST(Generators, TypedOnesAreTheSame) {
  const auto& ctx = host_engine::context();
  EXPECT_EQ(bits_of(gen::poisson2d(ctx, 9)), bits_of(make("poisson2d:n=9")));
  EXPECT_EQ(bits_of(gen::poisson3d(ctx, 9)), bits_of(make("poisson3d:n=9")));
  EXPECT_EQ(bits_of(gen::tridiagonal(ctx, 9)), bits_of(make("tridiagonal:n=9")));
  EXPECT_EQ(bits_of(gen::banded(ctx, 9, 2)), bits_of(make("banded:n=9,half_bandwidth=2")));
  EXPECT_EQ(bits_of(gen::uniform(ctx, 9, 7, 2, 5)),
            bits_of(make("uniform:rows=9,cols=7,per_row=2,seed=5")));
  EXPECT_THROW(gen::poisson3d(ctx, -1), bad_input);
}

} // namespace
} // namespace lacuna::test
