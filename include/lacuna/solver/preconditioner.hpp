// What a Krylov method asks of a preconditioner: z = M^-1 r. One owner, made once per matrix, used
// by any method in the same space:
//
//   const auto m = std::make_shared<jacobi<double>>(ctx, a);
//   cg(ctx, a, b, x, {.preconditioner = m});
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <lacuna/core/array.hpp>
#include <lacuna/core/context.hpp>

namespace lacuna {

template <class T, space S = space::host> class preconditioner {
public:
  virtual ~preconditioner() = default;
  /// Rows of M.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// z = M^-1 r; r and z do not overlap. On a device it is queued on ctx's stream, waits for
  /// nothing and allocates nothing, so that it can be captured in a CUDA graph. One caller at a
  /// time: it may have scratch of its own.
  virtual void apply(const context<S>& ctx, vector_view<const T, S> r,
                     vector_view<T, S> z) const = 0;
  /// For reports: "jacobi", "ilu0", "amg".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  /// Whether M is the same linear operator every time. K-cycles and inner iterations are not: they
  /// want a flexible method.
  [[nodiscard]] virtual bool is_linear() const { return true; }
  /// Whether M is symmetric if A is, as CG and MINRES want.
  [[nodiscard]] virtual bool is_symmetric() const { return true; }

protected:
  preconditioner() = default;
  preconditioner(const preconditioner&) = default;
  preconditioner& operator=(const preconditioner&) = default;
};

template <class T, space S = space::host>
using preconditioner_ptr = std::shared_ptr<const preconditioner<T, S>>;

} // namespace lacuna
