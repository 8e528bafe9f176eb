// Eigen: row-major SparseMatrix, whose product with a dense vector or matrix uses OpenMP. The
// transposed product is Eigen's serial one.
#include <Eigen/Core>
#include <Eigen/SparseCore>

#include "bench/peers/peers.hpp"

namespace lacuna::bench {
namespace {

/// Eigen reads the caller's arrays.
template <class T>
using sparse = Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, index_t>>;
template <class T, int Order>
using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order>;
template <class T> using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

template <class T> sparse<T> as_eigen(csr_view<const T, index_t, offset_t> a) {
  return {a.shape().row,     a.shape().col,     a.size(),
          a.rowptr().data(), a.colind().data(), a.values().data()};
}

template <class T> class eigen_vector : public prepared {
public:
  explicit eigen_vector(const host_problem<T>& p)
      : a_(as_eigen(p.a)), x_(p.x.data(), p.x.shape().row), y_(p.y.data(), p.y.shape().row),
        transposed_(p.transposed()) {}
  void run() override {
    if (transposed_)
      y_.noalias() = a_.transpose() * x_;
    else
      y_.noalias() = a_ * x_;
  }

private:
  sparse<T> a_;
  Eigen::Map<const vector<T>> x_;
  Eigen::Map<vector<T>> y_;
  bool transposed_;
};

/// One thread: Eigen's substitution is serial.
template <class T> class eigen_triangle : public prepared {
public:
  explicit eigen_triangle(const host_problem<T>& p)
      : a_(as_eigen(p.a)), x_(p.x.data(), p.x.shape().row), y_(p.y.data(), p.y.shape().row) {}
  void run() override {
    y_ = x_;
    a_.template triangularView<Eigen::Lower>().solveInPlace(y_);
  }

private:
  sparse<T> a_;
  Eigen::Map<const vector<T>> x_;
  Eigen::Map<vector<T>> y_;
};

template <class T, int Order> class eigen_matrix : public prepared {
public:
  explicit eigen_matrix(const host_problem<T>& p)
      : a_(as_eigen(p.a)), x_(p.x.data(), p.x.shape().row, p.columns()),
        y_(p.y.data(), p.y.shape().row, p.columns()) {}
  void run() override { y_.noalias() = a_ * x_; }

private:
  sparse<T> a_;
  Eigen::Map<const matrix<T, Order>> x_;
  Eigen::Map<matrix<T, Order>> y_;
};

/// C = A + B, A + A^T, A^T or A B, in memory that Eigen allocates each time.
template <class T> class eigen_result : public prepared {
public:
  explicit eigen_result(const host_problem<T>& p)
      : p_(p), a_(as_eigen(p.a)), b_(as_eigen(p.b.rowptr().empty() ? p.a : p.b)) {}
  void run() override {
    switch (p_.what) {
    case suite::add: c_ = a_ + b_; break;
    case suite::add_t: c_ = a_ + owner(a_.transpose()); break; // it adds like orders alone
    case suite::spgemm: c_ = a_ * b_; break;
    default: c_ = a_.transpose();
    }
  }
  void forget() override { owner().swap(c_); }
  void fetch() override {
    const Eigen::Map<const vector<T>> x(p_.x.data(), p_.x.shape().row);
    Eigen::Map<vector<T>>(p_.y.data(), p_.y.shape().row).noalias() = c_ * x;
  }

private:
  using owner = Eigen::SparseMatrix<T, Eigen::RowMajor, index_t>;
  host_problem<T> p_;
  sparse<T> a_, b_;
  owner c_;
};

} // namespace

template <class T> host_peer<T> eigen_peer(const peer_settings& settings) {
  Eigen::setNbThreads(settings.threads);
  const auto prepare = [](const host_problem<T>& p) -> std::unique_ptr<prepared> {
    if (p.what != suite::spmm) return std::make_unique<eigen_vector<T>>(p);
    if (p.x.layout() == layout::row_major)
      return std::make_unique<eigen_matrix<T, Eigen::RowMajor>>(p);
    return std::make_unique<eigen_matrix<T, Eigen::ColMajor>>(p);
  };
  const std::string version = std::to_string(EIGEN_WORLD_VERSION) + "." +
                              std::to_string(EIGEN_MAJOR_VERSION) + "." +
                              std::to_string(EIGEN_MINOR_VERSION);
  const auto prepare_matrix = [](const host_problem<T>& p) {
    return std::make_unique<eigen_result<T>>(p);
  };
  return {"Eigen",
          version,
          {{"Eigen", role::peer, all_suites, prepare},
           {"Eigen", role::peer, matrix_suites, prepare_matrix},
           {"Eigen", role::peer, {suite::trisolve}, [](const host_problem<T>& p) {
              return std::make_unique<eigen_triangle<T>>(p);
            }}}};
}

template host_peer<float> eigen_peer(const peer_settings&);
template host_peer<double> eigen_peer(const peer_settings&);

} // namespace lacuna::bench
