// The reference of operations on matrices element by element and by lines (docs/elementwise.md).
#pragma once

#include "reference/reference.hpp"

namespace lacuna::reference {

/// rule(alpha a_ij, beta b_ij), rounded to T, of elements that either matrix stores, but those that
/// come out as 0; `of_both`: of those that both store, zeros kept. Sorted; operands as add's.
template <class T>
triplets combine(double alpha, const triplets& a, double beta, const triplets& b,
                 const std::function<double(double, double)>& rule, bool of_both = false);
/// 1 where a stores nothing.
triplets complement(const triplets& a);

} // namespace lacuna::reference
