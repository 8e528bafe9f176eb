// Laws of permutations and orderings on random square matrices.
#include <numeric>

#include <rapidcheck.h>

#include <lacuna/op/reorder.hpp>
#include <lacuna/plan/statistics.hpp>

#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

triplets any_square() {
  triplets m{"random", *rc::gen::inRange(0, 60), 0, {}, {}, {}};
  m.cols = m.rows;
  if (m.rows == 0) return m;
  const auto end = static_cast<int>(m.rows);
  const auto entries = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, end), rc::gen::inRange(0, end)));
  double value = 1;
  for (const auto& [i, j] : entries) m.add(i, j, value++);
  return m;
}
permutation<int> any_permutation(std::int64_t size, std::uint64_t seed) {
  const auto& ctx = host_engine::context();
  array<int> order(ctx, size);
  std::iota(order.begin(), order.end(), 0);
  random_source random(seed);
  for (std::int64_t i = size; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return permutation<int>(ctx, std::move(order));
}

TEST(ReorderProperty, PermutingBackIsTheIdentity) {
  const auto& ctx = host_engine::context();
  EXPECT_TRUE(rc::check([&] {
    const triplets m = any_square();
    const auto a = make_csr<double, int, int>(m);
    const auto p = any_permutation(m.rows, *rc::gen::arbitrary<std::uint64_t>());
    const auto back = permute(ctx, permute(ctx, a, p), inverse(ctx, p));
    RC_ASSERT(bool(same_entries(entries_of(back), reference::sort(entries_of(a)))));
  }));
}

TEST(ReorderProperty, PermutingTwiceIsPermutingOnce) {
  const auto& ctx = host_engine::context();
  EXPECT_TRUE(rc::check([&] {
    const triplets m = any_square();
    const auto a = make_csr<double, int, int>(m);
    const auto p = any_permutation(m.rows, *rc::gen::arbitrary<std::uint64_t>());
    const auto q = any_permutation(m.rows, *rc::gen::arbitrary<std::uint64_t>());
    const auto twice = permute(ctx, permute(ctx, a, p), q);
    const auto once = permute(ctx, a, compose(ctx, p, q));
    RC_ASSERT(bool(same_entries(entries_of(twice), entries_of(once))));
  }));
}

TEST(ReorderProperty, OrderingsAreOneToOneAndGroupsCoverAll) {
  const auto& ctx = host_engine::context();
  EXPECT_TRUE(rc::check([&] {
    const triplets m = any_square();
    const auto a = make_csr<double, int, int>(m);
    const auto p = reverse_cuthill_mckee(ctx, a);
    check(ctx, p);
    RC_ASSERT(p.size() == m.rows);
    const std::int64_t size = *rc::gen::inRange(1, 12), upper = *rc::gen::inRange(1, 6);
    const auto b = band_k(ctx, a, {size, upper});
    check(ctx, b.order);
    RC_ASSERT(b.order.size() == m.rows);
    std::int64_t members = m.rows;
    for (const auto& starts : b.starts) {
      RC_ASSERT(starts[0] == 0);
      RC_ASSERT(starts[starts.size() - 1] == members);
      RC_ASSERT(std::adjacent_find(starts.begin(), starts.end(), std::greater_equal<>()) ==
                starts.end());
      members = starts.size() - 1;
    }
  }));
}

TEST(ReorderProperty, TheOrderOfTheTransposeIsTheSame) {
  const auto& ctx = host_engine::context();
  EXPECT_TRUE(rc::check([&] {
    const auto a = make_csr<double, int, int>(any_square());
    RC_ASSERT(bool(same(host_vector(reverse_cuthill_mckee(ctx, a).new_to_old()),
                        host_vector(reverse_cuthill_mckee(ctx, transpose(ctx, a)).new_to_old()))));
  }));
}

} // namespace
} // namespace lacuna::test
