// Prolongators of algebraic multigrid as their papers define them, entry by entry in dense
// matrices.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/reference.hpp"

namespace lacuna::reference {

/// (I - omega D^-1 A_F) T, row-major: A_F is A with off-diagonal entries |a_ij| < theta
/// sqrt(a_ii a_jj) added to the diagonal, D its diagonal, T one where a row is in an aggregate.
/// Every row has a strong entry.
std::vector<double> smoothed_prolongator(const triplets& a, const std::vector<int>& aggregate,
                                         int aggregates, double theta, double omega);

/// Extended+i interpolation from the rows with a coarse number (others: -1) for the strong
/// connections -a_ij >= theta max_k(-a_ik), row-major; A has a positive diagonal.
std::vector<double> extended_interpolation(const triplets& a, const std::vector<int>& number,
                                           int coarse_rows, double theta);

} // namespace lacuna::reference
