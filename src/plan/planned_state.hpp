// Internal: what a planned operator keeps.
#pragma once

#include <lacuna/plan/plan.hpp>

#include "plan/stored.hpp"

namespace lacuna {

namespace planning {
/// How values of A get to storage that has them in another order: its entry k is A's from[k].
/// Empty where the order is A's, and until values are first updated.
template <class I, class O, space S> struct value_map {
  array<O, S> from;
  array<O, S> rowptr; ///< of the matrix in that order, where the format asks for it
  array<I, S> colind;
  facts order; ///< of its rows
  [[nodiscard]] std::size_t bytes() const { return from.bytes() + rowptr.bytes() + colind.bytes(); }
};
} // namespace planning

template <class T, class I, class O, space S> struct planned_operator<T, I, O, S>::state {
  /// Products run on `context`; the preparation on `on`, which it waits for if that is another.
  state(const lacuna::context<S>& context, const lacuna::context<S>& on,
        csr_view<const T, I, O, S> matrix, const plan_hints& hints);
  /// `taken` is about to own what `from` shows; null: the caller keeps it.
  void update(csr_view<const T, I, O, S> from, std::shared_ptr<csr<T, I, O, S>> taken);
  /// All that updates need are there afterwards, or none.
  void make_maps(const lacuna::context<S>& on, csr_view<const T, I, O, S> from);

  lacuna::context<S> ctx;
  std::shared_ptr<csr<T, I, O, S>> own; // null: a is the caller's
  csr_view<const T, I, O, S> a;
  spmv_machine machine;
  plan_decision decision, transposed_decision;
  std::unique_ptr<planning::stored_matrix<T, I, O, S>> stored;
  csr<T, I, O, S> transposed_rows; // where `transposed` looks at them
  std::unique_ptr<planning::stored_matrix<T, I, O, S>> transposed; // null: not announced
  planning::value_map<I, O, S> map, transposed_map;
};

} // namespace lacuna
