// Block Jacobi: z = B^-1 r, B the blocks of `block` rows and columns along the diagonal of A, the
// last one smaller where they do not fit. For several unknowns per node, numbered one after
// another.
//
//   const block_jacobi m(ctx, a, {.block = 3});
//
// Blocks are inverted when it is made, by Gauss-Jordan elimination with row pivots, and multiplied
// with: `block` values per row of memory. A is not looked at afterwards. Entries that are stored
// twice add up. M is symmetric, to rounding, if A is.
#pragma once

#include <lacuna/op/cast.hpp>
#include <lacuna/op/select.hpp>
#include <lacuna/solver/preconditioner.hpp>

namespace lacuna {

struct block_jacobi_options {
  int block = 4; ///< rows of a block, 1 to 16
};

namespace detail::cpu {
/// Blocks of a, inverted, each column by column; returns the first that is singular, or -1.
template <class T>
LACUNA_EXPORT std::int64_t invert_blocks(const host_context& ctx,
                                         csr_view<const T, std::int64_t, std::int64_t> a, int block,
                                         vector_view<T> inverses);
/// z = B r for such blocks.
template <class T>
LACUNA_EXPORT void multiply_blocks(const host_context& ctx, int block, vector_view<const T> blocks,
                                   vector_view<const T> r, vector_view<T> z);
} // namespace detail::cpu

namespace detail::gpu {
/// Waits.
template <class T>
LACUNA_GPU_EXPORT std::int64_t
invert_blocks(const device_context& ctx,
              csr_view<const T, std::int64_t, std::int64_t, space::device> a, int block,
              vector_view<T, space::device> inverses);
template <class T>
LACUNA_GPU_EXPORT void
multiply_blocks(const device_context& ctx, int block, vector_view<const T, space::device> blocks,
                vector_view<const T, space::device> r, vector_view<T, space::device> z);
} // namespace detail::gpu

template <class T, space S = space::host>
class LACUNA_EXPORT block_jacobi final : public preconditioner<T, S> {
public:
  /// Throws size_mismatch if A (a csr) is not square, bad_input if the size of blocks is not 1 to
  /// 16 or a block is singular to working precision, naming its rows. Waits for the device.
  template <class A>
  block_jacobi(const context<S>& ctx, const A& a, const block_jacobi_options& options = {}) {
    set(ctx, entries_of_blocks(ctx, a, options), options);
  }
  /// A matrix of the same size. Throws as the constructor; then nothing has changed.
  template <class A> void update_values(const context<S>& ctx, const A& a) {
    detail::require_same_size("block_jacobi: update_values", "rows of A",
                              detail::const_view(a).shape().row, "rows before", rows_);
    set(ctx, entries_of_blocks(ctx, a, options_), options_);
  }

  [[nodiscard]] std::int64_t size() const override { return rows_; }
  void apply(const context<S>& ctx, vector_view<const T, S> r, vector_view<T, S> z) const override;
  [[nodiscard]] std::string name() const override { return "block_jacobi"; }
  [[nodiscard]] std::size_t bytes() const override { return inverses_.bytes(); }

private:
  using entries = csr<T, std::int64_t, std::int64_t, S>;

  static void require_block(int block);
  /// Those near the diagonal, where all of the blocks' are: few, however long rows are.
  template <class A>
  static entries entries_of_blocks(const context<S>& ctx, const A& a,
                                   const block_jacobi_options& options) {
    const auto view = detail::rows_to_select<S>(a);
    static_assert(std::is_same_v<typename decltype(view)::scalar_type, T>,
                  "lacuna: operands differ in value type (float, double); use cast");
    require_block(options.block);
    detail::require_same_size("block_jacobi", "rows of A", view.shape().row, "columns of A",
                              view.shape().col);
    return cast<T, std::int64_t, std::int64_t>(ctx,
                                               filter(ctx, view, keep_within_band(options.block)));
  }
  void set(const context<S>& ctx, const entries& a, const block_jacobi_options& options);

  block_jacobi_options options_;
  std::int64_t rows_ = 0;
  array<T, S> inverses_;
};
template <space S, class A>
block_jacobi(const context<S>&, const A&, const block_jacobi_options& = {})
    -> block_jacobi<typename detail::const_view_t<A>::scalar_type, S>;

} // namespace lacuna
