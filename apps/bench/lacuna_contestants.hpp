// Lacuna as a contestant: called plainly, and with what multiply_inspect found.
#pragma once

#include "bench/contestant.hpp"
#include <lacuna/op/multiply.hpp>

namespace lacuna::bench {

template <class T, space S> class lacuna_product : public prepared {
public:
  lacuna_product(const context<S>& ctx, const problem<T, S>& p, bool inspect) : ctx_(ctx), p_(p) {
    if (!inspect) return;
    info_ = p.transposed() ? multiply_inspect(ctx, transposed(p.a), x(), y())
                           : multiply_inspect(ctx, p.a, x(), y());
  }
  void run() override {
    if (p_.what == suite::spmm)
      multiply(ctx_, info_, p_.a, p_.x, p_.y);
    else if (p_.transposed())
      multiply(ctx_, info_, transposed(p_.a), x(), y());
    else
      multiply(ctx_, info_, p_.a, x(), y());
  }
  [[nodiscard]] std::size_t extra_bytes() const override { return info_.bytes(); }
  [[nodiscard]] std::string explain() const override {
    return info_.found() == nullptr ? std::string() : info_.explain();
  }

private:
  [[nodiscard]] vector_view<const T, S> x() const { return {p_.x.data(), p_.x.shape().row}; }
  [[nodiscard]] vector_view<T, S> y() const { return {p_.y.data(), p_.y.shape().row}; }

  context<S> ctx_;
  problem<T, S> p_;
  operation_info_t info_; // empty: multiply looks for nothing in it
};

template <class T, space S>
std::vector<contestant<T, S>> lacuna_contestants(const context<S>& ctx) {
  const auto entry = [&](const char* name, role plays, std::vector<suite> suites, bool inspect) {
    return contestant<T, S>{name, plays, std::move(suites), [=](const problem<T, S>& p) {
                              return std::make_unique<lacuna_product<T, S>>(ctx, p, inspect);
                            }};
  };
  // A plain product on the host has nothing to inspect; nor have several vectors, anywhere.
  if (S == space::host)
    return {entry("Lacuna", role::lacuna, {suite::spmv, suite::spmm}, false),
            entry("Lacuna, inspected", role::lacuna, {suite::spmv_t}, true),
            entry("Lacuna, not inspected", role::lacuna_too, {suite::spmv_t}, false)};
  return {entry("Lacuna", role::lacuna, {suite::spmm}, false),
          entry("Lacuna, inspected", role::lacuna, {suite::spmv, suite::spmv_t}, true),
          entry("Lacuna, not inspected", role::lacuna_too, {suite::spmv, suite::spmv_t}, false)};
}

} // namespace lacuna::bench
