// Internal: the levels of an AMG hierarchy. Made by amg_setup.cpp, coarsened by amg_coarsen.cpp,
// used by amg_cycle.cpp.
#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include <lacuna/op/copy.hpp>
#include <lacuna/op/galerkin.hpp>
#include <lacuna/op/transpose.hpp>
#include <lacuna/op/vector.hpp>
#include <lacuna/plan/plan.hpp>
#include <lacuna/solver/amg.hpp>

#include "cpu/amg_galerkin.hpp"
#include "solver/amg_engine.hpp"

namespace lacuna::detail {

/// Adds the seconds it lived.
class amg_stopwatch {
public:
  explicit amg_stopwatch(double& to) : to_(to), start_(std::chrono::steady_clock::now()) {}
  ~amg_stopwatch() {
    to_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  amg_stopwatch(const amg_stopwatch&) = delete;
  amg_stopwatch& operator=(const amg_stopwatch&) = delete;

private:
  double& to_;
  std::chrono::steady_clock::time_point start_;
};

template <class T, space S> using amg_matrix = csr<T, int, int, S>;
template <class T, space S> using amg_view = csr_view<const T, int, int, S>;

/// R A P, whole and for new values: a product of AMG's own on a host, on a device sparse products.
template <class T, space S> class amg_product {
public:
  using matrix = amg_matrix<T, S>;
  using view = amg_view<T, S>;
  /// `vectors`: near-null vectors, whose columns of P lie side by side. `refills`: there will be
  /// some.
  matrix make(const context<S>& ctx, view r, view a, view p, int vectors, bool refills) {
    if constexpr (S == space::host) {
      cpu::amg_galerkin<T> product;
      matrix c = product.make(ctx, r, a, p, vectors);
      if (refills) kept_ = std::move(product);
      return c;
    } else {
      return galerkin(ctx, r, a, p);
    }
  }
  /// What refills need, if it is not there.
  void prepare(const context<S>& ctx, view r, view a, view p, int vectors) {
    if constexpr (S == space::host) {
      if (kept_.empty()) kept_.prepare(ctx, a, p, vectors);
    } else {
      if (kept_.result_nnz() == 0) kept_ = galerkin_compute(ctx, r, a, p);
    }
  }
  void refill(const context<S>& ctx, view r, view a, view p, matrix& c) {
    if constexpr (S == space::host)
      kept_.refill(ctx, r, a, p, c);
    else
      galerkin_refill(ctx, kept_, r, a, p, c);
  }
  /// Of a host's; what a device keeps is not counted.
  [[nodiscard]] std::size_t bytes() const {
    if constexpr (S == space::host)
      return kept_.bytes();
    else
      return 0;
  }

private:
  std::conditional_t<S == space::host, cpu::amg_galerkin<T>, operation_info_t> kept_;
};

template <class T, space S> struct amg_level {
  amg_matrix<T, S> own; ///< empty where `a` is the caller's
  amg_view<T, S> a;
  std::optional<planned_operator<T, int, int, S>> op; ///< none: A is multiplied as it is

  // To the next level; empty on the coarsest.
  amg_matrix<T, S> p, r;
  array<int, S> aggregate;            ///< of nodes; classical: coarse number of rows, or -1
  array<unsigned char, S> strong;     ///< per entry of A
  int unknowns = 1, vectors = 1;      ///< a node's; near-null vectors
  array<T, S> near;                   ///< those vectors; empty: ones
  array<T, S> coarse_near;            ///< the next level's, until it takes them
  amg_matrix<T, S> tentative;         ///< of several vectors
  amg_matrix<T, S> smoothing;         ///< I - omega D^-1 A, of several vectors
  array<int, S> coarse, number;       ///< classical: 1 and its number for coarse rows
  array<int, S> list_at, list, count; ///< classical: candidates of interpolation
  array<T, S> weights;                ///< of the candidates, until P has its values
  operation_info_t transposition;     ///< for refills
  amg_product<T, S> product;          ///< for refills
  /// For products with A where it has no plan, P and R on a device, which need no scratch then.
  operation_info_t with_a, with_p, with_r;
  [[nodiscard]] bool by_pairs() const { return unknowns == 1 && vectors == 1; }

  // Smoothing.
  array<T, S> diagonal, scale;
  double spectral_radius = 0;
  array<int, S> coloured_rows;
  std::vector<std::int64_t> colours; ///< where each colour's rows begin, and the end
  array<T, S> inverse;               ///< of the coarsest matrix, by columns; empty: smoothed

  // Vectors of a cycle: solution and right-hand side (not of the finest), residual, direction;
  // for W- and K-cycles the second visit's.
  array<T, S> x, b, residual, direction;
  array<T, S> first, second, product_1, product_2, rest;
  array<T, S> scalars;
  array<double, S> sums;

  [[nodiscard]] std::int64_t rows() const { return a.shape().row; }
  [[nodiscard]] amg_rows::matrix<T> rows_of_a() const {
    return {a.rowptr().data(), a.colind().data(), a.values().data()};
  }
  [[nodiscard]] std::size_t bytes() const;
};

template <class T, space S> struct amg_hierarchy {
  amg_options options;
  std::deque<amg_level<T, S>> levels; // plans look at matrices of levels: they stay where they are
  amg_report report;
  [[nodiscard]] double strength(int level) const {
    if (options.strength >= 0) return options.strength;
    return options.kind == amg_kind::classical ? 0.25 : 0.08 / static_cast<double>(1 << level);
  }
};

/// y = alpha A x + beta z.
template <class T, space S>
void amg_multiply(const context<S>& ctx, const amg_level<T, S>& l, double alpha,
                  vector_view<const T, S> x, double beta, vector_view<const T, S> z,
                  vector_view<T, S> y) {
  if (l.op)
    l.op->multiply(ctx, alpha, x, beta, z, y);
  else
    multiply(ctx, l.with_a, scaled(alpha, l.a), x, scaled(beta, z), y);
}

// amg_setup.cpp
template <class T, space S>
void amg_build(const context<S>& ctx, amg_hierarchy<T, S>& h, amg_view<T, S> a);
/// For new values in the finest level's pattern.
template <class T, space S>
void amg_rebuild(const context<S>& ctx, amg_hierarchy<T, S>& h, amg_view<T, S> a);

// amg_coarsen.cpp
/// Strong connections, aggregates and, on a device or of classical AMG, P's pattern (values unset);
/// rows of the next level, 0: none.
template <class T, space S>
std::int64_t amg_coarsen(const context<S>& ctx, amg_hierarchy<T, S>& h, int level,
                         const array<T, S>& largest);
/// P's values, in its pattern, which is made first where it is not there.
template <class T, space S>
void amg_interpolate(const context<S>& ctx, const amg_options& options, amg_level<T, S>& l,
                     std::int64_t columns);

// amg_cycle.cpp
template <class T, space S>
void amg_allocate_vectors(const context<S>& ctx, amg_hierarchy<T, S>& h);
template <class T, space S>
void amg_apply(const context<S>& ctx, const amg_hierarchy<T, S>& h, vector_view<const T, S> b,
               vector_view<T, S> x);

// amg_report.cpp
std::string explain_amg(const std::string& name, const amg_report& r);
std::string amg_as_json(const std::string& name, const amg_report& r);

} // namespace lacuna::detail
