// What all formats share: the shape type and the facts a matrix may state about its order.
#pragma once

#include <concepts>
#include <cstdint>
#include <tuple>

#include <lacuna/core/array.hpp>
#include <lacuna/core/types.hpp>

namespace lacuna {

/// (rows, columns), or (row, column). Also a tuple of two: get<0>(i), auto [row, col] = i.
template <std::integral I = index_t> struct index {
  using index_type = I;
  I row = 0;
  I col = 0;

  constexpr index() = default;
  /// From any integers; throws bad_input if one does not fit I.
  template <std::integral R, std::integral C>
  constexpr index(R r, C c)
      : row(detail::integer<I>(r, "rows")), col(detail::integer<I>(c, "columns")) {}
  template <std::integral J>
    requires(!std::is_same_v<I, J>)
  constexpr index(const index<J>& other) // NOLINT(google-explicit-constructor)
      : index(other.row, other.col) {}
  constexpr I operator[](std::integral auto i) const { return i == 0 ? row : col; }
  friend constexpr bool operator==(const index&, const index&) = default;
};
template <std::integral R, std::integral C> index(R, C) -> index<std::common_type_t<R, C>>;

template <std::size_t N, std::integral I>
  requires(N < 2)
constexpr I get(const index<I>& i) { return N == 0 ? i.row : i.col; }

/// Stated facts about the order of entries: true is a promise that check() tests and kernels
/// rely on; false says nothing.
struct facts {
  /// coo: by (row, column); csr, csc: columns (rows) ascending in each row (column).
  bool sorted = false;
  bool unique = false; ///< no coordinate is stored twice
  friend constexpr bool operator==(const facts&, const facts&) = default;
};

/// What becomes of entries with the same coordinate; error: bad_input that names the first.
enum class duplicates { sum, first, last, error };

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
[[noreturn]] LACUNA_EXPORT void throw_small_ld(std::int64_t ld, std::int64_t least);
inline void require_shape(const char* format, std::int64_t rows, std::int64_t cols,
                          std::int64_t nnz) {
  if (rows < 0 || cols < 0 || nnz < 0) throw_bad_shape(format, rows, cols, nnz);
}
inline void require_room(const char* format, const char* what, std::int64_t size,
                         std::int64_t needed) {
  if (size < needed) throw_short_range(format, what, size, needed);
}

/// The index type that Lacuna has for an integer of the caller's: long long is int64_t.
template <class J>
using index_like =
    std::conditional_t<std::is_integral_v<J> && std::is_signed_v<J> && sizeof(J) == 8, std::int64_t,
                       J>;
/// A pointer of the caller's as one to Lacuna's type of the same width and sign.
template <class To, class From> constexpr To* index_pointer(From* p) {
  using J = std::remove_const_t<From>;
  static_assert(std::is_same_v<index_like<J>, std::remove_const_t<To>>,
                "lacuna: an index array has another type than the view's (int32_t, int64_t)");
  static_assert(std::is_const_v<To> || !std::is_const_v<From>,
                "lacuna: a view of mutable values needs mutable index arrays; use const values");
  if constexpr (std::is_same_v<J, std::remove_const_t<To>>)
    return p;
  else
    return reinterpret_cast<To*>(p);
}
/// Refuses ranges that are gone when the view is used: std::vector<double>{…} and owners returned
/// by a function. Spans and views pass.
template <class R> constexpr void require_lasting() {
  static_assert(lasts<R>, "lacuna: a view of a temporary would dangle; give the temporary a name");
}
template <class R> using range_element = std::remove_reference_t<std::ranges::range_reference_t<R>>;
/// const T if any of the ranges or pointers behind a view is read-only.
template <class T, class... Other>
using const_if_any = std::conditional_t<(std::is_const_v<Other> || ...), const T, T>;
} // namespace detail

} // namespace lacuna

template <std::integral I>
struct std::tuple_size<lacuna::index<I>> : std::integral_constant<std::size_t, 2> {};
template <std::size_t N, std::integral I> struct std::tuple_element<N, lacuna::index<I>> {
  using type = I;
};
