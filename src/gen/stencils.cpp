#include <lacuna/gen/generate.hpp>

#include <lacuna/core/checked.hpp>

#include "gen/from_rows.hpp"

namespace lacuna::gen {
namespace {

/// Which of the 27 cells around a node it is coupled to.
enum class reach { faces, corners };

/// Laplacian on an nx x ny x nz grid: -1 for each neighbour and their greatest number on the
/// diagonal; dof unknowns a node, each coupled to the node's others by a quarter.
template <class T, class I, class O>
csr<T, I, O> laplacian(const host_context& ctx, std::int64_t nx, std::int64_t ny, std::int64_t nz,
                       reach r, double diagonal, std::int64_t dof = 1) {
  const std::int64_t size = checked_mul(checked_mul(checked_mul(nx, ny), nz), dof);
  return from_rows<T, I, O>(ctx, size, size, [=](std::int64_t row, auto emit) {
    const std::int64_t node = row / dof, own = row % dof;
    const std::int64_t x = node % nx, y = node / nx % ny, z = node / nx / ny;
    for (std::int64_t dz = z > 0 ? -1 : 0; dz <= (z + 1 < nz ? 1 : 0); ++dz)
      for (std::int64_t dy = y > 0 ? -1 : 0; dy <= (y + 1 < ny ? 1 : 0); ++dy)
        for (std::int64_t dx = x > 0 ? -1 : 0; dx <= (x + 1 < nx ? 1 : 0); ++dx) {
          const std::int64_t steps = dx * dx + dy * dy + dz * dz;
          if (r == reach::faces && steps > 1) continue;
          const std::int64_t other = node + (dz * ny + dy) * nx + dx;
          const double value = steps == 0 ? diagonal : -1;
          for (std::int64_t d = 0; d < dof; ++d)
            emit(other * dof + d, d == own ? value : value / 4);
        }
  });
}

} // namespace

template <class T, class I, class O>
csr<T, I, O> poisson2d(const host_context& ctx, std::int64_t n) {
  return laplacian<T, I, O>(ctx, n, n, 1, reach::faces, 4);
}
template <class T, class I, class O>
csr<T, I, O> poisson2d9(const host_context& ctx, std::int64_t n) {
  return laplacian<T, I, O>(ctx, n, n, 1, reach::corners, 8);
}
template <class T, class I, class O>
csr<T, I, O> poisson3d(const host_context& ctx, std::int64_t n) {
  return laplacian<T, I, O>(ctx, n, n, n, reach::faces, 6);
}
template <class T, class I, class O>
csr<T, I, O> poisson3d27(const host_context& ctx, std::int64_t n) {
  return laplacian<T, I, O>(ctx, n, n, n, reach::corners, 26);
}
template <class T, class I, class O>
csr<T, I, O> fem3d(const host_context& ctx, std::int64_t n, std::int64_t dof) {
  return laplacian<T, I, O>(ctx, n, n, n, reach::corners, 26, dof);
}
template <class T, class I, class O>
csr<T, I, O> tridiagonal(const host_context& ctx, std::int64_t n) {
  return laplacian<T, I, O>(ctx, n, 1, 1, reach::faces, 2);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> poisson2d(const host_context&, std::int64_t);                              \
  template csr<T, I, O> poisson2d9(const host_context&, std::int64_t);                             \
  template csr<T, I, O> poisson3d(const host_context&, std::int64_t);                              \
  template csr<T, I, O> poisson3d27(const host_context&, std::int64_t);                            \
  template csr<T, I, O> fem3d(const host_context&, std::int64_t, std::int64_t);                    \
  template csr<T, I, O> tridiagonal(const host_context&, std::int64_t);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::gen
