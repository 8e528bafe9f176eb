// Products whose result, or whose operands, are larger than the memory they may take.
//
//   for_each_product_part(ctx, a, b, options, f);        f(first row, part) for ranges of C's rows
//   auto c = multiply_in_parts(ctx, a, b, options);      where a and b are
//   auto c = multiply_to_host(device, host, a, b, {.memory_limit = bytes});       C on the host
//   auto c = multiply_out_of_core(device, host, a, b, {.memory_limit = bytes});   a and b, too
//
// C's rows are counted first, then made in ranges whose entries and workspace stay below the limit
// (0: what the device has free; on the host: all in one). Offsets of C have 64 bits. The first
// three give the bits that multiply does. Throws out_of_memory, with the sizes, when not even one
// row fits; operands are as they were.
#pragma once

#include <lacuna/op/spgemm_phases.hpp>

namespace lacuna {
namespace detail {

/// Takes the parts of a product, in order.
template <class T, class I, space S> class part_taker {
public:
  virtual void take(std::int64_t first_row, csr<T, I, std::int64_t, S>&& part) = 0;

protected:
  ~part_taker() = default;
};
template <class T, class I, class O, space S>
LACUNA_EXPORT void make_parts(const context<S>& ctx, const matrix_operand<T, I, O, S>& a,
                              const matrix_operand<T, I, O, S>& b, const spgemm_options& options,
                              part_taker<T, I, S>& to);
/// All parts in one matrix, in the memory of `to`.
template <space To, class T, class I, class O, space S>
LACUNA_EXPORT csr<T, I, std::int64_t, To>
collect_parts(const context<S>& ctx, const context<To>& to, const matrix_operand<T, I, O, S>& a,
              const matrix_operand<T, I, O, S>& b, const spgemm_options& options);
template <class T, class I, class O, space S>
LACUNA_EXPORT csr<T, I, std::int64_t>
multiply_blocks(const context<S>& ctx, const host_context& host,
                const matrix_operand<T, I, O, space::host>& a,
                const matrix_operand<T, I, O, space::host>& b, const spgemm_options& options);

template <space S, class A, class B> constexpr void require_like_operands() {
  require_like_factors<S, operand_t<A>, operand_t<B>>();
}

} // namespace detail

/// Calls f(first row, csr<T, I, int64, S> part) for ranges of C's rows, in order. A and B stay as
/// they are; what f does with a part is its own matter.
template <space S, class A, class B, class F>
  requires(detail::are_sparse<A, B>)
void for_each_product_part(const context<S>& ctx, const A& a, const B& b,
                           const spgemm_options& options, F f) {
  detail::require_like_operands<S, A, B>();
  using T = typename detail::operand_t<A>::scalar_type;
  using I = typename detail::operand_t<A>::index_type;
  struct taker final : detail::part_taker<T, I, S> {
    explicit taker(F& its) : f(its) {}
    void take(std::int64_t first_row, csr<T, I, std::int64_t, S>&& part) override {
      f(first_row, std::move(part));
    }
    F& f;
  } to(f);
  detail::make_parts(ctx, detail::operand(a), detail::operand(b), options, to);
}

/// C where A and B are. The limit is on what is taken beside C itself.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_in_parts(const context<S>& ctx, const A& a, const B& b,
                       const spgemm_options& options = {}) {
  detail::require_like_operands<S, A, B>();
  return detail::collect_parts(ctx, ctx, detail::operand(a), detail::operand(b), options);
}

/// C on the host from A and B on a device (or on the host: then the limit alone matters). The
/// limit is on the first context's memory.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_to_host(const context<S>& ctx, const host_context& host, const A& a, const B& b,
                      const spgemm_options& options = {}) {
  detail::require_like_operands<S, A, B>();
  return detail::collect_parts(ctx, host, detail::operand(a), detail::operand(b), options);
}

/// C on the host from A and B on the host, neither of which need fit the device: ranges of A's rows
/// meet ranges of B's, and the partial results are added on the host. An entry's products are added
/// range by range of B: the bits may differ from multiply's, but not from run to run.
/// The first context may be a host's, too.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_out_of_core(const context<S>& ctx, const host_context& host, const A& a, const B& b,
                          const spgemm_options& options = {}) {
  detail::require_like_operands<space::host, A, B>();
  return detail::multiply_blocks(ctx, host, detail::operand(a), detail::operand(b), options);
}

} // namespace lacuna
