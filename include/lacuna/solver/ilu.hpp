// Incomplete factorisations on the pattern of A, as preconditioners: ILU(0), A ~ L U, and for
// symmetric matrices IC(0), A ~ L L^T, which reads the lower triangle alone.
//
//   const auto m = std::make_shared<ilu0<double>>(ctx, a);      // or ic0
//   m->apply(ctx, r, z);                                        // two triangular solves
//   m->update_values(ctx, a2);                                  // same pattern, other values
//
// Rows are factored in the order of levels (host: by threads if levels are wide; device: each waits
// for the rows it needs) and solved as docs/triangular_solve.md says; both repeat bit by bit.
// With {.factor_sweeps = 3, .solve_sweeps = 2} the factors are the limit of fixed-point sweeps over
// all entries at once (Chow and Patel 2015), and solves are Jacobi sweeps: no levels, an
// approximation.
//
// A is a square csr, of any index types if its rows and entries fit 32 bits; unsorted rows and
// duplicates are sorted and summed in the copy that is kept. Throws size_mismatch if A is not
// square, bad_input, naming the row, if a diagonal is not stored or a pivot is 0 (ic0: not
// positive) or not a number: {.shift = 0.01} helps then.
#pragma once

#include <lacuna/op/cast.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/triangle.hpp>
#include <lacuna/solver/preconditioner.hpp>

namespace lacuna {

struct ilu_options {
  /// Each diagonal grows by `shift` times the largest magnitude of its row before A is factored.
  double shift = 0;
  int factor_sweeps = 0; ///< 0: exact; 3 to 5 are enough for most
  int solve_sweeps = 0;  ///< 0: exact
  triangular_schedule schedule = triangular_schedule::automatic;
};

namespace detail {

/// A pattern with sorted, unique rows, where its diagonal is, and values.
template <class T> struct factor_arrays {
  std::int64_t n;
  const std::int32_t* rowptr;
  const std::int32_t* colind;
  const std::int32_t* diagonal;
  T* values;
};
/// The columns of the same pattern: rows of the transpose, and where in `values` entries are.
struct factor_columns {
  const std::int32_t* rowptr;
  const std::int32_t* colind;
  const std::int32_t* from;
};

} // namespace detail

// Each is there for both spaces. Those that return a row wait; -1: none.
#define LACUNA_DECLARE_FACTORS(EXPORT, S)                                                          \
  EXPORT std::int64_t find_diagonals(const context<S>& ctx, std::int64_t n,                        \
                                     const std::int32_t* rowptr, const std::int32_t* colind,       \
                                     std::int32_t* diagonal);                                      \
  template <class T>                                                                               \
  EXPORT void shift_diagonal(const context<S>& ctx, detail::factor_arrays<T> f, T shift);          \
  /** In place; `lower` is f's own lower triangle; ready: f.n words of scratch. */                 \
  template <class T>                                                                               \
  EXPORT void factor_rows(const context<S>& ctx, detail::factor_arrays<T> f, bool symmetric,       \
                          const detail::triangle_pattern<S>& lower, std::uint32_t* ready);         \
  /** f.values = factors to begin sweeps with. */                                                  \
  template <class T>                                                                               \
  EXPORT void guess_factors(const context<S>& ctx, detail::factor_arrays<T> f, bool symmetric,     \
                            const T* a);                                                           \
  /** f.values = one sweep from `before`. */                                                       \
  template <class T>                                                                               \
  EXPORT void sweep_factors(const context<S>& ctx, detail::factor_arrays<T> f,                     \
                            detail::factor_columns columns, bool symmetric, const T* a,            \
                            const T* before);                                                      \
  /** The first row whose pivot is 0 or not finite; symmetric: or not positive. */                 \
  template <class T>                                                                               \
  EXPORT std::int64_t find_bad_pivot(const context<S>& ctx, detail::factor_arrays<T> f,            \
                                     bool symmetric);                                              \
  /** x = inv(T) b by Jacobi sweeps; scratch: 2 n values. */                                       \
  template <class T>                                                                               \
  EXPORT void sweep_triangle(const context<S>& ctx, const detail::triangle_pattern<S>& p,          \
                             const detail::triangle_values<T, S>& v, int sweeps,                   \
                             vector_view<const T, S> b, vector_view<T, S> x, T* scratch);
namespace detail::cpu {
LACUNA_DECLARE_FACTORS(LACUNA_EXPORT, space::host)
}
namespace detail::gpu {
LACUNA_DECLARE_FACTORS(LACUNA_GPU_EXPORT, space::device)
}
#undef LACUNA_DECLARE_FACTORS

namespace detail {

/// What ilu0 and ic0 have in common.
template <class T, space S> class LACUNA_EXPORT incomplete_factors : public preconditioner<T, S> {
public:
  using matrix = csr<T, std::int32_t, std::int32_t, S>;
  [[nodiscard]] std::int64_t size() const override { return factors_.shape().row; }
  /// One caller at a time: on a device a solve has scratch.
  void apply(const context<S>& ctx, vector_view<const T, S> r, vector_view<T, S> z) const override;
  [[nodiscard]] std::string name() const override { return symmetric_ ? "ic0" : "ilu0"; }
  [[nodiscard]] std::size_t bytes() const override;
  [[nodiscard]] bool is_symmetric() const override { return symmetric_; }
  /// Levels of both triangles, and how they are solved.
  [[nodiscard]] std::string explain() const;

  /// Factors A again, which has the pattern of the first one and other values. On a failure the
  /// factors stay as they were.
  template <class A> void update_values(const context<S>& ctx, const A& a) {
    refill(ctx, own(ctx, a));
  }

protected:
  incomplete_factors(const context<S>& ctx, bool symmetric, matrix a, const ilu_options& options);

  /// A copy with sorted, unique rows of 32-bit indices.
  template <class A> static matrix own(const context<S>& ctx, const A& a) {
    const auto view = const_view(a);
    using V = decltype(view);
    static_assert(std::is_same_v<typename V::scalar_type, T>,
                  "lacuna: operands differ in value type (float, double); use cast");
    require_same_space<S, V>();
    require_same_size("incomplete factorisation", "rows of A", view.shape().row, "columns of A",
                      view.shape().col);
    auto copy = cast<T, std::int32_t, std::int32_t>(ctx, view);
    if (!copy.order().sorted) sort(ctx, copy);
    if (!copy.order().unique) copy = merge_duplicates(ctx, copy);
    return copy;
  }

  matrix factors_;

private:
  void refill(const context<S>& ctx, matrix a);
  /// `a` becomes its factors, of the pattern of factors_.
  void factorise(const context<S>& ctx, matrix& a) const;

  bool symmetric_;
  ilu_options options_;
  array<std::int32_t, S> diagonal_;
  transposed_pattern<std::int32_t, std::int32_t, S> columns_; ///< for sweeps
  triangle_pattern<S> lower_, upper_;
  triangle_values<T, S> lower_values_, upper_values_;
  triangle_scratch<T, S> scratch_; ///< of one solve, on a device
  mutable array<T, S> sweeps_;     ///< 3 n values, for Jacobi sweeps
};
extern template class incomplete_factors<float, space::host>;
extern template class incomplete_factors<double, space::host>;
extern template class incomplete_factors<float, space::device>;
extern template class incomplete_factors<double, space::device>;

} // namespace detail

/// A ~ L U on the pattern of A; the diagonal of L is 1.
template <class T, space S = space::host> class ilu0 : public detail::incomplete_factors<T, S> {
  using base = detail::incomplete_factors<T, S>;

public:
  template <class A>
  ilu0(const context<S>& ctx, const A& a, const ilu_options& options = {})
      : base(ctx, false, base::own(ctx, a), options) {}
  /// L below the diagonal, U on it and above.
  csr_view<const T, std::int32_t, std::int32_t, S> factors() const {
    return std::as_const(this->factors_).view();
  }
};

/// A ~ L L^T, L on the pattern of A's lower triangle.
template <class T, space S = space::host> class ic0 : public detail::incomplete_factors<T, S> {
  using base = detail::incomplete_factors<T, S>;

public:
  template <class A>
  ic0(const context<S>& ctx, const A& a, const ilu_options& options = {})
      : base(ctx, true, base::own(ctx, a), options) {}
  /// L below the diagonal and on it; what A has stored above is there, too, and means nothing.
  csr_view<const T, std::int32_t, std::int32_t, S> factors() const {
    return std::as_const(this->factors_).view();
  }
};

} // namespace lacuna
