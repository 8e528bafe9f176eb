#include "support/dense_block.hpp"

namespace lacuna::test {

template <class T, class I, class O>
expected expected_product(double alpha, const csr<T, I, O>& a, bool transposed,
                          const dense_block<T>& x, double beta, const dense_block<T>* z) {
  auto result = reference::multiply<T, I, O>(a.view(), x.view(), transposed, alpha, beta,
                                             z != nullptr ? z->view() : dense_view<const T>());
  if (values_in_use() == value_kind::integers)
    expect_exactly(result, alpha, beta,
                   std::abs(alpha) * static_cast<double>(longest_line(a, transposed)) *
                           largest(a.values()) * largest(x.elements()) +
                       (z != nullptr ? std::abs(beta) * largest(z->elements()) : 0));
  return result;
}

std::string describe(layout x, layout y, std::int64_t gap) {
  const auto name = [](layout l) {
    return std::string(l == layout::row_major ? "row-major" : "column-major");
  };
  return "X " + name(x) + ", Y " + name(y) + ", gap " + std::to_string(gap);
}

template class placed_block<float, space::host>;
template class placed_block<double, space::host>;
template class placed_block<float, space::device>;
template class placed_block<double, space::device>;
template class dense_block<float>;
template class dense_block<double>;

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template expected expected_product(double, const csr<T, I, O>&, bool, const dense_block<T>&,     \
                                     double, const dense_block<T>*);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::test
