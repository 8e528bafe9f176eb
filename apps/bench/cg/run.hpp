// One contestant of `lacuna-bench cg` that has taken in a matrix.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <lacuna/core/array.hpp>
#include <lacuna/format/csr.hpp>

namespace lacuna::bench {

struct cg_outcome {
  std::int64_t iterations = 0;
  bool converged = false;
};

enum class cg_preconditioner { none, jacobi, cholesky };

template <class T, space S> class cg_run {
public:
  virtual ~cg_run() = default;
  /// A x = b from x = 0, to that relative residual or for `most` iterations; 0: exactly so many.
  /// Cholesky's factors, without fill, are made anew; Jacobi's may be there.
  virtual cg_outcome run(vector_view<const T, S> b, vector_view<T, S> x, double tolerance,
                         std::int64_t most, cg_preconditioner with) = 0;
  /// Of the matrix as it is multiplied with; 0: unknown.
  [[nodiscard]] virtual std::size_t format_bytes() const { return 0; }
  [[nodiscard]] virtual std::string format() const { return {}; }
};

#ifdef LACUNA_BENCH_EIGEN
/// Eigen's ConjugateGradient on both triangles, which uses OpenMP, with its identity, diagonal or
/// IncompleteCholesky (rows by AMD, factors and their solutions on one thread).
template <class T>
std::unique_ptr<cg_run<T, space::host>> eigen_cg(csr_view<const T, index_t, offset_t> a,
                                                 int threads);
#endif

} // namespace lacuna::bench
