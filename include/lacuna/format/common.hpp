// What all formats share: the shape type and the facts a matrix may state about its order.
#pragma once

#include <concepts>
#include <cstdint>

#include <lacuna/core/array.hpp>
#include <lacuna/core/types.hpp>

namespace lacuna {

/// (rows, columns), or (row, column).
template <class I = index_t> struct index {
  I row = 0;
  I col = 0;
  constexpr I operator[](int i) const { return i == 0 ? row : col; }
  friend constexpr bool operator==(const index&, const index&) = default;
};

/// Stated facts about the order of entries: true is a promise that check() tests and kernels
/// rely on; false says nothing.
struct facts {
  bool sorted =
      false; ///< coo: by (row, column); csr, csc: columns (rows) ascending in each row (column)
  bool unique = false; ///< no coordinate is stored twice
  friend constexpr bool operator==(const facts&, const facts&) = default;
};

/// What becomes of entries with the same coordinate.
enum class duplicates { sum, first, last };

namespace detail {
/// Base of the views of formats made for multiplication alone. It makes this namespace one where
/// their overloads of multiply_format, check_view and make_csr are looked for.
struct product_view {
  using product_format = void;
};

[[noreturn]] LACUNA_EXPORT void throw_short_range(const char* format, const char* what,
                                                  std::int64_t size, std::int64_t needed);
[[noreturn]] LACUNA_EXPORT void throw_bad_shape(const char* format, std::int64_t rows,
                                                std::int64_t cols, std::int64_t nnz);
inline void require_shape(const char* format, std::int64_t rows, std::int64_t cols,
                          std::int64_t nnz) {
  if (rows < 0 || cols < 0 || nnz < 0) throw_bad_shape(format, rows, cols, nnz);
}
/// For views over ranges: the range must hold what the shape and nnz say.
template <class R>
auto* range_data(const char* format, const char* what, R&& r, std::int64_t needed) {
  const auto size = static_cast<std::int64_t>(std::ranges::size(r));
  if (size < needed) throw_short_range(format, what, size, needed);
  return std::ranges::data(r);
}
} // namespace detail

} // namespace lacuna
