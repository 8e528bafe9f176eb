#include "local_operator.hpp"

#include <algorithm>

namespace lacuna::petsc {
namespace {

/// Share of empty rows from which on they are left out: PETSc's own threshold.
constexpr double most_empty = 0.6;

std::int64_t rows_with_entries(matrix_view a) {
  const petsc_index* const begin = a.rowptr().data();
  std::int64_t rows = 0;
  for (petsc_index r = 0; r < a.shape().row; ++r) rows += begin[r] != begin[r + 1] ? 1 : 0;
  return rows;
}

} // namespace

local_operator::local_operator(const host_context& ctx, matrix_view a, const plan_hints& hints)
    : ctx_(ctx), shape_{a.shape().row, a.shape().col} {
  const std::int64_t filled = rows_with_entries(a);
  if (static_cast<double>(filled) < (1 - most_empty) * static_cast<double>(a.shape().row)) {
    rows_ = array<petsc_index>(ctx, filled);
    rowptr_ = array<petsc_index>(ctx, filled + 1);
    part_ = array<double>(ctx, filled);
    const petsc_index* const begin = a.rowptr().data();
    std::int64_t k = 0;
    for (petsc_index r = 0; r < a.shape().row; ++r)
      if (begin[r] != begin[r + 1]) {
        rows_.data()[k] = r;
        rowptr_.data()[k++] = begin[r];
      }
    rowptr_.data()[filled] = a.size();
  }
  plan_.emplace(ctx, kept(a), hints);
}

matrix_view local_operator::kept(matrix_view a) const {
  if (rowptr_.empty()) return a;
  return {a.values().data(), rowptr_.data(),
          a.colind().data(), {static_cast<petsc_index>(rows_.size()), a.shape().col},
          a.size(),          a.order()};
}

std::optional<std::int64_t> local_operator::kept_rows() const {
  if (rowptr_.empty()) return std::nullopt;
  return rows_.size();
}

void local_operator::update_values(matrix_view a) { plan_->update_values(kept(a)); }

void local_operator::multiply(const double* x, const double* z, double* y) {
  const vector_view<const double> from(x, shape_.col);
  if (rowptr_.empty()) {
    const vector_view<double> to(y, shape_.row);
    const double beta = z != nullptr ? 1 : 0;
    const vector_view<const double> add(z != nullptr ? z : y, shape_.row);
    return plan_->multiply(ctx_, 1, from, beta, add, to);
  }
  plan_->multiply(from, part_.view());
  if (z == nullptr)
    std::fill_n(y, shape_.row, 0.0);
  else if (z != y)
    std::copy_n(z, shape_.row, y);
  const petsc_index* const row = rows_.data();
  const double* const part = part_.data();
  for (std::int64_t k = 0; k < rows_.size(); ++k) y[row[k]] += part[k];
}

void local_operator::multiply_transposed(const double* x, const double* z, double* y) {
  const vector_view<double> to(y, shape_.col);
  if (z != nullptr && z != y) std::copy_n(z, shape_.col, y);
  const double beta = z != nullptr ? 1 : 0;
  if (rowptr_.empty())
    return plan_->multiply_transposed(1, vector_view<const double>(x, shape_.row), beta, to);
  for (std::int64_t k = 0; k < rows_.size(); ++k) part_.data()[k] = x[rows_.data()[k]];
  plan_->multiply_transposed(1, part_, beta, to);
}

} // namespace lacuna::petsc
