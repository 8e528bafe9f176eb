// A function of every stored value.
//
//   auto b = map_values(ctx, a, [](double v) { return std::abs(v); });       a new matrix
//   transform_values(ctx, a, [](double v) { return v * v; });                in place
//
// The context is optional; a is a csr, csc or coo. The pattern stays, and what is not stored stays
// 0 whatever f(0) is; duplicates are values like others (merge_duplicates before, where f is not
// linear; filter(ctx, b, keep_nonzero) after, to drop zeros). f is called once per value, from
// several threads at once and in no order; what it throws is thrown here once all threads are done,
// values in place are changed in part then. On the host; a device's matrices do not compile.
#pragma once

#include <lacuna/op/copy.hpp>
#include <lacuna/op/host_only.hpp>

namespace lacuna {

namespace detail {
/// call(f, begin, end) on even shares of [0, size), each on a thread of its own.
LACUNA_EXPORT void call_on_ranges(const host_context& ctx, std::int64_t size, void* f,
                                  void (*call)(void* f, std::int64_t begin, std::int64_t end));

template <class T, class F>
void map_array(const host_context& ctx, vector_view<const T> from, F& f, T* to) {
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) to[k] = static_cast<T>(f(from[k]));
  };
  using Run = decltype(run);
  call_on_ranges(
      ctx, from.size(), const_cast<void*>(static_cast<const void*>(&run)),
      [](void* g, std::int64_t begin, std::int64_t end) { (*static_cast<Run*>(g))(begin, end); });
}

template <class A> inline constexpr bool has_values = requires(const A& a) {
  const_view(a).values();
  typename decltype(const_view(a))::offset_type;
};
} // namespace detail

/// a's values become f of them.
template <space S, class A, class F>
  requires(detail::has_values<std::remove_cvref_t<A>>)
void transform_values(const context<S>& ctx, A&& a, F&& f) {
  detail::require_host<S>();
  constexpr bool can_write = detail::is_writable<A>;
  static_assert(can_write, "lacuna: the result must be writable and must outlive the call");
  if constexpr (can_write && S == space::host) {
    const auto view = detail::mutable_view(std::forward<A>(a));
    using T = typename decltype(view)::scalar_type;
    detail::require_same_space<S, decltype(view)>();
    detail::map_array<T>(ctx, view.values(), f, view.values().data());
  }
}
template <class A, class F>
  requires(detail::has_values<std::remove_cvref_t<A>>)
void transform_values(A&& a, F&& f) {
  transform_values(detail::default_context_for<std::remove_cvref_t<A>>(), std::forward<A>(a),
                   std::forward<F>(f));
}

/// A copy of a with f of its values.
template <space S, class A, class F>
  requires(detail::has_values<A>)
auto map_values(const context<S>& ctx, const A& a, F&& f) {
  detail::require_host<S>();
  if constexpr (S == space::host) {
    auto result = copy_to(ctx, a);
    transform_values(ctx, result, f);
    return result;
  }
}
template <class A, class F>
  requires(detail::has_values<A>)
auto map_values(const A& a, F&& f) {
  return map_values(detail::default_context_for<A>(), a, std::forward<F>(f));
}

} // namespace lacuna
