// Planned operators on every engine: whatever format is chosen or asked for, products are those of
// the reference.
#include <cstdlib>

#include "support/dense_block.hpp"

namespace lacuna::test {
namespace {

template <class C> class Plan : public engine_test<C> {
protected:
  /// Products with a matrix, for any plan of it.
  class expected_products {
    using T = typename C::value;

  public:
    template <class Host>
    expected_products(const Host& host, std::uint64_t seed)
        : x_(random_vector<T>(host.shape().col, seed)),
          z_(random_vector<T>(host.shape().row, seed + 1)),
          plain_(expected_product(1, host, false, x_)),
          with_addend_(expected_product(-1.5, host, false, x_, 0.5, z_)),
          across_(expected_product(2, host, true, z_, -1, x_)) {}
    template <class Operator> void compare(Operator& op) const {
      const auto x_on_engine = C::put(x_);
      auto y = C::put(all_nan<T>(op.shape().row));
      op.multiply(x_on_engine, y);
      EXPECT_TRUE(within(host_vector(y), plain_));
      y = C::put(z_);
      op.multiply(-1.5, x_on_engine, 0.5, y);
      EXPECT_TRUE(within(host_vector(y), with_addend_));
      auto across = C::put(x_);
      op.multiply_transposed(2, C::put(z_), -1, across);
      EXPECT_TRUE(within(host_vector(across), across_));
    }

  private:
    std::vector<T> x_, z_;
    expected plain_, with_addend_, across_;
  };
};
TYPED_TEST_SUITE(Plan, all_configs, config_name);

TYPED_TEST(Plan, EveryFormatMultiplies) {
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const typename TestFixture::expected_products want(host, 1);
    for (const std::string& format : planned_formats()) {
      SCOPED_TRACE(format);
      plan_hints hints{.transposed_multiplies = 100};
      hints.format = format;
      const auto op = plan(TypeParam::context(), a, hints);
      EXPECT_EQ(op.format(), format);
      want.compare(op);
    }
  });
}

TYPED_TEST(Plan, ChoosesAndExplains) {
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto op = plan(TypeParam::context(), a);
    EXPECT_NE(op.explain().find(op.format()), std::string::npos);
    EXPECT_EQ(op.json().front(), '{');
    EXPECT_FALSE(op.decision().reasons.empty());
    typename TestFixture::expected_products(host, 3).compare(op);
    const auto once = plan(TypeParam::context(), a, {.multiplies = 1});
    EXPECT_EQ(once.format(), "csr") << "a matrix multiplied once is never converted";
    const auto changing = plan(TypeParam::context(), a, {.will_change = true});
    EXPECT_EQ(changing.format(), "csr");
  });
}

TYPED_TEST(Plan, TheEnvironmentForcesAFormat) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const triplets& m = battery_matrix("power law");
  const auto a = TypeParam::put_csr(m);
  const auto x = TypeParam::put(random_vector<T>(m.cols, 10));
  const auto product = [&](auto&& op) {
    auto y = TypeParam::put(all_nan<T>(m.rows));
    op.multiply(x, y);
    return host_vector(y);
  };
  for (const std::string& format : planned_formats()) {
    SCOPED_TRACE(format);
    plan_hints hints{.transposed_multiplies = 100};
    hints.format = format;
    const auto asked = plan(ctx, a, hints);
    ::setenv("LACUNA_FORCE_FORMAT", format.c_str(), 1);
    const auto op = plan(ctx, a, {.transposed_multiplies = 100});
    EXPECT_EQ(op.format(), format);
    EXPECT_EQ(op.kernel(), asked.kernel());
    EXPECT_EQ(op.transposed_decision()->chosen().format, format);
    EXPECT_EQ(op.bytes(), asked.bytes());
    EXPECT_TRUE(same(product(op), product(asked)));
    EXPECT_NE(op.explain().find(format + " was asked for by LACUNA_FORCE_FORMAT"),
              std::string::npos);
    // In the background, too; and a single product is no exception.
    auto background = plan_async(ctx, a);
    background.wait();
    EXPECT_EQ(background.format(), format);
    EXPECT_EQ(plan(ctx, a, {.multiplies = 1}).format(), format);
    // A format that the caller names comes first.
    for (const std::string& other : planned_formats())
      EXPECT_EQ(plan(ctx, a, {.format = other}).format(), other);
    // It may still be refused, with a reason.
    const auto changing = plan(ctx, a, {.will_change = true});
    EXPECT_EQ(changing.format(), "csr");
    if (format != "csr") {
      EXPECT_NE(changing.explain().find("by LACUNA_FORCE_FORMAT, but the matrix will change"),
                std::string::npos)
          << changing.explain();
    }
  }
  ::setenv("LACUNA_FORCE_FORMAT", "coo", 1);
  try {
    (void)plan(ctx, a);
    ADD_FAILURE() << "no error";
  } catch (const bad_input& e) {
    EXPECT_NE(std::string(e.what()).find(planned_formats_in_words()), std::string::npos);
  }
  EXPECT_THROW((void)plan_async(ctx, a), bad_input);
  EXPECT_THROW((void)plan(ctx, a, {.format = "coo"}), bad_input);
  ::setenv("LACUNA_FORCE_FORMAT", "", 1);
  EXPECT_NO_THROW((void)plan(ctx, a));
  ::unsetenv("LACUNA_FORCE_FORMAT");
}

TYPED_TEST(Plan, SeveralVectors) {
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const block x({host.shape().col, 3}, 5), z({host.shape().row, 3}, 6);
    const auto want = expected_product(3, host, false, x, 2, &z);
    for (const std::string& format : planned_formats()) {
      SCOPED_TRACE(format);
      plan_hints hints;
      hints.format = format;
      const auto op = plan(ctx, a, hints);
      for (const layout order : {layout::row_major, layout::column_major}) {
        const auto x_on_engine = x.put(ctx, order, 1);
        auto y = z.put(ctx, order, 2);
        op.multiply(3, x_on_engine.view(), 2, y.view());
        EXPECT_TRUE(within(y.elements(), want));
        EXPECT_TRUE(y.gaps_untouched());
      }
    }
  });
}

TYPED_TEST(Plan, SizesAreChecked) {
  using T = typename TypeParam::value;
  const auto a = TypeParam::put_csr(battery_matrix("unsorted with duplicates")); // 150 x 90
  const auto op = plan(TypeParam::context(), a);
  auto y = TypeParam::put(std::vector<T>(150));
  const auto x = TypeParam::put(std::vector<T>(90));
  EXPECT_THROW(op.multiply(y, y), size_mismatch);
  EXPECT_THROW(op.multiply_transposed(x, y), size_mismatch);
  EXPECT_THROW((void)plan(TypeParam::context(), a, {.multiplies = -1}), bad_input);
}

TYPED_TEST(Plan, InTheBackground) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    plan_hints hints;
    hints.format = "ell_csr";
    auto op = plan_async(ctx, a, hints);
    const typename TestFixture::expected_products want(host, 7);
    want.compare(op);
    op.wait();
    EXPECT_TRUE(op.switched());
    EXPECT_EQ(op.format(), "ell_csr");
    want.compare(op);

    // A stated moment: the same bits every time.
    const auto x = TypeParam::put(random_vector<T>(host.shape().col, 9));
    std::vector<T> first[4];
    for (int run = 0; run < 2; ++run) {
      auto fixed = plan_async(ctx, a, hints, 2);
      for (auto& before : first) {
        auto y = TypeParam::put(all_nan<T>(host.shape().row));
        fixed.multiply(x, y);
        const auto got = host_vector(y);
        if (run == 1) {
          EXPECT_TRUE(same(got, before));
        }
        before = got;
      }
      EXPECT_TRUE(fixed.switched());
    }
  });
}

template <class C> class PlanOnHost : public engine_test<C> {};
TYPED_TEST_SUITE(PlanOnHost, host_value_configs, config_name);

TYPED_TEST(PlanOnHost, Reordered) {
  using T = typename TypeParam::value;
  TypeParam::for_each_value_kind([&] {
    for (const triplets& m : battery()) {
      if (m.rows != m.cols) continue;
      SCOPED_TRACE(m.name);
      const auto a = TypeParam::host_csr(m);
      const auto x = random_vector<T>(m.cols, 1), z = random_vector<T>(m.rows, 2);
      auto y = z;
      plan_hints hints{.may_reorder = true};
      hints.format = "csr_k";
      plan(TypeParam::context(), a, hints).multiply(2, x, -1, y);
      EXPECT_TRUE(within(y, expected_product(2, a, false, x, -1, z)));
    }
  });
}

} // namespace
} // namespace lacuna::test
