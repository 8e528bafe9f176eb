// Where a device's ways of making rows of a sparse product change over, by the line search of
// Parger et al. (spECK, 2020): thresholds one after another, each at the value with the least
// geometric-mean time of some products.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <lacuna/gen/generate.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/op/spgemm.hpp>

namespace lacuna {

/// Seconds of every training product with these thresholds, in the same order each time.
using product_times = std::function<std::vector<double>(const spgemm_thresholds&)>;
/// Begins at `start` and leaves a threshold where it is unless another value is faster by 2 %. Asks
/// for no thresholds twice. `passes`: over all thresholds, fewer if nothing changes.
LACUNA_EXPORT spgemm_thresholds search_spgemm_thresholds(const spgemm_thresholds& start, int passes,
                                                         const product_times& times);

namespace detail {
/// Specs for gen::generate.
LACUNA_EXPORT std::vector<std::string> training_products(bool quick);
/// The median of `repeat` runs, after one that does not count.
LACUNA_EXPORT double median_seconds(int repeat, const std::function<void()>& run);
} // namespace detail

/// Products A A in double, of these matrices, but for rectangular ones (none: the usual ones).
/// Holds all of them and one product at a time.
template <space S>
spgemm_thresholds tune_spgemm(const context<S>& ctx, const spgemm_thresholds& start, bool quick,
                              std::vector<std::string> specs = {}) {
  if (specs.empty()) specs = detail::training_products(quick);
  std::vector<csr<double, std::int32_t, std::int32_t, S>> matrices;
  for (const std::string& spec : specs) {
    const auto a =
        gen::generate<double, std::int32_t, std::int32_t>(default_context<space::host>(), spec);
    if (a.shape().row == a.shape().col) matrices.push_back(copy_to(ctx, a));
  }
  return search_spgemm_thresholds(start, quick ? 1 : 3, [&](const spgemm_thresholds& t) {
    std::vector<double> seconds;
    for (const auto& a : matrices)
      seconds.push_back(detail::median_seconds(quick ? 3 : 5, [&] {
        (void)multiply(ctx, a, a, {.thresholds = &t});
        ctx.synchronize();
      }));
    return seconds;
  });
}

} // namespace lacuna
