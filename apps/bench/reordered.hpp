// A contestant on a matrix whose rows and columns are in another order. Host only, as orderings
// are.
#pragma once

#include "bench/contestant.hpp"
#include "common/clock.hpp"
#include <lacuna/op/reorder.hpp>

namespace lacuna::bench {

/// P A P^T, and what it took.
template <class T> struct ordered_matrix {
  band_ordering<index_t> band; ///< starts are empty for an order without groups
  csr<T> a;
  double order_seconds = 0, permute_seconds = 0;
};

/// make() returns the ordering.
template <class T, class Make>
std::shared_ptr<const ordered_matrix<T>> put_in_order(const host_context& ctx, csr_view<const T> a,
                                                      Make make) {
  auto result = std::make_shared<ordered_matrix<T>>();
  app::stopwatch watch;
  result->band = make();
  result->order_seconds = watch.seconds();
  watch = {};
  result->a = permute(ctx, a, result->band.order);
  result->permute_seconds = watch.seconds();
  return result;
}

template <class T> class reordered_product : public prepared {
public:
  reordered_product(const host_context& ctx, const problem<T, space::host>& p,
                    std::shared_ptr<const ordered_matrix<T>> m,
                    const contestant<T, space::host>& inner)
      : ctx_(ctx), p_(p), m_(std::move(m)), x_(ctx, p.x.shape(), layout::column_major),
        y_(ctx, p.y.shape(), layout::column_major) {
    permute(ctx, m_->band.order, vector_view<const T>(p.x.data(), p.x.shape().row), x_.values());
    inner_ = inner.prepare({p.what, m_->a.view(), std::as_const(x_).view(), y_.view()});
  }
  void run() override { inner_->run(); }
  void fetch() override {
    inner_->fetch();
    permute_back(ctx_, m_->band.order, std::as_const(y_).values(),
                 vector_view<T>(p_.y.data(), p_.y.shape().row));
  }
  [[nodiscard]] std::size_t extra_bytes() const override { return inner_->extra_bytes(); }
  [[nodiscard]] std::size_t format_bytes() const override { return inner_->format_bytes(); }

private:
  host_context ctx_;
  problem<T, space::host> p_;
  std::shared_ptr<const ordered_matrix<T>> m_;
  dense<T> x_, y_;
  std::unique_ptr<prepared> inner_; // looks at all of the above
};

/// The same contestant in that order. Its preparation leaves out the ordering, which several share;
/// its products leave out the way of x and y there and back.
template <class T>
contestant<T, space::host> reordered(const std::string& name, role plays, const host_context& ctx,
                                     std::shared_ptr<const ordered_matrix<T>> m,
                                     const contestant<T, space::host>& inner) {
  return {name, plays, {suite::spmv}, [=](const problem<T, space::host>& p) {
            return std::make_unique<reordered_product<T>>(ctx, p, m, inner);
          }};
}

} // namespace lacuna::bench
