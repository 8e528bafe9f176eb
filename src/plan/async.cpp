#include <lacuna/plan/async.hpp>

#include <chrono>
#include <future>

#include "plan/choose.hpp"
#include "plan/planned_state.hpp"

namespace lacuna {
namespace {

host_context worker_beside(const host_context&) { return host_context({1}); }
device_context worker_beside(const device_context& ctx) {
  return device_context({.device = ctx.device()});
}

} // namespace

template <class T, class I, class O, space S> struct async_operator<T, I, O, S>::state {
  state(const lacuna::context<S>& context, csr_view<const T, I, O, S> a, const plan_hints& hints,
        std::int64_t after)
      : ctx(context), switch_after(after) {
    if (after < 0) throw bad_input("plan_async: switch_after is negative");
    (void)with_environment(hints); // throws here, not in the background
    now = std::make_unique<planned>(ctx, a, plan_hints{.format = "csr"});
    ctx.synchronize(); // the worker's stream must find the arrays filled
    next = std::async(std::launch::async, [context, a, hints] {
      return std::unique_ptr<planned>(new planned(
          std::make_unique<typename planned::state>(context, worker_beside(context), a, hints)));
    });
  }
  ~state() {
    if (next.valid()) next.wait();
    try {
      ctx.synchronize();
    } catch (const error&) { // a product failed: whoever waits for its result is told
    }
  }

  /// Waits for the preparation, and keeps what it made.
  void receive() noexcept {
    if (!next.valid()) return;
    try {
      made = next.get();
      made->state_->own = own;
    } catch (...) {
      failure = std::current_exception();
    }
  }
  /// Goes over to what the preparation made.
  void take() {
    receive();
    if (made == nullptr) return;
    ctx.synchronize(); // products that are queued still use the old one
    now = std::move(made);
  }
  void update(csr_view<const T, I, O, S> from, const std::shared_ptr<csr<T, I, O, S>>& taken) {
    receive();
    if (made != nullptr)
      made->state_->update(from, taken); // the only one of the two that allocates
    now->state_->update(from, taken);
  }

  lacuna::context<S> ctx;
  std::int64_t switch_after = 0, products = 0;
  std::shared_ptr<csr<T, I, O, S>> own; // null: the matrix is the caller's
  std::unique_ptr<planned> now, made;
  std::future<std::unique_ptr<planned>> next;
  std::exception_ptr failure;
};

template <class T, class I, class O, space S>
async_operator<T, I, O, S>::async_operator(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                           const plan_hints& hints, std::int64_t switch_after)
    : state_(std::make_unique<state>(ctx, a, hints, switch_after)) {}
template <class T, class I, class O, space S>
async_operator<T, I, O, S>::async_operator(const context<S>& ctx, csr<T, I, O, S>&& a,
                                           const plan_hints& hints, std::int64_t switch_after)
    : async_operator(ctx, std::as_const(a).view(), hints, switch_after) {
  state_->own = state_->now->state_->own = std::make_shared<csr<T, I, O, S>>(std::move(a));
}
template <class T, class I, class O, space S>
async_operator<T, I, O, S>::async_operator(async_operator&&) noexcept = default;
template <class T, class I, class O, space S>
async_operator<T, I, O, S>&
async_operator<T, I, O, S>::operator=(async_operator&& other) noexcept = default;
template <class T, class I, class O, space S>
async_operator<T, I, O, S>::~async_operator() = default;

template <class T, class I, class O, space S> bool async_operator<T, I, O, S>::switched() const {
  return !state_->next.valid() && state_->made == nullptr && state_->failure == nullptr;
}
template <class T, class I, class O, space S> void async_operator<T, I, O, S>::wait() {
  state_->take();
  if (state_->failure != nullptr) std::rethrow_exception(state_->failure);
}
template <class T, class I, class O, space S>
std::string async_operator<T, I, O, S>::explain() const {
  if (state_->failure != nullptr) return "the preparation failed, so csr stays\n" + now().explain();
  return (!switched() ? "in csr until the planned format is made\n" : "") + now().explain();
}
template <class T, class I, class O, space S>
auto async_operator<T, I, O, S>::now() const -> const planned& {
  return *state_->now;
}
template <class T, class I, class O, space S>
auto async_operator<T, I, O, S>::next() -> const planned& {
  state& s = *state_;
  const bool may = s.switch_after == 0 || s.products >= s.switch_after;
  const bool ready =
      s.made != nullptr || s.switch_after > 0 ||
      (s.next.valid() && s.next.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  if (may && ready) s.take();
  ++s.products;
  return *s.now;
}
template <class T, class I, class O, space S>
void async_operator<T, I, O, S>::update(csr_view<const T, I, O, S> from) {
  state_->update(from, nullptr);
}
template <class T, class I, class O, space S>
void async_operator<T, I, O, S>::update(csr<T, I, O, S>&& from) {
  const auto taken = std::make_shared<csr<T, I, O, S>>();
  state_->update(std::as_const(from).view(), taken);
  *taken = std::move(from);
  state_->own = taken;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template class async_operator<T, I, O, space::host>;                                             \
  template class async_operator<T, I, O, space::device>;
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna
