// ell_csr on every engine: made from the whole battery by many thresholds, it holds the matrix it
// was made from, keeps its invariants, and multiplies as the reference does.
#include "support/dense_block.hpp"

namespace lacuna::test {
namespace {

/// Thresholds that lead rows to every part: all in slices, in order and by length; several lanes
/// per row; long rows from 1 entry on, in one piece and in many; columns packed and not.
const ell_csr_options thresholds[] = {
    {},
    {.long_row = ell_csr_options::none, .lane_entries = ell_csr_options::none, .window = 1},
    {.long_row = ell_csr_options::none, .lane_entries = 2, .window = 1},
    {.long_row = 20, .lane_entries = 3, .piece = 64, .window = 64},
    {.long_row = 1, .piece = 32},
    {.long_row = 5, .piece = 40, .window = ell_csr_options::none, .packed = false},
    paper_thresholds(100, 1700)};

template <class C> class EllCsr : public engine_test<C> {
protected:
  /// prepare(host matrix) returns a test, which is called with each ell_csr made from the matrix on
  /// the engine.
  template <class Prepare> static void for_each_case(Prepare prepare) {
    C::for_each_matrix([&](const triplets& m) {
      const auto host = C::host_csr(m);
      const auto test = prepare(host);
      const auto a = C::put_csr(m);
      for (std::size_t i = 0; i < std::size(thresholds); ++i) {
        SCOPED_TRACE("thresholds " + std::to_string(i));
        test(to_ell_csr(C::context(), a, thresholds[i]));
      }
    });
  }
  template <class Prepare> static void for_each_sum(Prepare prepare) {
    C::for_each_value_kind([&] { for_each_case(prepare); });
  }
};
TYPED_TEST_SUITE(EllCsr, all_configs, config_name);

/// What it says of itself holds, it goes back to the matrix, and copies multiply alike.
TYPED_TEST(EllCsr, HoldsTheMatrix) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_case([&](const auto& host) {
    return [&, x = random_vector<T>(host.shape().col, 6)](const auto& e) {
      check(ctx, e);
      const auto back = to_csr(ctx, e);
      EXPECT_EQ(e.shape(), host.shape());
      EXPECT_TRUE(same(host_vector(back.colind()), host_vector(host.colind())));
      EXPECT_TRUE(same(host_vector(back.values()), host_vector(host.values())));
      const auto rowptr = host_vector(back.rowptr());
      for (std::size_t i = 0; i < rowptr.size(); ++i)
        ASSERT_EQ(rowptr[i], host.rowptr()[static_cast<std::int64_t>(i)]);
      const auto x_on_engine = TypeParam::put(x);
      auto y = TypeParam::put(all_nan<T>(e.shape().row));
      multiply(ctx, e, x_on_engine, y);
      const auto copy = copy_to(ctx, copy_to(host_context(), e));
      auto y_copy = TypeParam::put(all_nan<T>(e.shape().row));
      multiply(ctx, copy, x_on_engine, y_copy);
      EXPECT_TRUE(same(host_vector(y_copy), host_vector(y)));
    };
  });
}

TYPED_TEST(EllCsr, IsMadeAsByOneThreadOfTheHost) {
  const host_context host({1});
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto matrix = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    for (const auto& options : thresholds) {
      const auto on_host = to_ell_csr(host, matrix, options);
      const auto on_engine = copy_to(host, to_ell_csr(TypeParam::context(), a, options));
      const auto same_bytes = [](const auto& left, const auto& right) {
        return left.bytes() == right.bytes() &&
               (left.bytes() == 0 || std::memcmp(left.data(), right.data(), left.bytes()) == 0);
      };
      EXPECT_TRUE(same_bytes(on_host.slices, on_engine.slices));
      EXPECT_TRUE(same_bytes(on_host.columns, on_engine.columns));
      EXPECT_TRUE(same_bytes(on_host.values, on_engine.values));
      EXPECT_TRUE(same_bytes(on_host.rows, on_engine.rows));
      EXPECT_EQ(on_host.pieces.size(), on_engine.pieces.size());
      EXPECT_EQ(on_host.even.width, on_engine.even.width);
    }
  });
}

/// Numbers, and NaN, infinities and zeros of both signs.
TYPED_TEST(EllCsr, Multiplies) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_sum([&](const auto& host) {
    const auto x = random_vector<T>(host.shape().col, 1), z = random_vector<T>(host.shape().row, 2);
    const auto plain = expected_product(1, host, false, x);
    const auto with_addend = expected_product(-1.5, host, false, x, 0.25, z);
    const auto special = special_vector<T>(host.shape().col, 3);
    const auto of_special = expected_product(1, host, false, special);
    return [=, &ctx](const auto& e) {
      const auto x_on_engine = TypeParam::put(x);
      auto y = TypeParam::put(all_nan<T>(e.shape().row));
      multiply(ctx, e, x_on_engine, y);
      EXPECT_TRUE(within(host_vector(y), plain));
      const auto once = host_vector(y);
      multiply(ctx, e, x_on_engine, y);
      EXPECT_TRUE(same(host_vector(y), once));
      y = TypeParam::put(z);
      multiply(ctx, scaled(-1.5, e), x_on_engine, scaled(0.25, y), y);
      EXPECT_TRUE(within(host_vector(y), with_addend));
      y = TypeParam::put(all_nan<T>(e.shape().row));
      multiply(ctx, e, TypeParam::put(special), y);
      EXPECT_TRUE(within(host_vector(y), of_special));
    };
  });
}

TYPED_TEST(EllCsr, SeveralColumns) {
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const block x({host.shape().col, 5}, 4), z({host.shape().row, 5}, 5);
    const auto want = expected_product(2, host, false, x, -1, &z);
    for (const auto& options : {thresholds[0], thresholds[1], thresholds[3]}) {
      const auto e = to_ell_csr(ctx, a, options);
      for (const layout order : {layout::row_major, layout::column_major}) {
        const auto x_on_engine = x.put(ctx, order, 3);
        auto y = z.put(ctx, order, 2);
        multiply(ctx, scaled(2, e), x_on_engine.view(), scaled(-1, y.view()), y.view());
        EXPECT_TRUE(within(y.elements(), want));
        EXPECT_TRUE(y.gaps_untouched());
      }
    }
  });
}

/// Columns enough to be packed in 8 bits, in 16, and not at all.
TYPED_TEST(EllCsr, FarColumns) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const std::int64_t cols = 3'000'000;
  triplets m;
  m.name = "far columns";
  m.rows = 200;
  m.cols = cols;
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (const std::int64_t distance : {0, 100, 60'000, 2'900'000})
      m.add(i, (i * (i % 2 == 0 ? 1 : 300) + distance) % cols, 1.0 + static_cast<double>(i));
  const auto host = TypeParam::host_csr(m);
  TypeParam::for_each_value_kind([&] {
    const auto x = random_vector<T>(cols, 7);
    for (const auto& options : thresholds) {
      const auto e = to_ell_csr(ctx, TypeParam::put_csr(m), options);
      check(ctx, e);
      auto y = TypeParam::put(all_nan<T>(m.rows));
      multiply(ctx, e, TypeParam::put(x), y);
      EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
    }
  });
}

/// Rows of `width` entries, entry k of each within columns [k span, (k + 1) span): what 8, 16 or
/// all bits hold; span 1: on one diagonal.
triplets rows_within(std::int64_t width, std::int64_t span) {
  triplets m{std::to_string(width) + " a row, each within " + std::to_string(span),
             200,
             700'000,
             {},
             {},
             {}};
  random_source random(12);
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t k = 0; k < width; ++k) {
      const std::int64_t within = i % 32 == 0 ? 0 : i % 32 == 1 ? span - 1 : random.below(span);
      m.add(i, span == 1 ? i + 3 * k : k * span + within, random.value());
    }
  return m;
}

/// Devices have a kernel for each width that all slices share, up to 8, and three for others.
TYPED_TEST(EllCsr, EachWidthAndPacking) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  constexpr std::pair<std::int64_t, packing> packings[] = {{1, packing::diagonal},
                                                           {200, packing::bits8},
                                                           {60'000, packing::bits16},
                                                           {70'000, packing::full}};
  TypeParam::for_each_value_kind([&] {
    const auto x = special_vector<T>(700'000, 9);
    const auto x_on_engine = TypeParam::put(x);
    const auto expect_product = [&](const triplets& m, const auto& e) {
      auto y = TypeParam::put(all_nan<T>(m.rows));
      multiply(ctx, e, x_on_engine, y);
      EXPECT_TRUE(within(host_vector(y), expected_product(1, TypeParam::host_csr(m), false, x)));
    };
    for (std::int64_t width = 1; width <= 10; ++width)
      for (const auto& [span, kind] : packings) {
        triplets m = rows_within(width, span);
        SCOPED_TRACE(m.name);
        const auto even = to_ell_csr(ctx, TypeParam::put_csr(m), thresholds[1]);
        EXPECT_EQ(even.even.width, width);
        EXPECT_EQ(even.even.kind, kind);
        expect_product(m, even);
        // One row with more entries: slices differ. Then so many that it is in pieces.
        for (std::int64_t k = 0; k < width + 12; ++k) m.add(7, 699'000 + k, 0.5);
        const auto uneven = to_ell_csr(ctx, TypeParam::put_csr(m), thresholds[1]);
        EXPECT_EQ(uneven.even.width, 0);
        expect_product(m, uneven);
        for (std::int64_t k = 0; k < 70; ++k) m.add(8, 699'100 + k, 0.25);
        const auto in_pieces = to_ell_csr(ctx, TypeParam::put_csr(m), thresholds[0]);
        EXPECT_GT(in_pieces.pieces.size(), 0);
        expect_product(m, in_pieces);
      }
  });
}

template <class C> class EllCsrThreads : public engine_test<C> {};
TYPED_TEST_SUITE(EllCsrThreads, host_value_configs, config_name);

TYPED_TEST(EllCsrThreads, DoNotChangeTheBits) {
  using T = typename TypeParam::value;
  for (const triplets& m : battery()) {
    const auto a = TypeParam::host_csr(m);
    const auto x = random_vector<T>(a.shape().col, 8);
    for (const auto& options : thresholds) {
      std::vector<T> first;
      for (const int threads : {1, 2, 4}) {
        const host_context ctx({threads});
        std::vector<T> y(static_cast<std::size_t>(a.shape().row));
        multiply(ctx, to_ell_csr(ctx, a, options), x, y);
        if (threads == 1) first = y;
        EXPECT_TRUE(same(y, first)) << m.name;
      }
    }
  }
}

} // namespace
} // namespace lacuna::test
