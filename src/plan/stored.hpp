// Internal: a matrix in the format that was chosen for it.
#pragma once

#include <memory>

#include <lacuna/format/dynamic_csr.hpp>
#include <lacuna/op/reorder.hpp>

#include "plan/format.hpp"

namespace lacuna::planning {

template <class T, class I, class O, space S> class stored_matrix {
public:
  virtual ~stored_matrix() = default;
  /// Y = alpha A X + beta Z; sizes were checked. Several at the same time are fine.
  virtual void multiply(const context<S>& ctx, T alpha, dense_view<const T, S> x, T beta,
                        dense_view<const T, S> z, dense_view<T, S> y) const = 0;
  /// Y = alpha A^T X + beta Z from the same storage; false: it has only one direction, and nothing
  /// is done.
  virtual bool multiply_transposed(const context<S>& ctx, T alpha, dense_view<const T, S> x, T beta,
                                   dense_view<const T, S> z, dense_view<T, S> y) const = 0;
  [[nodiscard]] virtual bool two_way() const = 0;
  virtual void update(const context<S>& ctx, const value_source<T, I, O, S>& v) = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  /// Empty: as the candidate said.
  [[nodiscard]] virtual std::string_view kernel() const = 0;
  /// CSR: the arrays are others'.
  [[nodiscard]] virtual bool looks() const = 0;
  [[nodiscard]] virtual value_order updates_by() const = 0;
  /// Of its rows and columns, on a host; null: A's.
  [[nodiscard]] virtual const permutation<I>* order() const = 0;
  /// Null: another format.
  virtual dynamic_csr<T, I, O, S>* dynamic() = 0;
};

/// The candidate's format, made of a. Where that is CSR it looks at a.
template <class T, class I, class O, space S>
std::unique_ptr<stored_matrix<T, I, O, S>>
store(const context<S>& ctx, const plan_candidate& chosen, csr_view<const T, I, O, S> a);

} // namespace lacuna::planning
