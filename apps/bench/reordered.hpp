// A contestant on a matrix whose rows and columns are in another order. Orders are found, and
// matrices and vectors put in them, on the host, wherever the contestant runs.
#pragma once

#include "bench/contestant.hpp"
#include "common/clock.hpp"
#include <lacuna/op/copy.hpp>
#include <lacuna/op/reorder.hpp>

namespace lacuna::bench {

/// P A P^T where contestants run, and what it took on the host.
template <class T, space S> struct ordered_matrix {
  band_ordering<index_t> band; ///< starts are empty for an order without groups
  csr<T, index_t, offset_t, S> a;
  double order_seconds = 0, permute_seconds = 0;
};

/// make() returns the ordering.
template <class T, space S, class Make>
std::shared_ptr<const ordered_matrix<T, S>>
put_in_order(const context<S>& ctx, const host_context& host, const csr<T>& a, Make make) {
  auto result = std::make_shared<ordered_matrix<T, S>>();
  app::stopwatch watch;
  result->band = make();
  result->order_seconds = watch.seconds();
  watch = {};
  csr<T> ordered = permute(host, a.view(), result->band.order);
  result->permute_seconds = watch.seconds();
  if constexpr (S == space::host)
    result->a = std::move(ordered);
  else
    result->a = copy_to(ctx, ordered);
  return result;
}

template <class T, space S> class reordered_product : public prepared {
public:
  reordered_product(const context<S>& ctx, const problem<T, S>& p,
                    std::shared_ptr<const ordered_matrix<T, S>> m, const contestant<T, S>& inner)
      : ctx_(ctx), p_(p), m_(std::move(m)), y_(ctx, p.y.shape().row) {
    const array<T> x =
        copy_to(host_, vector_view<const T, S>(p.x.data(), std::int64_t{p.x.shape().row}));
    array<T> ordered(host_, x.size());
    permute(host_, m_->band.order, x.view(), ordered.view());
    x_ = copy_to(ctx, ordered);
    inner_ = inner.prepare({p.what,
                            m_->a.view(),
                            {x_.data(), p.x.shape(), layout::column_major},
                            {y_.data(), p.y.shape(), layout::column_major}});
  }
  void run() override { inner_->run(); }
  void fetch() override {
    inner_->fetch();
    ctx_.synchronize();
    const array<T> y = copy_to(host_, y_);
    array<T> ordered(host_, y.size());
    permute_back(host_, m_->band.order, y.view(), ordered.view());
    lacuna::detail::copy_bytes(ctx_, p_.y.data(), ordered.data(), ordered.bytes(), space::host);
    ctx_.synchronize();
  }
  [[nodiscard]] std::size_t extra_bytes() const override { return inner_->extra_bytes(); }
  [[nodiscard]] std::size_t format_bytes() const override { return inner_->format_bytes(); }

private:
  context<S> ctx_;
  host_context host_;
  problem<T, S> p_;
  std::shared_ptr<const ordered_matrix<T, S>> m_;
  array<T, S> x_, y_;
  std::unique_ptr<prepared> inner_; // looks at all of the above
};

/// The same contestant in that order. Its preparation leaves out the ordering, which several share;
/// its products leave out the way of x and y there and back.
template <class T, space S>
contestant<T, S> reordered(const std::string& name, role plays, const context<S>& ctx,
                           std::shared_ptr<const ordered_matrix<T, S>> m,
                           const contestant<T, S>& inner) {
  return {name, plays, {suite::spmv}, [=](const problem<T, S>& p) {
            return std::make_unique<reordered_product<T, S>>(ctx, p, m, inner);
          }};
}

} // namespace lacuna::bench
