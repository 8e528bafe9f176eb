#include "support/oracle.hpp"

#include <stdexcept>

namespace lacuna::test {
namespace {

void require_exact(double alpha, double beta, double most) {
  for (const double s : {alpha, beta})
    if (std::fmod(s, 0.25) != 0)
      throw std::logic_error("with integers, " + std::to_string(s) + " is not a multiple of 1/4");
  if (!(most < 0x1p22))
    throw std::logic_error("sums of integers that may reach " + std::to_string(most) +
                           " are not exact in float");
}

} // namespace

void expect_exactly(expected& e, double alpha, double beta, double most) {
  require_exact(alpha, beta, most);
  e.bound.assign(e.bound.size(), 0);
}

reference::expected_scalar exact_for_integers(reference::expected_scalar e, double most) {
  if (values_in_use() == value_kind::random) return e;
  require_exact(1, 1, most);
  return {e.value, 0};
}

} // namespace lacuna::test
