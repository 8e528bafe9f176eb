// Internal: how to_csr_k groups rows, the same for both spaces.
#pragma once

#include <functional>

#include <lacuna/op/csr_k.hpp>

namespace lacuna {

/// Statistics of the rows that have at most so many entries; `empty` is not looked at.
using lengths_up_to = std::function<row_statistics(std::int64_t limit)>;

/// Throws bad_input if the options make no sense. The sizes are the options', else the model's;
/// 0 with `by_ordering`, which says itself where groups begin.
csr_k_grouping choose_grouping(const csr_k_options& options, space where, const csr_k_model& model,
                               const lengths_up_to& statistics, bool by_ordering = false);

} // namespace lacuna
