// Matrices element by element, reductions and assembled matrices: the same bits again, and on the
// host for any number of threads.
#include <lacuna/op/assemble.hpp>
#include <lacuna/op/combine.hpp>
#include <lacuna/op/diagonals.hpp>
#include <lacuna/op/gather.hpp>
#include <lacuna/op/reduce.hpp>

#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class RepeatElementwise : public engine_test<C> {
protected:
  using T = typename C::value;
  using I = typename C::index;
  using O = typename C::offset;

  static std::vector<T> results(const context<C::memory_space>& ctx, const triplets& m) {
    const auto a = C::put_csr(m);
    triplets moved = m;
    for (std::size_t k = 0; k < m.value.size(); k += 2) moved.col[k] = (m.col[k] + 1) % m.cols;
    const auto b = C::put_csr(moved);
    std::vector<T> all;
    const auto note = [&](const auto& numbers) {
      for (const auto v : host_vector(numbers)) all.push_back(static_cast<T>(v));
    };
    const auto note_rows = [&](const csr<T, I, O, C::memory_space>& c) {
      note(c.rowptr());
      note(c.colind());
      note(c.values());
    };
    note_rows(multiply_elements(ctx, a, scaled(0.3, b)));
    for (const auto rule : {element_rule::minus, element_rule::times, element_rule::maximum,
                            element_rule::not_equal, element_rule::less})
      note_rows(combine(ctx, a, b, rule));
    for (const auto how : {reduction::sum, reduction::sum_of_squares, reduction::max}) {
      note(reduce_rows(ctx, a, how));
      note(reduce_columns(ctx, a, how));
      all.push_back(reduce(ctx, a, how));
    }
    note(column_sizes(ctx, a));
    note_rows(hstack(ctx, a, b));
    const auto list = copy_to(ctx, std::vector<I>{1, 0, 1});
    note_rows(gather(ctx, a, {}, list));
    note_rows(random_csr<T, I, O>(ctx, {400, 500}, 0.4, 3));
    return all;
  }
};
TYPED_TEST_SUITE(RepeatElementwise, few_configs, config_name);

TYPED_TEST(RepeatElementwise, AgainAndForAnyNumberOfThreads) {
  for (const char* const name :
       {"one huge row", "one huge column", "power law", "unsorted with duplicates"}) {
    SCOPED_TRACE(name);
    const triplets& m = battery_matrix(name);
    const auto first = TestFixture::results(TypeParam::context(), m);
    if constexpr (TypeParam::memory_space == space::device)
      EXPECT_TRUE(same_bits(TestFixture::results(TypeParam::context(), m), first));
    else
      for (const int threads : {1, 2, 5}) {
        const host_context some(host_options{.threads = threads});
        EXPECT_TRUE(same_bits(TestFixture::results(some, m), first)) << threads;
      }
  }
}

} // namespace
} // namespace lacuna::test
