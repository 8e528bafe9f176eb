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

local_operator::local_operator(const host_context& ctx, std::shared_ptr<rank_device> device,
                               matrix_view a, const plan_hints& hints)
    : all_rows_(a.shape().row), on_device_(device != nullptr) {
  const std::int64_t filled = rows_with_entries(a);
  if (static_cast<double>(filled) < (1 - most_empty) * static_cast<double>(all_rows_)) {
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
  product_ = on_device_ ? make_device_product(std::move(device), kept(a), hints)
                        : make_host_product(ctx, kept(a), hints);
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

void local_operator::update_values(matrix_view a) { product_->update_values(kept(a)); }

void local_operator::multiply(const double* x, const double* z, double* y) {
  if (rowptr_.empty()) return product_->multiply(x, z, y);
  product_->multiply(x, nullptr, part_.data());
  if (z == nullptr)
    std::fill_n(y, all_rows_, 0.0);
  else if (z != y)
    std::copy_n(z, all_rows_, y);
  const petsc_index* const row = rows_.data();
  const double* const part = part_.data();
  for (std::int64_t k = 0; k < rows_.size(); ++k) y[row[k]] += part[k];
}

void local_operator::multiply_transposed(const double* x, const double* z, double* y) {
  if (rowptr_.empty()) return product_->multiply_transposed(x, z, y);
  for (std::int64_t k = 0; k < rows_.size(); ++k) part_.data()[k] = x[rows_.data()[k]];
  product_->multiply_transposed(part_.data(), z, y);
}

} // namespace lacuna::petsc
