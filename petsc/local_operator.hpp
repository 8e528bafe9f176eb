// A rank's block as a planned operator. Blocks off the diagonal of an MPIAIJ have entries in few
// rows, those at the border to other ranks: where most rows are empty only the others are planned
// and written to, as in PETSc's compressed rows.
#pragma once

#include <optional>

#include "plugin.hpp"
#include <lacuna/core/array.hpp>
#include <lacuna/plan/plan.hpp>

namespace lacuna::petsc {

class local_operator {
public:
  /// Looks at a's arrays as long as it lives.
  local_operator(const host_context& ctx, matrix_view a, const plan_hints& hints);

  /// New values, the same pattern.
  void update_values(matrix_view a);
  /// y = A x, or z + A x where z is not null; z may be y.
  void multiply(const double* x, const double* z, double* y);
  /// y = A^T x, or z + A^T x.
  void multiply_transposed(const double* x, const double* z, double* y);

  [[nodiscard]] const planned_operator<double, petsc_index, petsc_index, space::host>&
  plan() const {
    return *plan_;
  }
  /// Rows that have entries, if only those are kept.
  [[nodiscard]] std::optional<std::int64_t> kept_rows() const;

private:
  /// The rows that are kept, over a's own columns and values: an empty row has none.
  [[nodiscard]] matrix_view kept(matrix_view a) const;

  host_context ctx_;
  index<std::int64_t> shape_;
  array<petsc_index> rows_, rowptr_; ///< of the rows that are kept; empty: all are
  array<double> part_;               ///< an element for each of them
  std::optional<planned_operator<double, petsc_index, petsc_index, space::host>> plan_;
};

} // namespace lacuna::petsc
