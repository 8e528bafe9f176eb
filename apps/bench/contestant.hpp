// What is measured (a problem) and who takes part (Lacuna and its peers), on the host or a device.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <lacuna/core/error.hpp>
#include <lacuna/format/csr.hpp>
#include <lacuna/format/dense.hpp>

namespace lacuna::bench {

enum class suite {
  spmv,
  spmv_t,
  spmm,
  add,
  add_t,
  transpose,
  spgemm,
  trisolve,
  update,
  cg,
  amg,
  io,
  paper_000,
  paper_001,
  paper_002,
  paper_003,
  paper_004
};

/// Those of products. io, update, cg and paper 000 have contestants of their own; the other papers'
/// problems are those of spmv, of paper 001 that of spgemm.
inline const std::vector<suite> all_suites = {suite::spmv, suite::spmv_t, suite::spmm};
/// Those whose result is a sparse matrix C, judged by the product of C and x.
inline const std::vector<suite> matrix_suites = {suite::add, suite::add_t, suite::transpose,
                                                 suite::spgemm};

/// In the suite itself, or in a paper's contest.
inline bool makes_matrix(suite s) {
  return s == suite::paper_001 || std::ranges::find(matrix_suites, s) != matrix_suites.end();
}

/// Those with contestants of their own, matrices that take batches.
inline bool changes_matrix(suite s) { return s == suite::update || s == suite::paper_000; }

/// Y = A X (spmv, spmm), Y = A^T X (spmv_t), or Y = inv(A) X, A a lower triangle (trisolve); for
/// add C = A + B, for add_t C = A + A^T, for transpose C = A^T and for spgemm C = A B, which are to
/// be left as a matrix, and fetch() multiplies it: y = C x. Views only: operands outlive all
/// contestants. Vectors are matrices of one column. 32-bit indices, which all peers have.
template <class T, space S> struct problem {
  suite what;
  csr_view<const T, index_t, offset_t, S> a;
  dense_view<const T, S> x;
  dense_view<T, S> y;
  csr_view<const T, index_t, offset_t, S> b = {}; ///< add; spgemm, where it may be A

  [[nodiscard]] std::int64_t columns() const { return x.shape().col; }
  [[nodiscard]] bool transposed() const { return what == suite::spmv_t; }
  [[nodiscard]] double flops() const {
    return 2.0 * static_cast<double>(a.size()) * static_cast<double>(columns());
  }
  /// Of the matrix in CSR.
  [[nodiscard]] std::size_t csr_bytes() const {
    return static_cast<std::size_t>(a.size()) * (sizeof(T) + sizeof(index_t)) +
           (static_cast<std::size_t>(a.shape().row) + 1) * sizeof(offset_t);
  }
  /// Bytes that must move at least: the matrix once, both vectors once.
  [[nodiscard]] double bytes() const {
    const auto rows = static_cast<double>(a.shape().row), cols = static_cast<double>(a.shape().col);
    return static_cast<double>(csr_bytes()) +
           (rows + cols) * static_cast<double>(columns()) * sizeof(T);
  }
};

/// What a contestant chose to run, and why; empty where it does not say.
struct choice {
  std::string format; ///< "ell_csr, ell_even"
  std::string why;    ///< in sentences
};

/// A contestant that has taken in a matrix; its destructor lets go of it.
class prepared {
public:
  virtual ~prepared() = default;
  /// One product, sum or transposition. On a device it is queued on the context's stream.
  virtual void run() = 0;
  /// Brings the result of the last run into problem::y, where run() has left it elsewhere.
  virtual void fetch() {}
  /// Lets go of a result that is the contestant's own. Follows every run, as part of its time.
  virtual void forget() {}
  /// Memory beside the matrix and the vectors, if known.
  [[nodiscard]] virtual std::size_t extra_bytes() const { return 0; }
  /// Memory of the matrix as it is multiplied with, if known: what is compared with CSR's.
  [[nodiscard]] virtual std::size_t format_bytes() const { return 0; }
  /// May take as long as a product, or a transposition.
  [[nodiscard]] virtual choice explain() const { return {}; }
};

/// Thrown by prepare where the planner would not think of this format for this matrix: no fault.
class refusal : public failed {
public:
  using failed::failed;
};

enum class role {
  lacuna,     ///< the line of Lacuna's that ratios and means are made of
  candidate,  ///< a format that the planner could have chosen
  lacuna_too, ///< another way to call Lacuna, for comparison
  peer,
  peer_too ///< a peer on another problem, or with slower memory: shown, not compared with
};

template <class T, space S> struct contestant {
  std::string name;
  role plays;
  std::vector<suite> suites; ///< those it takes part in
  /// Work done once for a matrix; its time is reported apart. Throws if it cannot; the
  /// contestant is then left out, with the reason.
  std::function<std::unique_ptr<prepared>(const problem<T, S>&)> prepare;
  /// Takes no part where the matrix has more.
  std::int64_t most_entries = std::numeric_limits<std::int64_t>::max();
};

/// A library that was looked for.
template <class T, space S> struct peer {
  std::string name;
  std::string about; ///< version and place, or why it does not take part
  std::vector<contestant<T, S>> contestants;
};

} // namespace lacuna::bench
