// array: owns uninitialised memory of one space. vector_view: two words that point into it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include <lacuna/core/checked.hpp>
#include <lacuna/core/context.hpp>
#include <lacuna/core/types.hpp>

namespace lacuna {

namespace detail {
/// Whether a range's elements outlive the expression it stands in.
template <class R>
inline constexpr bool lasts = std::is_lvalue_reference_v<R> || std::ranges::borrowed_range<R>;
} // namespace detail

/// Pointer and size. Owns nothing; trivially copyable, so it can go to kernels.
/// Elements are reachable from the host only in host space.
template <class T, space S = space::host> class vector_view {
public:
  using scalar_type = std::remove_const_t<T>;
  static constexpr space memory_space = S;

  constexpr vector_view() = default;
  constexpr vector_view(T* data, std::int64_t size) : data_(data), size_(size) {}
  /// Any contiguous host range: std::vector, std::span, std::array. The caller keeps it alive.
  template <std::ranges::contiguous_range R>
    requires(S == space::host && detail::lasts<R> &&
             std::is_convertible_v<decltype(std::ranges::data(std::declval<R&>())), T*>)
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
  constexpr vector_view(R&& r)
      : data_(std::ranges::data(r)), size_(static_cast<std::int64_t>(std::ranges::size(r))) {}
  /// A view of a temporary would dangle: give the temporary a name.
  template <std::ranges::contiguous_range R>
    requires(S == space::host && !detail::lasts<R>)
  vector_view(R&&) // NOLINT(bugprone-forwarding-reference-overload)
  = delete;
  /// A read-only view of what a writable one shows.
  template <class U>
    requires(std::is_const_v<T>&& std::is_same_v<U, scalar_type>)
  constexpr vector_view(const vector_view<U, S>& v) // NOLINT(google-explicit-constructor)
      : data_(v.data()), size_(v.size()) {}

  constexpr T* data() const { return data_; }
  constexpr std::int64_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](std::int64_t i) const requires(S == space::host) { return data_[i]; }
  constexpr T* begin() const requires(S == space::host) { return data_; }
  constexpr T* end() const requires(S == space::host) { return data_ + size_; }

private:
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// Owner of `size` elements, uninitialised. Moves, does not copy: use copy_to.
/// Device memory is released in the order of the stream it was allocated on.
template <class T, space S = space::host> class array {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  using scalar_type = T;
  static constexpr space memory_space = S;

  array() = default;
  /// Throws out_of_memory; bad_input if size is negative or the bytes do not fit 64 bits.
  array(const context<S>& ctx, std::int64_t size)
      : data_(
            static_cast<T*>(ctx.allocate(static_cast<std::size_t>(checked_mul(size, sizeof(T)))))),
        size_(size), ctx_(ctx) {}
  array(array&& other) noexcept { swap(other); }
  array& operator=(array&& other) noexcept {
    array(std::move(other)).swap(*this);
    return *this;
  }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  ~array() {
    if (ctx_) ctx_->deallocate(data_, bytes());
  }
  void swap(array& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(ctx_, other.ctx_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }
  vector_view<T, S> view() { return {data_, size_}; }
  vector_view<const T, S> view() const { return {data_, size_}; }
  // NOLINTBEGIN(google-explicit-constructor)
  operator vector_view<T, S>() & { return view(); }
  operator vector_view<const T, S>() const& { return view(); }
  operator vector_view<const T, S>() const&& = delete; // it would dangle
  // NOLINTEND(google-explicit-constructor)

  T& operator[](std::int64_t i) requires(S == space::host) { return data_[i]; }
  const T& operator[](std::int64_t i) const requires(S == space::host) { return data_[i]; }
  T* begin() requires(S == space::host) { return data_; }
  T* end() requires(S == space::host) { return data_ + size_; }
  const T* begin() const requires(S == space::host) { return data_; }
  const T* end() const requires(S == space::host) { return data_ + size_; }

private:
  T* data_ = nullptr;
  std::int64_t size_ = 0;
  std::optional<context<S>> ctx_; // empty: owns nothing
};

} // namespace lacuna

/// A view's elements outlive it, and copying it copies none.
template <class T, lacuna::space S>
inline constexpr bool std::ranges::enable_borrowed_range<lacuna::vector_view<T, S>> = true;
template <class T, lacuna::space S>
inline constexpr bool std::ranges::enable_view<lacuna::vector_view<T, S>> = true;
