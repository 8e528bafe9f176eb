#include <algorithm>

#include "block_product.hpp"
#include <lacuna/plan/plan.hpp>

namespace lacuna::petsc {
namespace {

class host_product final : public block_product {
public:
  host_product(const host_context& ctx, matrix_view a, const plan_hints& hints)
      : ctx_(ctx), plan_(ctx, a, hints) {}

  void update_values(matrix_view a) override { plan_.update_values(a); }
  void multiply(const double* x, const double* z, double* y) override {
    const auto [rows, cols] = plan_.shape();
    const vector_view<const double> from(x, cols), add(z != nullptr ? z : y, rows);
    plan_.multiply(ctx_, 1, from, z != nullptr ? 1 : 0, add, vector_view<double>(y, rows));
  }
  void multiply_transposed(const double* x, const double* z, double* y) override {
    const auto [rows, cols] = plan_.shape();
    if (z != nullptr && z != y) std::copy_n(z, cols, y);
    plan_.multiply_transposed(1, vector_view<const double>(x, rows), z != nullptr ? 1 : 0,
                              vector_view<double>(y, cols));
  }
  [[nodiscard]] const std::string& format() const override { return plan_.format(); }
  [[nodiscard]] std::string explain() const override { return plan_.explain(); }

private:
  host_context ctx_;
  planned_operator<double, petsc_index, petsc_index, space::host> plan_;
};

} // namespace

std::unique_ptr<block_product> make_host_product(const host_context& ctx, matrix_view a,
                                                 const plan_hints& hints) {
  return std::make_unique<host_product>(ctx, a, hints);
}

} // namespace lacuna::petsc
