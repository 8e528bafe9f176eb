// Internal: matrices as kernels take them that are not compiled for 64-bit columns with 32-bit
// offsets.
#pragma once

#include <lacuna/op/cast.hpp>

/// What kernels of sparse products, sums and transpositions are compiled for: there 64-bit columns
/// with 32-bit offsets are served by a copy of the row pointers in 64 bits.
#define LACUNA_FOR_EACH_KERNEL_INDEX(X)                                                            \
  X(std::int32_t, std::int32_t) X(std::int32_t, std::int64_t) X(std::int64_t, std::int64_t)
#define LACUNA_FOR_EACH_KERNEL_TYPE(X)                                                             \
  X(float, std::int32_t, std::int32_t)                                                             \
  X(float, std::int32_t, std::int64_t)                                                             \
  X(float, std::int64_t, std::int64_t)                                                             \
  X(double, std::int32_t, std::int32_t)                                                            \
  X(double, std::int32_t, std::int64_t)                                                            \
  X(double, std::int64_t, std::int64_t)

namespace lacuna::detail {

/// The offsets that such kernels have for these columns and offsets.
template <class I, class O>
using kernel_offset = std::conditional_t<(sizeof(O) < sizeof(I)), std::int64_t, O>;

/// A with the offsets that kernels have: A itself, or with a copy of its row pointers.
template <class T, class I, class O, space S> class with_kernel_offsets {
public:
  using offset_type = kernel_offset<I, O>;
  with_kernel_offsets(const context<S>& ctx, csr_view<const T, I, O, S> a) {
    if constexpr (std::is_same_v<O, offset_type>) {
      view_ = a;
    } else {
      rowptr_ = cast_array<offset_type>(ctx, a.rowptr(), "rowptr");
      view_ = {a.values().data(), std::as_const(rowptr_).data(),
               a.colind().data(), a.shape(),
               a.size(),          a.order()};
    }
  }
  with_kernel_offsets(const with_kernel_offsets&) = delete;
  with_kernel_offsets& operator=(const with_kernel_offsets&) = delete;
  [[nodiscard]] csr_view<const T, I, offset_type, S> view() const { return view_; }

private:
  array<offset_type, S> rowptr_;
  csr_view<const T, I, offset_type, S> view_;
};

} // namespace lacuna::detail
