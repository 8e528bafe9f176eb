// packed_csr on the whole battery, for every type and engine: there and back is the identity, and a
// product has the bits of CSR's with an inspection. Besides the battery: chunks of every width.
#include "support/dense_block.hpp"

namespace lacuna::test {
namespace {

/// Bits are compared, but one NaN is as good as another.
template <class T> std::vector<T> same_nan(std::vector<T> v) {
  for (T& x : v)
    if (std::isnan(x)) x = std::numeric_limits<T>::quiet_NaN();
  return v;
}

/// Rows whose columns are `step` apart; every `far`-th entry is far away, if far is not 0.
triplets spread(const char* name, std::int64_t rows, std::int64_t cols, std::int64_t step,
                std::int64_t far) {
  triplets m{name, rows, cols, {}, {}, {}};
  random_source random(static_cast<std::uint64_t>(step + far));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < i % 19; ++k)
      m.add(i,
            far != 0 && m.size() % far == 0 ? random.below(cols)
                                            : (i + k * step) % std::min<std::int64_t>(cols, 70'000),
            random.value());
  return m;
}
/// Chunks of 1, 2 and 4 bytes per column alone and mixed, with rows that end in the same chunk, at
/// its end or some chunks later.
std::vector<triplets> chunk_matrices() {
  std::vector<triplets> result{
      spread("1 byte", 400, 400, 1, 0), spread("2 bytes", 400, 9000, 37, 0),
      spread("4 bytes", 400, 300'000, 5, 3), spread("mixed", 1500, 300'000, 2, 401),
      spread("mixed 1 and 2", 1500, 3000, 2, 150)};
  for (const std::int64_t entries : {63, 64, 65, 127, 128, 129, 320}) {
    triplets m{std::to_string(entries) + " entries", 3, 70'000, {}, {}, {}};
    random_source random(static_cast<std::uint64_t>(entries));
    for (std::int64_t k = 0; k < entries; ++k)
      m.add(k < 5 ? 0 : 2, 211 * k % m.cols, random.value());
    result.push_back(std::move(m));
  }
  return result;
}

template <class C> class PackedCsr : public engine_test<C> {
protected:
  /// Calls f(host matrix, matrix, packed) for the battery and the matrices above.
  template <class F> static void for_each_packed(F f) {
    const auto run = [&](const triplets& m) {
      const auto a = C::put_csr(m);
      f(C::host_csr(m), a, to_packed_csr(C::context(), a));
    };
    C::for_each_matrix(run);
    for (const triplets& m : chunk_matrices()) {
      SCOPED_TRACE(std::string(C::engine::name) + ": " + m.name);
      run(m);
    }
  }
  template <class F> static void for_each_sum(F f) {
    C::for_each_value_kind([&] { for_each_packed(f); });
  }
};
TYPED_TEST_SUITE(PackedCsr, all_configs, config_name);

TYPED_TEST(PackedCsr, ThereAndBack) {
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_packed([&](const auto& host, const auto& a, const auto& packed) {
    EXPECT_EQ(packed.shape(), a.shape());
    EXPECT_EQ(packed.size(), a.size());
    EXPECT_EQ(packed.order(), a.order());
    EXPECT_NO_THROW(check(ctx, packed));
    const auto back = to_csr(ctx, packed);
    EXPECT_TRUE(same_matrix(back, host));
    EXPECT_EQ(back.order(), host.order());
    EXPECT_TRUE(same_matrix(a, host)) << "the original was changed";
  });
}

TYPED_TEST(PackedCsr, CopiesAreTheSame) {
  const auto& ctx = TypeParam::context();
  const host_context host_ctx({1});
  TestFixture::for_each_packed([&](const auto& host, const auto&, const auto& packed) {
    const auto on_host = copy_to(host_ctx, packed);
    EXPECT_TRUE(same_matrix(to_csr(host_ctx, on_host), host));
    // Made by one thread of the host and carried over: the same chunks, byte for byte.
    const auto made_here = to_packed_csr(host_ctx, host);
    const auto carried = copy_to(ctx, made_here);
    EXPECT_EQ(host_vector(carried.view().columns()), host_vector(packed.view().columns()));
    EXPECT_EQ(carried.bytes(), packed.bytes());
    const auto x = random_vector<typename TypeParam::value>(host.shape().col, 1);
    const auto x_on_engine = TypeParam::put(x);
    auto y = TypeParam::put(random_vector<typename TypeParam::value>(host.shape().row, 2));
    auto z = copy_to(ctx, y);
    multiply(ctx, packed, x_on_engine, y);
    multiply(ctx, carried, x_on_engine, z);
    EXPECT_TRUE(same(same_nan(host_vector(z)), same_nan(host_vector(y))));
  });
}

TYPED_TEST(PackedCsr, Multiplies) {
  using T = typename TypeParam::value;
  TestFixture::for_each_sum([&](const auto& host, const auto&, const auto& packed) {
    const auto x = random_vector<T>(host.shape().col, 1);
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(TypeParam::context(), packed, TypeParam::put(x), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
  });
}

TYPED_TEST(PackedCsr, HasTheBitsOfCsr) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_packed([&](const auto& host, const auto& a, const auto& packed) {
    const auto x = TypeParam::put(random_vector<T>(host.shape().col, 1));
    const auto z = random_vector<T>(host.shape().row, 4);
    auto y = TypeParam::put(z), of_csr = TypeParam::put(z);
    const auto info = multiply_inspect(ctx, a, x, of_csr);
    for (const double beta : {0.0, -1.2}) {
      multiply(ctx, scaled(0.7, packed), x, scaled(beta, y), y);
      multiply(ctx, info, scaled(0.7, a), x, scaled(beta, of_csr), of_csr);
      EXPECT_TRUE(same(same_nan(host_vector(y)), same_nan(host_vector(of_csr)))) << beta;
    }
  });
}

TYPED_TEST(PackedCsr, ScaledWithAddend) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_sum([&](const auto& host, const auto&, const auto& packed) {
    const auto x = random_vector<T>(host.shape().col, 3);
    const auto z = random_vector<T>(host.shape().row, 4);
    const auto x_on_engine = TypeParam::put(x), z_on_engine = TypeParam::put(z);
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    const double alpha = scalar(0.7), beta = scalar(-1.2);
    multiply(ctx, scaled(-1.75, packed), x_on_engine, scaled(alpha, z_on_engine), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(-1.75, host, false, x, alpha, z)));
    y = TypeParam::put(z);
    multiply(ctx, scaled(alpha, packed), x_on_engine, scaled(beta, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(alpha, host, false, x, beta, z)))
        << "addend is the result";
    y = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(ctx, scaled(2, packed), x_on_engine, scaled(0, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(2, host, false, x)))
        << "beta is 0, the addend NaN";
  });
}

TYPED_TEST(PackedCsr, SpecialValuesInX) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_sum([&](const auto& host, const auto&, const auto& packed) {
    const auto x = special_vector<T>(host.shape().col, 5);
    const auto z = special_vector<T>(host.shape().row, 6);
    auto y = TypeParam::put(z);
    multiply(ctx, packed, TypeParam::put(x), TypeParam::put(z), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x, 1, z)));
  });
}

TYPED_TEST(PackedCsr, SeveralColumns) {
  using T = typename TypeParam::value;
  using block = dense_block<T>;
  struct arrangement {
    layout x, z, y;
    std::int64_t gap;
  };
  constexpr layout by_row = layout::row_major, by_column = layout::column_major;
  constexpr arrangement arrangements[] = {{by_row, by_row, by_row, 0},
                                          {by_column, by_column, by_column, 0},
                                          {by_row, by_column, by_column, 3},
                                          {by_column, by_row, by_row, 2},
                                          {by_column, by_row, by_column, 1}};
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_sum([&](const auto& host, const auto&, const auto& packed) {
    for (const std::int64_t columns : {1, 2, 3, 9, 17}) {
      if (columns > 3 && (host.size() + host.shape().row + host.shape().col) * columns > 300'000)
        continue;
      const block x({host.shape().col, columns}, 7), z({host.shape().row, columns}, 8);
      const auto want = expected_product(-1.5, host, false, x, 0.25, &z);
      const auto plain = expected_product(1, host, false, x);
      for (const auto& [x_layout, z_layout, y_layout, gap] : arrangements) {
        SCOPED_TRACE(std::to_string(columns) + " columns, " + describe(x_layout, y_layout, gap));
        const auto x_on_engine = x.put(ctx, x_layout, gap);
        const auto z_on_engine = z.put(ctx, z_layout, 2 * gap);
        auto y = block::nan({host.shape().row, columns}).put(ctx, y_layout, gap);
        multiply(ctx, packed, x_on_engine.view(), y.view());
        EXPECT_TRUE(within(y.elements(), plain));
        multiply(ctx, scaled(-1.5, packed), x_on_engine.view(), scaled(0.25, z_on_engine.view()),
                 y.view());
        EXPECT_TRUE(within(y.elements(), want));
        y = z.put(ctx, y_layout, gap);
        multiply(ctx, scaled(-1.5, packed), x_on_engine.view(), scaled(0.25, y.view()), y.view());
        EXPECT_TRUE(within(y.elements(), want)) << "addend is the result";
        EXPECT_TRUE(y.gaps_untouched());
      }
    }
  });
}

TYPED_TEST(PackedCsr, RepeatsBitByBit) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_packed([&](const auto& host, const auto&, const auto& packed) {
    const auto x = TypeParam::put(random_vector<T>(host.shape().col, 9));
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(ctx, packed, x, y);
    const auto first = same_nan(host_vector(y));
    for (int times = 0; times < 3; ++times) {
      y = TypeParam::put(all_nan<T>(host.shape().row));
      multiply(ctx, packed, x, y);
      EXPECT_TRUE(same(same_nan(host_vector(y)), first));
    }
    if constexpr (TypeParam::memory_space == space::host)
      for (int threads = 1; threads <= 7; ++threads) {
        const host_context some({threads});
        const auto again = to_packed_csr(some, host);
        EXPECT_EQ(host_vector(again.view().columns()), host_vector(packed.view().columns()));
        multiply(some, again, x, y);
        EXPECT_TRUE(same(same_nan(host_vector(y)), first)) << threads << " threads";
      }
  });
}

template <class E>
using wide_columns_on = ::testing::Types<on<E, float, std::int64_t, std::int32_t>,
                                         on<E, double, std::int64_t, std::int64_t>>;
template <class C> class PackedCsrWide : public engine_test<C> {};
TYPED_TEST_SUITE(PackedCsrWide, internal::on_engines<wide_columns_on>, config_name);

TYPED_TEST(PackedCsrWide, ColumnsOf64Bits) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  // Too many columns for a vector x: there and back only. One chunk of each width, and a last one.
  const auto& ctx = TypeParam::context();
  const I apart[] = {3, 1000, I{1} << 20, I{1} << 40, 7};
  std::vector<I> columns;
  for (const I step : apart)
    for (I k = 0; k < 64; ++k) columns.push_back((step / 8 + 1) * (step == 7 ? k % 7 : k));
  columns.resize(4 * 64 + 3);
  csr<T, I, O> a(host_context(), {2, I{1} << 50}, static_cast<O>(columns.size()));
  a.rowptr()[0] = 0;
  a.rowptr()[1] = 100;
  a.rowptr()[2] = a.size();
  std::copy(columns.begin(), columns.end(), a.colind().begin());
  std::fill(a.values().begin(), a.values().end(), T{1});
  const auto packed = to_packed_csr(ctx, copy_to(ctx, a));
  EXPECT_NO_THROW(check(ctx, packed));
  EXPECT_TRUE(same_matrix(to_csr(ctx, packed), a));
  std::vector<int> widths;
  for (const auto& chunk : host_vector(packed.view().chunks())) widths.push_back(chunk.log_width());
  EXPECT_EQ(widths, (std::vector<int>{0, 1, 2, 3, 0}));
}

template <class C> class PackedCsrRows : public engine_test<C> {};
TYPED_TEST_SUITE(PackedCsrRows, few_configs, config_name);

TYPED_TEST(PackedCsrRows, ManyEvenRows) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  // In numbers that make a large device choose lanes by their length.
  for (const std::int64_t length : {3, 24, 70, 300}) {
    triplets m{
        "rows of " + std::to_string(length), length > 100 ? 6'000 : 40'000, 1000, {}, {}, {}};
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t k = 0; k < length; ++k)
        m.add(i, (i * 7 + k) % m.cols, static_cast<double>((i + k) % 17) - 8);
    SCOPED_TRACE(std::string(TypeParam::engine::name) + ": " + m.name);
    const auto a = TypeParam::put_csr(m);
    const auto packed = to_packed_csr(ctx, a);
    const auto x = random_vector<T>(m.cols, 11);
    const auto x_on_engine = TypeParam::put(x);
    auto y = TypeParam::put(all_nan<T>(m.rows)), of_csr = TypeParam::put(all_nan<T>(m.rows));
    multiply(ctx, packed, x_on_engine, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, TypeParam::host_csr(m), false, x)));
    const auto info = multiply_inspect(ctx, a, x_on_engine, of_csr);
    multiply(ctx, info, a, x_on_engine, of_csr);
    EXPECT_TRUE(same(host_vector(y), host_vector(of_csr)));
    if (TypeParam::memory_space == space::host) break; // nothing to choose there
  }
}

} // namespace
} // namespace lacuna::test
