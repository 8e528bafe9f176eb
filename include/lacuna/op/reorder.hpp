// Permutations, and orderings that bring a matrix's entries close to its diagonal. Host only.
//
//   const auto p = reverse_cuthill_mckee(ctx, a);   // of the pattern of A and its transpose
//   const auto b = permute(ctx, a, p);              // B = P A P^T
//   permute(ctx, p, x, px);                         // then B (P x) = P (A x)
//   permute_back(ctx, p, px, x);
//
// All results are the same for any number of threads.
#pragma once

#include <vector>

#include <lacuna/op/operand.hpp>

namespace lacuna {

namespace detail::cpu {
/// inverse[order[i]] = i; throws bad_input, with the first place, if order is no permutation.
template <class I>
LACUNA_EXPORT void invert_permutation(const host_context& ctx, vector_view<const I> order,
                                      vector_view<I> inverse);
/// y[i] = x[from[i]].
template <class T, class I>
LACUNA_EXPORT void gather(const host_context& ctx, vector_view<const I> from,
                          vector_view<const T> x, vector_view<T> y);
/// Row i of the result is row row_from[i] of a, its columns renamed by col_to and ascending.
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> permute_csr(const host_context& ctx, csr_view<const T, I, O> a,
                                       vector_view<const I> row_from, vector_view<const I> col_to);
} // namespace detail::cpu

/// Owner of an order of n things, both ways round. It is one to one by construction.
template <class I = index_t> class permutation {
  static_assert(detail::is_index<I>, "lacuna: indices are int32 or int64");

public:
  using index_type = I;

  permutation() = default;
  /// Element i comes from place new_to_old[i]. Throws bad_input if a place is out of range or
  /// named twice. O(n).
  permutation(const host_context& ctx, array<I> new_to_old)
      : new_to_old_(std::move(new_to_old)), old_to_new_(ctx, new_to_old_.size()) {
    detail::cpu::invert_permutation<I>(ctx, std::as_const(new_to_old_).view(), old_to_new_.view());
  }

  [[nodiscard]] std::int64_t size() const { return new_to_old_.size(); }
  /// Where element i was; and where what was at i has gone.
  vector_view<const I> new_to_old() const { return new_to_old_.view(); }
  vector_view<const I> old_to_new() const { return old_to_new_.view(); }
  /// The way back, at no cost: std::move(p).inverse(). To keep p: inverse(ctx, p).
  permutation inverse() && {
    new_to_old_.swap(old_to_new_);
    return std::move(*this);
  }

private:
  array<I> new_to_old_, old_to_new_;
};

/// A new permutation that undoes p.
template <class I> permutation<I> inverse(const host_context& ctx, const permutation<I>& p) {
  array<I> order(ctx, p.size());
  std::copy(p.old_to_new().begin(), p.old_to_new().end(), order.begin());
  return permutation<I>(ctx, std::move(order));
}
/// First p, then q. Throws size_mismatch.
template <class I>
permutation<I> compose(const host_context& ctx, const permutation<I>& p, const permutation<I>& q) {
  detail::require_same_size("compose", "the first permutation", p.size(), "the second", q.size());
  array<I> order(ctx, p.size());
  detail::cpu::gather<I, I>(ctx, q.new_to_old(), p.new_to_old(), order.view());
  return permutation<I>(ctx, std::move(order));
}
/// Tests that the two arrays undo each other; throws bad_input. O(n).
template <class I> void check(const host_context& ctx, const permutation<I>& p) {
  array<I> inverse(ctx, p.size());
  detail::cpu::invert_permutation<I>(ctx, p.new_to_old(), inverse.view());
  if (!std::equal(inverse.begin(), inverse.end(), p.old_to_new().begin(), p.old_to_new().end()))
    throw bad_input("permutation: old_to_new is not the inverse of new_to_old");
}

namespace detail {
template <class I, class X, class Y>
void gather_vector(const char* op, const host_context& ctx, vector_view<const I> from, const X& x,
                   Y&& y) {
  const auto x_view = const_view(x);
  const auto y_view = mutable_view(std::forward<Y>(y));
  using T = typename decltype(x_view)::scalar_type;
  static_assert(std::is_same_v<T, typename decltype(y_view)::scalar_type>,
                "lacuna: operands differ in value type (float, double)");
  require_same_space<space::host, decltype(x_view), decltype(y_view)>();
  require_same_size(op, "x", x_view.size(), "the permutation", from.size());
  require_same_size(op, "y", y_view.size(), "the permutation", from.size());
  require_apart<T>(op, "x", x_view.data(), x_view.size(), "y", y_view.data(), y_view.size());
  detail::cpu::gather<T, I>(ctx, from, x_view, y_view);
}
} // namespace detail

/// y = P x: y[new] = x[old]. x and y must not overlap.
template <class I, class X, class Y>
void permute(const host_context& ctx, const permutation<I>& p, const X& x, Y&& y) {
  detail::gather_vector<I>("permute", ctx, p.new_to_old(), x, std::forward<Y>(y));
}
/// y = P^T x: y[old] = x[new].
template <class I, class X, class Y>
void permute_back(const host_context& ctx, const permutation<I>& p, const X& x, Y&& y) {
  detail::gather_vector<I>("permute_back", ctx, p.old_to_new(), x, std::forward<Y>(y));
}

/// P A Q^T: rows in the order of `rows`, columns in that of `cols`. A is csr; the result is sorted,
/// and equal coordinates keep their order. O(nnz log(longest row)).
template <class A, class I>
auto permute(const host_context& ctx, const A& a, const permutation<I>& rows,
             const permutation<I>& cols) {
  const auto view = detail::const_view(a);
  using V = decltype(view);
  static_assert(std::is_same_v<I, typename V::index_type>,
                "lacuna: the permutation's indices differ in width from the matrix's");
  detail::require_same_space<space::host, V>();
  detail::require_same_size("permute", "rows of A", view.shape().row, "their permutation",
                            rows.size());
  detail::require_same_size("permute", "columns of A", view.shape().col, "their permutation",
                            cols.size());
  return detail::cpu::permute_csr<typename V::scalar_type, I, typename V::offset_type>(
      ctx, view, rows.new_to_old(), cols.old_to_new());
}
/// P A P^T.
template <class A, class I>
auto permute(const host_context& ctx, const A& a, const permutation<I>& p) {
  return permute(ctx, a, p, p);
}

/// An ordering whose rows fall into super-rows, those into super-super-rows, and so on: what the
/// format CSR-k stores beside a CSR matrix.
template <class I = index_t> struct band_ordering {
  permutation<I> order;
  /// starts[0][j] is the first (new) row of super-row j, starts[1][j] the first super-row of
  /// super-super-row j; each ends with what comes after the last. Nothing is empty.
  std::vector<array<I>> starts;
};

namespace detail::cpu {
/// new_to_old of the order. The pattern is n x n; sorted: columns ascend in each row.
template <class I, class O>
LACUNA_EXPORT array<I> reverse_cuthill_mckee(const host_context& ctx, vector_view<const O> rowptr,
                                             vector_view<const I> colind, bool sorted);
template <class I, class O>
LACUNA_EXPORT band_ordering<I> band_k(const host_context& ctx, vector_view<const O> rowptr,
                                      vector_view<const I> colind, bool sorted,
                                      const std::vector<std::int64_t>& sizes);
} // namespace detail::cpu

namespace detail {
template <class A> auto square_view(const char* op, const A& a) {
  const auto view = const_view(a);
  require_same_space<space::host, decltype(view)>();
  require_same_size(op, "rows of A", view.shape().row, "columns of A", view.shape().col);
  return view;
}
} // namespace detail

/// The order of Cuthill and McKee (1969), reversed: breadth first from a vertex far out (George and
/// Liu 1979), neighbours of a vertex by their degree. A is csr and square; entries (i, j) and
/// (j, i) both join i and j. Components stay in the order of their first vertices. O(nnz log nnz)
/// at most; scratch: A's column indices up to four times and about 50 bytes per row.
template <class A> auto reverse_cuthill_mckee(const host_context& ctx, const A& a) {
  const auto view = detail::square_view("reverse_cuthill_mckee", a);
  using V = decltype(view);
  using I = typename V::index_type;
  return permutation<I>(ctx, detail::cpu::reverse_cuthill_mckee<I, typename V::offset_type>(
                                 ctx, view.rowptr(), view.colind(), view.order().sorted));
}

/// Band-k, the ordering of CSR-k (Lane and Booth), with k = sizes.size() + 1: neighbouring rows are
/// put together into super-rows of about sizes[0] rows, those into super-super-rows of about
/// sizes[1] super-rows, …; each level is ordered by a weighted reverse Cuthill-McKee, and so are
/// the members inside. No group has more than 3/2 of its size. Throws bad_input if a size is less
/// than 1 or there is none. Two to four times the time of reverse_cuthill_mckee,
/// twice its scratch.
template <class A>
auto band_k(const host_context& ctx, const A& a, const std::vector<std::int64_t>& sizes) {
  const auto view = detail::square_view("band_k", a);
  using V = decltype(view);
  return detail::cpu::band_k<typename V::index_type, typename V::offset_type>(
      ctx, view.rowptr(), view.colind(), view.order().sorted, sizes);
}

// The same with all threads of the host.
template <class I, class X, class Y> void permute(const permutation<I>& p, const X& x, Y&& y) {
  permute(default_context<space::host>(), p, x, std::forward<Y>(y));
}
template <class I, class X, class Y> void permute_back(const permutation<I>& p, const X& x, Y&& y) {
  permute_back(default_context<space::host>(), p, x, std::forward<Y>(y));
}
template <class A, class I> auto permute(const A& a, const permutation<I>& p) {
  return permute(default_context<space::host>(), a, p);
}
template <class A> auto reverse_cuthill_mckee(const A& a) {
  return reverse_cuthill_mckee(default_context<space::host>(), a);
}
template <class A> auto band_k(const A& a, const std::vector<std::int64_t>& sizes) {
  return band_k(default_context<space::host>(), a, sizes);
}

} // namespace lacuna
