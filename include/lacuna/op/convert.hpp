// Conversion between coo, csr, csc and dense; sorting; merging of duplicates.
//
//   to_csr(ctx, a), to_csc, to_coo, to_dense   from any of the four formats, always a new owner
//   sort(ctx, a)                               in place: coo by (row, column), csr by column within
//                                              rows, csc by row within columns
//   merge_duplicates(ctx, a, duplicates::sum)  a new owner, sorted and unique
//
// Each without ctx in the default context of its operand's space.
//
// All are stable: entries of one row (one coordinate) keep their order, so sums of duplicates are
// formed in stored order. Nothing is dropped: explicit zeros stay, duplicates stay until merged.
// to_dense adds duplicates up. From dense, every element that is not 0 (NaN is not) becomes an
// entry. Each waits for the device where the result's size must be known (from dense, merging).
//
// Entries of a coo are checked on their way into csr, csc or dense: bad_input names the first that
// lies outside of the shape, or out of the order that is stated. It costs a pass over the indices,
// and on a device a wait. Finished matrices (csr, csc) are trusted: check(a) tests them.
#pragma once

#include <lacuna/op/check.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/op/transpose.hpp>

namespace lacuna {

namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> coo_to_csr(const host_context& ctx, coo_view<const T, I, O> a);
template <class T, class I, class O>
LACUNA_EXPORT coo<T, I, O> csr_to_coo(const host_context& ctx, csr_view<const T, I, O> a);
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> dense_to_csr(const host_context& ctx, dense_view<const T> a);
template <class T, class I, class O>
LACUNA_EXPORT void csr_to_dense(const host_context& ctx, csr_view<const T, I, O> a,
                                dense_view<T> result);
template <class T, class I, class O>
LACUNA_EXPORT void sort_csr(const host_context& ctx, csr_view<T, I, O> a);
template <class T, class I, class O>
LACUNA_EXPORT void sort_coo(const host_context& ctx, coo_view<T, I, O> a);
/// The input must be sorted.
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> merge_csr(const host_context& ctx, csr_view<const T, I, O> a,
                                     duplicates rule);
template <class T, class I, class O>
LACUNA_EXPORT coo<T, I, O> merge_coo(const host_context& ctx, coo_view<const T, I, O> a,
                                     duplicates rule);
} // namespace detail::cpu

namespace detail::gpu {
template <class T, class I, class O> using csr_d = csr<T, I, O, space::device>;
template <class T, class I, class O> using coo_d = coo<T, I, O, space::device>;
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr_d<T, I, O> coo_to_csr(const device_context& ctx,
                                            coo_view<const T, I, O, space::device> a);
template <class T, class I, class O>
LACUNA_GPU_EXPORT coo_d<T, I, O> csr_to_coo(const device_context& ctx,
                                            csr_view<const T, I, O, space::device> a);
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr_d<T, I, O> dense_to_csr(const device_context& ctx,
                                              dense_view<const T, space::device> a);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void csr_to_dense(const device_context& ctx,
                                    csr_view<const T, I, O, space::device> a,
                                    dense_view<T, space::device> result);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void sort_csr(const device_context& ctx, csr_view<T, I, O, space::device> a);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void sort_coo(const device_context& ctx, coo_view<T, I, O, space::device> a);
/// The input must be sorted.
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr_d<T, I, O>
merge_csr(const device_context& ctx, csr_view<const T, I, O, space::device> a, duplicates rule);
template <class T, class I, class O>
LACUNA_GPU_EXPORT coo_d<T, I, O>
merge_coo(const device_context& ctx, coo_view<const T, I, O, space::device> a, duplicates rule);
} // namespace detail::gpu

namespace detail {

/// Of entries that are known to lie within the shape.
template <class T, class I, class O, space S>
csr<T, I, O, S> make_csr_of_checked(const context<S>& ctx, coo_view<const T, I, O, S> a) {
  if constexpr (S == space::host)
    return detail::cpu::coo_to_csr<T, I, O>(ctx, a);
  else
    return detail::gpu::coo_to_csr<T, I, O>(ctx, a);
}
template <class T, class I, class O, space S>
csr<T, I, O, S> make_csr(const context<S>& ctx, coo_view<const T, I, O, S> a) {
  // "Unique" alone would take a sort to test, and nothing here relies on it.
  check_view(ctx, coo_view<const T, I, O, S>(
                      a.values().data(), a.rowind().data(), a.colind().data(), a.shape(), a.size(),
                      {a.order().sorted, a.order().sorted && a.order().unique}));
  return make_csr_of_checked(ctx, a);
}
template <class T, class I, class O, space S>
csr<T, I, O, S> make_csr(const context<S>& ctx, csr_view<const T, I, O, S> a) {
  return copy_to(ctx, a);
}
template <class T, class I, class O, space S>
csr<T, I, O, S> make_csr(const context<S>& ctx, csc_view<const T, I, O, S> a) {
  return transpose_new(ctx, a.transpose());
}
template <class T, class I, class O, space S>
coo<T, I, O, S> make_coo(const context<S>& ctx, csr_view<const T, I, O, S> a) {
  if constexpr (S == space::host)
    return detail::cpu::csr_to_coo<T, I, O>(ctx, a);
  else
    return detail::gpu::csr_to_coo<T, I, O>(ctx, a);
}
template <class T, class I, class O, space S>
coo<T, I, O, S> make_coo(const context<S>& ctx, coo_view<const T, I, O, S> a) {
  return copy_to(ctx, a);
}
template <class T, class I, class O, space S>
coo<T, I, O, S> make_coo(const context<S>& ctx, csc_view<const T, I, O, S> a) {
  const auto rows = transpose_new(ctx, a.transpose());
  return make_coo(ctx, rows.view());
}
/// The transpose of a COO view is the same view with its index arrays exchanged.
template <class T, class I, class O, space S>
coo_view<const T, I, O, S> exchanged(coo_view<const T, I, O, S> a) {
  return {a.values().data(), a.colind().data(),
          a.rowind().data(), {a.shape().col, a.shape().row},
          a.size(),          {false, a.order().unique}};
}
template <class T, space S> dense_view<T, S> exchanged(dense_view<T, S> a) {
  return {a.data(),
          {a.shape().col, a.shape().row},
          a.layout() == layout::row_major ? layout::column_major : layout::row_major,
          a.ld()};
}
template <class T, class I, class O, space S>
csc<T, I, O, S> make_csc(const context<S>& ctx, csr_view<const T, I, O, S> a) {
  return csc<T, I, O, S>(transpose_new(ctx, a));
}
template <class T, class I, class O, space S>
csc<T, I, O, S> make_csc(const context<S>& ctx, csc_view<const T, I, O, S> a) {
  return copy_to(ctx, a);
}
template <class T, class I, class O, space S>
csc<T, I, O, S> make_csc(const context<S>& ctx, coo_view<const T, I, O, S> a) {
  return csc<T, I, O, S>(make_csr(ctx, exchanged(a)));
}
template <class T, class I, class O, space S>
void fill_dense(const context<S>& ctx, csr_view<const T, I, O, S> a, dense_view<T, S> result) {
  if constexpr (S == space::host)
    detail::cpu::csr_to_dense<T, I, O>(ctx, a, result);
  else
    detail::gpu::csr_to_dense<T, I, O>(ctx, a, result);
}
template <class T, class I, class O, space S>
void fill_dense(const context<S>& ctx, csc_view<const T, I, O, S> a, dense_view<T, S> result) {
  fill_dense(ctx, a.transpose(), exchanged(result));
}
template <class T, class I, class O, space S>
void fill_dense(const context<S>& ctx, coo_view<const T, I, O, S> a, dense_view<T, S> result) {
  const auto rows = make_csr(ctx, a);
  fill_dense(ctx, rows.view(), result);
}

} // namespace detail

template <space S, class A>
  requires requires(const A& a) { detail::const_view(a).size(); }
auto to_csr(const context<S>& ctx, const A& a) {
  const auto view = detail::const_view(a);
  detail::require_same_space<S, decltype(view)>();
  return detail::make_csr(ctx, view);
}
template <space S, class A>
  requires requires(const A& a) { detail::const_view(a).size(); }
auto to_csc(const context<S>& ctx, const A& a) {
  const auto view = detail::const_view(a);
  detail::require_same_space<S, decltype(view)>();
  return detail::make_csc(ctx, view);
}
template <space S, class A>
  requires requires(const A& a) { detail::const_view(a).size(); }
auto to_coo(const context<S>& ctx, const A& a) {
  const auto view = detail::const_view(a);
  detail::require_same_space<S, decltype(view)>();
  return detail::make_coo(ctx, view);
}
template <class A>
  requires requires(const A& a) { detail::const_view(a).size(); }
auto to_csr(const A& a) { return to_csr(detail::default_context_for<A>(), a); }
template <class A>
  requires requires(const A& a) { detail::const_view(a).size(); }
auto to_csc(const A& a) { return to_csc(detail::default_context_for<A>(), a); }
template <class A>
  requires requires(const A& a) { detail::const_view(a).size(); }
auto to_coo(const A& a) { return to_coo(detail::default_context_for<A>(), a); }
/// From dense the widths are the caller's choice: to_csr<int32_t, int64_t>(ctx, d). Throws
/// bad_input if they are too narrow.
template <class I = index_t, class O = I, space S, class D>
  requires requires(const D& d) { detail::const_view(d).ld(); }
auto to_csr(const context<S>& ctx, const D& d) {
  const auto view = detail::const_view(d);
  using T = typename decltype(view)::scalar_type;
  detail::require_same_space<S, decltype(view)>();
  if constexpr (S == space::host)
    return detail::cpu::dense_to_csr<T, I, O>(ctx, view);
  else
    return detail::gpu::dense_to_csr<T, I, O>(ctx, view);
}
template <class I = index_t, class O = I, space S, class D>
  requires requires(const D& d) { detail::const_view(d).ld(); }
auto to_csc(const context<S>& ctx, const D& d) {
  using T = typename decltype(detail::const_view(d))::scalar_type;
  return csc<T, I, O, S>(to_csr<I, O>(ctx, detail::exchanged(detail::const_view(d))));
}
template <class I = index_t, class O = I, space S, class D>
  requires requires(const D& d) { detail::const_view(d).ld(); }
auto to_coo(const context<S>& ctx, const D& d) { return to_coo(ctx, to_csr<I, O>(ctx, d)); }
template <class I = index_t, class O = I, class D>
  requires requires(const D& d) { detail::const_view(d).ld(); }
auto to_csr(const D& d) { return to_csr<I, O>(detail::default_context_for<D>(), d); }
template <class I = index_t, class O = I, class D>
  requires requires(const D& d) { detail::const_view(d).ld(); }
auto to_csc(const D& d) { return to_csc<I, O>(detail::default_context_for<D>(), d); }
template <class I = index_t, class O = I, class D>
  requires requires(const D& d) { detail::const_view(d).ld(); }
auto to_coo(const D& d) { return to_coo<I, O>(detail::default_context_for<D>(), d); }

template <space S, class A>
  requires requires(const A& a) { detail::const_view(a).size(); }
auto to_dense(const context<S>& ctx, const A& a, layout l = layout::row_major) {
  const auto view = detail::const_view(a);
  using T = typename decltype(view)::scalar_type;
  detail::require_same_space<S, decltype(view)>();
  dense<T, S> result(ctx, {view.shape().row, view.shape().col}, l);
  detail::fill_dense(ctx, view, result.view());
  return result;
}

template <class A>
  requires requires(const A& a) { detail::const_view(a).size(); }
auto to_dense(const A& a, layout l = layout::row_major) {
  return to_dense(detail::default_context_for<A>(), a, l);
}

/// Needs scratch of at most about twice the matrix's own size, none if it is sorted already; if
/// that fails, a is as it was.
template <class T, class I, class O, space S> void sort(const context<S>& ctx, csr<T, I, O, S>& a) {
  if (a.order().sorted) return;
  if constexpr (S == space::host)
    detail::cpu::sort_csr<T, I, O>(ctx, a.view());
  else
    detail::gpu::sort_csr<T, I, O>(ctx, a.view());
  a.state({true, a.order().unique});
}
template <class T, class I, class O, space S> void sort(const context<S>& ctx, csc<T, I, O, S>& a) {
  sort(ctx, a.transpose());
}
template <class T, class I, class O, space S> void sort(const context<S>& ctx, coo<T, I, O, S>& a) {
  if (a.order().sorted) return;
  if constexpr (S == space::host)
    detail::cpu::sort_coo<T, I, O>(ctx, a.view());
  else
    detail::gpu::sort_coo<T, I, O>(ctx, a.view());
  a.state({true, a.order().unique});
}

template <class A>
  requires(!detail::is_context<A> && requires(A & a) { a.state(facts{}); })
void sort(A& a) { sort(detail::default_context_for<A>(), a); }

namespace detail {
/// A copy of a sorted matrix in which no coordinate may be there twice: bad_input names the first.
template <class Owner, space S> Owner copy_unique(const context<S>& ctx, const Owner& a) {
  auto copy = copy_to(ctx, a);
  copy.state({true, true});
  check(ctx, copy);
  return copy;
}
} // namespace detail

/// Works on a sorted copy if a is not stated to be sorted.
template <class T, class I, class O, space S>
csr<T, I, O, S> merge_duplicates(const context<S>& ctx, const csr<T, I, O, S>& a,
                                 duplicates rule = duplicates::sum) {
  if (!a.order().sorted) {
    auto sorted = copy_to(ctx, a);
    sort(ctx, sorted);
    return merge_duplicates(ctx, sorted, rule);
  }
  if (rule == duplicates::error) return detail::copy_unique(ctx, a);
  if constexpr (S == space::host)
    return detail::cpu::merge_csr<T, I, O>(ctx, a.view(), rule);
  else
    return detail::gpu::merge_csr<T, I, O>(ctx, a.view(), rule);
}
template <class T, class I, class O, space S>
csc<T, I, O, S> merge_duplicates(const context<S>& ctx, const csc<T, I, O, S>& a,
                                 duplicates rule = duplicates::sum) {
  return csc<T, I, O, S>(merge_duplicates(ctx, a.transpose(), rule));
}
template <class T, class I, class O, space S>
coo<T, I, O, S> merge_duplicates(const context<S>& ctx, const coo<T, I, O, S>& a,
                                 duplicates rule = duplicates::sum) {
  if (!a.order().sorted) {
    auto sorted = copy_to(ctx, a);
    sort(ctx, sorted);
    return merge_duplicates(ctx, sorted, rule);
  }
  if (rule == duplicates::error) return detail::copy_unique(ctx, a);
  if constexpr (S == space::host)
    return detail::cpu::merge_coo<T, I, O>(ctx, a.view(), rule);
  else
    return detail::gpu::merge_coo<T, I, O>(ctx, a.view(), rule);
}

template <class A>
  requires(!detail::is_context<A> && requires(A & a) { a.state(facts{}); })
auto merge_duplicates(const A& a, duplicates rule = duplicates::sum) {
  return merge_duplicates(detail::default_context_for<A>(), a, rule);
}

} // namespace lacuna
