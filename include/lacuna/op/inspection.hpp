// What an inspection found, kept by the caller as a value: operation_info_t.
#pragma once

#include <memory>
#include <string>

#include <lacuna/op/operand.hpp>

namespace lacuna {

namespace detail {
/// Base of what the inspections of the various operations own.
struct LACUNA_EXPORT inspection {
  virtual ~inspection() = default;
  [[nodiscard]] virtual std::string explain() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};
} // namespace detail

/// Result of multiply_inspect and transpose_inspect. Cheap to copy; copies share what was found.
class operation_info_t {
public:
  operation_info_t() = default;
  operation_info_t(std::shared_ptr<const detail::inspection> found, index<std::int64_t> shape)
      : found_(std::move(found)), shape_(shape) {}
  /// Shape of the inspected operand, transposition included.
  [[nodiscard]] index<std::int64_t> shape() const { return shape_; }
  /// One sentence: what will run, and why.
  [[nodiscard]] std::string explain() const {
    return found_ ? found_->explain() : "nothing was inspected";
  }
  /// Memory it keeps, in its operand's space.
  [[nodiscard]] std::size_t bytes() const { return found_ ? found_->bytes() : 0; }
  [[nodiscard]] const detail::inspection* found() const { return found_.get(); }

private:
  std::shared_ptr<const detail::inspection> found_;
  index<std::int64_t> shape_{};
};

/// Row-length statistics that decide between kernels.
struct row_statistics {
  double mean = 0;
  double deviation = 0;
  std::int64_t longest = 0;
  std::int64_t empty = 0;
};

/// How a device multiplies a CSR matrix with a vector.
enum class spmv_method {
  rows,            ///< a few lanes a row: rows of like length
  whole_row_tiles, ///< a block takes some 2000 entries of whole rows: rows that differ, none long
  split_tiles      ///< equal shares of rows and entries, rows cut where they must be: any matrix
};
struct spmv_kernel {
  spmv_method method = spmv_method::split_tiles;
  int lanes = 0; ///< rows: lanes that share a row, 1 to 32
  friend bool operator==(const spmv_kernel&, const spmv_kernel&) = default;
};

/// The choice: a pure function of the row lengths and the device's size (132: an H200).
LACUNA_EXPORT spmv_kernel choose_spmv_kernel(std::int64_t rows, const row_statistics& found,
                                             std::size_t value_bytes, int multiprocessors = 132);

/// First row and first entry of a tile.
template <class I, class O> struct tile_start {
  I row;
  O entry;
};

/// What multiply_inspect keeps for one matrix.
template <class T, class I, class O, space S> struct multiply_inspection : detail::inspection {
  const void* rowptr = nullptr; ///< which matrix it was made for
  std::int64_t nnz = 0;
  csr<T, I, O, S> transposed; ///< for transposed(a): the copy that is used instead
  row_statistics statistics;
  spmv_kernel kernel;
  array<tile_start<I, O>, S> tiles; ///< where each begins; one more than tiles

  [[nodiscard]] std::string explain() const override;
  [[nodiscard]] std::size_t bytes() const override { return transposed.bytes() + tiles.bytes(); }
};

namespace detail {
LACUNA_EXPORT std::string explain_multiply(space s, const row_statistics& found, spmv_kernel kernel,
                                           bool has_transposed);
[[noreturn]] LACUNA_EXPORT void throw_wrong_info();

/// The inspection in info if there is one; throws bad_input if it was made for another matrix,
/// another type or the other direction.
template <class T, class I, class O, space S>
const multiply_inspection<T, I, O, S>* find_inspection(const operation_info_t* info,
                                                       const matrix_operand<T, I, O, S>& a) {
  if (info == nullptr || info->found() == nullptr) return nullptr;
  const auto* found = dynamic_cast<const multiply_inspection<T, I, O, S>*>(info->found());
  if (found == nullptr || found->rowptr != a.a.rowptr().data() || found->nnz != a.a.size() ||
      info->shape() != index<std::int64_t>{a.rows(), a.cols()} ||
      (found->transposed.rowptr().size() != 0) != a.transposed)
    throw_wrong_info();
  return found;
}
} // namespace detail

template <class T, class I, class O, space S>
std::string multiply_inspection<T, I, O, S>::explain() const {
  return detail::explain_multiply(S, statistics, kernel, transposed.rowptr().size() != 0);
}

} // namespace lacuna
