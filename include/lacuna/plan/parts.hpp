// A matrix on several devices of one process: ranges of its rows, each with a plan of its own.
//
//   const auto devices = contexts_on({0, 1, 2, 3});      a device may be there twice
//   const auto op = plan_on(ctx, devices, a);            ctx: where a, x and y are
//   op.multiply(x, y);                                   y = A x
//   const auto report = cg(ctx, op, b, x);               the product is what is shared
//   const auto c = multiply_on(ctx, devices, a, b);      sparse times sparse: op/multiply_on.hpp
//
// Ranges have like many entries and rows. Rows stay neighbours, so that a part has diagonals,
// blocks and bands where the matrix has them, and reads x in one window of columns: that window is
// what travels to a part on another device, and its rows of y come back, by CUDA's copies between
// devices. Parts run side by side, ordered with the caller's stream by events.
//
// Contexts may be the host's, too, or all on one device: the code is the same.
#pragma once

#include <vector>

#include <lacuna/op/parts_options.hpp>
#include <lacuna/plan/plan.hpp>

namespace lacuna {

/// What plan_on() returns. Moves, does not copy. Several threads may multiply at the same time.
template <class T, class I, class O, space S> class LACUNA_EXPORT planned_parts {
public:
  using scalar_type = T;
  static constexpr space memory_space = S;

  /// Parts in ctx's place look at a, others copy their rows.
  planned_parts(const context<S>& ctx, std::vector<context<S>> contexts,
                csr_view<const T, I, O, S> a, const plan_hints& hints,
                const parts_options& options);
  planned_parts(planned_parts&&) noexcept;
  planned_parts& operator=(planned_parts&&) noexcept;
  ~planned_parts();

  /// y = A x. x and y are vectors, or column-major matrices of several columns; they may not
  /// overlap. Queued on ctx, the plan's own or another of its device. Throws size_mismatch,
  /// out_of_memory, unsupported (rows that lie side by side), bad_input (another device).
  template <class X, class Y> void multiply(const context<S>& ctx, const X& x, Y&& y) const {
    const auto from = detail::as_columns(detail::const_view(x));
    const auto to = detail::as_columns(detail::mutable_view(std::forward<Y>(y)));
    detail::require_same_space<S, decltype(from), decltype(to)>();
    detail::require_same_value<T, decltype(from), decltype(to)>();
    multiply_parts(ctx, from, to);
  }
  template <class X, class Y> void multiply(const X& x, Y&& y) const {
    multiply(where(), x, std::forward<Y>(y));
  }
  /// New values, the same pattern, as planned_operator's. If it throws out_of_memory, some parts
  /// may have new values: make the plan again.
  template <class A> void update_values(const A& a) {
    const auto [rows, cols] = shape();
    update(detail::new_values_of<T, I, S>(rows, cols, size(), a));
  }

  [[nodiscard]] index<std::int64_t> shape() const;
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] int count() const;
  /// A part's plan; where its rows begin.
  [[nodiscard]] const planned_operator<T, I, O, S>& part(int p) const;
  [[nodiscard]] std::int64_t first_row(int p) const;
  /// Formats of the parts: "ell_csr in 4 parts", "csr, bsr in 2 parts".
  [[nodiscard]] std::string format() const;
  /// Memory that parts own, of all devices.
  [[nodiscard]] std::size_t bytes() const;
  /// Each part's rows, columns and plan.
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] const context<S>& where() const;

private:
  struct state;
  void multiply_parts(const context<S>& ctx, dense_view<const T, S> x, dense_view<T, S> y) const;
  void update(csr_view<const T, I, O, S> from);
  std::unique_ptr<state> state_;
};

/// Plans a (a csr or a view of one) in parts, one for each context. Keep a alive and its pattern
/// unchanged as long as the plan. Waits. Throws what plan() throws, and bad_input if there are no
/// contexts.
template <space S, class A>
auto plan_on(const context<S>& ctx, std::vector<context<S>> contexts, const A& a,
             const plan_hints& hints = {}, const parts_options& options = {}) {
  const auto view = detail::const_view(a);
  using V = std::remove_cv_t<decltype(view)>;
  detail::require_same_space<S, V>();
  return planned_parts<typename V::scalar_type, typename V::index_type, typename V::offset_type, S>(
      ctx, std::move(contexts), view, hints, options);
}
/// A temporary would be gone: give it a name.
template <space S, class T, class I, class O>
void plan_on(const context<S>& ctx, std::vector<context<S>> contexts, csr<T, I, O, S>&& a,
             const plan_hints& hints = {}, const parts_options& options = {}) = delete;

} // namespace lacuna
