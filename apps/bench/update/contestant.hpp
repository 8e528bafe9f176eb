// Who takes part where matrices change: a matrix that batches go into, made from a CSR matrix.
#pragma once

#include "bench/contestant.hpp"
#include "bench/update/batches.hpp"

namespace lacuna::bench {

/// All calls but multiply are over when they return.
template <class T, space S> class updated_matrix {
public:
  using batch_view = coo_view<const T, index_t, offset_t, S>;
  virtual ~updated_matrix() = default;
  virtual void insert(batch_view batch) = 0;
  /// Entries at the batch's places, if they are there.
  virtual void erase(batch_view) { throw unsupported("entries are not taken out"); }
  /// y = A x. Queued on a device.
  virtual void multiply(vector_view<const T, S>, vector_view<T, S>) {
    throw unsupported("products are not made");
  }
  /// On the host, columns ascending, entries of one place added up.
  virtual csr<T> fetch() = 0;
  /// 0: not known.
  [[nodiscard]] virtual std::size_t bytes() const { return 0; }
};

template <class T, space S> struct update_contestant {
  using matrix = csr_view<const T, index_t, offset_t, S>;
  std::string name;
  role plays = role::peer;
  update_rule rule = update_rule::add;
  bool erases = false, multiplies = true;
  /// Work done once. width: free places that rows of a matrix without entries get, where it has
  /// such; 0: as it likes.
  std::function<std::unique_ptr<updated_matrix<T, S>>(matrix a, std::int64_t width)> load;
  /// Takes no part in larger batches: it would run for minutes.
  std::int64_t most_entries = std::numeric_limits<std::int64_t>::max();
};

/// Of the peers that are built in or, SciPy, at hand; empty otherwise.
template <class T> std::vector<update_contestant<T, space::host>> scipy_update_contestants();
template <class T> std::vector<update_contestant<T, space::host>> eigen_update_contestants();
template <class T>
std::vector<update_contestant<T, space::host>> graphblas_update_contestants(int threads);

} // namespace lacuna::bench
