// Internal: the functions of map_values by name, the same on host and device.
#pragma once

#include <cmath>

#include <lacuna/op/map_values.hpp>

#ifdef __CUDACC__
#define LACUNA_VALUE_BOTH __host__ __device__
#else
#define LACUNA_VALUE_BOTH
#endif

namespace lacuna::detail {

template <class T> LACUNA_VALUE_BOTH T value_of(value_function f, T v, T exponent) {
  switch (f) {
  case value_function::abs: return std::abs(v);
  case value_function::sign: return v > 0 ? T{1} : v < 0 ? T{-1} : v == 0 ? T{0} : v;
  case value_function::sqrt: return std::sqrt(v);
  case value_function::power: return exponent == 2 ? v * v : std::pow(v, exponent);
  case value_function::exp: return std::exp(v);
  case value_function::expm1: return std::expm1(v);
  case value_function::log: return std::log(v);
  case value_function::log1p: return std::log1p(v);
  case value_function::sin: return std::sin(v);
  case value_function::cos: return std::cos(v);
  case value_function::tan: return std::tan(v);
  case value_function::asin: return std::asin(v);
  case value_function::atan: return std::atan(v);
  case value_function::sinh: return std::sinh(v);
  case value_function::tanh: return std::tanh(v);
  case value_function::asinh: return std::asinh(v);
  case value_function::atanh: return std::atanh(v);
  case value_function::floor: return std::floor(v);
  case value_function::ceil: return std::ceil(v);
  case value_function::trunc: return std::trunc(v);
  case value_function::rint: return std::rint(v);
  }
  return v;
}

} // namespace lacuna::detail
