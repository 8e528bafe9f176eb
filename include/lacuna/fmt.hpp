// fmt::print("{}", a) for Lacuna's matrices. Apart from lacuna.hpp, which does not need fmt.
#pragma once

#include <fmt/format.h>

#include <lacuna/op/print.hpp>

template <lacuna::detail::printable A> struct fmt::formatter<A> : fmt::formatter<std::string> {
  template <class Context> auto format(const A& a, Context& ctx) const {
    return fmt::formatter<std::string>::format(lacuna::to_string(a), ctx);
  }
};
