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

#include <chrono>
#include <future>

#include <lacuna/plan/plan.hpp>

namespace lacuna {

template <class T, class I, class O, space S> class async_operator {
public:
  using scalar_type = T;
  static constexpr space memory_space = S;
  using planned = planned_operator<T, I, O, S>;

  /// Looks at a.
  async_operator(const context<S>& ctx, csr_view<const T, I, O, S> a, const plan_hints& hints,
                 std::int64_t switch_after)
      : ctx_(ctx), switch_after_(switch_after) {
    if (switch_after < 0) throw bad_input("plan_async: switch_after is negative");
    (void)with_environment(hints); // throws here, not in the background
    plan_hints at_once;
    at_once.format = spmv_format::csr;
    now_ = std::make_unique<planned>(ctx, a, at_once);
    ctx.synchronize(); // the worker's stream must find the arrays filled
    next_ = std::async(std::launch::async, [ctx, a, hints] {
      return std::make_unique<planned>(ctx, worker_beside(ctx), a, hints);
    });
  }
  /// Takes a over; if it throws, a is as it was.
  async_operator(const context<S>& ctx, csr<T, I, O, S>&& a, const plan_hints& hints,
                 std::int64_t switch_after)
      : async_operator(ctx, std::as_const(a).view(), hints, switch_after) {
    own_ = now_->own_ = std::make_shared<csr<T, I, O, S>>(std::move(a));
  }
  async_operator(async_operator&&) noexcept = default;
  /// What was here before ends as it does in the destructor.
  async_operator& operator=(async_operator&& other) noexcept {
    async_operator before(std::move(other));
    swap(before);
    return *this;
  }
  /// Waits for the preparation and for products that are queued.
  ~async_operator() {
    if (now_ == nullptr) return;
    if (next_.valid()) next_.wait();
    try {
      ctx_.synchronize();
    } catch (const error&) { // a product failed: whoever waits for its result is told
    }
  }
  void swap(async_operator& other) noexcept {
    std::swap(ctx_, other.ctx_);
    std::swap(switch_after_, other.switch_after_);
    std::swap(products_, other.products_);
    std::swap(own_, other.own_);
    std::swap(now_, other.now_);
    std::swap(made_, other.made_);
    std::swap(next_, other.next_);
    std::swap(failure_, other.failure_);
  }

  template <class X, class Y> void multiply(const X& x, Y&& y) {
    current().multiply(x, std::forward<Y>(y));
  }
  template <class X, class Y> void multiply(double alpha, const X& x, double beta, Y&& y) {
    current().multiply(alpha, x, beta, std::forward<Y>(y));
  }
  template <class X, class Y> void multiply_transposed(const X& x, Y&& y) {
    current().multiply_transposed(x, std::forward<Y>(y));
  }
  template <class X, class Y>
  void multiply_transposed(double alpha, const X& x, double beta, Y&& y) {
    current().multiply_transposed(alpha, x, beta, std::forward<Y>(y));
  }

  /// As a plan's; waits for the preparation, which reads the old values. When the change to the
  /// planned format comes does not depend on it where switch_after says when.
  template <class A> void update_values(A&& a) {
    if constexpr (detail::is_csc<std::remove_cvref_t<A>>) {
      update_values(to_csr(ctx_, a));
    } else {
      detail::require_can_be_taken<A>();
      const auto [rows, cols] = shape();
      const csr_view<const T, I, O, S> from =
          detail::new_values_of<T, I, S>(rows, cols, now_->size(), a);
      receive();
      std::shared_ptr<csr<T, I, O, S>> taken;
      if constexpr (detail::is_given_away<A>) taken = std::make_shared<csr<T, I, O, S>>();
      if (made_ != nullptr) made_->update(from, taken); // the only one of the two that allocates
      now_->update(from, taken);
      if constexpr (detail::is_given_away<A>) {
        *taken = std::move(a);
        own_ = std::move(taken);
      }
    }
  }

  /// Whether products use the planned format by now.
  [[nodiscard]] bool switched() const {
    return !next_.valid() && made_ == nullptr && failure_ == nullptr;
  }
  /// Until they do; throws what the preparation threw.
  void wait() {
    take();
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }
  [[nodiscard]] lacuna::index<std::int64_t> shape() const { return now_->shape(); }
  [[nodiscard]] spmv_format format() const { return now_->format(); }
  [[nodiscard]] std::size_t bytes() const { return now_->bytes(); }
  [[nodiscard]] std::string explain() const {
    if (failure_ != nullptr) return "the preparation failed, so csr stays\n" + now_->explain();
    return (!switched() ? "in csr until the planned format is made\n" : "") + now_->explain();
  }

private:
  static host_context worker_beside(const host_context&) { return host_context({1}); }
  static device_context worker_beside(const device_context& ctx) {
    return device_context({.device = ctx.device()});
  }

  /// The operator for the next product.
  const planned& current() {
    const bool may = switch_after_ == 0 || products_ >= switch_after_;
    const bool ready =
        made_ != nullptr || switch_after_ > 0 ||
        (next_.valid() && next_.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
    if (may && ready) take();
    ++products_;
    return *now_;
  }
  /// Waits for the preparation, and keeps what it made.
  void receive() noexcept {
    if (!next_.valid()) return;
    try {
      made_ = next_.get();
      made_->own_ = own_;
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  /// Goes over to what the preparation made.
  void take() {
    receive();
    if (made_ == nullptr) return;
    ctx_.synchronize(); // products that are queued still use the old one
    now_ = std::move(made_);
  }

  context<S> ctx_;
  std::int64_t switch_after_ = 0, products_ = 0;
  std::shared_ptr<csr<T, I, O, S>> own_; // null: the matrix is the caller's
  std::unique_ptr<planned> now_, made_;
  std::future<std::unique_ptr<planned>> next_;
  std::exception_ptr failure_;
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
