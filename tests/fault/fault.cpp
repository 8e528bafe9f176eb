// Allocation number 0, 1, 2, … fails until the operation succeeds. Each failure is out_of_memory,
// leaves every operand bit by bit as it was and nothing allocated; afterwards the operation works.
#include <functional>

#include "fault/failing_allocator.hpp"
#include "fault/plain_new.hpp"
#include "support/sparse_product.hpp"
#include "support/triangular.hpp"

namespace lacuna::test {
namespace {

template <class C> class Fault : public engine_test<C> {
protected:
  static constexpr space where = C::memory_space;
  using rows_t = csr<typename C::value, typename C::index, typename C::offset, where>;
  using columns_t = csc<typename C::value, typename C::index, typename C::offset, where>;
  using triples_t = coo<typename C::value, typename C::index, typename C::offset, where>;
  using vector_t = array<typename C::value, where>;
  using dense_t = dense<typename C::value, where>;

  /// Everything an operation here may touch.
  struct operands {
    rows_t a;
    columns_t c;
    triples_t t;
    dense_t d, x_block, y_block;
    vector_t x, y, u, v;
    rows_t result; // of the transposed shape
  };
  static operands make() {
    const auto& ctx = C::context();
    const triplets& m = battery_matrix("unsorted with duplicates"); // 150 x 90
    const auto vector = [](std::int64_t size, std::uint64_t seed) {
      return C::put(random_vector<typename C::value>(size, seed));
    };
    operands o{C::put_csr(m),
               C::put_csc(m),
               C::put_coo(m),
               to_dense(ctx, C::put_csr(m)),
               dense_t(ctx, {m.cols, 5}),
               dense_t(ctx, {m.rows, 5}),
               vector(m.cols, 1),
               vector(m.rows, 2),
               vector(m.rows, 3),
               vector(m.cols, 4),
               C::put_csr(exchanged(m))};
    fill(ctx, 2, o.x_block.values());
    fill(ctx, 3, o.y_block.values());
    return o;
  }

  /// All bits of all operands, on the host.
  static std::vector<unsigned char> bits_of(const operands& o) {
    std::vector<unsigned char> bits;
    const auto append = [&](const auto& view) {
      const auto v = host_vector(view);
      const auto* bytes = reinterpret_cast<const unsigned char*>(v.data());
      bits.insert(bits.end(), bytes, bytes + v.size() * sizeof(v[0]));
    };
    const auto append_rows = [&](const rows_t& a) {
      append(a.rowptr());
      append(a.colind());
      append(a.values());
      bits.push_back(static_cast<unsigned char>(2 * a.order().sorted + a.order().unique));
    };
    append_rows(o.a);
    append_rows(o.c.transpose());
    append_rows(o.result);
    append(o.t.rowind());
    append(o.t.colind());
    append(o.t.values());
    bits.push_back(static_cast<unsigned char>(2 * o.t.order().sorted + o.t.order().unique));
    for (const dense_t* d : {&o.d, &o.x_block, &o.y_block}) append(d->values());
    for (const vector_t* v : {&o.x, &o.y, &o.u, &o.v}) append(v->view());
    return bits;
  }

  /// Fails every allocation of `op`, one after another. `least`: the fewest that it must make, so
  /// that a test cannot pass by testing nothing.
  static void expect_survives(const char* name, int least,
                              const std::function<void(operands&)>& op) {
    SCOPED_TRACE(std::string(C::engine::name) + ": " + name);
    operands o = make();
    const auto before = bits_of(o);
    const auto host_before = memory(space::host).in_use, engine_before = memory(where).in_use;
    int failures = 0;
    for (;; ++failures) {
      ASSERT_LT(failures, 1000) << "never succeeds";
      bool thrown = false;
      {
        const failing_allocator hook(failures);
        try {
          op(o);
        } catch (const out_of_memory&) {
          thrown = true;
        }
        // Any other exception ends the test with its message.
      }
      ASSERT_EQ(thrown, failed.load()) << "allocation " << failures;
      if (!thrown) break;
      ASSERT_TRUE(bits_of(o) == before) << "operands changed, allocation " << failures;
      ASSERT_EQ(memory(where).in_use, engine_before) << "leak, allocation " << failures;
      ASSERT_EQ(memory(space::host).in_use, host_before) << "host leak, allocation " << failures;
    }
    EXPECT_GE(failures, least);
    // The last run succeeded; its results are those of operands that never saw a failure.
    operands fresh = make();
    op(fresh);
    EXPECT_TRUE(bits_of(o) == bits_of(fresh));
    EXPECT_NO_THROW(op(o));
  }

  /// Scratch that grows with the matrix must come from the context, where the hook and memory()
  /// see it, not from std::vector.
  static void expect_seen(const char* name, const std::function<void()>& op) {
    SCOPED_TRACE(std::string(C::engine::name) + ": " + name);
    op(); // once-only things: threads, streams, handles
    largest_plain_new = 0;
    op();
    EXPECT_LT(largest_plain_new.load(), std::size_t{16} << 10U);
  }
};
TYPED_TEST_SUITE(Fault, few_configs, config_name);

TYPED_TEST(Fault, Multiply) {
  const auto& ctx = TypeParam::context();
  TestFixture::expect_survives("plain", 0, [&](auto& o) { multiply(ctx, o.a, o.x, o.y); });
  TestFixture::expect_survives("inspected", 0, [&](auto& o) {
    const auto info = multiply_inspect(ctx, o.a, o.x, o.y);
    multiply(ctx, info, o.a, o.x, o.y);
  });
  TestFixture::expect_survives("transposed", 0,
                               [&](auto& o) { multiply(ctx, transposed(o.a), o.u, o.v); });
  TestFixture::expect_survives("transposed onto itself", 0, [&](auto& o) {
    multiply(ctx, transposed(o.a), o.u, scaled(0.5, o.v), o.v);
  });
  TestFixture::expect_survives("transposed, inspected", 3, [&](auto& o) {
    const auto info = multiply_inspect(ctx, transposed(o.a), o.u, o.v);
    multiply(ctx, info, transposed(o.a), o.u, o.v);
  });
  TestFixture::expect_survives("csc", 0, [&](auto& o) { multiply(ctx, o.c, o.x, o.y); });
  TestFixture::expect_survives("dense", 0,
                               [&](auto& o) { multiply(ctx, o.a, o.x_block, o.y_block); });
  TestFixture::expect_survives("dense, transposed", 3, [&](auto& o) {
    multiply(ctx, transposed(o.a), o.y_block, scaled(2, o.x_block), o.x_block);
  });
}

TYPED_TEST(Fault, Structure) {
  const auto& ctx = TypeParam::context();
  TestFixture::expect_survives("transpose", 3, [&](auto& o) { (void)transpose(ctx, o.a); });
  TestFixture::expect_survives("transpose into", 0,
                               [&](auto& o) { transpose(ctx, o.a, o.result.view()); });
  TestFixture::expect_survives("transpose, inspected", 3, [&](auto& o) {
    const auto info = transpose_inspect(ctx, o.a, o.result);
    transpose(ctx, info, o.a, o.result.view());
    transpose_refill(ctx, info, o.a, o.result);
  });
  TestFixture::expect_survives("coo to csr", 3, [&](auto& o) { (void)to_csr(ctx, o.t); });
  TestFixture::expect_survives("coo to csc", 3, [&](auto& o) { (void)to_csc(ctx, o.t); });
  TestFixture::expect_survives("csr to coo", 3, [&](auto& o) { (void)to_coo(ctx, o.a); });
  TestFixture::expect_survives("csr to csr", 3, [&](auto& o) { (void)to_csr(ctx, o.a); });
  TestFixture::expect_survives("csr to csc", 3, [&](auto& o) { (void)to_csc(ctx, o.a); });
  TestFixture::expect_survives("csc to csr", 3, [&](auto& o) { (void)to_csr(ctx, o.c); });
  TestFixture::expect_survives("csc to coo", 3, [&](auto& o) { (void)to_coo(ctx, o.c); });
  TestFixture::expect_survives("csr to dense", 1, [&](auto& o) { (void)to_dense(ctx, o.a); });
  TestFixture::expect_survives("csc to dense", 1, [&](auto& o) { (void)to_dense(ctx, o.c); });
  TestFixture::expect_survives("coo to dense", 4, [&](auto& o) { (void)to_dense(ctx, o.t); });
  TestFixture::expect_survives("dense to csr", 3, [&](auto& o) { (void)to_csr(ctx, o.d); });
  TestFixture::expect_survives("dense to csc", 3, [&](auto& o) { (void)to_csc(ctx, o.d); });
  TestFixture::expect_survives("dense to coo", 6, [&](auto& o) { (void)to_coo(ctx, o.d); });
}

TYPED_TEST(Fault, Select) {
  const auto& ctx = TypeParam::context();
  using index = typename TypeParam::index;
  const auto columns = copy_to(ctx, std::vector<index>{3, 80, 2});
  TestFixture::expect_survives("diagonal", 1, [&](auto& o) { (void)diagonal(ctx, o.a); });
  TestFixture::expect_survives("in place", 0, [&](auto& o) {
    scale_rows(ctx, o.a, o.y);
    scale_columns(ctx, o.c, o.x);
  });
  TestFixture::expect_survives("tril", 3, [&](auto& o) { (void)tril(ctx, o.a); });
  TestFixture::expect_survives("submatrix", 4,
                               [&](auto& o) { (void)submatrix(ctx, o.a, columns, columns); });
}

TYPED_TEST(Fault, Preconditioners) {
  const auto& ctx = TypeParam::context();
  triplets m{"laplacian", 150, 150, {}, {}, {}};
  for (std::int64_t i = 0; i < 150; ++i) {
    if (i > 0) m.add(i, i - 1, -1);
    m.add(i, i, 2);
    if (i < 149) m.add(i, i + 1, -1);
  }
  const auto a = TypeParam::put_csr(m);
  const auto expect_survives = [&](const char* name, int least, auto make) {
    TestFixture::expect_survives(name, least, [&](auto& o) {
      auto p = make();
      p.update_values(ctx, a);
      p.apply(ctx, std::as_const(o.y).view(), o.u.view());
    });
  };
  expect_survives("jacobi", 2, [&] { return jacobi(ctx, a); });
  expect_survives("block_jacobi", 10, [&] { return block_jacobi(ctx, a, {.block = 4}); });
  expect_survives("chebyshev", 12, [&] { return chebyshev(ctx, a, {.degree = 3}); });
}

TYPED_TEST(Fault, Add) {
  const auto& ctx = TypeParam::context();
  TestFixture::expect_survives("equal patterns", 3, [&](auto& o) { (void)add(ctx, o.a, o.a); });
  TestFixture::expect_survives("csc", 3, [&](auto& o) { (void)add(ctx, o.a, scaled(2, o.c)); });
  TestFixture::expect_survives("transposed", 3,
                               [&](auto& o) { (void)add(ctx, transposed(o.a), o.result); });
  TestFixture::expect_survives("wide", 3,
                               [&](auto& o) { (void)add_wide(ctx, transposed(o.a), o.result); });
  TestFixture::expect_survives("phases", 3, [&](auto& o) {
    const auto info = add_inspect(ctx, o.a, o.c);
    typename TestFixture::rows_t c(ctx, info.shape(), info.nnz());
    add_compute(ctx, info, o.a, o.c, c);
    add(ctx, o.a, o.c, c.view());
  });
  TestFixture::expect_survives("into an owner", 3,
                               [&](auto& o) { add(ctx, transposed(o.a), o.result, o.result); });
  TestFixture::expect_survives("by columns", 3, [&](auto& o) { add(ctx, o.a, o.c, o.c); });
  TestFixture::expect_survives("in place", 3, [&](auto& o) {
    auto c = add(ctx, o.a, o.c);
    add_to(ctx, o.a, c);
  });
}

TYPED_TEST(Fault, FormatsForProducts) {
  const auto& ctx = TypeParam::context();
  const ell_csr_options pieces{.long_row = 4, .lane_entries = 2, .piece = 32, .window = 64};
  const csr_k_options small{.k = 3, .super_row = 4, .super_super_row = 4, .long_row = 3};
  const auto expect_survives = [&](const char* name, auto make) {
    TestFixture::expect_survives(name, 3, [&](auto& o) { multiply(ctx, make(o.a), o.x, o.y); });
    TestFixture::expect_survives(name, 3,
                                 [&](auto& o) { multiply(ctx, make(o.a), o.x_block, o.y_block); });
    TestFixture::expect_survives(name, 3, [&](auto& o) { (void)to_csr(ctx, make(o.a)); });
  };
  expect_survives("ell_csr", [&](const auto& a) { return to_ell_csr(ctx, a, pieces); });
  expect_survives("packed_csr", [&](const auto& a) { return to_packed_csr(ctx, a); });
  expect_survives("csr_k", [&](const auto& a) { return to_csr_k(ctx, a, small); });
  expect_survives("bsr", [&](const auto& a) { return to_bsr(ctx, a, {3}); });
  for (const std::string& format : planned_formats()) {
    plan_hints hints{.transposed_multiplies = 100};
    hints.format = format;
    TestFixture::expect_survives(format.c_str(), 0,
                                 [&](auto& o) { plan(ctx, o.a, hints).multiply(o.x, o.y); });
    TestFixture::expect_survives(
        format.c_str(), 3, [&](auto& o) { plan(ctx, o.a, hints).multiply_transposed(o.u, o.v); });
    TestFixture::expect_survives(format.c_str(), 3, [&](auto& o) {
      auto op = plan(ctx, o.a, hints);
      op.update_values(o.a);
      op.multiply_transposed(o.u, o.v);
    });
  }
}

TYPED_TEST(Fault, TriangularSolvesAndFactors) {
  using T = typename TypeParam::value;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(make_square(150, 4, 5)); // as many rows as y has
  for (const bool stay : {false, true})
    TestFixture::expect_survives("triangular_solve", 6, [&](auto& o) {
      const auto info = triangular_solve_inspect(
          ctx, transposed(a), upper_triangle, explicit_diagonal, o.y, o.v, {.values_stay = stay});
      triangular_solve(ctx, info, transposed(a), upper_triangle, explicit_diagonal, o.y, o.y);
    });
  TestFixture::expect_survives("ilu0", 12, [&](auto& o) {
    const ilu0<T, S> m(ctx, a);
    m.apply(ctx, o.u, o.y);
  });
  TestFixture::expect_survives("ic0, swept", 12, [&](auto& o) {
    ic0<T, S> m(ctx, a, {.shift = 1, .factor_sweeps = 2, .solve_sweeps = 2});
    m.update_values(ctx, a);
    m.apply(ctx, o.u, o.y);
  });
  TestFixture::expect_survives("colour", 4, [&](auto&) { (void)colour(ctx, a); });
}

TYPED_TEST(Fault, SparseProducts) {
  const auto& ctx = TypeParam::context();
  TestFixture::expect_survives("multiply", 3,
                               [&](auto& o) { (void)multiply(ctx, o.a, transposed(o.a)); });
  TestFixture::expect_survives("multiply, csc", 3,
                               [&](auto& o) { (void)multiply(ctx, transposed(o.c), o.a); });
  TestFixture::expect_survives("multiply_wide", 3,
                               [&](auto& o) { (void)multiply_wide(ctx, transposed(o.a), o.a); });
  TestFixture::expect_survives("multiply_pattern", 3,
                               [&](auto& o) { (void)multiply_pattern(ctx, o.a, transposed(o.a)); });
  TestFixture::expect_survives("estimate", 1,
                               [&](auto& o) { (void)estimate(ctx, transposed(o.a), o.a); });
  TestFixture::expect_survives("galerkin", 6, [&](auto& o) {
    (void)galerkin(ctx, transposed(o.a), multiply(ctx, o.a, transposed(o.a)), o.a);
  });
  TestFixture::expect_survives("parts", 3, [&](auto& o) {
    (void)multiply_in_parts(ctx, transposed(o.a), o.a, {.memory_limit = 1'000'000});
  });
  constexpr spgemm_options by_sorting{.method = spgemm_method::expand_sort};
  TestFixture::expect_survives(
      "by sorting", 3, [&](auto& o) { (void)multiply(ctx, o.a, transposed(o.a), by_sorting); });
  TestFixture::expect_survives("by sorting, pattern", 3, [&](auto& o) {
    (void)multiply_pattern(ctx, transposed(o.a), o.a, by_sorting);
  });
  TestFixture::expect_survives("by sorting, parts", 3, [&](auto& o) {
    (void)multiply_in_parts(ctx, transposed(o.a), o.a,
                            {.memory_limit = 1'000'000, .method = spgemm_method::expand_sort});
  });
  TestFixture::expect_survives("verify_product", 6, [&](auto& o) {
    const auto c = multiply(ctx, transposed(o.a), o.a);
    (void)verify_product(ctx, 1, transposed(o.a), o.a, c);
  });
  // The result goes to memory of the caller's, which a failure leaves as it was.
  const auto rows = TypeParam::put_csr(battery_matrix("unsorted with duplicates"));
  auto info = multiply_compute(ctx, rows, transposed(rows));
  TestFixture::expect_survives("phases", 2, [&](auto& o) {
    auto counted = multiply_compute(ctx, o.a, transposed(o.a));
    typename TestFixture::rows_t c(ctx, counted.shape(), counted.nnz());
    multiply_fill(ctx, counted, o.a, transposed(o.a), c);
    multiply_refill(ctx, counted, o.a, transposed(o.a), c);
    multiply_symbolic_fill(ctx, counted, o.a, transposed(o.a), c);
  });
  TestFixture::expect_survives("into an owner", 3,
                               [&](auto& o) { multiply(ctx, transposed(o.a), o.a, o.result); });
  TestFixture::expect_survives("into columns", 3,
                               [&](auto& o) { multiply(ctx, o.a, transposed(o.a), o.c); });
  TestFixture::expect_survives("galerkin in phases", 6, [&](auto& o) {
    const auto middle = multiply(ctx, o.a, transposed(o.a));
    const auto kept = galerkin_compute(ctx, transposed(o.a), middle, o.a);
    typename TestFixture::rows_t c(ctx, kept.shape(), kept.nnz());
    galerkin_fill(ctx, kept, transposed(o.a), middle, o.a, c);
    galerkin_refill(ctx, kept, transposed(o.a), middle, o.a, c);
  });
  for (const bool again : {false, true}) {
    typename TestFixture::rows_t c(ctx, info.shape(), info.nnz());
    auto own = multiply_compute(ctx, rows, transposed(rows));
    fill(ctx, 4, c.values());
    if (again) multiply_fill(ctx, own, rows, transposed(rows), c);
    const auto before = host_vector(c.values());
    int failures = 0;
    for (;; ++failures) {
      ASSERT_LT(failures, 1000);
      const failing_allocator hook(failures);
      try {
        if (again)
          multiply_refill(ctx, own, scaled(2, rows), transposed(rows), c);
        else
          multiply_fill(ctx, own, scaled(2, rows), transposed(rows), c);
        break;
      } catch (const out_of_memory&) {
        allowed = -1;
        ASSERT_TRUE(same(host_vector(c.values()), before)) << "allocation " << failures;
      }
    }
    EXPECT_GE(failures, 2);
  }
}

TYPED_TEST(Fault, SortAndMerge) {
  const auto& ctx = TypeParam::context();
  TestFixture::expect_survives("sort csr", 0, [&](auto& o) { sort(ctx, o.a); });
  TestFixture::expect_survives("sort csc", 0, [&](auto& o) { sort(ctx, o.c); });
  TestFixture::expect_survives("sort coo", 1, [&](auto& o) { sort(ctx, o.t); });
  for (const duplicates rule : {duplicates::sum, duplicates::first, duplicates::last}) {
    TestFixture::expect_survives("merge csr", 6,
                                 [&](auto& o) { (void)merge_duplicates(ctx, o.a, rule); });
    TestFixture::expect_survives("merge csc", 6,
                                 [&](auto& o) { (void)merge_duplicates(ctx, o.c, rule); });
    TestFixture::expect_survives("merge coo", 6,
                                 [&](auto& o) { (void)merge_duplicates(ctx, o.t, rule); });
  }
}

TYPED_TEST(Fault, VectorsAndCopies) {
  const auto& ctx = TypeParam::context();
  TestFixture::expect_survives("dot", 0, [&](auto& o) { (void)dot(ctx, o.x, o.v); });
  TestFixture::expect_survives("axpby", 0, [&](auto& o) { axpby(ctx, 2, o.x, 3, o.v); });
  TestFixture::expect_survives("scale", 0, [&](auto& o) { scale(ctx, 2, o.a); });
  TestFixture::expect_survives("fill", 0, [&](auto& o) { fill(ctx, 2, o.x); });
  TestFixture::expect_survives("norms", 0, [&](auto& o) {
    (void)norm1(ctx, o.x);
    (void)norm2(ctx, o.x);
    (void)norm_inf(ctx, o.x);
    (void)matrix_frob_norm(ctx, o.a);
    (void)matrix_inf_norm(ctx, o.a);
  });
  TestFixture::expect_survives("copy csr", 3, [&](auto& o) { (void)copy_to(ctx, o.a); });
  TestFixture::expect_survives("copy csc", 3, [&](auto& o) { (void)copy_to(ctx, o.c); });
  TestFixture::expect_survives("copy coo", 3, [&](auto& o) { (void)copy_to(ctx, o.t); });
  TestFixture::expect_survives("copy dense", 1, [&](auto& o) { (void)copy_to(ctx, o.d); });
  TestFixture::expect_survives(
      "copy to host", 3, [&](auto& o) { (void)copy_to(default_context<space::host>(), o.a); });
  TestFixture::expect_survives("check", 0, [&](auto& o) {
    check(ctx, o.a);
    check(ctx, o.c);
    check(ctx, o.t);
    check(ctx, o.d);
  });
}

TYPED_TEST(Fault, LargeMatrices) {
  // Enough entries for every thread and every tile to have its own scratch.
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const triplets& m = battery_matrix("one huge row");
  const auto a = TypeParam::put_csr(m);
  const auto triples = TypeParam::put_coo(m);
  const auto x = TypeParam::put(random_vector<T>(m.cols, 1));
  const auto u = TypeParam::put(random_vector<T>(m.rows, 2));
  auto y = TypeParam::put(all_nan<T>(m.rows));
  auto v = TypeParam::put(all_nan<T>(m.cols));
  auto silent = copy_to(ctx, a);
  const auto other =
      TypeParam::put_csr({"diagonal", m.rows, m.cols, {0, 1, 2}, {0, 1, 2}, {1, 1, 1}});
  auto both = add(ctx, a, other);
  const auto tall = TypeParam::put_csr(random_matrix(m.cols, 3000, 1, 3));
  const auto broad = TypeParam::put_csr(random_matrix(m.cols, 2'000'000'000, 1, 4));
  constexpr spgemm_options by_sorting{.method = spgemm_method::expand_sort};
  std::vector<std::pair<std::string, std::function<void()>>> ops = {
      {"multiply", [&] { multiply(ctx, a, x, y); }},
      {"multiply transposed", [&] { multiply(ctx, transposed(a), u, v); }},
      {"multiply inspected", [&] { multiply(ctx, multiply_inspect(ctx, a, x, y), a, x, y); }},
      {"transpose", [&] { (void)transpose(ctx, a); }},
      {"add", [&] { (void)add(ctx, a, other); }},
      {"add in place", [&] { add_to(ctx, other, both); }},
      {"multiply sparse", [&] { (void)multiply(ctx, a, tall); }},
      {"multiply by sorting", [&] { (void)multiply(ctx, a, tall, by_sorting); }},
      {"broad rows", [&] { (void)multiply(ctx, a, broad); }},
      {"broad rows by sorting", [&] { (void)multiply(ctx, a, broad, by_sorting); }},
      {"multiply_compute", [&] { (void)multiply_compute(ctx, a, tall); }},
      {"transpose_inspect", [&] { (void)transpose_inspect(ctx, a, other); }},
      {"multiply transposed, inspected",
       [&] { multiply(ctx, multiply_inspect(ctx, transposed(a), u, v), transposed(a), u, v); }},
      {"plan", [&] { plan(ctx, a).multiply(x, y); }},
      {"to_csr", [&] { (void)to_csr(ctx, triples); }},
      {"to_coo", [&] { (void)to_coo(ctx, a); }},
      {"sort",
       [&] {
         silent.state({});
         sort(ctx, silent);
       }},
      {"merge", [&] { (void)merge_duplicates(ctx, a); }},
      {"dot", [&] { (void)dot(ctx, x, v); }},
      {"norm2", [&] { (void)norm2(ctx, x); }},
      {"check", [&] { check(ctx, silent); }},
  };
  for (const std::string& format : planned_formats()) {
    plan_hints hints;
    hints.format = format;
    ops.emplace_back(format, [&, hints] { plan(ctx, a, hints).multiply(x, y); });
  }
  for (const auto& [name, op] : ops) {
    SCOPED_TRACE(std::string(TypeParam::engine::name) + ": " + name);
    const auto in_use = memory(TypeParam::memory_space).in_use;
    for (int failures = 0;; ++failures) {
      ASSERT_LT(failures, 1000) << "never succeeds";
      const failing_allocator hook(failures);
      try {
        op();
        ASSERT_FALSE(failed.load());
        break;
      } catch (const out_of_memory& e) {
        ASSERT_TRUE(failed.load()) << e.what();
        ASSERT_EQ(memory(TypeParam::memory_space).in_use, in_use);
      }
    }
    TestFixture::expect_seen(name.c_str(), op);
  }
}

} // namespace
} // namespace lacuna::test
