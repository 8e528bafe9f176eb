// What a call found out for later ones, kept by the caller as a value: operation_info_t.
//
// Every operation in phases returns one, and takes it in the phases that follow. It is recognised
// by what it holds: by operation, types, shapes and numbers of entries. Where entries are is not
// looked at, unless a header says so: an info is for matrices of the same pattern, wherever they
// are in memory and whatever their values.
#pragma once

#include <memory>
#include <string>

#include <lacuna/op/kept_pattern.hpp>

namespace lacuna {

namespace detail {
/// Base of what the inspections of the various operations own.
struct LACUNA_EXPORT inspection {
  virtual ~inspection() = default;
  [[nodiscard]] virtual std::string explain() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};
LACUNA_EXPORT std::string explain_transpose(std::int64_t entries, std::size_t bytes);
} // namespace detail

/// What multiply_inspect, multiply_compute, add_inspect, transpose_inspect and galerkin_compute
/// found. Cheap to copy; copies share what was found.
class operation_info_t {
public:
  operation_info_t() = default;
  operation_info_t(std::shared_ptr<const detail::inspection> inspection, index<std::int64_t> shape,
                   std::int64_t nnz = 0)
      : inspection_(std::move(inspection)), shape_(shape), nnz_(nnz) {}
  /// Shape and entries of the result, if that is sparse; else the shape of the inspected operand,
  /// transposition included, and 0.
  [[nodiscard]] index<std::int64_t> result_shape() const { return shape_; }
  [[nodiscard]] std::int64_t result_nnz() const { return nnz_; }
  /// The same in short.
  [[nodiscard]] index<std::int64_t> shape() const { return shape_; }
  [[nodiscard]] std::int64_t nnz() const { return nnz_; }
  /// One sentence: what will run, and why.
  [[nodiscard]] std::string explain() const {
    return inspection_ ? inspection_->explain() : "nothing was inspected";
  }
  /// Memory it keeps, in its operand's space.
  [[nodiscard]] std::size_t bytes() const { return inspection_ ? inspection_->bytes() : 0; }
  [[nodiscard]] const detail::inspection* inspection() const { return inspection_.get(); }

private:
  std::shared_ptr<const detail::inspection> inspection_;
  index<std::int64_t> shape_{};
  std::int64_t nnz_ = 0;
};

struct inspect_options {
  /// A promise: in every product A has the values that it has now. For transposed(a) a copy is kept
  /// instead of where they are.
  bool values_stay = false;
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
  rows,            ///< a few lanes per row: rows of like length
  whole_row_tiles, ///< a block takes some 2000 entries of whole rows: rows that differ, none long
  split_tiles      ///< equal shares of rows and entries, rows cut where they must be: any matrix
};
struct spmv_kernel {
  spmv_method method = spmv_method::split_tiles;
  int lanes = 0; ///< rows: lanes that share a row, 1 to 32
  friend bool operator==(const spmv_kernel&, const spmv_kernel&) = default;
};

/// The choice: a pure function of the row lengths and the device's size (132: an H200).
LACUNA_EXPORT spmv_kernel choose_spmv_kernel(std::int64_t rows, const row_statistics& lengths,
                                             std::size_t value_bytes, int multiprocessors = 132);

/// First row and first entry of a tile.
template <class I, class O> struct tile_start {
  I row;
  O entry;
};

/// What multiply_inspect keeps for one matrix.
template <class T, class I, class O, space S> struct multiply_inspection : detail::inspection {
  std::int64_t nnz = 0;
  /// For transposed(a): values are fetched through it from the matrix that is multiplied,
  detail::transposed_pattern<I, O, S> transposed;
  bool values_stay = false; ///< or were fetched once
  array<T, S> values;
  row_statistics statistics;
  spmv_kernel kernel;
  array<tile_start<I, O>, S> tiles; ///< where each begins; one more than tiles

  [[nodiscard]] std::string explain() const override;
  [[nodiscard]] std::size_t bytes() const override {
    return transposed.bytes() + values.bytes() + tiles.bytes();
  }
  /// A^T with A's values, those of now or those that stay.
  [[nodiscard]] detail::regathered<T, I, O, S> transpose_of(const context<S>& ctx,
                                                            const T* a_values) const {
    if (!values_stay) return {ctx, transposed, a_values};
    detail::regathered<T, I, O, S> kept;
    kept.a = transposed.view(values.data());
    return kept;
  }
};

namespace detail {
LACUNA_EXPORT std::string explain_multiply(space s, const row_statistics& lengths,
                                           spmv_kernel kernel, bool has_transposed,
                                           bool values_stay);
/// bad_input: "multiply_fill: the info was made by another operation, or for other types".
[[noreturn]] LACUNA_EXPORT void throw_other_info(const char* op);
/// bad_input: "multiply: A was inspected as it is, and is given transposed", or the reverse.
[[noreturn]] LACUNA_EXPORT void throw_other_direction(const char* op, const char* name,
                                                      bool transposed);

/// What an info holds, null if it is empty; throws bad_input if that is something else.
template <class Inspection>
const Inspection* found_in(const operation_info_t& info, const char* op) {
  if (info.inspection() == nullptr) return nullptr;
  const auto* inspection = dynamic_cast<const Inspection*>(info.inspection());
  if (inspection == nullptr) throw_other_info(op);
  return inspection;
}

/// The inspection in info if there is one; throws bad_input if it was made for another type or the
/// other direction, size_mismatch if for another shape or number of entries.
template <class T, class I, class O, space S>
const multiply_inspection<T, I, O, S>* find_inspection(const operation_info_t* info,
                                                       const matrix_operand<T, I, O, S>& a) {
  if (info == nullptr) return nullptr;
  const auto* inspection = found_in<multiply_inspection<T, I, O, S>>(*info, "multiply");
  if (inspection == nullptr) return nullptr;
  require_same_size("multiply", "rows of A", a.rows(), "rows as inspected", info->shape().row);
  require_same_size("multiply", "columns of A", a.cols(), "columns as inspected",
                    info->shape().col);
  require_same_size("multiply", "entries of A", a.a.size(), "entries as inspected",
                    inspection->nnz);
  if (inspection->transposed.rowptr.empty() == a.transposed)
    throw_other_direction("multiply", "A", a.transposed);
  return inspection;
}
} // namespace detail

template <class T, class I, class O, space S>
std::string multiply_inspection<T, I, O, S>::explain() const {
  return detail::explain_multiply(S, statistics, kernel, !transposed.rowptr.empty(), values_stay);
}

} // namespace lacuna
