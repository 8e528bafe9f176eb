// Sparse products in parts on several devices.
#include <lacuna/op/multiply_on.hpp>

#include <limits>
#include <map>

#include <fmt/format.h>

#include "op/part_contexts.hpp"
#include "op/row_range_views.hpp"

namespace lacuna::detail {
namespace {

/// B where parts are: itself, or one copy for each other device.
template <class T, class I, class O, space S> class shared_factor {
public:
  shared_factor(const context<S>& ctx, csr_view<const T, I, O, S> b,
                const std::vector<context<S>>& contexts, bool copy_always)
      : ctx_(ctx), b_(b), contexts_(contexts), copy_always_(copy_always) {
    const row_range all{0, b.shape().row, 0, b.size(), 0, b.shape().col};
    for (const auto& there : contexts) {
      if (is_here(there)) continue;
      const auto [at, is_new] = copies_.try_emplace(device_of(there));
      if (is_new) at->second = {copied_rows(ctx, b, all, there), {there}};
      put_in_order(at->second.made_on[0], there);
    }
  }
  shared_factor(const shared_factor&) = delete;
  shared_factor& operator=(const shared_factor&) = delete;
  ~shared_factor() { // a copy goes when all that read it have
    try {
      for (const auto& there : contexts_)
        if (!is_here(there)) put_in_order(there, copies_.at(device_of(there)).made_on[0]);
    } catch (const error&) { // another one is on its way
    }
  }
  csr_view<const T, I, O, S> in(const context<S>& there) const {
    return is_here(there) ? b_ : std::as_const(copies_.at(device_of(there)).b).view();
  }
  [[nodiscard]] bool is_here(const context<S>& there) const {
    return same_place(ctx_, there) && !copy_always_;
  }

private:
  struct copy {
    csr<T, I, O, S> b;
    std::vector<context<S>> made_on; // one
  };
  static int device_of(const context<S>& there) {
    if constexpr (S == space::device)
      return there.device();
    else
      return 0;
  }
  const context<S>& ctx_;
  csr_view<const T, I, O, S> b_;
  const std::vector<context<S>>& contexts_;
  bool copy_always_;
  std::map<int, copy> copies_;
};

} // namespace

template <class T, class I, class O, space S>
csr<T, I, O, S> multiply_on(const context<S>& ctx, const std::vector<context<S>>& contexts,
                            const matrix_operand<T, I, O, S>& a,
                            const matrix_operand<T, I, O, S>& b, const spgemm_options& options,
                            const parts_options& parts) {
  if (contexts.empty()) throw bad_input("multiply_on: the list of contexts is empty");
  require_same_size("multiply", "columns of A", a.cols(), "rows of B", b.rows());
  const sparse_factor<T, I, O, S> left(ctx, a), right(ctx, b);
  const double alpha = a.alpha * b.alpha;
  const int n = static_cast<int>(contexts.size());
  const auto ranges =
      cut_rows<I, O, S>(ctx,
                        {left.a.rowptr().data(), left.a.colind().data(), right.a.rowptr().data(),
                         left.a.shape().row, left.a.size()},
                        n);
  std::vector<csr<T, I, O, S>> made(contexts.size());
  std::vector<std::int64_t> begin{0};
  csr<T, I, O, S> c;
  fork<S> forked(ctx, contexts);
  const shared_factor<T, I, O, S> factor(ctx, right.a, contexts, parts.copy_always);
  for_each_part(threads_for(contexts), n, [&](int p) {
    const auto& there = contexts[static_cast<std::size_t>(p)];
    const row_range& rows = ranges[static_cast<std::size_t>(p)];
    auto& result = made[static_cast<std::size_t>(p)];
    if (factor.is_here(there)) {
      const viewed_rows<T, I, O, S> of_a(there, left.a, rows);
      result = multiply(there, scaled(alpha, of_a.a), factor.in(there), options);
    } else {
      const auto of_a = copied_rows(ctx, left.a, rows, there);
      result = multiply(there, scaled(alpha, of_a), factor.in(there), options);
    }
  });
  for (const auto& part : made) begin.push_back(begin.back() + part.size());
  if (begin.back() > std::numeric_limits<O>::max())
    throw unsupported(fmt::format("multiply_on: C has {} entries, more than A's offsets of {} bits "
                                  "count: use wider ones",
                                  begin.back(), 8 * sizeof(O)));
  c = csr<T, I, O, S>(ctx, {left.a.shape().row, right.a.shape().col}, static_cast<O>(begin.back()),
                      made.front().order());
  for (const auto& there : contexts) put_in_order(ctx, there); // C's memory is there
  for (int p = 0; p < n; ++p) {
    const auto k = static_cast<std::size_t>(p);
    const auto& there = contexts[k];
    const auto& part = made[k];
    const std::int64_t first = ranges[k].first, rows = ranges[k].last - first;
    // The last offset of a part is the first of the next.
    copy_between(there, c.rowptr().data() + first, ctx, part.rowptr().data(), there,
                 p + 1 == n ? rows + 1 : rows);
    copy_between(there, c.colind().data() + begin[k], ctx, part.colind().data(), there,
                 part.size());
    copy_between(there, c.values().data() + begin[k], ctx, part.values().data(), there,
                 part.size());
  }
  forked.join();
  for (int p = 0; p < n; ++p) {
    const auto k = static_cast<std::size_t>(p);
    O* const offsets = c.rowptr().data() + ranges[k].first;
    const std::int64_t rows = ranges[k].last - ranges[k].first;
    shift_offsets<O, S>(ctx, offsets, p + 1 == n ? rows + 1 : rows, static_cast<O>(begin[k]),
                        offsets);
  }
  ctx.synchronize();
  return c;
}

#define LACUNA_INSTANTIATE_IN(T, I, O, S)                                                          \
  template csr<T, I, O, S> multiply_on(                                                            \
      const context<S>&, const std::vector<context<S>>&, const matrix_operand<T, I, O, S>&,        \
      const matrix_operand<T, I, O, S>&, const spgemm_options&, const parts_options&);
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  LACUNA_INSTANTIATE_IN(T, I, O, space::host)                                                      \
  LACUNA_INSTANTIATE_IN(T, I, O, space::device)
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail
