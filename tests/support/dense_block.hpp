// Dense blocks of vectors for tests: one set of elements, put into any layout with any gap, the
// gaps filled with a sentinel that no operation may touch.
#pragma once

#include <utility>

#include "support/oracle.hpp"

namespace lacuna::test {

/// A dense matrix on an engine, with its gaps.
template <class T, space S> class placed_block {
public:
  static constexpr T sentinel = T{-12345.5};

  placed_block(const context<S>& ctx, const std::vector<T>& elements, index<std::int64_t> shape,
               layout l, std::int64_t gap)
      : shape_(shape), layout_(l),
        ld_(std::max<std::int64_t>(1, (l == layout::row_major ? shape.col : shape.row) + gap)) {
    const std::int64_t lines = l == layout::row_major ? shape.row : shape.col;
    std::vector<T> padded(static_cast<std::size_t>(lines * ld_), sentinel);
    const dense_view<T> target(padded.data(), shape_, layout_, ld_);
    for (std::int64_t i = 0; i < shape.row; ++i)
      for (std::int64_t j = 0; j < shape.col; ++j)
        target(i, j) = elements[static_cast<std::size_t>(i * shape.col + j)];
    memory_ = copy_to(ctx, padded);
  }

  dense_view<T, S> view() { return {memory_.data(), shape_, layout_, ld_}; }
  dense_view<const T, S> view() const { return {memory_.data(), shape_, layout_, ld_}; }

  /// Row by row, without the gaps.
  std::vector<T> elements() const {
    auto memory = host_vector(memory_);
    const dense_view<T> v(memory.data(), shape_, layout_, ld_);
    std::vector<T> result;
    result.reserve(static_cast<std::size_t>(shape_.row * shape_.col));
    for (std::int64_t i = 0; i < shape_.row; ++i)
      for (std::int64_t j = 0; j < shape_.col; ++j) result.push_back(v(i, j));
    return result;
  }
  bool gaps_untouched() const {
    const auto memory = host_vector(memory_);
    const std::int64_t used = layout_ == layout::row_major ? shape_.col : shape_.row;
    for (std::size_t k = 0; k < memory.size(); ++k)
      if (static_cast<std::int64_t>(k) % ld_ >= used && memory[k] != sentinel) return false;
    return true;
  }

private:
  index<std::int64_t> shape_;
  layout layout_;
  std::int64_t ld_;
  array<T, S> memory_;
};

/// The elements, row by row.
template <class T> class dense_block {
public:
  dense_block(index<std::int64_t> shape, std::uint64_t seed)
      : dense_block(shape, random_vector<T>(shape.row * shape.col, seed)) {}
  static dense_block special(index<std::int64_t> shape, std::uint64_t seed) {
    return {shape, special_vector<T>(shape.row * shape.col, seed)};
  }
  static dense_block nan(index<std::int64_t> shape) {
    return {shape, all_nan<T>(shape.row * shape.col)};
  }
  template <space S>
  placed_block<T, S> put(const context<S>& ctx, layout l, std::int64_t gap) const {
    return {ctx, elements_, shape_, l, gap};
  }
  [[nodiscard]] index<std::int64_t> shape() const { return shape_; }
  [[nodiscard]] dense_view<const T> view() const { return {elements_.data(), shape_}; }
  [[nodiscard]] const std::vector<T>& elements() const { return elements_; }

private:
  dense_block(index<std::int64_t> shape, std::vector<T> elements)
      : shape_(shape), elements_(std::move(elements)) {}
  index<std::int64_t> shape_;
  std::vector<T> elements_;
};

// Built once, in dense_block.cpp.
extern template class placed_block<float, space::host>;
extern template class placed_block<double, space::host>;
extern template class placed_block<float, space::device>;
extern template class placed_block<double, space::device>;
extern template class dense_block<float>;
extern template class dense_block<double>;

/// alpha op(A) X + beta Z, row by row.
template <class T, class I, class O>
expected expected_product(double alpha, const csr<T, I, O>& a, bool transposed,
                          const dense_block<T>& x, double beta = 0,
                          const dense_block<T>* z = nullptr);

std::string describe(layout x, layout y, std::int64_t gap);

} // namespace lacuna::test
