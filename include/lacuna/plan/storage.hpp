// Internal to plan(): a matrix in the format that was chosen for it; how it is made, multiplied
// with, and given new values.
#pragma once

#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include <lacuna/op/transpose.hpp>
#include <lacuna/op/update_values.hpp>
#include <lacuna/plan/choose.hpp>

namespace lacuna {

namespace detail {

/// Room for products that may run at the same time: as many arrays as ever did. There is one from
/// the beginning, so that products one after another allocate nothing.
template <class T> class scratch_pool {
public:
  scratch_pool(const host_context& ctx, std::int64_t size) : ctx_(ctx), size_(size) {
    spare_.emplace_back(ctx, size);
  }
  /// Calls f(view of size elements); may be called by several threads.
  template <class F> void lend(F&& f) {
    array<T> mine = take();
    f(mine.view());
    const std::scoped_lock lock(guard_);
    spare_.push_back(std::move(mine)); // there is room: take() made it
  }
  [[nodiscard]] std::size_t bytes() const {
    const std::scoped_lock lock(guard_);
    return spare_.size() * static_cast<std::size_t>(size_) * sizeof(T);
  }

private:
  array<T> take() {
    const std::scoped_lock lock(guard_);
    if (spare_.empty()) {
      spare_.reserve(++made_);
      return array<T>(ctx_, size_);
    }
    array<T> last = std::move(spare_.back());
    spare_.pop_back();
    return last;
  }

  host_context ctx_;
  std::int64_t size_;
  mutable std::mutex guard_;
  std::size_t made_ = 1;
  std::vector<array<T>> spare_;
};

/// A reordered matrix, and room for the vectors in its order.
template <class T, class I, class O> struct reordered_csr_k {
  permutation<I> order;
  csr_k<T, I, O> matrix;
  std::unique_ptr<scratch_pool<T>> scratch; ///< 2 vectors each
};

/// How values of A get to storage that has them in another order: its entry k is A's from[k].
/// Empty where the order is A's.
template <class O, space S> struct value_map {
  array<O, S> from;
  array<O, S> rowptr; ///< of the matrix in that order, where the format is ell_csr
};

/// A matrix in the format that was chosen.
template <class T, class I, class O, space S> struct planned_storage {
  /// In place: the caller's arrays, or a transposed copy of them.
  struct in_csr {
    csr<T, I, O, S> own;
    csr_view<const T, I, O, S> a;
    multiply_inspection<T, I, O, S> found;
  };
  std::variant<in_csr, packed_csr<T, I, O, S>, ell_csr<T, I, S>, csr_k<T, I, O, S>,
               reordered_csr_k<T, I, O>>
      held;
  value_map<O, S> map = {}; ///< made when values are first updated, where it is needed

  [[nodiscard]] bool is_reordered() const {
    return std::holds_alternative<reordered_csr_k<T, I, O>>(held);
  }
  [[nodiscard]] std::size_t bytes() const {
    return map.from.bytes() + map.rowptr.bytes() +
           std::visit(
               [](const auto& m) -> std::size_t {
                 using M = std::remove_cvref_t<decltype(m)>;
                 if constexpr (std::is_same_v<M, in_csr>)
                   return m.own.bytes() + m.found.tiles.bytes();
                 else if constexpr (std::is_same_v<M, reordered_csr_k<T, I, O>>)
                   return m.matrix.bytes() + m.scratch->bytes() +
                          2 * sizeof(I) * static_cast<std::size_t>(m.order.size());
                 else
                   return m.bytes();
               },
               held);
  }
};

template <class T, class I, class O, space S>
planned_storage<T, I, O, S> store(const context<S>& ctx, const plan_candidate& chosen,
                                  csr_view<const T, I, O, S> a) {
  using storage = planned_storage<T, I, O, S>;
  switch (chosen.format) {
  case spmv_format::packed_csr: return {to_packed_csr(ctx, a)};
  case spmv_format::ell_csr: return {to_ell_csr(ctx, a, chosen.ell)};
  case spmv_format::csr_k:
    if constexpr (S == space::host)
      if (chosen.reordered) {
        auto band = band_k(ctx, a, {chosen.csr_k.super_row});
        auto matrix = to_csr_k(ctx, permute(ctx, a, band.order), band);
        auto scratch = std::make_unique<scratch_pool<T>>(ctx, 2 * band.order.size());
        return {
            reordered_csr_k<T, I, O>{std::move(band.order), std::move(matrix), std::move(scratch)}};
      }
    return {to_csr_k(ctx, a, chosen.csr_k)};
  case spmv_format::csr: break;
  }
  typename storage::in_csr kept{{}, a, {}};
  kept.found.nnz = a.size();
  if constexpr (S == space::host)
    detail::cpu::inspect_csr<T, I, O>(ctx, a, kept.found);
  else
    detail::gpu::inspect_csr<T, I, O>(ctx, a, kept.found);
  return {std::move(kept)};
}

/// Y = alpha A X + beta Z with what is held. Several at the same time are fine.
template <class T, class I, class O, space S>
void multiply_stored(const context<S>& ctx, const planned_storage<T, I, O, S>& s, T alpha,
                     dense_view<const T, S> x, T beta, dense_view<const T, S> z,
                     dense_view<T, S> y) {
  using storage = planned_storage<T, I, O, S>;
  std::visit(
      [&](const auto& m) {
        using M = std::remove_cvref_t<decltype(m)>;
        if constexpr (std::is_same_v<M, typename storage::in_csr>) {
          const bool vectors = y.shape().col == 1 && x.row_stride() == 1 && y.row_stride() == 1 &&
                               (beta == T{0} || z.row_stride() == 1);
          const vector_view<const T, S> from(x.data(), x.shape().row), add(z.data(), z.shape().row);
          const vector_view<T, S> to(y.data(), y.shape().row);
          if constexpr (S == space::host) {
            if (vectors)
              return detail::cpu::multiply_csr<T, I, O>(ctx, alpha, m.a, from, beta, add, to);
            detail::cpu::multiply_csr_dense<T, I, O>(ctx, alpha, m.a, x, beta, z, y);
          } else {
            if (vectors)
              return detail::gpu::multiply_csr<T, I, O>(ctx, &m.found, alpha, m.a, from, beta, add,
                                                        to);
            detail::gpu::multiply_csr_dense<T, I, O>(ctx, alpha, m.a, x, beta, z, y);
          }
        } else if constexpr (std::is_same_v<M, reordered_csr_k<T, I, O>>) {
          if constexpr (S == space::host)
            m.scratch->lend([&](vector_view<T> scratch) {
              detail::cpu::multiply_reordered<T, I, O>(
                  ctx, alpha, m.matrix.view(), m.order.new_to_old(), x, beta, z, y, scratch);
            });
        } else {
          multiply_format(ctx, alpha, m.view(), x, beta, z, y);
        }
      },
      s.held);
}

/// Where the storage of A, or of its transpose, has A's entries: A's entries are numbered, and the
/// numbers go the way the values went. Costs what that way cost; 28 bytes an entry of scratch.
template <class T, class I, class O, space S>
value_map<O, S> make_value_map(const context<S>& ctx, const planned_storage<T, I, O, S>& s,
                               csr_view<const T, I, O, S> a, bool transposed) {
  array<double, S> numbers(ctx, a.size());
  if constexpr (S == space::host)
    detail::cpu::number_entries(ctx, numbers.view());
  else
    detail::gpu::number_entries(ctx, numbers.view());
  csr_view<const double, I, O, S> numbered(std::as_const(numbers).data(), a.rowptr().data(),
                                           a.colind().data(), a.shape(), a.size(), a.order());
  csr<double, I, O, S> turned, permuted;
  if (transposed) {
    turned = transpose(ctx, numbered);
    numbered = std::as_const(turned).view();
  }
  if constexpr (S == space::host)
    if (const auto* m = std::get_if<reordered_csr_k<T, I, O>>(&s.held)) {
      permuted = permute(ctx, numbered, m->order);
      numbered = std::as_const(permuted).view();
    }
  value_map<O, S> map{array<O, S>(ctx, a.size()), {}};
  if constexpr (S == space::host)
    detail::cpu::as_offsets<O>(ctx, numbered.values(), map.from.view());
  else
    detail::gpu::as_offsets<O>(ctx, numbered.values(), map.from.view());
  if (std::holds_alternative<ell_csr<T, I, S>>(s.held))
    map.rowptr = std::get<0>(std::move(turned).release());
  return map;
}

/// New values for what is held, from A's, of the same pattern. Without a copy of its own a plan in
/// CSR looks at `a` from now on.
template <class T, class I, class O, space S>
void update_stored(const context<S>& ctx, planned_storage<T, I, O, S>& s,
                   csr_view<const T, I, O, S> a) {
  using storage = planned_storage<T, I, O, S>;
  const O* const from = s.map.from.empty() ? nullptr : std::as_const(s.map.from).data();
  std::visit(
      [&](auto& m) {
        using M = std::remove_cvref_t<decltype(m)>;
        if constexpr (std::is_same_v<M, typename storage::in_csr>) {
          if (m.own.rowptr().empty())
            m.a = a;
          else
            place_values<T, O, S>(ctx, from, a.values(), m.own.values());
        } else if constexpr (std::is_same_v<M, ell_csr<T, I, S>>) {
          if (a.size() == 0) return; // no map is made of no entries
          const vector_view<const O, S> rowptr =
              from == nullptr ? a.rowptr() : std::as_const(s.map.rowptr).view();
          place_values<T, I, O, S>(ctx, rowptr, from, a.values(), m);
        } else if constexpr (std::is_same_v<M, reordered_csr_k<T, I, O>>) {
          if constexpr (S == space::host)
            place_values<T, O, S>(ctx, from, a.values(), m.matrix.values());
        } else {
          place_values<T, O, S>(ctx, from, a.values(), m.values());
        }
      },
      s.held);
}

} // namespace detail
} // namespace lacuna
