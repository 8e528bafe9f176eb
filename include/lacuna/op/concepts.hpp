// The concepts of the C++ Sparse BLAS: what Lacuna's operations take as operands.
#pragma once

#include <lacuna/op/operand.hpp>

namespace lacuna {

/// csr, csc, coo, dense and the formats made for multiplication, their views, mdspans of rank 2,
/// and scaled or transposed ones of these.
template <class M>
concept matrix = requires(const std::remove_cvref_t<M>& m) {
  detail::const_view(m).shape().row;
};
/// array, vector_view, std::vector, std::span and the like, and scaled ones of these.
template <class V>
concept vector = !matrix<V> && requires(const std::remove_cvref_t<V>& v) {
  detail::const_view(v).size();
};
template <class T>
concept tensor = matrix<T> || vector<T>;
/// Tensors that are cheap to copy and own nothing.
template <class T>
concept view = tensor<T> && !detail::owns<std::remove_cvref_t<T>>;

} // namespace lacuna
