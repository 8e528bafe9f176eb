// Which kernel an inspection chose, in one word.
#pragma once

#include <fmt/format.h>
#include <string>

#include <lacuna/op/inspection.hpp>

namespace lacuna::app {

template <class T, class I, class O, space S>
std::string kernel_name(const operation_info_t& info) {
  if (S == space::host) return "row_shares";
  const auto* found = dynamic_cast<const multiply_inspection<T, I, O, S>*>(info.found());
  if (found == nullptr) return "split_tiles";
  switch (found->kernel.method) {
  case spmv_method::rows: return fmt::format("rows_{}_lanes", found->kernel.lanes);
  case spmv_method::whole_row_tiles: return "whole_row_tiles";
  case spmv_method::split_tiles: break;
  }
  return "split_tiles";
}

} // namespace lacuna::app
