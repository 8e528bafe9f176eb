// Whether a value can be written as one of a field.
#pragma once

#include <cmath>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>
#include <lacuna/io/triplets.hpp>

namespace lacuna::io {

/// Throws bad_input: an entry of a pattern is 1, one of an integer matrix a whole number of 64
/// bits.
template <class T> void require_field(T value, field f) {
  if (f == field::pattern && value != 1)
    throw bad_input(
        fmt::format("value {} cannot be written as a pattern, whose entries are 1", value));
  if (f == field::integer && !(std::abs(value) < T(0x1p63) && value == std::trunc(value)))
    throw bad_input(fmt::format("value {} cannot be written as an integer", value));
}

} // namespace lacuna::io
