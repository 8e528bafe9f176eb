// plan_async(ctx, a): an operator that multiplies at once, in CSR, and goes over to the planned
// format when a thread in the background has made it (Matam and Kothapalli 2011 overlap their
// conversion with the first iterations of a solver in the same way).
//
//   auto op = plan_async(ctx, a, {.multiplies = 500});
//   for (...) op.multiply(x, y);
//
// Bits: products before the change are those of CSR, products after it those of the format, each
// repeatable. When the change comes depends on timing, and so do the bits of what is computed from
// several products. With switch_after = n it comes after exactly n products, waiting if it must:
// then everything is repeatable.
//
// `a` must stay alive and unchanged, but for update_values; a temporary, or std::move(a), is taken
// over. The preparation takes one host thread; on a device a stream of its own. If it fails
// (memory), the operator stays in CSR: wait() throws what happened, explain() says it. One thread
// at a time may use the operator.
#pragma once

#include <lacuna/plan/plan.hpp>

namespace lacuna {

template <class T, class I, class O, space S> class LACUNA_EXPORT async_operator {
public:
  using scalar_type = T;
  static constexpr space memory_space = S;
  using planned = planned_operator<T, I, O, S>;

  /// Looks at a.
  async_operator(const context<S>& ctx, csr_view<const T, I, O, S> a, const plan_hints& hints,
                 std::int64_t switch_after);
  /// Takes a over; if it throws, a is as it was.
  async_operator(const context<S>& ctx, csr<T, I, O, S>&& a, const plan_hints& hints,
                 std::int64_t switch_after);
  async_operator(async_operator&&) noexcept;
  /// What was here before ends as it does in the destructor.
  async_operator& operator=(async_operator&& other) noexcept;
  /// Waits for the preparation and for products that are queued.
  ~async_operator();

  template <class X, class Y> void multiply(const X& x, Y&& y) {
    next().multiply(x, std::forward<Y>(y));
  }
  template <class X, class Y> void multiply(double alpha, const X& x, double beta, Y&& y) {
    next().multiply(alpha, x, beta, std::forward<Y>(y));
  }
  template <class X, class Y> void multiply_transposed(const X& x, Y&& y) {
    next().multiply_transposed(x, std::forward<Y>(y));
  }
  template <class X, class Y>
  void multiply_transposed(double alpha, const X& x, double beta, Y&& y) {
    next().multiply_transposed(alpha, x, beta, std::forward<Y>(y));
  }

  /// As a plan's; waits for the preparation, which reads the old values. When the change to the
  /// planned format comes does not depend on it where switch_after says when.
  template <class A> void update_values(A&& a) {
    if constexpr (detail::is_csc<std::remove_cvref_t<A>>) {
      update_values(to_csr(now().where(), a));
    } else {
      detail::require_can_be_taken<A>();
      const auto [rows, cols] = shape();
      const csr_view<const T, I, O, S> from =
          detail::new_values_of<T, I, S>(rows, cols, now().size(), a);
      if constexpr (detail::is_given_away<A>)
        update(std::move(a));
      else
        update(from);
    }
  }

  /// Whether products use the planned format by now.
  [[nodiscard]] bool switched() const;
  /// Until they do; throws what the preparation threw.
  void wait();
  [[nodiscard]] lacuna::index<std::int64_t> shape() const { return now().shape(); }
  [[nodiscard]] const std::string& format() const { return now().format(); }
  [[nodiscard]] std::size_t bytes() const { return now().bytes(); }
  [[nodiscard]] std::string explain() const;

private:
  struct state;
  /// The operator of the product before; and of the next one, which may be the planned one.
  [[nodiscard]] const planned& now() const;
  const planned& next();
  void update(csr_view<const T, I, O, S> from);
  void update(csr<T, I, O, S>&& from);

  std::unique_ptr<state> state_;
};

/// switch_after: products in CSR before the change; 0: as soon as the format is made.
template <space S, class A>
auto plan_async(const context<S>& ctx, A&& a, const plan_hints& hints = {},
                std::int64_t switch_after = 0) {
  detail::require_can_be_taken<A>();
  if constexpr (detail::is_csc<std::remove_cvref_t<A>>) {
    return plan_async(ctx, to_csr(ctx, a), hints, switch_after);
  } else {
    const auto view = detail::const_view(a);
    using V = decltype(view);
    detail::require_same_space<S, V>();
    using operator_type =
        async_operator<typename V::scalar_type, typename V::index_type, typename V::offset_type, S>;
    if constexpr (detail::is_given_away<A>)
      return operator_type(ctx, std::move(a), hints, switch_after);
    else
      return operator_type(ctx, view, hints, switch_after);
  }
}

template <class A>
  requires(!detail::is_context<std::remove_cvref_t<A>>)
auto plan_async(A&& a, const plan_hints& hints = {}, std::int64_t switch_after = 0) {
  return plan_async(detail::default_context_for<std::remove_cvref_t<A>>(), std::forward<A>(a),
                    hints, switch_after);
}

} // namespace lacuna
