// What Lacuna uses of Thrust.
#pragma once
#include <cstddef>

namespace thrust {
template <class T> struct counting_iterator {
  using value_type = T;
  using reference = T;
  using pointer = const T*;
  using difference_type = std::ptrdiff_t;
  T first;
  T operator*() const { return first; }
  T operator[](std::ptrdiff_t i) const { return static_cast<T>(first + static_cast<T>(i)); }
  counting_iterator operator+(std::ptrdiff_t i) const { return {(*this)[i]}; }
  counting_iterator& operator++() {
    ++first;
    return *this;
  }
};
template <class T> counting_iterator<T> make_counting_iterator(T v) { return {v}; }

template <class F, class It> struct transform_iterator {
  It from;
  F f;
  auto operator*() const { return f(*from); }
  auto operator[](std::ptrdiff_t i) const { return f(from[i]); }
  transform_iterator operator+(std::ptrdiff_t i) const { return {from + i, f}; }
};
template <class It, class F> transform_iterator<F, It> make_transform_iterator(It it, F f) {
  return {it, f};
}
} // namespace thrust
