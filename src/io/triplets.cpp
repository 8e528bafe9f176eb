#include <lacuna/io/triplets.hpp>

namespace lacuna::io {

const char* name_of(field f) noexcept {
  switch (f) {
  case field::real: return "real";
  case field::integer: return "integer";
  case field::pattern: return "pattern";
  case field::complex: return "complex";
  }
  return "";
}

const char* name_of(symmetry s) noexcept {
  switch (s) {
  case symmetry::general: return "general";
  case symmetry::symmetric: return "symmetric";
  case symmetry::skew_symmetric: return "skew-symmetric";
  case symmetry::hermitian: return "hermitian";
  }
  return "";
}

} // namespace lacuna::io
