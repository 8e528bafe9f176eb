#include "reference/reference.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace lacuna::reference {
namespace {

struct product_sum {
  long double sum = 0, sum_abs = 0;
  double products = 0;
};

template <class T, class I, class O> triplets oriented(csr_view<const T, I, O> a, bool transposed) {
  return transposed ? transpose(entries(a)) : entries(a);
}

/// Where each row of triplets that are in rows begins.
std::vector<std::size_t> row_starts(const triplets& a) {
  std::vector<std::size_t> starts(static_cast<std::size_t>(a.shape.row) + 1);
  for (const auto i : a.row) ++starts[static_cast<std::size_t>(i) + 1];
  for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  return starts;
}

} // namespace

template <class T, class I, class O>
expected_matrix multiply_sparse(csr_view<const T, I, O> a, csr_view<const T, I, O> b, double alpha,
                                bool a_transposed, bool b_transposed) {
  const triplets left = oriented(a, a_transposed), right = oriented(b, b_transposed);
  const auto left_starts = row_starts(left), right_starts = row_starts(right);
  const double eps = std::numeric_limits<T>::epsilon(), tiny = std::numeric_limits<T>::denorm_min();
  expected_matrix c{{left.shape.row, right.shape.col}, {}, {}, {}};
  for (std::size_t i = 0; i + 1 < left_starts.size(); ++i) {
    std::map<std::int64_t, product_sum> row;
    for (std::size_t k = left_starts[i]; k < left_starts[i + 1]; ++k) {
      const auto middle = static_cast<std::size_t>(left.col[k]);
      for (std::size_t l = right_starts[middle]; l < right_starts[middle + 1]; ++l) {
        const long double product = static_cast<long double>(left.value[k]) * right.value[l];
        product_sum& e = row[right.col[l]];
        e.sum += product;
        e.sum_abs += std::abs(product);
        e.products += 1;
      }
    }
    for (const auto& [j, e] : row) {
      c.row.push_back(static_cast<std::int64_t>(i));
      c.col.push_back(j);
      c.entries.value.push_back(static_cast<double>(alpha * e.sum));
      c.entries.bound.push_back(
          (e.products + 4) *
          (eps * static_cast<double>(std::abs(alpha) * e.sum_abs) + tiny * (1 + std::abs(alpha))));
    }
  }
  return c;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template expected_matrix multiply_sparse(csr_view<const T, I, O>, csr_view<const T, I, O>,       \
                                           double, bool, bool);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::reference
