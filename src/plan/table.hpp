// Internal: the one list of the formats that plans choose from. A new format is a struct in
// src/plan/formats, and a word here.
#pragma once

#include <tuple>

#include "plan/formats/block_tree.hpp"
#include "plan/formats/bsr.hpp"
#include "plan/formats/csr.hpp"
#include "plan/formats/csr_k.hpp"
#include "plan/formats/dynamic_csr.hpp"
#include "plan/formats/ell_csr.hpp"
#include "plan/formats/packed_csr.hpp"

namespace lacuna::planning {

/// CSR first: it is what others are made of and compared with.
using formats = std::tuple<csr_format, packed_csr_format, ell_csr_format, csr_k_format, bsr_format,
                           block_tree_format, dynamic_csr_format>;

/// Calls f(F{}) with the format of that name.
template <class Function> void with_format(std::string_view name, Function f) {
  const auto try_all = [&]<class... F>(std::tuple<F...>) {
    (void)((F::name == name ? (f(F{}), true) : false) || ...);
  };
  try_all(formats{});
}

} // namespace lacuna::planning
