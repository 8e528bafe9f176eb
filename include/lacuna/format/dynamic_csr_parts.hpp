// A dynamic CSR in parts, each a dynamic CSR of its own on a device of a list: rows are ordered by
// length, longest first, and dealt out modulo the number of parts, so all get like numbers of rows
// and of entries.
//
//   auto m = to_dynamic_csr_parts(ctx, a, contexts_on({0, 1, 2, 3}));   a part on each device
//   auto m = to_dynamic_csr_parts(ctx, a, {ctx, ctx});                  or all in one place
//   insert(ctx, m, batch);                                              also erase, compact
//   multiply(ctx, m, x, y);
//   auto b = to_csr(ctx, m);                                            columns ascending
//
// Matrices, batches, x and y are in one place, on the device of `ctx`; parts on other devices get
// copies of x and of their share of a batch from there, and send their share of y back, by CUDA's
// copies between devices. A part's work is queued on its own context, ordered with `ctx`: parts run
// side by side, and the caller sees one order.
//
// Row i is row slots[i] / n of part slots[i] % n. It stays there, however its length changes; to
// deal rows out again: to_dynamic_csr_parts(ctx, to_csr(ctx, m), contexts). Rows that a batch adds
// come last.
#pragma once

#include <string>
#include <vector>

#include <lacuna/op/update.hpp>

namespace lacuna {

template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class dynamic_csr_parts;

namespace detail {
template <class T, class I, class O, space S> struct parts_access;
/// Of a CSR matrix, or without entries: null.
template <class T, class I, class O, space S>
LACUNA_EXPORT dynamic_csr_parts<T, I, O, S>
make_parts(const context<S>& ctx, index<I> shape, const csr_view<const T, I, O, S>* a,
           std::vector<context<S>> contexts, const dynamic_csr_options& options);
template <class T, class I, class O, space S>
LACUNA_EXPORT void multiply_parts(const context<S>& ctx, const dynamic_csr_parts<T, I, O, S>& m,
                                  vector_view<const T, S> x, vector_view<T, S> y);
/// Throws bad_input if slots are not a permutation of the rows.
template <class I> LACUNA_EXPORT void check_slots(const array<I>& slots, std::int64_t rows);
} // namespace detail

/// Owner. O counts the entries of a part: all together may be more.
template <class T, std::signed_integral I, std::signed_integral O, space S>
class dynamic_csr_parts {
public:
  using scalar_type = T;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;

  dynamic_csr_parts() = default;
  /// Without entries, a part for each context. Throws bad_input if there is none.
  dynamic_csr_parts(const context<S>& ctx, lacuna::index<I> shape, std::vector<context<S>> contexts,
                    const dynamic_csr_options& options = {})
      : dynamic_csr_parts(
            detail::make_parts<T, I, O, S>(ctx, shape, nullptr, std::move(contexts), options)) {}

  lacuna::index<I> shape() const { return shape_; }
  [[nodiscard]] std::int64_t size() const {
    std::int64_t sum = 0;
    for (const auto& part : parts_) sum += part.size();
    return sum;
  }
  [[nodiscard]] int count() const { return static_cast<int>(parts_.size()); }
  const dynamic_csr<T, I, O, S>& part(int p) const { return parts_[static_cast<std::size_t>(p)]; }
  const context<S>& part_context(int p) const { return contexts_[static_cast<std::size_t>(p)]; }
  /// Where rows are: row i is row slots()[i] / count() of part slots()[i] % count().
  vector_view<const I, S> slots() const { return slots_.view(); }

private:
  friend struct detail::parts_access<T, I, O, S>;
  lacuna::index<I> shape_{};
  std::vector<context<S>> contexts_; // before the parts, whose memory is theirs
  std::vector<dynamic_csr<T, I, O, S>> parts_;
  std::vector<context<S>> home_; // one: where slots are
  array<I, S> slots_;
};

/// From a csr matrix or view, whose rows are put in order if they are not stated to be. Sorts its
/// rows by length, and its entries by part; waits. Options are those of each part.
template <space S, class A>
auto to_dynamic_csr_parts(const context<S>& ctx, const A& a, std::vector<context<S>> contexts,
                          const dynamic_csr_options& options = {}) {
  const auto view = detail::const_view(a);
  using V = decltype(view);
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  detail::require_same_space<S, V>();
  if (view.order().sorted)
    return detail::make_parts<T, I, O, S>(ctx, view.shape(), &view, std::move(contexts), options);
  auto sorted = copy_to(ctx, view);
  sort(ctx, sorted);
  const auto in_order = std::as_const(sorted).view();
  return detail::make_parts<T, I, O, S>(ctx, view.shape(), &in_order, std::move(contexts), options);
}

/// As of a matrix in one piece (op/update.hpp): the batch is split by part where it is, then each
/// part takes its share, all at once where they are on devices. One that fails changes nothing in
/// any part: so that it can be undone, a batch into more than one part pays for a snapshot: it
/// copies the tables, and the rows that it hits. Waits. Throws bad_input if ctx is on another
/// device than the matrix was made with; this holds for erase,
/// compact, multiply and to_csr, too.
template <class T, class I, class O, space S>
LACUNA_EXPORT update_counts insert(const context<S>& ctx, dynamic_csr_parts<T, I, O, S>& m,
                                   std::type_identity_t<coo_view<const T, I, O, S>> batch,
                                   const insert_options& options = {});
/// Values of the batch are not read and may be null.
template <class T, class I, class O, space S>
LACUNA_EXPORT update_counts erase(const context<S>& ctx, dynamic_csr_parts<T, I, O, S>& m,
                                  std::type_identity_t<coo_view<const T, I, O, S>> batch);
/// Each part.
template <class T, class I, class O, space S>
LACUNA_EXPORT void compact(const context<S>& ctx, dynamic_csr_parts<T, I, O, S>& m,
                           const compact_options& options = {});
/// y = A x; y may overlap x. Queued. Each row is summed by its part's kernel in the order of
/// its segments, so results are bitwise repeatable for a list of parts. Another number of parts may
/// round differently: slack, and on a device the lanes of a row, follow a part's mean row length.
template <class T, class I, class O, space S, class X, class Y>
void multiply(const context<S>& ctx, const dynamic_csr_parts<T, I, O, S>& m, const X& x, Y&& y) {
  detail::multiply_parts<T, I, O, S>(ctx, m, detail::const_view(x),
                                     detail::mutable_view(std::forward<Y>(y)));
}
/// Columns ascending. Sorts the entries by row; waits. Throws bad_input if O cannot count them.
template <class T, class I, class O, space S>
LACUNA_EXPORT csr<T, I, O, S> to_csr(const context<S>& ctx, const dynamic_csr_parts<T, I, O, S>& m);
/// Throws bad_input if slots are not a permutation of the rows, or a part's invariants do not hold.
template <class T, class I, class O, space S>
void check(const context<S>& ctx, const dynamic_csr_parts<T, I, O, S>& m) {
  ctx.synchronize();
  detail::check_slots<I>(copy_to(host_context(), m.slots()), m.shape().row);
  for (int p = 0; p < m.count(); ++p) {
    const std::int64_t rows = (m.shape().row + m.count() - 1 - p) / m.count();
    if (m.part(p).shape() != lacuna::index<I>(static_cast<I>(rows), m.shape().col))
      throw bad_input("dynamic_csr_parts: part " + std::to_string(p) + " has " +
                      std::to_string(m.part(p).shape().row) + " rows, not " + std::to_string(rows) +
                      ", or another number of columns than the matrix");
    check(m.part_context(p), m.part(p));
  }
}

} // namespace lacuna
