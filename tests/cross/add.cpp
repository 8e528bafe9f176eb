// alpha op(A) + beta op(B), bit by bit as the reference has it.
#include "core/narrow_limit.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

/// Another matrix of the same shape: half of m's entries, moved by up to two columns, the rest
/// where they were; in another order within rows for some.
triplets neighbour(const triplets& m, std::uint64_t seed) {
  random_source random(seed);
  triplets result{m.name + ", moved", m.rows, m.cols, {}, {}, {}};
  for (std::size_t k = 0; k < m.value.size(); ++k) {
    if (random.below(8) == 0) continue;
    const std::int64_t by = random.below(2) * (1 + random.below(2));
    result.add(m.row[k], (m.col[k] + by) % m.cols, random.value());
  }
  return result;
}
/// A diagonal and a few rows, of any shape.
triplets other(std::int64_t rows, std::int64_t cols) {
  triplets result{"other", rows, cols, {}, {}, {}};
  random_source random(5);
  for (std::int64_t i = 0; i < rows && cols > 0; ++i) {
    if (i < cols && i % 7 != 3) result.add(i, i, random.value());
    if (i % 31 == 5)
      for (std::int64_t j = 0; j < std::min<std::int64_t>(cols, 90); j += 3)
        if (j != i) result.add(i, j, random.value());
  }
  return result;
}

template <class C> class Add : public engine_test<C> {
protected:
  template <class M> static void expect_sum(const M& c, const reference::triplets& want) {
    EXPECT_NO_THROW(check(C::context(), c));
    EXPECT_EQ(c.order(), (facts{true, true}));
    EXPECT_TRUE(same_sums(entries_of(c), want));
  }
};
TYPED_TEST_SUITE(Add, all_configs, config_name);
template <class C> class AddFew : public Add<C> {};
TYPED_TEST_SUITE(AddFew, few_configs, config_name);

TYPED_TEST(Add, Battery) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto in_a = entries_of(host);
    for (const triplets& n : {neighbour(m, 3), other(m.rows, m.cols)}) {
      const auto b = TypeParam::put_csr(n);
      const auto in_b = entries_of(b);
      TestFixture::expect_sum(add(ctx, a, b), reference::add<T>(1, in_a, 1, in_b));
      TestFixture::expect_sum(add(ctx, b, a), reference::add<T>(1, in_b, 1, in_a));
      TestFixture::expect_sum(add(ctx, scaled(0.3, a), scaled(-1.7, b)),
                              reference::add<T>(0.3, in_a, -1.7, in_b));
      EXPECT_TRUE(same_matrix(b, TypeParam::host_csr(n)));
    }
    EXPECT_TRUE(same_matrix(a, host));
  });
}

TYPED_TEST(Add, EqualPatterns) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    auto b = copy_to(ctx, a);
    const auto in_a = entries_of(a);
    TestFixture::expect_sum(add(ctx, scaled(0.3, a), a), reference::add<T>(0.3, in_a, 1, in_a));
    TestFixture::expect_sum(add(ctx, a, scaled(-1, b)), reference::add<T>(1, in_a, -1, in_a));
  });
}

TYPED_TEST(Add, TransposedOperands) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto b = TypeParam::put_csr(neighbour(exchanged(m), 7));
    const auto in_a = entries_of(a), in_b = entries_of(b);
    const auto turned_a = reference::transpose(in_a), turned_b = reference::transpose(in_b);
    TestFixture::expect_sum(add(ctx, scaled(0.3, a), transposed(scaled(3, b))),
                            reference::add<T>(0.3, in_a, 3, turned_b));
    TestFixture::expect_sum(add(ctx, transposed(a), b), reference::add<T>(1, turned_a, 1, in_b));
    const auto columns = TypeParam::put_csc(m); // a csc is a transposed csr
    TestFixture::expect_sum(add(ctx, columns, scaled(2, a)),
                            reference::add<T>(1, entries_of(columns), 2, in_a));
  });
}

TYPED_TEST(Add, ManyEmptyRows) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  triplets m{"sparse rows", 70'000, 50, {}, {}, {}}, n = m;
  for (const std::int64_t row : {0, 1, 2303, 2304, 2305, 30'000, 69'999})
    for (std::int64_t j = row % 3; j < 50; j += 3) {
      m.add(row, j, 1.5);
      n.add(row == 30'000 ? row : m.rows - 1 - row, j, 0.25);
    }
  n = sorted(n);
  const auto a = TypeParam::put_csr(m), b = TypeParam::put_csr(n);
  const auto none = TypeParam::put_csr({"none", m.rows, m.cols, {}, {}, {}});
  TestFixture::expect_sum(add(ctx, a, b), reference::add<T>(1, entries_of(a), 1, entries_of(b)));
  TestFixture::expect_sum(add(ctx, a, none), entries_of(a));
  TestFixture::expect_sum(add(ctx, none, none), entries_of(none));
}

TYPED_TEST(AddFew, UnstatedOrder) {
  // Nothing is stated, and all is well; or nothing is.
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const char* name : {"stencil 40 x 40", "unsorted", "duplicates", "unsorted with duplicates",
                           "descending rows", "one huge row"}) {
    SCOPED_TRACE(std::string(TypeParam::engine::name) + ": " + name);
    const triplets& m = battery_matrix(name);
    auto a = TypeParam::put_csr(m);
    a.state({});
    auto b = TypeParam::put_csr(neighbour(m, 9));
    b.state({});
    const auto in_a = entries_of(a), in_b = entries_of(b);
    TestFixture::expect_sum(add(ctx, a, b), reference::add<T>(1, in_a, 1, in_b));
    TestFixture::expect_sum(
        add(ctx, transposed(a), transposed(b)),
        reference::add<T>(1, reference::transpose(in_a), 1, reference::transpose(in_b)));
    EXPECT_EQ(a.order(), facts{});
  }
}

TYPED_TEST(Add, WideOffsets) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto b = TypeParam::put_csr(neighbour(m, 3));
    const auto c = add_wide(ctx, a, scaled(2, b));
    static_assert(std::is_same_v<typename decltype(c)::offset_type, std::int64_t>);
    TestFixture::expect_sum(c, reference::add<T>(1, entries_of(a), 2, entries_of(b)));
    TestFixture::expect_sum(add_wide(ctx, a, a),
                            reference::add<T>(1, entries_of(a), 1, entries_of(a)));
  });
}

TYPED_TEST(Add, InPhases) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  using owner = csr<T, I, O, TypeParam::memory_space>;
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto b = TypeParam::put_csr(neighbour(m, 3));
    owner c;
    operation_info_t info = add_inspect(ctx, a, b, c);
    const auto want = reference::add<T>(2, entries_of(a), 1, entries_of(b));
    ASSERT_EQ(info.result_nnz(), static_cast<O>(want.value.size()));
    ASSERT_EQ(info.result_shape(), (index<std::int64_t>{m.rows, m.cols}));
    add_inspect(ctx, info, a, b, c);
    c = owner(ctx, info.result_shape(), info.result_nnz());
    for (int times = 0; times < 2; ++times) { // all of C each time, wherever it is
      fill(ctx, 9, c.values());
      add_compute(ctx, info, scaled(2, a), b, c);
      TestFixture::expect_sum(c, want);
    }
    // Another pattern than the one counted: C stays.
    const auto none = owner(TypeParam::put_csr({"none", m.rows, m.cols, {}, {}, {}}));
    if (add_inspect(ctx, a, none).nnz() != info.nnz()) {
      EXPECT_THROW(add_compute(ctx, info, a, none, c.view()), bad_input);
    }
    TestFixture::expect_sum(c, want);
    owner larger(ctx, info.shape(), info.nnz() + 1);
    EXPECT_THROW(add_compute(ctx, info, a, b, larger), size_mismatch);
    owner whole;
    add(ctx, scaled(2, a), b, whole);
    TestFixture::expect_sum(whole, want);
    add_compute(ctx, operation_info_t(), scaled(2, a), b, c); // nothing is known
    TestFixture::expect_sum(c, want);
  });
}

TYPED_TEST(AddFew, ResultsByColumns) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  using columns = csc<T, I, O, TypeParam::memory_space>;
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto b = TypeParam::put_csc(neighbour(m, 3));
    const auto want = reference::transpose(reference::add<T>(2, entries_of(a), 1, entries_of(b)));
    const auto info = add_inspect(ctx, a, b);
    columns c(ctx, info.shape(), info.nnz());
    add_compute(ctx, info, scaled(2, a), b, c);
    EXPECT_EQ(c.shape(), (index<I>{static_cast<I>(m.rows), static_cast<I>(m.cols)}));
    TestFixture::expect_sum(c.transpose(), want);
    columns whole;
    add(ctx, scaled(2, a), b, whole);
    TestFixture::expect_sum(whole.transpose(), want);
  });
}

TYPED_TEST(AddFew, IntoViewsWithSpareRoom) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const triplets& m = battery_matrix("unsorted with duplicates");
  const auto a = TypeParam::put_csr(m), b = TypeParam::put_csr(other(m.rows, m.cols));
  const auto want = copy_to(default_context<space::host>(), add(ctx, a, b));
  array<O, S> rowptr(ctx, m.rows + 1);
  csr_view<T, I, O, S> c(nullptr, rowptr.data(), nullptr, a.shape(), 0);
  const auto info = add_inspect(ctx, a, b, c);
  array<T, S> values(ctx, info.result_nnz() + 4);
  array<I, S> colind(ctx, info.result_nnz() + 4);
  c.update(values.view(), rowptr.view(), colind.view());
  add_compute(ctx, info, a, b, c);
  EXPECT_EQ(c.size(), want.size());
  EXPECT_TRUE(same_matrix(copy_to(ctx, c), want));
  c.update(values.view(), rowptr.view(), colind.view(), a.shape(), 0);
  add(ctx, a, b, c);
  EXPECT_TRUE(same_matrix(copy_to(ctx, c), want));
  array<T, S> fewer(ctx, info.result_nnz() - 1);
  c.update(fewer.view(), rowptr.view(), colind.view(), a.shape(), 0);
  EXPECT_THROW(add(ctx, a, b, c), size_mismatch);
  EXPECT_THROW(add_compute(ctx, info, a, b, c), size_mismatch);
  EXPECT_EQ(c.size(), 0);
}

TYPED_TEST(Add, IntoAPatternThatHasRoom) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    auto c = add(ctx, scaled(0.5, a), TypeParam::put_csr(other(m.rows, m.cols)));
    const auto before = entries_of(c);
    add_to(ctx, scaled(0.3, a), c);
    TestFixture::expect_sum(c, reference::add<T>(1, before, 0.3, entries_of(a)));
    const auto again = entries_of(c);
    add_to(ctx, scaled(-2, c), c);
    TestFixture::expect_sum(c, reference::add<T>(1, again, -2, again));
    const auto still = entries_of(c);
    const auto b_transposed = transpose(ctx, a);
    add_to(ctx, transposed(b_transposed), c.view());
    TestFixture::expect_sum(c, reference::add<T>(1, still, 1, entries_of(a)));
  });
}

TYPED_TEST(AddFew, IntoAPatternWithoutRoom) {
  const auto& ctx = TypeParam::context();
  for (const char* name : {"stencil 40 x 40", "one huge row", "power law"}) {
    SCOPED_TRACE(std::string(TypeParam::engine::name) + ": " + name);
    const triplets& m = battery_matrix(name);
    auto c = TypeParam::put_csr(m);
    c = merge_duplicates(ctx, c);
    const auto before = copy_to(default_context<space::host>(), c);
    // C's own entries, but one at a coordinate where C has none.
    triplets n = m;
    const auto in_c = entries_of(c);
    std::int64_t row = m.rows - 1, col = 0;
    const auto has = [&](std::int64_t i, std::int64_t j) {
      for (std::size_t k = 0; k < in_c.row.size(); ++k)
        if (in_c.row[k] == i && in_c.col[k] == j) return true;
      return false;
    };
    while (has(row, col)) ++col;
    ASSERT_LT(col, m.cols);
    n.add(row, col, 1);
    try {
      add_to(ctx, TypeParam::put_csr(n), c);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const bad_input& e) {
      const std::string place =
          "row " + std::to_string(row) + ", column " + std::to_string(col) + ",";
      EXPECT_NE(std::string(e.what()).find(place), std::string::npos) << e.what();
    }
    EXPECT_TRUE(same_matrix(c, before));
  }
  auto unsorted = TypeParam::put_csr(battery_matrix("unsorted"));
  const auto kept = copy_to(default_context<space::host>(), unsorted);
  EXPECT_THROW(add_to(ctx, unsorted, unsorted), bad_input);
  EXPECT_TRUE(same_matrix(unsorted, kept));
}

TYPED_TEST(AddFew, RefusesOtherShapes) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("wide"));
  auto b = TypeParam::put_csr(battery_matrix("tall"));
  EXPECT_THROW((void)add(ctx, a, b), size_mismatch);
  EXPECT_THROW((void)add(ctx, a, transposed(a)), size_mismatch);
  EXPECT_THROW((void)add_inspect(ctx, a, b), size_mismatch);
  EXPECT_THROW(add_to(ctx, a, b), size_mismatch);
}

TYPED_TEST(AddFew, DefaultConstructed) {
  using M = csr<typename TypeParam::value, typename TypeParam::index, typename TypeParam::offset,
                TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  const M nothing;
  EXPECT_EQ(add(ctx, nothing, nothing).size(), 0);
  EXPECT_EQ(add(nothing, transposed(nothing)).size(), 0);
  EXPECT_EQ(add_wide(ctx, nothing, nothing).rowptr().size(), 1);
  auto empty = TypeParam::put_csr({"0 x 0", 0, 0, {}, {}, {}});
  EXPECT_EQ(add(ctx, empty, nothing).size(), 0);
  EXPECT_EQ(add(ctx, nothing, empty).size(), 0);
  add_to(ctx, nothing, empty);
  add_compute(ctx, add_inspect(ctx, empty, nothing), nothing, empty, M().view());
}

TYPED_TEST(AddFew, CountsBeyondTheOffsets) {
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  const triplets& m = battery_matrix("band");
  const auto a = TypeParam::put_csr(m);
  const auto b = TypeParam::put_csr(neighbour(m, 3));
  const auto want = static_cast<std::int64_t>(add(ctx, a, b).size());
  for (const std::int64_t limit : {want, want - 1}) {
    const auto before = lacuna::detail::set_narrow_limit(limit);
    if (sizeof(O) == 8 || limit == want) {
      EXPECT_EQ(add(ctx, a, b).size(), want);
      EXPECT_EQ(add_inspect(ctx, a, b).nnz(), want);
    } else {
      try {
        (void)add(ctx, a, b);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const unsupported& e) {
        EXPECT_NE(std::string(e.what()).find(std::to_string(want)), std::string::npos) << e.what();
      }
      EXPECT_THROW((void)add_inspect(ctx, a, b), unsupported);
    }
    EXPECT_EQ(add_wide(ctx, a, b).size(), want);
    lacuna::detail::set_narrow_limit(before);
  }
}

} // namespace
} // namespace lacuna::test
