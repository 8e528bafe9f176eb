// Internal: what an engine does for AMG. src/cpu/amg.cpp, src/gpu/amg.cu.
#pragma once

#include <vector>

#include "solver/amg_classical.hpp"
#include "solver/amg_prolongation.hpp"
#include "solver/amg_smooth.hpp"
#include <lacuna/core/array.hpp>
#include <lacuna/format/csr.hpp>

namespace lacuna::detail {

namespace cpu {
/// f(i) for i in [0, n); compiled for the functors of solver/amg_*.hpp.
template <class F> void amg_each(const host_context& ctx, std::int64_t n, const F& f);
/// sums[i] = counts[0] + … + counts[i - 1] for i in [0, n]; returns the last. Throws unsupported if
/// it does not fit.
std::int64_t amg_sums(const host_context& ctx, std::int64_t n, const int* counts, int* sums);
/// to[0 .. 2] = x.y0, x.y1, x.y2, of which null ones are left out; summed in double.
template <class T>
void amg_dots(const host_context& ctx, std::int64_t n, const T* x, const T* y0, const T* y1,
              const T* y2, double* scratch, T* to);
/// z = M r, M of n columns one after another.
template <class T>
void amg_dense(const host_context& ctx, std::int64_t n, const T* m, const T* r, T* z);
/// Aggregates in the order of rows (Vanek, Mandel, Brezina 1996): a row none of whose neighbours
/// has one, with them; then those next to one; then what is left. Returns their number.
template <class T>
int amg_greedy(std::int64_t rows, amg_rows::matrix<T> a, const unsigned char* strong,
               int* aggregate);
/// P = (I - omega D^-1 A) T of one near-null vector (null: ones), columns of P included.
template <class T>
csr<T, int, int> amg_prolongator(const host_context& ctx, std::int64_t rows, std::int64_t columns,
                                 amg_rows::matrix<T> a, const unsigned char* strong,
                                 const int* aggregate, const T* vector, T omega);
/// Its values again, in the pattern that is there. Throws bad_input if one has no place.
template <class T>
void amg_refill_prolongator(const host_context& ctx, amg_rows::matrix<T> a,
                            const unsigned char* strong, const int* aggregate, const T* vector,
                            T omega, csr<T, int, int>& p);
/// The Moore-Penrose inverse of a matrix of n x n, in place; rank. Elimination with complete
/// pivoting; what is below `least` of the largest entry counts as 0.
int dense_inverse(int n, std::vector<double>& a, double least);
} // namespace cpu

namespace gpu {
template <class F>
LACUNA_GPU_EXPORT void amg_each(const device_context& ctx, std::int64_t n, const F& f);
LACUNA_GPU_EXPORT std::int64_t amg_sums(const device_context& ctx, std::int64_t n,
                                        const int* counts, int* sums);
template <class T>
LACUNA_GPU_EXPORT void amg_dots(const device_context& ctx, std::int64_t n, const T* x, const T* y0,
                                const T* y1, const T* y2, double* scratch, T* to);
template <class T>
LACUNA_GPU_EXPORT void amg_dense(const device_context& ctx, std::int64_t n, const T* m, const T* r,
                                 T* z);
} // namespace gpu

/// Doubles that amg_dots wants as scratch.
inline constexpr std::int64_t amg_dots_scratch = 3 * 256;

template <space S, class F> void amg_each(const context<S>& ctx, std::int64_t n, const F& f) {
  if (n == 0) return;
  if constexpr (S == space::host)
    cpu::amg_each<F>(ctx, n, f);
  else
    gpu::amg_each<F>(ctx, n, f);
}
template <space S>
std::int64_t amg_sums(const context<S>& ctx, const array<int, S>& counts, array<int, S>& sums) {
  if constexpr (S == space::host)
    return cpu::amg_sums(ctx, counts.size(), counts.data(), sums.data());
  else
    return gpu::amg_sums(ctx, counts.size(), counts.data(), sums.data());
}
template <class T, space S>
void amg_dots(const context<S>& ctx, std::int64_t n, const T* x, const T* y0, const T* y1,
              const T* y2, double* scratch, T* to) {
  if constexpr (S == space::host)
    cpu::amg_dots<T>(ctx, n, x, y0, y1, y2, scratch, to);
  else
    gpu::amg_dots<T>(ctx, n, x, y0, y1, y2, scratch, to);
}
template <class T, space S>
void amg_dense(const context<S>& ctx, std::int64_t n, const T* m, const T* r, T* z) {
  if constexpr (S == space::host)
    cpu::amg_dense<T>(ctx, n, m, r, z);
  else
    gpu::amg_dense<T>(ctx, n, m, r, z);
}

} // namespace lacuna::detail

/// Functors of both engines: with X(functor) for those without values, Y(functor, T) for others.
#define LACUNA_FOR_EACH_AMG_PLAIN(X)                                                               \
  X(set_start)                                                                                     \
  X(set_spread)                                                                                    \
  X(set_decide)                                                                                    \
  X(set_members)                                                                                   \
  X(join_root)                                                                                     \
  X(copy_segments)                                                                                 \
  X(prolongator_columns)                                                                           \
  X(count_smoothing)                                                                               \
  X(tentative_counts)                                                                              \
  X(is_member)                                                                                     \
  X(count_strong)                                                                                  \
  X(pmis_start)                                                                                    \
  X(pmis_pick)                                                                                     \
  X(pmis_settle)                                                                                   \
  X(coarse_numbers)                                                                                \
  X(interpolation_room) X(interpolation_candidates) X(interpolation_columns) X(colour_round)
#define LACUNA_FOR_EACH_AMG_VALUED(Y, T)                                                           \
  Y(row_facts, T)                                                                                  \
  Y(symmetric_strength, T)                                                                         \
  Y(classical_strength, T)                                                                         \
  Y(strength_of_nodes, T)                                                                          \
  Y(join_neighbour, T)                                                                             \
  Y(square_values, T)                                                                              \
  Y(root_values, T)                                                                                \
  Y(nodes_of_unknowns, T)                                                                          \
  Y(inverse_of, T)                                                                                 \
  Y(inverse_l1, T)                                                                                 \
  Y(random_start, T)                                                                               \
  Y(lanczos_step, T)                                                                               \
  Y(smoothing_factors, T)                                                                          \
  Y(prolongator_values, T)                                                                         \
  Y(smoothing_matrix, T)                                                                           \
  Y(tentative_entries, T)                                                                          \
  Y(membership, T)                                                                                 \
  Y(orthonormal_vectors, T)                                                                        \
  Y(strong_pattern, T)                                                                             \
  Y(interpolation_weights, T)                                                                      \
  Y(truncate_weights, T)                                                                           \
  Y(interpolation_values, T)                                                                       \
  Y(jacobi_first, T)                                                                               \
  Y(jacobi_next, T)                                                                                \
  Y(chebyshev_step, T) Y(relax_rows, T) Y(krylov_residual, T) Y(krylov_solution, T)
