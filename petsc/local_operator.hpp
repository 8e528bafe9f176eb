// A rank's block as an operator. Blocks off the diagonal of an MPIAIJ have entries in few rows,
// those at the border to other ranks: where most rows are empty only the others are planned and
// written to, as in PETSc's compressed rows; of a device's y they alone travel.
#pragma once

#include <optional>

#include "block_product.hpp"
#include <lacuna/core/array.hpp>

namespace lacuna::petsc {

class local_operator {
public:
  /// On the device, or on the host where that is null: then it looks at a's arrays as long as it
  /// lives.
  local_operator(const host_context& ctx, std::shared_ptr<rank_device> device, matrix_view a,
                 const plan_hints& hints);

  /// New values, the same pattern.
  void update_values(matrix_view a);
  /// y = A x, or z + A x where z is not null; z may be y.
  void multiply(const double* x, const double* z, double* y);
  /// y = A^T x, or z + A^T x.
  void multiply_transposed(const double* x, const double* z, double* y);

  /// Of the rows that are kept.
  [[nodiscard]] const block_product& product() const { return *product_; }
  [[nodiscard]] bool is_on_device() const { return on_device_; }
  /// Rows that have entries, if only those are kept.
  [[nodiscard]] std::optional<std::int64_t> kept_rows() const;

private:
  /// The rows that are kept, over a's own columns and values: an empty row has none.
  [[nodiscard]] matrix_view kept(matrix_view a) const;

  std::int64_t all_rows_;
  bool on_device_;
  array<petsc_index> rows_, rowptr_; ///< of the rows that are kept; empty: all are
  array<double> part_;               ///< an element for each of them
  std::unique_ptr<block_product> product_;
};

} // namespace lacuna::petsc
