// A function of every stored value.
//
//   auto b = map_values(ctx, a, value_function::abs);                        a new matrix
//   auto b = map_values(ctx, a, value_function::power, 3);
//   transform_values(ctx, a, value_function::sqrt);                          in place
//   auto b = map_values(host, a, [](double v) { return v / (1 + v); });      on the host: any
//
// The context is optional; a is a csr, csc or coo. The pattern stays, and what is not stored stays
// 0 whatever f(0) is; duplicates are values like others (merge_duplicates before, where f is not
// linear; filter(ctx, b, keep_nonzero) after, to drop zeros).
//
// A function of the caller's is called once per value, from several threads at once and in no
// order; what it throws is thrown here once all threads are done, values in place are changed in
// part then. On a device functions go by name, and are queued; any other is a kernel of the
// caller's over a.values(), on ctx.stream().
#pragma once

#include <lacuna/op/copy.hpp>

namespace lacuna {

/// abs, sign, sqrt, powers of 2, floor, ceil, trunc and rint have the same bits on every engine,
/// the others those of the C++ library and of CUDA's.
enum class value_function {
  abs,
  sign, ///< -1, 0 or 1; NaN of NaN
  sqrt,
  power, ///< with an exponent
  exp,
  expm1,
  log,
  log1p,
  sin,
  cos,
  tan,
  asin,
  atan,
  sinh,
  tanh,
  asinh,
  atanh,
  floor,
  ceil,
  trunc,
  rint ///< the nearest integer, the even one of two
};

namespace detail::cpu {
template <class T>
LACUNA_EXPORT void map_array(const host_context& ctx, value_function f, T exponent,
                             vector_view<T> values);
} // namespace detail::cpu

namespace detail::gpu {
template <class T>
LACUNA_GPU_EXPORT void map_array(const device_context& ctx, value_function f, T exponent,
                                 vector_view<T, space::device> values);
} // namespace detail::gpu

namespace detail {
/// call(f, begin, end) on even shares of [0, size), each on a thread of its own.
LACUNA_EXPORT void call_on_ranges(const host_context& ctx, std::int64_t size, void* f,
                                  void (*call)(void* f, std::int64_t begin, std::int64_t end));

template <class T, class F> void map_array(const host_context& ctx, F& f, vector_view<T> values) {
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) values[k] = static_cast<T>(f(values[k]));
  };
  using Run = decltype(run);
  call_on_ranges(
      ctx, values.size(), const_cast<void*>(static_cast<const void*>(&run)),
      [](void* g, std::int64_t begin, std::int64_t end) { (*static_cast<Run*>(g))(begin, end); });
}

template <class A> inline constexpr bool has_values = requires(const A& a) {
  const_view(a).values();
  typename decltype(const_view(a))::offset_type;
};
template <class F>
inline constexpr bool is_named_function = std::is_same_v<std::remove_cvref_t<F>, value_function>;

template <space S, class F> constexpr void require_function() {
  static_assert(S == space::host || is_named_function<F>,
                "lacuna: functions of values in device memory are those of value_function");
}
} // namespace detail

/// a's values become f of them.
template <space S, class A, class F>
  requires(detail::has_values<std::remove_cvref_t<A>>)
void transform_values(const context<S>& ctx, A&& a, F&& f, double exponent = 1) {
  constexpr bool named = detail::is_named_function<F>, can_write = detail::is_writable<A>;
  detail::require_function<S, F>();
  static_assert(can_write, "lacuna: the result must be writable and must outlive the call");
  if constexpr (can_write && (S == space::host || named)) {
    const auto view = detail::mutable_view(std::forward<A>(a));
    using T = typename decltype(view)::scalar_type;
    detail::require_same_space<S, decltype(view)>();
    if constexpr (detail::are_in<S, decltype(view)>) {
      if constexpr (!named)
        detail::map_array<T>(ctx, f, view.values());
      else if constexpr (S == space::host)
        detail::cpu::map_array<T>(ctx, f, static_cast<T>(exponent), view.values());
      else
        detail::gpu::map_array<T>(ctx, f, static_cast<T>(exponent), view.values());
    }
  }
}
template <class A, class F>
  requires(detail::has_values<std::remove_cvref_t<A>>)
void transform_values(A&& a, F&& f, double exponent = 1) {
  transform_values(detail::default_context_for<std::remove_cvref_t<A>>(), std::forward<A>(a),
                   std::forward<F>(f), exponent);
}

/// A copy of a with f of its values.
template <space S, class A, class F>
  requires(detail::has_values<A>)
auto map_values(const context<S>& ctx, const A& a, F&& f, double exponent = 1) {
  detail::require_function<S, F>();
  if constexpr (S == space::host || detail::is_named_function<F>) {
    auto result = copy_to(ctx, a);
    transform_values(ctx, result, f, exponent);
    return result;
  }
}
template <class A, class F>
  requires(detail::has_values<A>)
auto map_values(const A& a, F&& f, double exponent = 1) {
  return map_values(detail::default_context_for<A>(), a, std::forward<F>(f), exponent);
}

} // namespace lacuna
