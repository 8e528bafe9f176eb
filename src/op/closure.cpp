// The rounds of a closure. Products are the library's, and what is new the engines'
// (src/cpu/closure.cpp, src/gpu/closure.cu).
#include <lacuna/op/closure.hpp>

#include <fmt/format.h>

#include <lacuna/op/add.hpp>
#include <lacuna/op/spgemm_parts.hpp>
#include <lacuna/op/vector.hpp>

namespace lacuna {
namespace {

template <class T, class I, class O, space S> class closure_rounds {
public:
  closure_rounds(const context<S>& ctx, const csr<T, I, O, S>& a, const closure_options& options)
      : ctx_(ctx), options_(options), edges_(merge_duplicates(ctx, a)) {
    fill(ctx, 1, edges_.values());
    reached_ = to_dynamic_csr(ctx, edges_);
    done_.entries = reached_.size();
  }

  dynamic_csr<T, I, O, S> run() {
    for (csr<T, I, O, S> last = copy_to(ctx_, edges_); last.size() > 0;) {
      found_ = {};
      extend(last);
      last = std::move(found_);
      done_ = {done_.rounds + 1, std::int64_t{last.size()}, reached_.size()};
      if (options_.progress) options_.progress(done_);
    }
    if (options_.reflexive) insert(ctx_, reached_, diagonal().view(), {existing::keep});
    return std::move(reached_);
  }

private:
  /// All that is one edge further than what the last round found.
  void extend(const csr<T, I, O, S>& last) {
    if (options_.memory_limit == 0)
      return merge(0, detail::multiply_sparse<std::int64_t>(ctx_, last, edges_, {}, true));
    const spgemm_options within{.memory_limit = room_left(last)};
    for_each_product_part(ctx_, last, edges_, within,
                          [&](std::int64_t first, csr<T, I, std::int64_t, S>&& part) {
                            merge(first, part);
                            part = {};
                            room_left(last);
                          });
  }
  /// Rows [first, …) of a product: what R does not have goes into it, and on.
  void merge(std::int64_t first, const csr<T, I, std::int64_t, S>& part) {
    csr<T, I, O, S> fresh;
    if constexpr (S == space::host)
      fresh = detail::cpu::new_entries<T, I, O>(ctx_, reached_.view(), first, part.view());
    else
      fresh = detail::gpu::new_entries<T, I, O>(ctx_, reached_.view(), first, part.view());
    if (fresh.size() == 0) return;
    fill(ctx_, 1, fresh.values());
    insert(ctx_, reached_, fresh, {existing::keep});
    found_ = found_.size() == 0 ? std::move(fresh) : add(ctx_, found_, fresh);
  }
  std::size_t room_left(const csr<T, I, O, S>& last) const {
    const std::size_t taken = edges_.bytes() + reached_.bytes() + last.bytes() + found_.bytes();
    if (taken >= options_.memory_limit)
      throw out_of_memory(fmt::format("closure: {} entries so far, in round {}, take {} bytes of "
                                      "the {} allowed",
                                      reached_.size(), done_.rounds + 1, taken,
                                      options_.memory_limit),
                          taken);
    return options_.memory_limit - taken;
  }
  coo<T, I, O, S> diagonal() const {
    const host_context host;
    const std::int64_t n = edges_.shape().row;
    coo<T, I, O> ones(host, edges_.shape(), checked_cast<O>(n, "rows"), {true, true});
    for (std::int64_t i = 0; i < n; ++i) {
      ones.rowind()[i] = ones.colind()[i] = static_cast<I>(i);
      ones.values()[i] = 1;
    }
    return copy_to(ctx_, ones);
  }

  const context<S>& ctx_;
  const closure_options& options_;
  csr<T, I, O, S> edges_, found_;
  dynamic_csr<T, I, O, S> reached_;
  closure_progress done_;
};

} // namespace

template <class T, class I, class O, space S>
dynamic_csr<T, I, O, S> closure(const context<S>& ctx, const csr<T, I, O, S>& a,
                                const closure_options& options) {
  detail::require_same_size("closure", "rows of A", a.shape().row, "columns of A", a.shape().col);
  return closure_rounds<T, I, O, S>(ctx, a, options).run();
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template dynamic_csr<T, I, O> closure(const host_context&, const csr<T, I, O>&,                  \
                                        const closure_options&);                                   \
  template dynamic_csr<T, I, O, space::device> closure(                                            \
      const device_context&, const csr<T, I, O, space::device>&, const closure_options&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna
