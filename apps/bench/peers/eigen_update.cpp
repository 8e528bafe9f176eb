// Eigen as a matrix that changes: coeffRef into rows that have places reserved, or that have not;
// the batch as a matrix of its own that is added. Entries are taken out by setting them to 0 and
// pruning. All of it is serial.
#include <Eigen/SparseCore>

#include "bench/update/contestant.hpp"
#include <lacuna/op/copy.hpp>

namespace lacuna::bench {
namespace {

enum class eigen_update { reserve, plain, sum };

template <class T> class eigen_updated : public updated_matrix<T, space::host> {
public:
  using batch_view = typename updated_matrix<T, space::host>::batch_view;
  eigen_updated(csr_view<const T> a, std::int64_t width, eigen_update way)
      : a_(Eigen::Map<const owner>(a.shape().row, a.shape().col, a.size(), a.rowptr().data(),
                                   a.colind().data(), a.values().data())),
        way_(way) {
    if (width > 0) a_.reserve(Eigen::VectorXi::Constant(a.shape().row, static_cast<int>(width)));
  }
  void insert(batch_view batch) override {
    const std::int64_t n = batch.size();
    if (way_ == eigen_update::sum) {
      std::vector<Eigen::Triplet<T, index_t>> triplets;
      triplets.reserve(static_cast<std::size_t>(n));
      for (std::int64_t k = 0; k < n; ++k)
        triplets.emplace_back(batch.rowind()[k], batch.colind()[k], batch.values()[k]);
      owner more(a_.rows(), a_.cols());
      more.setFromTriplets(triplets.begin(), triplets.end());
      a_ = owner(a_ + more);
      return;
    }
    if (way_ == eigen_update::reserve) {
      Eigen::VectorXi places = Eigen::VectorXi::Zero(a_.rows());
      for (std::int64_t k = 0; k < n; ++k) ++places[batch.rowind()[k]];
      a_.reserve(places);
    }
    for (std::int64_t k = 0; k < n; ++k)
      a_.coeffRef(batch.rowind()[k], batch.colind()[k]) += batch.values()[k];
  }
  void erase(batch_view batch) override {
    for (std::int64_t k = 0; k < batch.size(); ++k)
      a_.coeffRef(batch.rowind()[k], batch.colind()[k]) = 0;
    a_.prune([](index_t, index_t, T value) { return value != 0; });
  }
  void multiply(vector_view<const T> x, vector_view<T> y) override {
    Eigen::Map<vector>(y.data(), y.size()).noalias() =
        a_ * Eigen::Map<const vector>(x.data(), x.size());
  }
  csr<T> fetch() override {
    owner packed = a_;
    packed.makeCompressed();
    const host_context ctx;
    const std::int64_t rows = packed.rows(), entries = packed.nonZeros();
    return {{static_cast<index_t>(rows), static_cast<index_t>(packed.cols())},
            copy_to(ctx, vector_view<const offset_t>(packed.outerIndexPtr(), rows + 1)),
            copy_to(ctx, vector_view<const index_t>(packed.innerIndexPtr(), entries)),
            copy_to(ctx, vector_view<const T>(packed.valuePtr(), entries)),
            {true, true}};
  }
  [[nodiscard]] std::size_t bytes() const override {
    const auto rows = static_cast<std::size_t>(a_.rows());
    return static_cast<std::size_t>(a_.data().allocatedSize()) * (sizeof(T) + sizeof(index_t)) +
           (rows + 1) * sizeof(offset_t) + (a_.isCompressed() ? 0 : rows * sizeof(offset_t));
  }

private:
  using owner = Eigen::SparseMatrix<T, Eigen::RowMajor, index_t>;
  using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  owner a_;
  eigen_update way_;
};

} // namespace

template <class T> std::vector<update_contestant<T, space::host>> eigen_update_contestants() {
  const auto way = [](const char* name, eigen_update how) {
    update_contestant<T, space::host> c;
    c.name = name;
    c.erases = how == eigen_update::reserve;
    c.load = [how](csr_view<const T> a, std::int64_t width) {
      return std::make_unique<eigen_updated<T>>(a, width, how);
    };
    return c;
  };
  auto plain = way("Eigen: coeffRef", eigen_update::plain);
  plain.most_entries = 1000; // a row that is full moves the whole matrix
  return {way("Eigen: reserve, coeffRef", eigen_update::reserve), std::move(plain),
          way("Eigen: triplets, A + B", eigen_update::sum)};
}

template std::vector<update_contestant<float, space::host>> eigen_update_contestants();
template std::vector<update_contestant<double, space::host>> eigen_update_contestants();

} // namespace lacuna::bench
