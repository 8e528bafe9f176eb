// Internal: preconditioners by name. A new one is a name in solver_preconditioners() and a line in
// make_preconditioner(); when it is picked unasked is choose_solver.cpp's.
#pragma once

#include <cmath>

#include <fmt/format.h>

#include <lacuna/op/copy.hpp>
#include <lacuna/solver/solve.hpp>

namespace lacuna::solving {

/// z = r ./ diagonal.
template <class T, space S> class diagonal_scaling final : public preconditioner<T, S> {
public:
  diagonal_scaling(const context<S>& ctx, vector_view<const T, S> diagonal) {
    auto d = copy_to(default_context<space::host>(), diagonal);
    for (std::int64_t i = 0; i < d.size(); ++i) {
      if (d[i] == 0) throw bad_input(fmt::format("jacobi: the diagonal of row {} is 0", i));
      d[i] = 1 / d[i];
    }
    inverse_ = copy_to(ctx, d);
    ctx.synchronize(); // d may go
  }
  [[nodiscard]] std::int64_t size() const override { return inverse_.size(); }
  void apply(const context<S>& ctx, vector_view<const T, S> r, vector_view<T, S> z) const override {
    if constexpr (S == space::host)
      detail::cpu::times_elements<T>(ctx, inverse_.view(), r, z);
    else
      detail::gpu::times_elements<T>(ctx, inverse_.view(), r, z);
  }
  [[nodiscard]] std::string name() const override { return "jacobi"; }
  [[nodiscard]] std::size_t bytes() const override { return inverse_.bytes(); }

private:
  array<T, S> inverse_;
};

template <class T, class I, class O, space S>
preconditioner_ptr<T, S> make_preconditioner(const context<S>& ctx, const std::string& name,
                                             csr_view<const T, I, O, S> /*a*/,
                                             vector_view<const T, S> diagonal) {
  if (name == "jacobi") return std::make_shared<diagonal_scaling<T, S>>(ctx, diagonal);
  return nullptr; // "none"
}

} // namespace lacuna::solving
