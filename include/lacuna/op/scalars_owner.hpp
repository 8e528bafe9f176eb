// What is behind `scalars`: included by scalars.hpp.
#pragma once

#include <lacuna/op/copy.hpp>
#include <lacuna/op/vector.hpp>

namespace lacuna {

template <space S>
scalars<S>::scalars(const context<S>& ctx, int slots, std::int64_t columns, std::int64_t history,
                    double* mirror) {
  using block = detail::scalar_block;
  if (slots < 1 || slots > block::most_slots)
    throw bad_input("scalars: " + std::to_string(slots) + " slots; 1 to 48 there may be");
  slots_ = array<double, S>(ctx, checked_mul(slots, columns));
  partials_ = array<double, S>(ctx, checked_mul(columns, block::most_sums * block::most_blocks));
  tickets_ = array<unsigned, S>(ctx, columns);
  history_ = array<double, S>(ctx, checked_mul(history, columns));
  fill(ctx, 0, slots_);
  const std::vector<unsigned> zeros(static_cast<std::size_t>(columns), 0);
  detail::copy_bytes(ctx, tickets_.data(), zeros.data(), tickets_.bytes(), space::host);
  block_.slots = slots_.data();
  block_.partials = partials_.data();
  block_.tickets = tickets_.data();
  block_.history = history_.data();
  block_.capacity = history;
  block_.mirror = mirror;
  block_.columns = columns;
  block_.per_column = slots;
  block_.may_stop = history > 0;
}

template <space S> std::vector<double> scalars<S>::read(const context<S>&) const {
  const auto copy = copy_to(default_context<space::host>(), slots_);
  return {copy.begin(), copy.end()};
}

template <space S>
void scalars<S>::write(const context<S>& ctx, const std::vector<double>& values) {
  detail::require_same_size("scalars::write", "values", std::ssize(values), "slots", slots_.size());
  detail::copy_bytes(ctx, slots_.data(), values.data(), slots_.bytes(), space::host);
}

} // namespace lacuna
