// A look at a matrix: std::cout << a, to_string(a); for fmt, include <lacuna/fmt.hpp>.
//
//   csr 3 x 3, 4 entries, double
//     2  .  1
//     .  3  .
//     .  .  5
//
// Small matrices as a grid (a dot where nothing is stored, duplicates added up), larger ones by
// their first entries. What lies on a device is copied to the host first, which waits.
#pragma once

#include <iosfwd>
#include <string>

#include <lacuna/op/convert.hpp>

namespace lacuna {

namespace detail {
/// The text of a matrix whose entries are `a`'s, called `format` in its first line.
template <class T, class I, class O>
LACUNA_EXPORT std::string text_of(const char* format, coo_view<const T, I, O> a);
template <class T> LACUNA_EXPORT std::string text_of(dense_view<const T> a);
LACUNA_EXPORT std::ostream& put(std::ostream& out, const std::string& text);

template <class V> const char* format_name() {
  if constexpr (requires(const V& v) {
                  v.rowind();
                  v.colind();
                })
    return "coo";
  else if constexpr (requires(const V& v) { v.colptr(); })
    return "csc";
  else
    return "csr";
}
template <class A>
concept printable = requires(const A& a) {
  requires !is_operand_view<std::remove_cvref_t<A>>::value;
  requires !is_product_format<std::remove_cvref_t<decltype(const_view(a))>>;
  requires std::is_class_v<A>;
  const_view(a).shape().row;
  typename A::scalar_type;
};
} // namespace detail

template <detail::printable A> std::string to_string(const A& a) {
  const auto view = detail::const_view(a);
  using V = std::remove_const_t<decltype(view)>;
  const host_context& host = default_context<space::host>();
  if constexpr (V::memory_space == space::device) {
    return to_string(copy_to(host, view));
  } else if constexpr (requires { view.ld(); }) {
    return detail::text_of<typename V::scalar_type>(view);
  } else {
    const auto entries = to_coo(host, view);
    return detail::text_of<typename V::scalar_type, typename V::index_type,
                           typename V::offset_type>(detail::format_name<V>(), entries.view());
  }
}
template <detail::printable A> std::ostream& operator<<(std::ostream& out, const A& a) {
  return detail::put(out, to_string(a));
}

} // namespace lacuna
