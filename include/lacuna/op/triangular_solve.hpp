// x = inv(T) b, T one triangle of a sparse matrix; the tags of the C++ Sparse BLAS.
//
//   triangular_solve(a, lower_triangle, explicit_diagonal, b, x);
//   triangular_solve(ctx, transposed(a), upper_triangle, implicit_unit_diagonal, b, x);
//
// Entries outside of the triangle are not used, nor is a stored diagonal when it is implicit;
// duplicates count as their sum. alpha scales what is stored, not the implicit diagonal. b and x
// are vectors, or dense matrices of several columns; x may be b itself. Rows need not be sorted.
//
// That is plain: one row after another, one thread on the host, one warp per column of b on the
// device; a transposed matrix or a csc is copied. What pays from the second solve on is to inspect:
//
//   const auto info = triangular_solve_inspect(ctx, a, lower_triangle, explicit_diagonal, b, x);
//   triangular_solve(ctx, info, a, lower_triangle, explicit_diagonal, b, x);
//   std::cout << info.explain();                        // levels, and how they are solved
//
// An info keeps the triangle's pattern by levels; values are fetched anew in every solve, unless
// {.values_stay = true} promises that they are those of now. Matrices of more than 2^31 - 1 rows or
// entries are solved plainly all the same. docs/triangular_solve.md has the rest.
//
// Bitwise repeatable, inspected solves for any number of threads; plain and inspected solves may
// differ in rounding. O(nnz) per column of b.
//
// Throws size_mismatch if sizes do not fit; bad_input, before x is written, if an explicit diagonal
// has no entry or 0 in some row (to know that, the device is waited for, unless values stay).
// Inspected solves multiply by the inverse of the diagonal, and refuse one that has no finite
// inverse as they refuse 0.
#pragma once

#include <lacuna/op/multiply.hpp>
#include <lacuna/op/triangle.hpp>

namespace lacuna {

struct upper_triangle_t {
  explicit upper_triangle_t() = default;
};
struct lower_triangle_t {
  explicit lower_triangle_t() = default;
};
struct implicit_unit_diagonal_t {
  explicit implicit_unit_diagonal_t() = default;
};
struct explicit_diagonal_t {
  explicit explicit_diagonal_t() = default;
};
inline constexpr upper_triangle_t upper_triangle{};
inline constexpr lower_triangle_t lower_triangle{};
inline constexpr implicit_unit_diagonal_t implicit_unit_diagonal{};
inline constexpr explicit_diagonal_t explicit_diagonal{};

namespace detail::cpu {
/// x = beta inv(T) b; T is alpha times the stored triangle.
template <class T, class I, class O>
LACUNA_EXPORT void triangular_solve_csr(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                                        bool upper, bool unit, T beta, dense_view<const T> b,
                                        dense_view<T> x);
/// The first row whose diagonal is not stored or sums up to 0; -1 if there is none.
template <class T, class I, class O>
LACUNA_EXPORT std::int64_t find_no_diagonal(const host_context& ctx, csr_view<const T, I, O> a);
} // namespace detail::cpu
namespace detail::gpu {
template <class T, class I, class O>
LACUNA_GPU_EXPORT void triangular_solve_csr(const device_context& ctx, T alpha,
                                            device_csr<T, I, O> a, bool upper, bool unit, T beta,
                                            dense_view<const T, space::device> b,
                                            dense_view<T, space::device> x);
template <class T, class I, class O>
LACUNA_GPU_EXPORT std::int64_t find_no_diagonal(const device_context& ctx, device_csr<T, I, O> a);
} // namespace detail::gpu

namespace detail {
/// What triangular_solve_inspect keeps for one matrix and one pair of tags.
template <class T, space S> struct triangular_inspection : inspection {
  std::int64_t nnz = 0;
  bool transposed = false, values_stay = false;
  triangle_pattern<S> pattern;
  triangle_values<T, S> values; ///< those that stay
  [[nodiscard]] std::string explain() const override {
    return explain_triangle(pattern.statistics, S == space::device, pattern.schedule, pattern.lanes,
                            pattern.runs, values_stay, bytes());
  }
  [[nodiscard]] std::size_t bytes() const override { return pattern.bytes() + values.bytes(); }
};

template <class T, space S>
void require_triangular_sizes(std::int64_t rows, std::int64_t cols, dense_view<const T, S> b,
                              dense_view<T, S> x) {
  require_same_size("triangular_solve", "rows of A", rows, "columns of A", cols);
  require_same_size("triangular_solve", "b", b.shape().row, "rows of A", rows);
  require_same_size("triangular_solve", "x", x.shape().row, "rows of A", rows);
  require_same_size("triangular_solve", "columns of b", b.shape().col, "columns of x",
                    x.shape().col);
  const bool in_place = b.data() == x.data() && b.layout() == x.layout() && b.ld() == x.ld();
  if (!in_place)
    require_apart<T>("triangular_solve", "b", b.data(), b.extent(), "x", x.data(), x.extent());
}

template <class T, class I, class O, space S>
void triangular_solve_columns(const context<S>& ctx, const matrix_operand<T, I, O, S>& a,
                              bool upper, bool unit, double beta, dense_view<const T, S> b,
                              dense_view<T, S> x) {
  require_triangular_sizes(a.rows(), a.cols(), b, x);
  const csr<T, I, O, S> copy = a.transposed ? transpose(ctx, a.a) : csr<T, I, O, S>();
  const csr_view<const T, I, O, S> rows = a.transposed ? copy.view() : a.a;
  const T alpha = static_cast<T>(a.alpha), scale = static_cast<T>(beta);
  if (!unit) {
    std::int64_t row = -1;
    if constexpr (S == space::host)
      row = detail::cpu::find_no_diagonal<T, I, O>(ctx, rows);
    else
      row = detail::gpu::find_no_diagonal<T, I, O>(ctx, rows);
    if (row >= 0) throw_no_diagonal(row);
  }
  if constexpr (S == space::host)
    detail::cpu::triangular_solve_csr<T, I, O>(ctx, alpha, rows, upper, unit, scale, b, x);
  else
    detail::gpu::triangular_solve_csr<T, I, O>(ctx, alpha, rows, upper, unit, scale, b, x);
}

/// The tags as flags, told apart before anything else is instantiated.
template <class Triangle, class Diagonal> struct triangle_tags {
  static constexpr bool upper = std::is_same_v<Triangle, upper_triangle_t>;
  static constexpr bool unit = std::is_same_v<Diagonal, implicit_unit_diagonal_t>;
  static_assert(upper || std::is_same_v<Triangle, lower_triangle_t>,
                "lacuna: the triangle is upper_triangle or lower_triangle");
  static_assert(unit || std::is_same_v<Diagonal, explicit_diagonal_t>,
                "lacuna: the diagonal is explicit_diagonal or implicit_unit_diagonal");
};

template <class T, class I, class O, space S>
std::shared_ptr<const triangular_inspection<T, S>>
inspect_triangle(const context<S>& ctx, const matrix_operand<T, I, O, S>& a, bool upper, bool unit,
                 bool values_stay, triangular_schedule schedule) {
  require_same_size("triangular_solve_inspect", "rows of A", a.rows(), "columns of A", a.cols());
  if (!can_keep_triangle(a.rows(), a.a.size())) return nullptr;
  auto kept = std::make_shared<triangular_inspection<T, S>>();
  kept->nnz = a.a.size();
  kept->transposed = a.transposed;
  kept->values_stay = values_stay;
  if (a.transposed) {
    const auto t = keep_transposed(ctx, a.a);
    kept->pattern = analyse_triangle<I, O, S>(ctx, {t.rowptr.view(), t.colind.view()},
                                              t.from.data(), upper, unit, schedule);
  } else {
    kept->pattern = analyse_triangle<I, O, S>(ctx, arrays_of(a.a), nullptr, upper, unit, schedule);
  }
  if (values_stay) {
    kept->values = make_triangle_values<T>(ctx, kept->pattern);
    const std::int64_t row = gather_triangle(ctx, kept->pattern, a.a.values().data(), kept->values);
    if (row >= 0) throw_no_diagonal(row);
  }
  return kept;
}

/// bad_input: the info is for the other triangle or diagonal.
[[noreturn]] LACUNA_EXPORT void throw_other_triangle();

template <class T, class I, class O, space S>
void triangular_solve_inspected(const context<S>& ctx, const triangular_inspection<T, S>& kept,
                                const matrix_operand<T, I, O, S>& a, bool upper, bool unit,
                                double beta, dense_view<const T, S> b, dense_view<T, S> x) {
  require_triangular_sizes(a.rows(), a.cols(), b, x);
  require_same_size("triangular_solve", "rows of A", a.rows(), "rows as inspected",
                    kept.pattern.order.size());
  require_same_size("triangular_solve", "entries of A", a.a.size(), "entries as inspected",
                    kept.nnz);
  if (kept.transposed != a.transposed) throw_other_direction("triangular_solve", "A", a.transposed);
  if (kept.pattern.upper != upper || kept.pattern.unit != unit) throw_other_triangle();
  const auto scratch = make_triangle_scratch<T>(ctx, x.shape().row, x.shape().col);
  const T alpha = static_cast<T>(a.alpha), scale = static_cast<T>(beta);
  if (kept.values_stay)
    return solve_triangle<T, S>(ctx, kept.pattern, kept.values, alpha, scale, b, x, scratch);
  auto values = make_triangle_values<T>(ctx, kept.pattern);
  const std::int64_t row = gather_triangle(ctx, kept.pattern, a.a.values().data(), values);
  if (row >= 0) throw_no_diagonal(row);
  solve_triangle<T, S>(ctx, kept.pattern, values, alpha, scale, b, x, scratch);
}

template <space S, class A, class Triangle, class Diagonal, class B, class X>
void triangular_solve_unwrapped(const context<S>& ctx, const operation_info_t* info, const A& a,
                                const B& b, X&& x) {
  using tags = triangle_tags<Triangle, Diagonal>;
  const auto a_op = operand(a);
  const auto b_op = operand(b);
  const auto to = mutable_view(std::forward<X>(x));
  using T = typename decltype(a_op)::scalar_type;
  require_same_space<S, decltype(a_op), decltype(b_op), decltype(to)>();
  require_same_value<T, decltype(b_op), decltype(to)>();
  const auto* kept =
      info == nullptr ? nullptr : found_in<triangular_inspection<T, S>>(*info, "triangular_solve");
  if (kept != nullptr)
    triangular_solve_inspected(ctx, *kept, a_op, tags::upper, tags::unit, b_op.alpha,
                               as_columns(b_op.x), as_columns(to));
  else
    triangular_solve_columns(ctx, a_op, tags::upper, tags::unit, b_op.alpha, as_columns(b_op.x),
                             as_columns(to));
}
} // namespace detail

template <space S, class A, class Triangle, class Diagonal, class B, class X>
void triangular_solve(const context<S>& ctx, const A& a, Triangle, Diagonal, const B& b, X&& x) {
  detail::triangular_solve_unwrapped<S, A, Triangle, Diagonal>(ctx, nullptr, a, b,
                                                               std::forward<X>(x));
}
template <class A, class Triangle, class Diagonal, class B, class X>
  requires(detail::is_matrix_operand<A>)
void triangular_solve(const A& a, Triangle t, Diagonal d, const B& b, X&& x) {
  triangular_solve(detail::default_context_of<A>(), a, t, d, b, std::forward<X>(x));
}

struct triangular_options {
  /// A promise: in every solve A has the values that it has now. A copy of the triangle's is kept.
  bool values_stay = false;
  triangular_schedule schedule = triangular_schedule::automatic;
};

/// Finds the levels of A's triangle; b and x are not looked at. Waits on a device. With values_stay
/// throws bad_input where a solve would.
template <space S, class A, class Triangle, class Diagonal, class B, class X>
operation_info_t triangular_solve_inspect(const context<S>& ctx, const A& a, Triangle, Diagonal,
                                          const B&, const X&,
                                          const triangular_options& options = {}) {
  using tags = detail::triangle_tags<Triangle, Diagonal>;
  const auto op = detail::operand(a);
  detail::require_same_space<S, decltype(op)>();
  return operation_info_t(detail::inspect_triangle(ctx, op, tags::upper, tags::unit,
                                                   options.values_stay, options.schedule),
                          {op.rows(), op.cols()});
}
template <class A, class Triangle, class Diagonal, class B, class X>
  requires(detail::is_matrix_operand<A>)
operation_info_t triangular_solve_inspect(const A& a, Triangle t, Diagonal d, const B& b,
                                          const X& x, const triangular_options& options = {}) {
  return triangular_solve_inspect(detail::default_context_of<A>(), a, t, d, b, x, options);
}
template <class A, class Triangle, class Diagonal, class B, class X>
void triangular_solve_inspect(operation_info_t& info, const A& a, Triangle t, Diagonal d,
                              const B& b, const X& x) {
  info = triangular_solve_inspect(a, t, d, b, x);
}
/// With an empty info: plainly. Throws bad_input if it was made for other tags or the other
/// direction, size_mismatch if for another size or number of entries.
template <space S, class A, class Triangle, class Diagonal, class B, class X>
void triangular_solve(const context<S>& ctx, const operation_info_t& info, const A& a, Triangle,
                      Diagonal, const B& b, X&& x) {
  detail::triangular_solve_unwrapped<S, A, Triangle, Diagonal>(ctx, &info, a, b,
                                                               std::forward<X>(x));
}
template <class A, class Triangle, class Diagonal, class B, class X>
void triangular_solve(const operation_info_t& info, const A& a, Triangle t, Diagonal d, const B& b,
                      X&& x) {
  triangular_solve(detail::default_context_of<A>(), info, a, t, d, b, std::forward<X>(x));
}

} // namespace lacuna
