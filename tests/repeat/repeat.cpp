// The same call gives the same bits: again and again on every engine, and on the host for any
// number of threads.
#include "support/dense_block.hpp"
#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

/// Large enough that work is split, among them all kinds of unevenness.
constexpr const char* names[] = {"one huge row",
                                 "huge first and last row",
                                 "one huge column",
                                 "power law",
                                 "stencil 40 x 40",
                                 "unsorted with duplicates",
                                 "empty rows at start, middle and end"};

/// Times rows of 300 entries, the first row is so much of the work that threads divide it.
const triplets& divided_row() {
  static const triplets result = [] {
    triplets m{"a row that is divided", 200, 1000, {}, {}, {}};
    random_source random(8);
    for (std::int64_t j = 0; j < m.cols; ++j) m.add(0, j, random.value());
    for (std::int64_t i = 1; i < m.rows; ++i) m.add(i, random.below(m.cols), random.value());
    return m;
  }();
  return result;
}
/// What a sparse product multiplies m by.
triplets right_factor(const triplets& m) {
  return random_matrix(m.cols, 50'000, &m == &divided_row() ? 300 : 2, 10);
}

/// What an operation computed, bit by bit.
class bits {
public:
  template <class T> void add(const std::vector<T>& v) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(v.data());
    bytes_.insert(bytes_.end(), bytes, bytes + v.size() * sizeof(T));
  }
  template <class T> void add_scalar(T x) { add(std::vector<T>{x}); }
  template <class T, class I, class O, space S> void add(const csr<T, I, O, S>& a) {
    add(host_vector(a.rowptr()));
    add(host_vector(a.colind()));
    add(host_vector(a.values()));
  }
  template <class T, class I, class O, space S> void add(const coo<T, I, O, S>& a) {
    add(host_vector(a.rowind()));
    add(host_vector(a.colind()));
    add(host_vector(a.values()));
  }
  friend bool operator==(const bits&, const bits&) = default;

private:
  std::vector<unsigned char> bytes_;
};

/// Each operation, run on a context, with all it computed.
template <class T, class I, class O> struct operations {
  template <space S> static array<T, S> put(const context<S>& ctx, std::int64_t size, int seed) {
    return copy_to(ctx, random_vector<T>(size, static_cast<std::uint64_t>(seed)));
  }

  template <space S> static bits multiply_plain(const triplets& m, const context<S>& ctx) {
    const auto a = copy_to(ctx, make_csr<T, I, O>(m));
    const auto x = put(ctx, m.cols, 1);
    auto y = put(ctx, m.rows, 2);
    bits result;
    multiply(ctx, a, x, y);
    result.add(host_vector(y));
    for (int times = 0; times < 8; ++times) { // a rounding that differs shows only now and then
      multiply(ctx, scaled(0.3, a), x, scaled(0.7, y), y);
      result.add(host_vector(y));
    }
    const auto info = multiply_inspect(ctx, a, x, y);
    multiply(ctx, info, a, x, y);
    result.add(host_vector(y));
    return result;
  }
  template <space S> static bits multiply_inspected(const triplets& m, const context<S>& ctx) {
    const auto a = copy_to(ctx, make_csr<T, I, O>(m));
    const auto x = put(ctx, m.rows, 3);
    auto y = put(ctx, m.cols, 4);
    const auto info = multiply_inspect(ctx, transposed(a), x, y);
    multiply(ctx, info, transposed(a), x, scaled(2, y), y);
    bits result;
    result.add(host_vector(y));
    return result;
  }
  template <space S> static bits multiply_transposed(const triplets& m, const context<S>& ctx) {
    const auto a = copy_to(ctx, make_csr<T, I, O>(m));
    const auto x = put(ctx, m.rows, 5);
    auto y = put(ctx, m.cols, 6);
    multiply(ctx, transposed(a), x, y);
    bits result;
    result.add(host_vector(y));
    return result;
  }
  template <space S> static bits multiply_dense(const triplets& m, const context<S>& ctx) {
    const auto a = copy_to(ctx, make_csr<T, I, O>(m));
    bits result;
    for (const std::int64_t columns : {1, 2, 7, 8}) {
      const dense_block<T> numbers({m.cols, columns}, 7),
          nan = dense_block<T>::nan({m.rows, columns});
      for (const layout l : {layout::row_major, layout::column_major}) {
        const auto x = numbers.put(ctx, l, 0);
        auto y = nan.put(ctx, l, 0);
        multiply(ctx, a, x.view(), y.view());
        result.add(y.elements());
        multiply(ctx, scaled(0.3, a), x.view(), scaled(0.7, y.view()), y.view());
        result.add(y.elements());
      }
    }
    return result;
  }
  template <space S> static bits multiply_sparse(const triplets& m, const context<S>& ctx) {
    const auto a = copy_to(ctx, make_csr<T, I, O>(m));
    const auto b = copy_to(ctx, make_csr<T, I, O>(right_factor(m)));
    bits result;
    const auto c = multiply(ctx, scaled(0.3, a), b);
    result.add(c);
    result.add(multiply_pattern(ctx, a, b));
    auto info = multiply_compute(ctx, a, b);
    csr<T, I, O, S> d(ctx, info.shape(), info.nnz());
    multiply_fill(ctx, info, scaled(0.3, a), b, d);
    result.add(d);
    for (int times = 0; times < 2; ++times) {
      multiply_refill(ctx, info, scaled(0.3, a), b, d);
      result.add(d);
      EXPECT_TRUE(same(host_vector(d.values()), host_vector(c.values())));
    }
    csc<T, I, O, S> by_columns;
    multiply(ctx, scaled(0.3, a), b, by_columns);
    result.add(by_columns.transpose());
    const auto map = transpose_inspect(ctx, a, a);
    csr<T, I, O, S> t(ctx, map.shape(), map.nnz());
    transpose(ctx, map, a, t);
    result.add(t);
    EXPECT_TRUE(same(host_vector(t.values()), host_vector(transpose(ctx, a).values())));
    result.add(multiply_in_parts(ctx, a, b, {.memory_limit = 20'000'000}));
    return result;
  }
  template <space S> static bits multiply_by_sorting(const triplets& m, const context<S>& ctx) {
    const auto a = copy_to(ctx, make_csr<T, I, O>(m));
    const auto b = copy_to(ctx, make_csr<T, I, O>(right_factor(m)));
    constexpr spgemm_options by_sorting{.method = spgemm_method::expand_sort};
    bits result, other;
    result.add(multiply(ctx, scaled(0.3, a), b, by_sorting));
    other.add(multiply(ctx, scaled(0.3, a), b));
    EXPECT_TRUE(result == other);
    result.add(multiply_pattern(ctx, a, b, by_sorting));
    result.add(multiply_in_parts(
        ctx, a, b, {.memory_limit = 20'000'000, .method = spgemm_method::expand_sort}));
    return result;
  }
  template <space S> static bits sums(const triplets& m, const context<S>& ctx) {
    const auto a = copy_to(ctx, make_csr<T, I, O>(m));
    const auto x = put(ctx, m.cols, 8), y = put(ctx, m.cols, 9);
    bits result;
    result.add_scalar(dot(ctx, x, y));
    result.add_scalar(norm1(ctx, x));
    result.add_scalar(norm2(ctx, x));
    result.add_scalar(norm_inf(ctx, x));
    result.add_scalar(matrix_frob_norm(ctx, a));
    result.add_scalar(matrix_inf_norm(ctx, a));
    return result;
  }
  template <space S> static bits add_two(const triplets& m, const context<S>& ctx) {
    const auto a = copy_to(ctx, make_csr<T, I, O>(m));
    triplets moved = m;
    for (std::size_t k = 0; k < m.value.size(); k += 2) moved.col[k] = (m.col[k] + 1) % m.cols;
    const auto b = copy_to(ctx, make_csr<T, I, O>(moved));
    bits result;
    auto c = add(ctx, scaled(0.3, a), scaled(1.7, b));
    result.add(c);
    result.add(add(ctx, a, scaled(-0.1, a)));
    result.add(add(ctx, transposed(a), transposed(b)));
    add_to(ctx, scaled(0.9, b), c);
    result.add(c);
    return result;
  }
  template <space S> static bits select(const triplets& m, const context<S>& ctx) {
    const auto a = copy_to(ctx, make_csr<T, I, O>(m));
    bits result;
    result.add(host_vector(diagonal(ctx, a)));
    result.add(filter(ctx, a, keep_at_least(0.9) & keep_off_diagonal));
    result.add(submatrix(ctx, a, {m.rows / 3}, {m.cols / 4, m.cols}));
    return result;
  }
  template <space S> static bits structure(const triplets& m, const context<S>& ctx) {
    auto rows = copy_to(ctx, make_csr<T, I, O>(m));
    auto triples = copy_to(ctx, make_coo<T, I, O>(m));
    bits result;
    result.add(transpose(ctx, rows));
    result.add(to_csr(ctx, triples));
    result.add(to_coo(ctx, rows));
    for (const duplicates rule : {duplicates::sum, duplicates::first, duplicates::last}) {
      result.add(merge_duplicates(ctx, rows, rule));
      result.add(merge_duplicates(ctx, triples, rule));
    }
    rows.state({});
    sort(ctx, rows);
    result.add(rows);
    triples.state({});
    sort(ctx, triples);
    result.add(triples);
    return result;
  }
};

template <class C> using ops = operations<typename C::value, typename C::index, typename C::offset>;

template <class C> class Repeat : public engine_test<C> {
protected:
  /// Twice on one context, and once on another with other memory.
  template <class Op> static void expect_same(Op op) {
    for (const char* name : names) expect_same(op, battery_matrix(name));
  }
  template <class Op> static void expect_same(Op op, const triplets& m) {
    SCOPED_TRACE(std::string(C::engine::name) + ": " + m.name);
    const bits first = op(m, C::context());
    EXPECT_TRUE(op(m, C::context()) == first) << "the second call";
    const context<C::memory_space> another = another_context();
    EXPECT_TRUE(op(m, another) == first) << "another context";
  }
  /// On the host only: any number of threads.
  template <class Op> static void expect_same_for_threads(Op op) {
    for (const char* name : names) expect_same_for_threads(op, battery_matrix(name));
  }
  template <class Op> static void expect_same_for_threads(Op op, const triplets& m) {
    if constexpr (C::memory_space == space::host) {
      const bits first = op(m, host_context(host_options{.threads = 1}));
      for (const int threads : {2, 3, 4, 7}) {
        SCOPED_TRACE(m.name + ", " + std::to_string(threads) + " threads");
        EXPECT_TRUE(op(m, host_context(host_options{.threads = threads})) == first);
      }
    }
  }

private:
  static context<C::memory_space> another_context() {
    if constexpr (C::memory_space == space::host)
      return host_context(host_options{.threads = C::context().threads()});
    else
      return context<C::memory_space>();
  }
};
TYPED_TEST_SUITE(Repeat, few_configs, config_name);

TYPED_TEST(Repeat, Multiply) {
  const auto op = [](const triplets& m, const auto& ctx) {
    return ops<TypeParam>::multiply_plain(m, ctx);
  };
  TestFixture::expect_same(op);
  TestFixture::expect_same_for_threads(op);
}

TYPED_TEST(Repeat, MultiplyTransposedInspected) {
  const auto op = [](const triplets& m, const auto& ctx) {
    return ops<TypeParam>::multiply_inspected(m, ctx);
  };
  TestFixture::expect_same(op);
  TestFixture::expect_same_for_threads(op);
}

TYPED_TEST(Repeat, MultiplyTransposed) {
  // Without inspection: for a fixed number of threads.
  TestFixture::expect_same([](const triplets& m, const auto& ctx) {
    return ops<TypeParam>::multiply_transposed(m, ctx);
  });
}

TYPED_TEST(Repeat, MultiplyDense) {
  const auto op = [](const triplets& m, const auto& ctx) {
    return ops<TypeParam>::multiply_dense(m, ctx);
  };
  TestFixture::expect_same(op);
  TestFixture::expect_same_for_threads(op);
}

TYPED_TEST(Repeat, MultiplySparse) {
  const auto op = [](const triplets& m, const auto& ctx) {
    return ops<TypeParam>::multiply_sparse(m, ctx);
  };
  TestFixture::expect_same(op);
  TestFixture::expect_same_for_threads(op);
  TestFixture::expect_same(op, divided_row());
  TestFixture::expect_same_for_threads(op, divided_row());
}

TYPED_TEST(Repeat, MultiplySparseBySorting) {
  const auto op = [](const triplets& m, const auto& ctx) {
    return ops<TypeParam>::multiply_by_sorting(m, ctx);
  };
  TestFixture::expect_same(op);
  TestFixture::expect_same_for_threads(op);
  TestFixture::expect_same(op, divided_row());
  TestFixture::expect_same_for_threads(op, divided_row());
}

TYPED_TEST(Repeat, Sums) {
  const auto op = [](const triplets& m, const auto& ctx) { return ops<TypeParam>::sums(m, ctx); };
  TestFixture::expect_same(op);
  TestFixture::expect_same_for_threads(op);
}

TYPED_TEST(Repeat, Select) {
  const auto op = [](const triplets& m, const auto& ctx) { return ops<TypeParam>::select(m, ctx); };
  TestFixture::expect_same(op);
  TestFixture::expect_same_for_threads(op);
}

TYPED_TEST(Repeat, Preconditioners) {
  triplets m{"laplacian", 70'000, 70'000, {}, {}, {}};
  random_source random(4);
  for (std::int64_t i = 0; i < m.rows; ++i) {
    m.add(i, i, 2 + random.uniform());
    if (i > 0) m.add(i, i - 1, -1);
  }
  const auto op = [](const triplets& t, const auto& ctx) {
    using T = typename TypeParam::value;
    const auto a =
        copy_to(ctx, make_csr<T, typename TypeParam::index, typename TypeParam::offset>(t));
    bits result;
    for (const bool symmetric : {true, false})
      result.add_scalar(estimate_spectral_radius(ctx, a, {.symmetric = symmetric}));
    const auto r = copy_to(ctx, random_vector<T>(t.rows, 5));
    auto z = copy_to(ctx, r);
    block_jacobi(ctx, a, {.block = 3}).apply(ctx, r.view(), z.view());
    result.add(host_vector(z));
    chebyshev(ctx, a).apply(ctx, r.view(), z.view());
    result.add(host_vector(z));
    return result;
  };
  TestFixture::expect_same(op, m);
  TestFixture::expect_same_for_threads(op, m);
}

TYPED_TEST(Repeat, Structure) {
  const auto op = [](const triplets& m, const auto& ctx) {
    return ops<TypeParam>::structure(m, ctx);
  };
  TestFixture::expect_same(op);
  TestFixture::expect_same_for_threads(op);
}

TYPED_TEST(Repeat, Add) {
  const auto op = [](const triplets& m, const auto& ctx) {
    return ops<TypeParam>::add_two(m, ctx);
  };
  TestFixture::expect_same(op);
  TestFixture::expect_same_for_threads(op);
}

TYPED_TEST(Repeat, LongVectors) {
  const triplets long_row{"a long vector", 1, 700'001, {}, {}, {}};
  const auto op = [](const triplets& m, const auto& ctx) { return ops<TypeParam>::sums(m, ctx); };
  EXPECT_TRUE(op(long_row, TypeParam::context()) == op(long_row, TypeParam::context()));
  TestFixture::expect_same_for_threads(op, long_row);
}

} // namespace
} // namespace lacuna::test
