// Products with a rank's block where they run: by a plan on the host, or by one on a device, to
// which vectors travel.
#pragma once

#include <memory>
#include <string>

#include "device.hpp"

namespace lacuna::petsc {

/// Vectors are PETSc's, in host memory.
class block_product {
public:
  virtual ~block_product() = default;
  /// New values, the same pattern.
  virtual void update_values(matrix_view a) = 0;
  /// y = A x, or z + A x where z is not null; z may be y.
  virtual void multiply(const double* x, const double* z, double* y) = 0;
  /// y = A^T x, or z + A^T x.
  virtual void multiply_transposed(const double* x, const double* z, double* y) = 0;
  [[nodiscard]] virtual const std::string& format() const = 0;
  [[nodiscard]] virtual std::string explain() const = 0;
};

/// Looks at a's arrays as long as it lives.
std::unique_ptr<block_product> make_host_product(const host_context& ctx, matrix_view a,
                                                 const plan_hints& hints);
/// Keeps a copy of a on the device, beside the plan's storage.
std::unique_ptr<block_product> make_device_product(std::shared_ptr<rank_device> device,
                                                   matrix_view a, const plan_hints& hints);

} // namespace lacuna::petsc
