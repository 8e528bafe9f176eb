// What is measured (a problem) and who takes part (Lacuna and its peers), on the host or a device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <lacuna/format/csr.hpp>
#include <lacuna/format/dense.hpp>

namespace lacuna::bench {

enum class suite { spmv, spmv_t, spmm, io };

/// Those of products; io has contestants of its own.
inline const std::vector<suite> all_suites = {suite::spmv, suite::spmv_t, suite::spmm};

/// Y = A X (spmv, spmm) or Y = A^T X (spmv_t). Views only: operands outlive all contestants.
/// Vectors are matrices of one column. 32-bit indices, which all peers have.
template <class T, space S> struct problem {
  suite what;
  csr_view<const T, index_t, offset_t, S> a;
  dense_view<const T, S> x;
  dense_view<T, S> y;

  [[nodiscard]] std::int64_t columns() const { return x.shape().col; }
  [[nodiscard]] bool transposed() const { return what == suite::spmv_t; }
  [[nodiscard]] double flops() const {
    return 2.0 * static_cast<double>(a.size()) * static_cast<double>(columns());
  }
  /// Bytes that must move at least: the matrix once, both vectors once.
  [[nodiscard]] double bytes() const {
    const auto rows = static_cast<double>(a.shape().row), cols = static_cast<double>(a.shape().col);
    return static_cast<double>(a.size()) * (sizeof(T) + sizeof(index_t)) +
           (rows + 1) * sizeof(offset_t) +
           (rows + cols) * static_cast<double>(columns()) * sizeof(T);
  }
};

/// A contestant that has taken in a matrix; its destructor lets go of it.
class prepared {
public:
  virtual ~prepared() = default;
  /// One product. On a device it is queued on the context's stream.
  virtual void run() = 0;
  /// Brings the result of the last run into problem::y, where run() has left it elsewhere.
  virtual void fetch() {}
  /// Memory beside the matrix and the vectors, if known.
  [[nodiscard]] virtual std::size_t extra_bytes() const { return 0; }
  /// What it chose to run, if it says.
  [[nodiscard]] virtual std::string explain() const { return {}; }
};

enum class role {
  lacuna,     ///< the line of Lacuna's that ratios and means are made of
  lacuna_too, ///< another way to call Lacuna, for comparison
  peer
};

template <class T, space S> struct contestant {
  std::string name;
  role plays;
  std::vector<suite> suites; ///< those it takes part in
  /// Work done once for a matrix; its time is reported apart. Throws if it cannot; the
  /// contestant is then left out, with the reason.
  std::function<std::unique_ptr<prepared>(const problem<T, S>&)> prepare;
};

/// A library that was looked for.
template <class T, space S> struct peer {
  std::string name;
  std::string about; ///< version and place, or why it does not take part
  std::vector<contestant<T, S>> contestants;
};

} // namespace lacuna::bench
