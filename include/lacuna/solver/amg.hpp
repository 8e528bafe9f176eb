// Algebraic multigrid: a preconditioner whose work is proportional to the entries of A and whose
// iterations hardly grow with its size.
//
//   const auto m = std::make_shared<amg<double>>(ctx, a);      smoothed aggregation
//   std::cout << m->explain();                                  levels, complexities, seconds
//   m->update_values(ctx, a2);                                  same pattern, other values
//
//   amg<double, space::device> on_device(gpu, b, {.smoother = amg_smoother::l1_jacobi});
//   amg_mixed<> single(ctx, a);                                 a hierarchy in float for doubles
//
// docs/amg.md says which options suit which problem.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <lacuna/format/csr.hpp>
#include <lacuna/op/cast.hpp>
#include <lacuna/solver/preconditioner.hpp>

namespace lacuna {

enum class amg_kind {
  smoothed_aggregation, ///< Vanek, Mandel, Brezina; the default
  classical             ///< PMIS coarsening, interpolation by weights: better in 2D
};
enum class amg_aggregation {
  automatic,      ///< greedy on the host, by an independent set on a device
  greedy,         ///< in the order of rows, one thread; the host alone
  independent_set ///< of distance 2, parallel: the same on both engines
};
enum class amg_interpolation { direct, extended };
enum class amg_smoother {
  jacobi,      ///< weighted by `relaxation` over the spectral radius of D^-1 A
  l1_jacobi,   ///< by sums of rows: never diverges for positive definite A
  chebyshev,   ///< a polynomial of `degree` in D^-1 A; the default
  gauss_seidel ///< by colours; forwards before, backwards after the coarse correction; A's pattern
               ///< is symmetric
};
enum class amg_cycle { v, w, k };

struct amg_options {
  amg_kind kind = amg_kind::smoothed_aggregation;
  /// Connections below it are weak: |a_ij| < strength sqrt(a_ii a_jj), of classical AMG
  /// -a_ij < strength max_k(-a_ik). Negative: 0.08, halved from level to level (classical: 0.25).
  double strength = -1;
  amg_aggregation aggregation = amg_aggregation::automatic;
  /// Rows that belong to one node: they are aggregated together. 3 for elasticity in 3D.
  int unknowns_per_node = 1;
  /// Vectors that A nearly maps to 0, one after another, each of as many elements as A has rows
  /// (rigid_body_modes). Empty: constant for each unknown of a node.
  std::vector<double> near_null_space = {};
  /// Of prolongators, over the spectral radius of D^-1 A; 0: plain aggregation, for K-cycles.
  double prolongator_relaxation = 4.0 / 3.0;

  amg_interpolation interpolation = amg_interpolation::extended; ///< classical
  int most_interpolated = 4;      ///< classical: entries of a row of P; 0: all
  double least_interpolated = 0.; ///< classical: weights below this share of a row's largest go

  amg_smoother smoother = amg_smoother::chebyshev;
  double relaxation = 4.0 / 3.0; ///< jacobi
  int degree = 2;                ///< chebyshev: products of a sweep
  double chebyshev_lower = 0.25; ///< of the spectral radius: what the polynomial damps from there
  int pre_sweeps = 1, post_sweeps = 1;
  amg_cycle cycle = amg_cycle::v;

  int most_levels = 25;
  /// Rows below which a matrix is not coarsened but inverted.
  int coarse_rows = 200;
  /// Matrices of at least so many entries get the storage that plan() chooses; 0: none does.
  std::int64_t planned_entries = 50000;
  /// Prepares update_values at once, which its first call would do otherwise.
  bool value_updates = false;
};

struct amg_level_report {
  std::int64_t rows = 0, entries = 0;
  std::int64_t prolongator_entries = 0; ///< 0 on the coarsest
  std::string format;                   ///< of A in products: "csr", "packed_csr", "dense"
  std::size_t bytes = 0;                ///< of all that the level owns
  double spectral_radius = 0;           ///< of D^-1 A, estimated
  int colours = 0;                      ///< gauss_seidel
};
/// Seconds of set-up by stage; on a device a stage that waits for nothing counts for the next.
struct amg_seconds {
  double strength = 0, aggregation = 0, prolongator = 0, transposition = 0, galerkin = 0,
         spectral_radius = 0, plans = 0, coarse_solve = 0, total = 0;
};
struct amg_report {
  std::vector<amg_level_report> levels; ///< the finest first
  double operator_complexity = 0;       ///< entries of all levels over those of A
  double grid_complexity = 0;           ///< rows of all levels over those of A
  std::size_t bytes = 0;
  amg_seconds seconds;       ///< of set-up
  double update_seconds = 0; ///< of the last update_values
};

/// Compiled for 32-bit indices and offsets; others are cast, and refused if they do not fit.
///
/// A is square; rows that are not stated to be sorted and unique are copied and made so. A named
/// matrix of the types above is looked at, not copied: keep it alive and unchanged. CG wants A
/// symmetric. Throws size_mismatch, bad_input (an option out of range, a value that is not
/// finite), out_of_memory.
template <class T, space S = space::host> class LACUNA_EXPORT amg : public preconditioner<T, S> {
public:
  using matrix_view = csr_view<const T, std::int32_t, std::int32_t, S>;

  /// Looks at a, or takes over a temporary.
  template <class A>
  amg(const context<S>& ctx, A&& a, amg_options options = {}) : amg(std::move(options)) {
    give(ctx, std::forward<A>(a),
         [this](const context<S>& c, auto&& m) { this->set_up(c, std::forward<decltype(m)>(m)); });
  }
  amg(amg&&) noexcept;
  amg& operator=(amg&&) noexcept;
  ~amg() override;

  [[nodiscard]] std::int64_t size() const override;
  /// One cycle from 0. `ctx` is of the device that the hierarchy was made on.
  void apply(const context<S>& ctx, vector_view<const T, S> r, vector_view<T, S> z) const override;
  /// y = A x, in the storage that the finest level has: a method around it needs no plan of its
  /// own.
  void multiply(const context<S>& ctx, vector_view<const T, S> x, vector_view<T, S> y) const;
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::size_t bytes() const override;
  [[nodiscard]] bool is_linear() const override;
  [[nodiscard]] bool is_symmetric() const override;

  /// New values in the pattern that was set up, which is not checked beyond its sizes: aggregates,
  /// patterns and plans stay, all values are computed anew. If the strong connections are the same
  /// it leaves the bits of a new set-up. `a` replaces the matrix that is looked at. If it throws
  /// anything but size_mismatch, make the hierarchy anew.
  template <class A> void update_values(const context<S>& ctx, A&& a) {
    give(ctx, std::forward<A>(a),
         [this](const context<S>& c, auto&& m) { update(c, std::forward<decltype(m)>(m)); });
  }

  [[nodiscard]] const amg_report& report() const;
  /// The report as a table, and as a JSON object.
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] std::string json() const;

  // The hierarchy, for tests and for those who want to look: level 0 is the finest.
  [[nodiscard]] int levels() const;
  [[nodiscard]] matrix_view matrix(int level) const;
  /// P and R = P^T of a level that is not the coarsest.
  [[nodiscard]] matrix_view prolongator(int level) const;
  [[nodiscard]] matrix_view restriction(int level) const;
  /// Of each node, -1 if it has none; classical: of each row its coarse number or -1.
  [[nodiscard]] vector_view<const std::int32_t, S> aggregates(int level) const;
  /// The near-null vectors of a level, one after another; empty where they are all constant.
  [[nodiscard]] vector_view<const T, S> near_null_space(int level) const;

private:
  struct state;
  using owner = csr<T, std::int32_t, std::int32_t, S>;
  explicit amg(amg_options options);
  /// f of a view of what lives elsewhere, or of a matrix to be taken over.
  template <class A, class F> static void give(const context<S>& ctx, A&& a, F f) {
    const auto view = detail::const_view(a);
    using V = std::remove_cv_t<decltype(view)>;
    detail::require_same_space<S, V>();
    constexpr bool is_csr = requires { view.rowptr(); };
    static_assert(is_csr, "lacuna: amg takes a csr; to_csr converts");
    if constexpr (detail::are_in<S, V> && is_csr) {
      if constexpr (std::is_same_v<A, owner>)
        f(ctx, std::move(a));
      else if constexpr (std::is_same_v<V, matrix_view>)
        f(ctx, view);
      else
        f(ctx, cast<T, std::int32_t, std::int32_t>(ctx, view));
    }
  }
  void set_up(const context<S>& ctx, matrix_view a);
  void set_up(const context<S>& ctx, owner&& a);
  void update(const context<S>& ctx, matrix_view a);
  void update(const context<S>& ctx, owner&& a);
  std::unique_ptr<state> state_;
};

/// A hierarchy in float for a method in double: half of the bytes of a cycle.
template <space S = space::host> class LACUNA_EXPORT amg_mixed : public preconditioner<double, S> {
public:
  template <class A>
  amg_mixed(const context<S>& ctx, const A& a, amg_options options = {})
      : amg_mixed(ctx, amg<float, S>(ctx, cast<float, std::int32_t, std::int32_t>(ctx, a),
                                     std::move(options))) {}
  amg_mixed(const context<S>& ctx, amg<float, S> hierarchy);
  [[nodiscard]] std::int64_t size() const override { return hierarchy_.size(); }
  void apply(const context<S>& ctx, vector_view<const double, S> r,
             vector_view<double, S> z) const override;
  [[nodiscard]] std::string name() const override { return hierarchy_.name() + " in float"; }
  [[nodiscard]] std::size_t bytes() const override;
  [[nodiscard]] bool is_linear() const override { return hierarchy_.is_linear(); }
  [[nodiscard]] bool is_symmetric() const override { return hierarchy_.is_symmetric(); }
  template <class A> void update_values(const context<S>& ctx, const A& a) {
    hierarchy_.update_values(ctx, cast<float, std::int32_t, std::int32_t>(ctx, a));
  }
  [[nodiscard]] const amg<float, S>& hierarchy() const { return hierarchy_; }

private:
  amg<float, S> hierarchy_;
  mutable array<float, S> r_, z_;
};

/// Translations and rotations of points in `dimensions` (2 or 3) dimensions, for elasticity with
/// `dimensions` unknowns a point: 3 vectors in 2D, 6 in 3D. Coordinates are (x, y, z) point by
/// point. Throws bad_input.
LACUNA_EXPORT std::vector<double> rigid_body_modes(const std::vector<double>& coordinates,
                                                   int dimensions);

} // namespace lacuna
