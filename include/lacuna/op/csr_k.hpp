// CSR-k: making it, multiplying with it, and the model that chooses its sizes.
//
//   const auto a = to_csr_k(ctx, std::move(rows));   // a csr, taken over; a view is copied
//   multiply(ctx, a, x, y);                          // all that op/multiply.hpp says
//   const auto back = to_csr(ctx, a);
//
// With an ordering (op/reorder.hpp), whose groups are neighbours in the graph:
//
//   const auto b = band_k(ctx, rows, {12, 8});
//   const auto a = to_csr_k(ctx, permute(ctx, rows, b.order), b);
//
// Results are bitwise repeatable: on the host for any number of threads, on the device for the
// same matrix, grouping and device.
#pragma once

#include <array>

#include <lacuna/format/csr_k.hpp>
#include <lacuna/op/check.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/reorder.hpp>

namespace lacuna {

struct csr_k_options {
  int k = 0;                        ///< 2 or 3; 0: 2 on the host, 3 on a device
  std::int64_t super_row = 0;       ///< rows in a super-row; 0: the model's
  std::int64_t super_super_row = 0; ///< super-rows in a super-super-row; 0: the model's
  std::int64_t long_row = 0;        ///< rows of more entries are cut into pieces; 0: the rule
};

struct csr_k_sizes {
  std::int64_t super_row = 1;
  std::int64_t super_super_row = 0; ///< 0 for k = 2
  friend bool operator==(const csr_k_sizes&, const csr_k_sizes&) = default;
};

/// Sizes from the mean row length in constant time: a regression fitted once for a kind of machine.
struct csr_k_model {
  /// round(a - b ln(mean)) super-rows in a super-super-row, and rows in a super-row.
  double a_ssr, b_ssr;
  double a_sr, b_sr;
  /// What they are multiplied with, in this order; of_ssr: rows in a super-row are `sr` times the
  /// new number of super-rows, whatever the regression said.
  struct factors {
    double ssr = 1;
    double sr = 1;
    bool of_ssr = false;
  };
  /// For means up to 8, up to 16, up to 32 and above.
  std::array<factors, 4> cases{};
  /// Super-super-rows get fewer rows where they would hold more entries on average; 0: no limit.
  double entries = 0;

  /// As printed in the paper's section 4.
  static constexpr csr_k_model volta() {
    return {8.9, 1.25, 10.146, 1.5, {{{}, {1.5, 2}, {4, 0.5, true}, {5, 0.5, true}}}};
  }
  static constexpr csr_k_model ampere() {
    return {9.175, 1.32, 20.5, 3.5, {{{}, {1, 4}, {2.5, 3, true}, {2, 2, true}}}};
  }
  /// From sweeps over 49 matrices on an H200: fastest where a block's threads, with the lanes that
  /// rows of that length want, take all rows of a super-super-row at once.
  static constexpr csr_k_model hopper() {
    return {32, 0, 8, 0, {{{}, {0.5, 1}, {0.125, 1}, {0.125, 1}}}, 4096};
  }
  /// The paper's constant of 96 rows for k = 2. How k = 3 divides them and the limit, one piece of
  /// a long row, are ours, and reasoned.
  static constexpr csr_k_model cpu() { return {8, 0, 12, 0, {}, 16384}; }
};

/// Sizes of at least 1. For k = 2 a super-row has the rows that a super-super-row has for k = 3:
/// what a thread or a block takes stays as large. Means below 1 count as 1.
LACUNA_EXPORT csr_k_sizes choose_csr_k_sizes(double mean_row_length, int k,
                                             const csr_k_model& model);

/// The paper's four shapes. One lane: its kernel GPUSpMV-3; more: GPUSpMV-3.5.
LACUNA_EXPORT csr_k_block block_shape(double mean_row_length);
/// Ours for Hopper: lanes by the rows' lengths, and where that makes at most 512 threads and whole
/// warps of them, all rows of a super-super-row (or for k = 2 of a super-row) at once.
LACUNA_EXPORT csr_k_block block_shape(const row_statistics& found, const csr_k_sizes& sizes);

/// Rows of more entries than this are cut into pieces; no row is where lengths are alike.
LACUNA_EXPORT std::int64_t choose_long_row(const row_statistics& found, space where);

namespace detail::cpu {
/// Groups of equal size, or those of `starts` (band_ordering::starts) unless that is null. Throws
/// bad_input if options or starts make no sense. Reads rowptr four times at most.
template <class I, class O>
LACUNA_EXPORT csr_k_groups<I, O> group_rows(const host_context& ctx, vector_view<const O> rowptr,
                                            const csr_k_options& options,
                                            const std::vector<array<I>>* starts);
/// The invariants beyond csr's; of rows() only the shape and rowptr are read.
template <class T, class I, class O> LACUNA_EXPORT void check_groups(csr_k_view<const T, I, O> a);
/// y = alpha A x + beta z; z is not read if beta is 0. Scratch: a value for each piece, if a long
/// row has several.
template <class T, class I, class O>
LACUNA_EXPORT void multiply_csr_k(const host_context& ctx, T alpha, csr_k_view<const T, I, O> a,
                                  vector_view<const T> x, T beta, vector_view<const T> z,
                                  vector_view<T> y);
/// Y = alpha P^T B P X + beta Z, where B = P A P^T is given: row i of B is row new_to_old[i] of A.
/// Column by column; scratch: two vectors.
template <class T, class I, class O>
LACUNA_EXPORT void multiply_reordered(const host_context& ctx, T alpha, csr_k_view<const T, I, O> b,
                                      vector_view<const I> new_to_old, dense_view<const T> x,
                                      T beta, dense_view<const T> z, dense_view<T> y,
                                      vector_view<T> scratch);
} // namespace detail::cpu

namespace detail::gpu {
/// Waits for the statistics of the row lengths and the number of pieces.
template <class I, class O>
LACUNA_GPU_EXPORT csr_k_groups<I, O, space::device>
group_rows(const device_context& ctx, vector_view<const O, space::device> rowptr,
           const csr_k_options& options);
/// Queued. Scratch: as on the host, and a counter for each long row.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void multiply_csr_k(const device_context& ctx, T alpha,
                                      csr_k_view<const T, I, O, space::device> a, device_in<T> x,
                                      T beta, device_in<T> z, device_out<T> y);
} // namespace detail::gpu

namespace detail {
template <class I, class O, space S>
csr_k_groups<I, O, S> group_rows(const context<S>& ctx, vector_view<const O, S> rowptr,
                                 const csr_k_options& options) {
  if constexpr (S == space::host)
    return detail::cpu::group_rows<I, O>(ctx, rowptr, options, nullptr);
  else
    return detail::gpu::group_rows<I, O>(ctx, rowptr, options);
}

template <class T, class I, class O, space S>
void check_view(const context<S>& ctx, csr_k_view<const T, I, O, S> a) {
  check_view(ctx, a.rows());
  if constexpr (S == space::host) {
    detail::cpu::check_groups<T, I, O>(a);
  } else {
    const host_context host(host_options{1});
    const auto rowptr = copy_to(host, a.rows().rowptr());
    const auto super_rows = copy_to(host, a.super_rows());
    const auto super_super_rows = copy_to(host, a.super_super_rows());
    const auto long_rows = copy_to(host, a.long_rows());
    const auto pieces = copy_to(host, a.pieces());
    detail::cpu::check_groups<T, I, O>({{nullptr, rowptr.data(), nullptr, a.shape(), a.size()},
                                        a.grouping(),
                                        super_rows.view(),
                                        super_super_rows.view(),
                                        long_rows.view(),
                                        pieces.view()});
  }
}
/// What multiply() calls, sizes checked. Vectors whose elements are neighbours go by super-rows;
/// several columns, and one column of a row-major block, by the CSR matrix inside.
template <class T, class I, class O, space S>
void multiply_format(const context<S>& ctx, T alpha, csr_k_view<const T, I, O, S> a,
                     dense_view<const T, S> x, T beta, dense_view<const T, S> z,
                     dense_view<T, S> y) {
  const bool vectors = y.shape().col == 1 && x.row_stride() == 1 && y.row_stride() == 1 &&
                       (beta == T{0} || z.row_stride() == 1);
  const vector_view<const T, S> from(x.data(), x.shape().row), add(z.data(), z.shape().row);
  const vector_view<T, S> to(y.data(), y.shape().row);
  if constexpr (S == space::host) {
    if (vectors) return detail::cpu::multiply_csr_k<T, I, O>(ctx, alpha, a, from, beta, add, to);
    detail::cpu::multiply_csr_dense<T, I, O>(ctx, alpha, a.rows(), x, beta, z, y);
  } else {
    if (vectors) return detail::gpu::multiply_csr_k<T, I, O>(ctx, alpha, a, from, beta, add, to);
    detail::gpu::multiply_csr_dense<T, I, O>(ctx, alpha, a.rows(), x, beta, z, y);
  }
}
} // namespace detail

/// Takes a over. If it throws, a is as it was.
template <class T, class I, class O, space S>
csr_k<T, I, O, S> to_csr_k(const context<S>& ctx, csr<T, I, O, S>&& a,
                           const csr_k_options& options = {}) {
  auto groups = detail::group_rows<I, O>(ctx, std::as_const(a).rowptr(), options);
  return {std::move(a), std::move(groups)};
}
/// Copies a, a csr or a view of one.
template <space S, class A>
auto to_csr_k(const context<S>& ctx, const A& a, const csr_k_options& options = {}) {
  const auto view = detail::const_view(a);
  detail::require_same_space<S, decltype(view)>();
  return to_csr_k(ctx, copy_to(ctx, view), options);
}
/// With the groups of an ordering by which a was permuted. Of the options only long_row is free;
/// a k that is not the ordering's and sizes are bad_input.
template <class T, class I, class O, class J>
csr_k<T, I, O> to_csr_k(const host_context& ctx, csr<T, I, O>&& a, const band_ordering<J>& ordering,
                        const csr_k_options& options = {}) {
  static_assert(std::is_same_v<I, J>,
                "lacuna: the ordering's indices differ in width from the matrix's");
  detail::require_same_size("to_csr_k", "rows of A", a.shape().row, "the ordering",
                            ordering.order.size());
  auto groups =
      detail::cpu::group_rows<I, O>(ctx, std::as_const(a).rowptr(), options, &ordering.starts);
  return {std::move(a), std::move(groups)};
}
template <class A, class J>
auto to_csr_k(const host_context& ctx, const A& a, const band_ordering<J>& ordering,
              const csr_k_options& options = {}) {
  const auto view = detail::const_view(a);
  detail::require_same_space<space::host, decltype(view)>();
  return to_csr_k(ctx, copy_to(ctx, view), ordering, options);
}

/// The CSR matrix inside, copied; or given away.
template <class T, class I, class O, space S>
csr<T, I, O, S> to_csr(const context<S>& ctx, const csr_k<T, I, O, S>& a) {
  return copy_to(ctx, a.rows());
}
template <class T, class I, class O, space S>
csr<T, I, O, S> to_csr(const context<S>&, csr_k<T, I, O, S>&& a) {
  return std::move(a).release();
}

/// Groups are kept as they are: chosen for one space, they serve the other, but not as well.
template <space S, class T, class I, class O, space From>
csr_k<std::remove_const_t<T>, I, O, S> copy_to(const context<S>& ctx, csr_k_view<T, I, O, From> a) {
  return {copy_to(ctx, a.rows()),
          {a.grouping(), copy_to(ctx, a.super_rows()), copy_to(ctx, a.super_super_rows()),
           copy_to(ctx, a.long_rows()), copy_to(ctx, a.pieces())}};
}
template <space S, class T, class I, class O, space From>
auto copy_to(const context<S>& ctx, const csr_k<T, I, O, From>& a) {
  return copy_to(ctx, a.view());
}

template <class T, class I, class O, space S>
void check(const context<S>& ctx, const csr_k<T, I, O, S>& a) {
  detail::check_view(ctx, a.view());
}
template <class T, class I, class O, space S>
void check(const context<S>& ctx, const csr_k_view<const T, I, O, S>& a) {
  detail::check_view(ctx, a);
}

template <class A>
  requires(!detail::is_context<A>)
auto to_csr_k(const A& a, const csr_k_options& options = {}) {
  return to_csr_k(detail::default_context_for<A>(), a, options);
}

} // namespace lacuna
