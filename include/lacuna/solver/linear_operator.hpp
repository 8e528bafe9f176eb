// What a Krylov method multiplies with: a matrix in any format, a planned operator, one that is
// planned in the background or in parts on several devices, or a function of yours.
//
//   linear_operator<double> a(ctx, matrix);
//   linear_operator<double> b({n, n}, [](const host_context& ctx, auto x, auto y) { … });  y = B x
//
// It looks at what it is made from, which the caller keeps alive.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include <lacuna/op/multiply.hpp>
#include <lacuna/plan/async.hpp>
#include <lacuna/plan/parts.hpp>

namespace lacuna {

namespace detail {
template <class A> inline constexpr bool is_planned = false;
template <class T, class I, class O, space S>
inline constexpr bool is_planned<planned_operator<T, I, O, S>> = true;
template <class A> inline constexpr bool is_planned_later = false;
template <class T, class I, class O, space S>
inline constexpr bool is_planned_later<async_operator<T, I, O, S>> = true;

/// A plan multiplies on its own context; throws bad_input if that is another stream.
inline void require_own_context(const host_context&, const host_context&) {}
inline void require_own_context(const device_context& ctx, const device_context& plans) {
  if (ctx.stream() != plans.stream() || ctx.device() != plans.device())
    throw bad_input("linear_operator: the plan was made on another context than the solver's");
}
} // namespace detail

template <class T, space S = space::host> class linear_operator {
public:
  using scalar_type = T;
  static constexpr space memory_space = S;
  using in = dense_view<const T, S>;
  using out = dense_view<T, S>;

  /// A sparse matrix or an operand of one (`transposed(a)`). On a device a csr's rows are looked at
  /// once, which waits.
  template <class A>
    requires(detail::is_matrix_operand<A>)
  linear_operator(const context<S>& ctx, const A& a) {
    const auto op = detail::operand(a);
    using Op = std::remove_const_t<decltype(op)>;
    detail::require_same_space<S, Op>();
    detail::require_same_value<T, Op>();
    rows_ = op.transposed ? op.cols() : op.rows();
    cols_ = op.transposed ? op.rows() : op.cols();
    const auto view = detail::const_view(a);
    constexpr bool plain =
        std::is_same_v<std::remove_cvref_t<decltype(view)>,
                       csr_view<const T, typename Op::index_type, typename Op::offset_type, S>>;
    if constexpr (S == space::device && plain) {
      const in nothing;
      auto info = std::make_shared<operation_info_t>(multiply_inspect(ctx, view, nothing, nothing));
      multiply_ = [view, info](const context<S>& on, in x, out y) {
        lacuna::multiply(on, *info, view, x, y);
      };
    } else {
      multiply_ = [view](const context<S>& on, in x, out y) { lacuna::multiply(on, view, x, y); };
    }
    name_ = plain ? "csr" : "matrix";
    // A transposed product without inspection may allocate and sort: it is called, not recorded.
    recordable_ = [queued = !op.transposed] { return queued; };
  }
  template <class I, class O>
  linear_operator(const context<S>& ctx, const planned_operator<T, I, O, S>& plan)
      : rows_(plan.shape().row), cols_(plan.shape().col), name_(plan.format()),
        multiply_([&plan](const context<S>&, in x, out y) { plan.multiply(x, y); }),
        recordable_([] { return true; }) {
    detail::require_own_context(ctx, plan.where());
  }
  /// Products in CSR until the plan is made; recorded from then on.
  template <class I, class O>
  linear_operator(const context<S>&, async_operator<T, I, O, S>& plan)
      : rows_(plan.shape().row), cols_(plan.shape().col), name_("planned in the background"),
        multiply_([&plan](const context<S>&, in x, out y) { plan.multiply(x, y); }),
        recordable_([&plan] { return plan.switched(); }) {}
  /// The method's vectors stay on ctx's device; products go out to the parts. Not recorded.
  template <class I, class O>
  linear_operator(const context<S>&, const planned_parts<T, I, O, S>& plan)
      : rows_(plan.shape().row), cols_(plan.shape().col), name_(plan.format()),
        multiply_([&plan](const context<S>& on, in x, out y) { plan.multiply(on, x, y); }),
        recordable_([] { return false; }) {}
  /// f(ctx, x, y) makes y = A x; x and y are dense views of one column, or of as many as there are
  /// right-hand sides. recordable: on a device f only queues the same launches every time.
  template <class F>
    requires(std::is_invocable_v<const F&, const context<S>&, in, out>)
  linear_operator(index<std::int64_t> shape, F f, bool recordable = false)
      : rows_(shape.row), cols_(shape.col), name_("function"), multiply_(std::move(f)),
        recordable_([recordable] { return recordable; }) {}

  [[nodiscard]] index<std::int64_t> shape() const { return {rows_, cols_}; }
  void multiply(const context<S>& ctx, in x, out y) const { multiply_(ctx, x, y); }
  /// Whether a product may be part of a CUDA graph, by now.
  [[nodiscard]] bool is_recordable() const { return recordable_(); }
  /// "csr", "ell_csr", "function".
  [[nodiscard]] const std::string& name() const { return name_; }

private:
  std::int64_t rows_ = 0, cols_ = 0;
  std::string name_;
  std::function<void(const context<S>&, in, out)> multiply_;
  std::function<bool()> recordable_;
};

} // namespace lacuna
