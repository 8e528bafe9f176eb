// Where a device's ways of making rows of a sparse product change over, by the line search of
// Parger et al. (spECK, 2020): thresholds one after another, each at the value with the least
// geometric-mean time of some products.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <lacuna/core/context.hpp>
#include <lacuna/op/spgemm_options.hpp>

namespace lacuna {

/// Seconds of every training product with these thresholds, in the same order each time.
using product_times = std::function<std::vector<double>(const spgemm_thresholds&)>;
/// Begins at `start` and leaves a threshold where it is unless another value is faster by 2 %. Asks
/// for no thresholds twice. `passes`: over all thresholds, fewer if nothing changes.
LACUNA_EXPORT spgemm_thresholds search_spgemm_thresholds(const spgemm_thresholds& start, int passes,
                                                         const product_times& times);

/// Products A A in double, of these matrices, but for rectangular ones (none: the usual ones).
/// Holds all of them and one product at a time.
template <space S>
LACUNA_EXPORT spgemm_thresholds tune_spgemm(const context<S>& ctx, const spgemm_thresholds& start,
                                            bool quick, std::vector<std::string> specs = {});

} // namespace lacuna
