#include <lacuna/solver/block_jacobi.hpp>

#include <fmt/format.h>

namespace lacuna {

template <class T, space S> void block_jacobi<T, S>::require_block(int block) {
  if (block < 1 || block > 16)
    throw bad_input(fmt::format("block_jacobi: blocks of {} rows; they have 1 to 16", block));
}

template <class T, space S>
void block_jacobi<T, S>::set(const context<S>& ctx, const entries& a,
                             const block_jacobi_options& options) {
  const std::int64_t rows = a.shape().row, block = options.block;
  array<T, S> made(ctx, checked_mul((rows + block - 1) / block, block * block));
  std::int64_t singular = -1;
  if constexpr (S == space::host)
    singular = detail::cpu::invert_blocks<T>(ctx, a.view(), options.block, made.view());
  else
    singular = detail::gpu::invert_blocks<T>(ctx, a.view(), options.block, made.view());
  if (singular >= 0)
    throw bad_input(fmt::format("block_jacobi: block {} (rows {} to {}) is singular", singular,
                                singular * block, std::min((singular + 1) * block, rows) - 1));
  inverses_ = std::move(made);
  options_ = options;
  rows_ = rows;
}

template <class T, space S>
void block_jacobi<T, S>::apply(const context<S>& ctx, vector_view<const T, S> r,
                               vector_view<T, S> z) const {
  detail::require_same_size("block_jacobi", "r", r.size(), "rows of A", rows_);
  detail::require_same_size("block_jacobi", "z", z.size(), "rows of A", rows_);
  if constexpr (S == space::host)
    detail::cpu::multiply_blocks<T>(ctx, options_.block, inverses_.view(), r, z);
  else
    detail::gpu::multiply_blocks<T>(ctx, options_.block, inverses_.view(), r, z);
}

template class LACUNA_EXPORT block_jacobi<float, space::host>;
template class LACUNA_EXPORT block_jacobi<double, space::host>;
template class LACUNA_EXPORT block_jacobi<float, space::device>;
template class LACUNA_EXPORT block_jacobi<double, space::device>;

} // namespace lacuna
