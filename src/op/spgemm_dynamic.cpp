#include <lacuna/op/spgemm_dynamic.hpp>

#include "op/spgemm_segments.hpp"

namespace lacuna::detail {

template <class T, class I, class O, space S>
dynamic_csr<T, I, O, S> multiply_dynamic(const context<S>& ctx, T alpha,
                                         csr_view<const T, I, O, S> a, csr_view<const T, I, O, S> b,
                                         const spgemm_options& spgemm,
                                         const dynamic_csr_options& options) {
  if constexpr (S == space::host) {
    return take_dynamic<T, I, O, S>(ctx, cpu::spgemm<T, I, O, O>(ctx, alpha, a, b, spgemm, false),
                                    options);
  } else {
    if (spgemm.method == spgemm_method::expand_sort && !options.slack_at_start)
      return take_segments<T, I, O, S>(ctx, {a.shape().row, b.shape().col},
                                       gpu::spgemm_segments<T, I, O>(ctx, alpha, a, b, spgemm),
                                       options);
    return take_dynamic<T, I, O, S>(ctx, gpu::spgemm<T, I, O, O>(ctx, alpha, a, b, spgemm, false),
                                    options);
  }
}

#define LACUNA_INSTANTIATE_IN(T, I, O, S)                                                          \
  template dynamic_csr<T, I, O, S> multiply_dynamic<T, I, O, S>(                                   \
      const context<S>&, T, csr_view<const T, I, O, S>, csr_view<const T, I, O, S>,                \
      const spgemm_options&, const dynamic_csr_options&);
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  LACUNA_INSTANTIATE_IN(T, I, O, space::host)                                                      \
  LACUNA_INSTANTIATE_IN(T, I, O, space::device)
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail
