#include <Eigen/Core>
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include "bench/cg/run.hpp"

namespace lacuna::bench {
namespace {

template <class T> class eigen_cg_run : public cg_run<T, space::host> {
  using matrix = Eigen::SparseMatrix<T, Eigen::RowMajor, index_t>;
  using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

public:
  eigen_cg_run(csr_view<const T, index_t, offset_t> a, int threads)
      : a_(a.shape().row, a.shape().col, a.size(), a.rowptr().data(), a.colind().data(),
           a.values().data()) {
    Eigen::setNbThreads(threads);
    plain_.compute(a_);
    scaled_.compute(a_);
  }
  cg_outcome run(vector_view<const T> b, vector_view<T> x, double tolerance, std::int64_t most,
                 cg_preconditioner with) override {
    if (with == cg_preconditioner::cholesky) {
      Eigen::ConjugateGradient<matrix, both, Eigen::IncompleteCholesky<T>> factored;
      factored.compute(a_);
      return run_with(factored, b, x, tolerance, most);
    }
    return with == cg_preconditioner::jacobi ? run_with(scaled_, b, x, tolerance, most)
                                             : run_with(plain_, b, x, tolerance, most);
  }
  [[nodiscard]] std::string format() const override { return "csr"; }

private:
  template <class Solver>
  cg_outcome run_with(Solver& solver, vector_view<const T> b, vector_view<T> x, double tolerance,
                      std::int64_t most) {
    solver.setMaxIterations(most);
    solver.setTolerance(static_cast<T>(tolerance));
    Eigen::Map<vector>(x.data(), x.size()) =
        solver.solve(Eigen::Map<const vector>(b.data(), b.size()));
    return {solver.iterations(), solver.info() == Eigen::Success};
  }
  static constexpr int both = Eigen::Lower | Eigen::Upper;
  Eigen::Map<const matrix> a_;
  Eigen::ConjugateGradient<matrix, both, Eigen::IdentityPreconditioner> plain_;
  Eigen::ConjugateGradient<matrix, both, Eigen::DiagonalPreconditioner<T>> scaled_;
};

} // namespace

template <class T>
std::unique_ptr<cg_run<T, space::host>> eigen_cg(csr_view<const T, index_t, offset_t> a,
                                                 int threads) {
  return std::make_unique<eigen_cg_run<T>>(a, threads);
}
template std::unique_ptr<cg_run<float, space::host>>
eigen_cg(csr_view<const float, index_t, offset_t>, int);
template std::unique_ptr<cg_run<double, space::host>>
eigen_cg(csr_view<const double, index_t, offset_t>, int);

} // namespace lacuna::bench
