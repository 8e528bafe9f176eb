// A block on the rank's device. A product returns when y is in PETSc's array: MPIAIJ calls it
// between the beginning and the end of its scatter, so copies and kernel run while messages travel.
// To queue the diagonal block's product and wait for it in the other block's is not safe: whoever
// multiplies with the diagonal block alone, as block methods do, reads y at once, and a block does
// not see who calls it.
#include <optional>

#include "block_product.hpp"
#include <lacuna/op/copy.hpp>
#include <lacuna/op/transpose.hpp>
#include <lacuna/plan/plan.hpp>

namespace lacuna::petsc {
namespace {

class device_product final : public block_product {
public:
  device_product(std::shared_ptr<rank_device> device, matrix_view a, const plan_hints& hints)
      : device_(std::move(device)), hints_(hints), shape_(a.shape()), order_(a.order()),
        rowptr_(copy_to(device_->ctx, a.rowptr())), colind_(copy_to(device_->ctx, a.colind())),
        values_(copy_to(device_->ctx, a.values())), x_(device_->ctx, a.shape().col),
        y_(device_->ctx, a.shape().row), plan_(device_->ctx, with(values_), hints) {}

  void update_values(matrix_view a) override {
    across_.reset(); // made again where it is wanted
    vector_type changed(device_->ctx, a.size());
    device_->through.send(a.values(), changed);
    plan_.update_values(with(changed));
    values_ = std::move(changed);
  }
  void multiply(const double* x, const double* z, double* y) override {
    run(plan_, x, x_, z, y, y_);
  }
  void multiply_transposed(const double* x, const double* z, double* y) override {
    if (!across_) across_.emplace(device_->ctx, transpose(device_->ctx, with(values_)), hints_);
    run(*across_, x, y_, z, y, x_);
  }
  [[nodiscard]] const std::string& format() const override { return plan_.format(); }
  [[nodiscard]] std::string explain() const override { return plan_.explain(); }

private:
  using operator_type = planned_operator<double, petsc_index, petsc_index, space::device>;
  using vector_type = array<double, space::device>;

  /// The matrix, with these values.
  [[nodiscard]] csr_view<const double, petsc_index, petsc_index, space::device>
  with(const vector_type& values) const {
    return {values.data(),
            rowptr_.data(),
            colind_.data(),
            shape_,
            static_cast<petsc_index>(values.size()),
            order_};
  }
  void run(const operator_type& plan, const double* x, vector_type& x_there, const double* z,
           double* y, vector_type& y_there) {
    staging& through = device_->through;
    through.send(vector_view<const double>(x, x_there.size()), x_there);
    if (z != nullptr) through.send(vector_view<const double>(z, y_there.size()), y_there);
    plan.multiply(1, x_there, z != nullptr ? 1 : 0, y_there);
    through.fetch(y_there, vector_view<double>(y, y_there.size()));
  }

  std::shared_ptr<rank_device> device_;
  plan_hints hints_;
  index<petsc_index> shape_;
  facts order_;
  array<petsc_index, space::device> rowptr_, colind_;
  vector_type values_, x_, y_;
  operator_type plan_;
  std::optional<operator_type> across_; ///< A^T, from its first product on
};

} // namespace

std::unique_ptr<block_product> make_device_product(std::shared_ptr<rank_device> device,
                                                   matrix_view a, const plan_hints& hints) {
  return std::make_unique<device_product>(std::move(device), a, hints);
}

} // namespace lacuna::petsc
