// CSR-k: the model against the paper's formulas worked by hand, the rule for long rows, errors, and
// what check() finds.
#include <cmath>
#include <functional>

#include "support/oracle.hpp"

#include "plan/csr_k.hpp"

namespace lacuna::test {
namespace {

using sizes = csr_k_sizes;

TEST(CsrKModel, IsThePapersOnVolta) {
  const auto choose = [](double mean) { return choose_csr_k_sizes(mean, 3, csr_k_model::volta()); };
  // 8.9 - 1.25 ln 5 = 6.89, 10.146 - 1.5 ln 5 = 7.73
  EXPECT_EQ(choose(5), (sizes{8, 7}));
  // 5.79 -> 6, times 1.5; 6.42 -> 6, times 2
  EXPECT_EQ(choose(12), (sizes{12, 9}));
  // 5.16 -> 5, times 4; half of that
  EXPECT_EQ(choose(20), (sizes{10, 20}));
  // 4.29 -> 4, times 5; half of that
  EXPECT_EQ(choose(40), (sizes{10, 20}));
  // 4.53 -> 5, times 5; 12.5 rounds up
  EXPECT_EQ(choose(33), (sizes{13, 25}));
}

TEST(CsrKModel, IsThePapersOnAmpere) {
  const auto choose = [](double mean) {
    return choose_csr_k_sizes(mean, 3, csr_k_model::ampere());
  };
  // 9.175 - 1.32 ln 5 = 7.05, 20.5 - 3.5 ln 5 = 14.87
  EXPECT_EQ(choose(5), (sizes{15, 7}));
  // 5.89 -> 6; 11.8 -> 12, times 4
  EXPECT_EQ(choose(12), (sizes{48, 6}));
  // 5.22 -> 5, times 2.5 is 12.5 and rounds up; three times that
  EXPECT_EQ(choose(20), (sizes{39, 13}));
  // 4.31 -> 4, times 2; twice that
  EXPECT_EQ(choose(40), (sizes{16, 8}));
}

TEST(CsrKModel, OnCpusIsAConstant) {
  for (const double mean : {0.0, 1.0, 5.0, 81.0, 170.0}) {
    EXPECT_EQ(choose_csr_k_sizes(mean, 2, csr_k_model::cpu()), (sizes{96, 0})) << mean;
    EXPECT_EQ(choose_csr_k_sizes(mean, 3, csr_k_model::cpu()), (sizes{12, 8})) << mean;
  }
  // Unless rows are so long that a thread's unit would hold more than 16384 entries.
  EXPECT_EQ(choose_csr_k_sizes(200, 2, csr_k_model::cpu()), (sizes{80, 0}));
  EXPECT_EQ(choose_csr_k_sizes(1e5, 2, csr_k_model::cpu()), (sizes{1, 0}));
  EXPECT_EQ(choose_csr_k_sizes(1e5, 3, csr_k_model::cpu()), (sizes{1, 1}));
}

TEST(CsrKModel, ServesAnyMean) {
  for (const csr_k_model& model :
       {csr_k_model::volta(), csr_k_model::ampere(), csr_k_model::hopper(), csr_k_model::cpu()})
    for (int step = 0; step < 80; ++step) {
      const double mean = std::pow(1.3, step) - 1; // to 1e9
      const auto three = choose_csr_k_sizes(mean, 3, model);
      EXPECT_GE(three.super_row, 1) << mean;
      EXPECT_GE(three.super_super_row, 1) << mean;
      // A unit of work has the same rows with either k.
      EXPECT_EQ(choose_csr_k_sizes(mean, 2, model),
                (sizes{three.super_row * three.super_super_row, 0}));
    }
  // A half rounds up, and means below 1 count as 1.
  EXPECT_EQ(choose_csr_k_sizes(0.01, 3, csr_k_model::ampere()), (sizes{21, 9}));
}

TEST(CsrKBlock, HasThePapersShapes) {
  for (const double mean : {0.0, 3.0, 8.0}) EXPECT_EQ(block_shape(mean), (csr_k_block{1, 8, 12}));
  for (const double mean : {8.1, 16.0}) EXPECT_EQ(block_shape(mean), (csr_k_block{4, 8, 12}));
  for (const double mean : {16.1, 32.0}) EXPECT_EQ(block_shape(mean), (csr_k_block{8, 8, 8}));
  for (const double mean : {32.1, 1e6}) EXPECT_EQ(block_shape(mean), (csr_k_block{16, 8, 4}));
  EXPECT_EQ(block_shape(20).threads(), 512);
}

TEST(CsrKBlock, TakesASuperSuperRowAtOnceOnHopper) {
  for (const double mean :
       {1.0, 3.0, 7.0, 9.0, 14.0, 18.0, 27.0, 40.0, 80.0, 128.0, 300.0, 2000.0}) {
    const sizes chosen = choose_csr_k_sizes(mean, 3, csr_k_model::hopper());
    const row_statistics alike{mean, 0.1 * mean, static_cast<std::int64_t>(mean) + 1, 0};
    const csr_k_block block = block_shape(alike, chosen);
    EXPECT_EQ(block.rows, chosen.super_row) << mean;
    EXPECT_EQ(block.super_rows, chosen.super_super_row) << mean;
    EXPECT_LE(block.threads(), 512) << mean;
    EXPECT_EQ(block.threads() % 32, 0) << mean;
    // Rows that differ get fewer lanes.
    EXPECT_LE(block_shape({mean, 3 * mean, 10'000, 0}, chosen).lanes, std::max(block.lanes, 2))
        << mean;
  }
  // Sizes that no block has threads for.
  EXPECT_EQ(block_shape({5, 0, 5, 0}, {1000, 1000}), (csr_k_block{1, 8, 32}));
  EXPECT_EQ(block_shape({5, 0, 5, 0}, {3, 1}), (csr_k_block{1, 8, 32}));
}

TEST(CsrKLongRow, RuleOnADevice) {
  const auto rule = [](row_statistics lengths) { return choose_long_row(lengths, space::device); };
  // Stencils, structural mechanics: no row is long.
  for (const row_statistics& lengths :
       {row_statistics{4.996, 0.063, 5, 0}, row_statistics{26.73, 1.49, 27, 0},
        row_statistics{80, 12, 144, 0}, row_statistics{50, 20, 250, 0}})
    EXPECT_GE(rule(lengths), lengths.longest) << lengths.mean;
  // Graphs, circuits: six times the mean, within 32 to 256.
  EXPECT_EQ(rule({10, 300, 200'000, 0}), 60);
  EXPECT_EQ(rule({3, 20, 30'000, 0}), 32);
  EXPECT_EQ(rule({100, 400, 5000, 0}), 256);
  // Rows that are alike stay whole, however long.
  EXPECT_EQ(rule({10'000, 0, 10'000, 0}), 10'000);
  EXPECT_EQ(rule({}), 256);
}

TEST(CsrKLongRow, RuleOnTheHost) {
  for (const row_statistics& lengths :
       {row_statistics{}, row_statistics{5, 0, 5, 0}, row_statistics{100, 4000, 1'000'000, 0}})
    EXPECT_EQ(choose_long_row(lengths, space::host), 16384);
}

template <class C> using host_groups_of = csr_k_groups<typename C::index, typename C::offset>;

template <class C> class CsrKContract : public engine_test<C> {
protected:
  static void expect_bad(const std::function<void()>& f, const std::vector<std::string>& parts) {
    try {
      f();
      ADD_FAILURE() << "nothing was thrown; expected " << parts.front();
    } catch (const bad_input& e) {
      const std::string what = e.what();
      for (const std::string& part : parts)
        EXPECT_NE(what.find(part), std::string::npos) << "no '" << part << "' in: " << what;
    }
  }
  /// Rows of 0 to 70 entries, grouped on the host, damaged there and checked on the engine. Rows
  /// beyond 60 entries are long: ten of them, with one piece each.
  static void expect_broken(const std::function<void(host_groups_of<C>&)>& damage,
                            const std::vector<std::string>& parts) {
    using I = typename C::index;
    using O = typename C::offset;
    const auto& host = default_context<space::host>();
    auto rows = C::host_csr(battery_matrix("rows of 0 to 70"));
    auto groups =
        detail::cpu::group_rows<I, O>(host, std::as_const(rows).rowptr(), {3, 4, 5, 60}, nullptr);
    damage(groups);
    const auto a =
        copy_to(C::context(), csr_k<typename C::value, I, O>(std::move(rows), std::move(groups)));
    expect_bad([&] { check(C::context(), a); }, parts);
  }
};
TYPED_TEST_SUITE(CsrKContract, few_configs, config_name);

TYPED_TEST(CsrKContract, BadOptions) {
  const auto& ctx = TypeParam::context();
  const auto rows = TypeParam::put_csr(battery_matrix("band"));
  const auto bad = [&](const csr_k_options& o, const std::vector<std::string>& parts) {
    TestFixture::expect_bad([&] { (void)to_csr_k(ctx, rows, o); }, parts);
  };
  bad({.k = 1}, {"to_csr_k", "k = 1"});
  bad({.k = 4}, {"k = 4"});
  bad({.k = -2}, {"k = -2"});
  bad({.super_row = -1}, {"super_row = -1"});
  bad({.k = 3, .super_super_row = -5}, {"super_super_row = -5"});
  bad({.k = 2, .super_super_row = 5}, {"super_super_row = 5", "k = 2"});
  bad({.long_row = -1}, {"long_row = -1"});
  // A matrix that could not be taken over is as it was.
  auto own = TypeParam::put_csr(battery_matrix("band"));
  EXPECT_THROW((void)to_csr_k(ctx, std::move(own), {.k = 7}), bad_input);
  // NOLINTNEXTLINE(bugprone-use-after-move): this is what is tested
  EXPECT_TRUE(same_matrix(own, TypeParam::host_csr(battery_matrix("band"))));
}

TYPED_TEST(CsrKContract, BadOrderings) {
  const auto& ctx = default_context<space::host>();
  const auto rows = TypeParam::host_csr(battery_matrix("band"));
  auto ordering = band_k(ctx, rows, {10, 3});
  const auto permuted = permute(ctx, rows, ordering.order);
  const auto bad = [&](const csr_k_options& o, const std::vector<std::string>& parts) {
    TestFixture::expect_bad([&] { (void)to_csr_k(ctx, permuted, ordering, o); }, parts);
  };
  bad({.k = 2}, {"k = 2", "Band-3"});
  bad({.super_row = 10}, {"sizes"});
  const auto other = TypeParam::host_csr(battery_matrix("tridiagonal"));
  EXPECT_THROW((void)to_csr_k(ctx, other, ordering), size_mismatch);
  ordering.starts[0][1] = 0;
  bad({}, {"super_rows[1] = 0"});
}

TYPED_TEST(CsrKContract, DefaultAndEmptyHold) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  csr_k<T, typename TypeParam::index, typename TypeParam::offset, TypeParam::memory_space> none;
  EXPECT_NO_THROW(check(ctx, none));
  EXPECT_EQ(none.bytes(), 0U);
  none = to_csr_k(ctx, TypeParam::put_csr(battery_matrix("0 x 7")), {.k = 3});
  EXPECT_NO_THROW(check(ctx, none));
  EXPECT_NO_THROW(check(ctx, none.view()));
}

TYPED_TEST(CsrKContract, CheckFindsBrokenGroups) {
  using groups_t = host_groups_of<TypeParam>;
  const auto broken = [](const std::function<void(groups_t&)>& damage,
                         const std::vector<std::string>& parts) {
    TestFixture::expect_broken(damage, parts);
  };
  broken([](groups_t& g) { g.grouping.k = 5; }, {"k = 5"});
  broken([](groups_t& g) { g.grouping.k = 2; }, {"k = 2", "super_super_rows"});
  broken([](groups_t& g) { g.super_rows[0] = 1; }, {"super_rows[0] = 1"});
  broken([](groups_t& g) { g.super_rows[7] = g.super_rows[6]; }, {"super_rows[7] = 24"});
  broken([](groups_t& g) { g.super_rows[18] = 72; }, {"super_rows[18] = 72", "71 rows"});
  broken([](groups_t& g) { g.super_rows = {}; }, {"no super_rows", "71 rows"});
  broken([](groups_t& g) { g.super_super_rows[4] = 17; }, {"super_super_rows[4]", "18"});
  broken([](groups_t& g) { g.super_super_rows[2] = -3; }, {"super_super_rows[2] = -3"});
}

TYPED_TEST(CsrKContract, CheckFindsBrokenLongRows) {
  using groups_t = host_groups_of<TypeParam>;
  const auto broken = [](const std::function<void(groups_t&)>& damage,
                         const std::vector<std::string>& parts) {
    TestFixture::expect_broken(damage, parts);
  };
  // Rows 61 to 70 are long; row r begins at entry r (r - 1) / 2.
  broken([](groups_t& g) { g.long_rows[3] = 5; }, {"long_rows[4] = 4", "5"});
  broken([](groups_t& g) { g.long_rows[10] = 11; }, {"long_rows[10] = 11", "10 pieces"});
  broken([](groups_t& g) { g.pieces[3].row = 71; }, {"pieces[3]", "row 71"});
  broken([](groups_t& g) { g.pieces[3].row = -1; }, {"pieces[3]", "row -1"});
  broken([](groups_t& g) { g.pieces[3].row = 10; }, {"row 10 of 10 entries", "60"});
  broken([](groups_t& g) { g.pieces[3].long_row = 4; }, {"pieces[3]", "long row 4"});
  broken([](groups_t& g) { ++g.pieces[2].first; }, {"pieces[2]", "1954", "1953"});
  broken([](groups_t& g) { --g.pieces[2].last; }, {"row 63", "end at entry 2015", "2016"});
  broken([](groups_t& g) { g.pieces[2].last = g.pieces[2].first; }, {"pieces[2]"});
  broken([](groups_t& g) { g.grouping.long_row = 61; }, {"row 61 of 61 entries", "61"});
  broken([](groups_t& g) { g.grouping.long_row = 59; }, {"row 60 of 60 entries", "59"});
  broken([](groups_t& g) { std::swap(g.pieces[0], g.pieces[1]); }, {"pieces[0]", "long row 1"});
}

TYPED_TEST(CsrKContract, CheckFindsBrokenRows) {
  const auto& ctx = TypeParam::context();
  auto rows = TypeParam::host_csr(battery_matrix("band"));
  rows.colind()[77] = 999;
  const auto a = to_csr_k(ctx, copy_to(ctx, rows));
  TestFixture::expect_bad([&] { check(ctx, a); }, {"colind[77]", "999"});
}

TYPED_TEST(CsrKContract, HasOneDirection) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const auto a = to_csr_k(ctx, TypeParam::put_csr(battery_matrix("wide")));
  const auto x = TypeParam::put(std::vector<T>(20)), right = TypeParam::put(std::vector<T>(3000));
  auto y = TypeParam::put(std::vector<T>(20));
  EXPECT_THROW(multiply(ctx, transposed(a), x, y), unsupported);
  EXPECT_THROW(multiply(ctx, a, x, y), size_mismatch);
  EXPECT_NO_THROW(multiply(ctx, a, right, y));
}

} // namespace
} // namespace lacuna::test
