// C = alpha op(A) + beta op(B), all sparse: CSR (dynamic CSR) in, CSR out, rows sorted and unique.
//
//   auto c = add(ctx, a, b);                                   new owner
//   auto c = add(ctx, scaled(2.0, a), scaled(-1.0, transposed(b)));
//   auto c = add_wide(ctx, a, b);                              int64 offsets, beyond 2^31 entries
//   add_to(ctx, scaled(2.0, a), c);                            C += 2 A, within C's pattern
//
//   add(ctx, a, b, c);                                         into memory of the caller's
//
// The phases of the C++ Sparse BLAS, for a result whose size is not known:
//
//   const auto info = add_inspect(ctx, a, b, c);               counts; info.result_nnz()
//   csr<T, I, O, S> c(ctx, info.result_shape(), info.result_nnz());
//   add_compute(ctx, info, a, b, c);
//
// The context is optional. A result of the caller's is a csr or a csc, an owner or a view
// (result.hpp says which sizes it may have), and shares no memory with A or B.
//
// C has an entry where A or B has one, also where they cancel. An entry of both is
// round(round(alpha a) + round(beta b)), never fused, so that A + B and B + A have the same bits,
// on every engine and for any number of threads. Rows that are not stated to be sorted and unique
// are looked at; if they are not, a sorted copy is used in which duplicates are summed in stored
// order. A transposed operand costs a transposed copy; a dynamic_csr that is not compact a copy as
// a csr. Equal patterns are noticed: only values are
// added then. Of operands that differ in the width of their indices or offsets the narrower one is
// copied into the wider types. O(nnz(A) + nnz(B) + rows); waits for the device.
#pragma once

#include <lacuna/op/cast.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/result.hpp>

namespace lacuna {

namespace detail::cpu {
/// Whether columns ascend strictly in every row: sorted, and none twice.
template <class T, class I, class O>
LACUNA_EXPORT bool rows_ascend(const host_context& ctx, csr_view<const T, I, O> a);
/// C = alpha A + beta B; rows of both ascend. Throws unsupported if C's entries do not fit OC.
template <class T, class I, class O, class OC>
LACUNA_EXPORT csr<T, I, OC> add_csr(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                                    T beta, csr_view<const T, I, O> b);
/// Entries of A + B.
template <class T, class I, class O>
LACUNA_EXPORT std::int64_t count_add(const host_context& ctx, csr_view<const T, I, O> a,
                                     csr_view<const T, I, O> b);
/// Into c's three arrays. Throws bad_input, before it writes, if A + B has not as many entries as
/// c.
template <class T, class I, class O>
LACUNA_EXPORT void fill_add(const host_context& ctx, T alpha, csr_view<const T, I, O> a, T beta,
                            csr_view<const T, I, O> b, csr_view<T, I, O> c);
/// C += alpha A; rows of both ascend. Throws bad_input, before it writes, that names the first
/// entry of A that C has no place for.
template <class T, class I, class O>
LACUNA_EXPORT void add_to_csr(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                              csr_view<T, I, O> c);
} // namespace detail::cpu

namespace detail::gpu {
/// The same on a device. Scratch: 24 bytes (40 for 64-bit indices) for every 2304 entries and rows.
template <class T, class I, class O>
LACUNA_GPU_EXPORT bool rows_ascend(const device_context& ctx,
                                   csr_view<const T, I, O, space::device> a);
template <class T, class I, class O, class OC>
LACUNA_GPU_EXPORT csr<T, I, OC, space::device>
add_csr(const device_context& ctx, T alpha, csr_view<const T, I, O, space::device> a, T beta,
        csr_view<const T, I, O, space::device> b);
template <class T, class I, class O>
LACUNA_GPU_EXPORT std::int64_t count_add(const device_context& ctx,
                                         csr_view<const T, I, O, space::device> a,
                                         csr_view<const T, I, O, space::device> b);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void
fill_add(const device_context& ctx, T alpha, csr_view<const T, I, O, space::device> a, T beta,
         csr_view<const T, I, O, space::device> b, csr_view<T, I, O, space::device> c);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void add_to_csr(const device_context& ctx, T alpha,
                                  csr_view<const T, I, O, space::device> a,
                                  csr_view<T, I, O, space::device> c);
} // namespace detail::gpu

namespace detail {

LACUNA_EXPORT std::string explain_sum(std::int64_t entries);

/// What add_inspect found is the count alone: what it was made for.
struct sum_inspection : inspection {
  std::int64_t nnz = 0;
  explicit sum_inspection(std::int64_t entries) : nnz(entries) {}
  [[nodiscard]] std::string explain() const override { return explain_sum(nnz); }
  [[nodiscard]] std::size_t bytes() const override { return 0; }
};

/// "add: C has 5000000000 entries, which 32-bit offsets cannot number; use add_wide"
[[noreturn]] LACUNA_EXPORT void throw_too_many_entries(std::int64_t entries);
/// bad_input: C has no entry where A has one; C has another number of entries than A + B.
[[noreturn]] LACUNA_EXPORT void throw_no_place(std::int64_t row, std::int64_t column);
[[noreturn]] LACUNA_EXPORT void throw_other_count(std::int64_t counted, std::int64_t entries);

template <class T, class I, class O, space S>
bool has_ascending_rows(const context<S>& ctx, csr_view<const T, I, O, S> a) {
  if (a.order().sorted && a.order().unique) return true;
  if constexpr (S == space::host)
    return detail::cpu::rows_ascend<T, I, O>(ctx, a);
  else
    return detail::gpu::rows_ascend<T, I, O>(ctx, a);
}

/// A summand as the engines read it: plain, its rows ascending. Owns a copy where one is needed.
template <class T, class I, class O, space S> class summand {
public:
  summand(const context<S>& ctx, const matrix_operand<T, I, O, S>& op) : a_(op.a) {
    if (op.transposed) take(transpose(ctx, op.a));
    if (has_ascending_rows(ctx, a_)) return;
    if (!a_.order().sorted) {
      take(copy_to(ctx, a_));
      sort(ctx, own_);
      a_ = std::as_const(own_).view();
    }
    if constexpr (S == space::host)
      take(detail::cpu::merge_csr<T, I, O>(ctx, a_, duplicates::sum));
    else
      take(detail::gpu::merge_csr<T, I, O>(ctx, a_, duplicates::sum));
  }
  summand(const summand&) = delete;
  summand& operator=(const summand&) = delete;
  [[nodiscard]] csr_view<const T, I, O, S> view() const { return a_; }

private:
  void take(csr<T, I, O, S> made) {
    own_ = std::move(made);
    a_ = std::as_const(own_).view();
  }
  csr<T, I, O, S> own_;
  csr_view<const T, I, O, S> a_;
};

template <space S, class A, class B> constexpr void require_summands() {
  require_same_space<S, A, B>();
  require_same_value<typename A::scalar_type, B>();
  static_assert(std::is_same_v<typename A::index_type, typename B::index_type> &&
                    std::is_same_v<typename A::offset_type, typename B::offset_type>,
                "lacuna: A and B differ in the width of their indices or offsets");
}
template <class A, class B> void require_same_shape(const char* op, const A& a, const B& b) {
  require_same_size(op, "rows of A", a.rows(), "rows of B", b.rows());
  require_same_size(op, "columns of A", a.cols(), "columns of B", b.cols());
}

/// OC: the offsets of C; void: the wider of A's and B's.
template <class OC, space S, class A, class B>
auto add_sparse(const context<S>& ctx, const A& a, const B& b) {
  const auto a_op = operand(a);
  const auto b_op = operand(b);
  using Op = decltype(a_op);
  using Other = decltype(b_op);
  using T = typename Op::scalar_type;
  constexpr bool fit = are_in<S, Op, Other> && are_of<T, Other> && are_compressed<Op, Other>;
  require_compressed<Op, Other>();
  require_same_space<S, Op, Other>();
  require_same_value<T, Other>();
  if constexpr (fit && has_row_format<Op, Other>) {
    const csr_rows_of left(ctx, a_op);
    const csr_rows_of right(ctx, b_op);
    return add_sparse<OC>(ctx, left.operand(), right.operand());
  } else if constexpr (fit && !are_alike<Op, Other>) {
    const widened<Op, Other> left(ctx, a_op);
    const widened<Other, Op> right(ctx, b_op);
    return add_sparse<OC>(ctx, left.operand(), right.operand());
  } else if constexpr (fit) {
    using I = typename Op::index_type;
    using O = typename Op::offset_type;
    using Offset = std::conditional_t<std::is_void_v<OC>, O, OC>;
    require_same_shape("add", a_op, b_op);
    const summand<T, I, O, S> left(ctx, a_op), right(ctx, b_op);
    const T alpha = static_cast<T>(a_op.alpha), beta = static_cast<T>(b_op.alpha);
    if constexpr (S == space::host)
      return detail::cpu::add_csr<T, I, O, Offset>(ctx, alpha, left.view(), beta, right.view());
    else
      return detail::gpu::add_csr<T, I, O, Offset>(ctx, alpha, left.view(), beta, right.view());
  }
}

/// A sparse matrix, scaled or transposed or not.
template <class A> inline constexpr bool is_summand = requires {
  std::declval<operand_t<A>>().rows();
};
template <class A, class B> inline constexpr bool are_summands = is_summand<A>&& is_summand<B>;

} // namespace detail

/// C = alpha op(A) + beta op(B). Throws size_mismatch, out_of_memory, and unsupported if C's
/// entries do not fit A's offsets: add_wide then.
template <space S, class A, class B>
  requires(detail::are_summands<A, B>)
auto add(const context<S>& ctx, const A& a, const B& b) {
  return detail::add_sparse<void>(ctx, a, b);
}
template <class A, class B>
  requires(detail::are_summands<A, B>)
auto add(const A& a, const B& b) {
  return add(default_context<detail::operand_t<A>::memory_space>(), a, b);
}
/// The same with offsets of 64 bits in C.
template <space S, class A, class B>
  requires(detail::are_summands<A, B>)
auto add_wide(const context<S>& ctx, const A& a, const B& b) {
  return detail::add_sparse<std::int64_t>(ctx, a, b);
}
template <class A, class B>
  requires(detail::are_summands<A, B>)
auto add_wide(const A& a, const B& b) {
  return add_wide(default_context<detail::operand_t<A>::memory_space>(), a, b);
}

namespace detail {

/// Entries of the sum. Throws unsupported if they do not fit O.
template <class T, class I, class O, space S>
std::int64_t count_sum(const context<S>& ctx, const summand<T, I, O, S>& a,
                       const summand<T, I, O, S>& b) {
  std::int64_t nnz = 0;
  if constexpr (S == space::host)
    nnz = detail::cpu::count_add<T, I, O>(ctx, a.view(), b.view());
  else
    nnz = detail::gpu::count_add<T, I, O>(ctx, a.view(), b.view());
  if (!fits<O>(nnz)) throw_too_many_entries(nnz);
  return nnz;
}

/// nnz: as counted; negative: not yet.
template <space S, class A, class B, class C>
void sum_into(const context<S>& ctx, const char* op, std::int64_t nnz, const A& a, const B& b,
              C&& c) {
  const csr_rows_of a_rows(ctx, operand(a));
  const csr_rows_of b_rows(ctx, operand(b));
  auto a_op = a_rows.operand();
  auto b_op = b_rows.operand();
  using Op = decltype(a_op);
  using View = std::remove_cv_t<decltype(compressed_rows(mutable_view(std::forward<C>(c))))>;
  require_summands<S, Op, decltype(b_op)>();
  require_summands<S, Op, View>();
  using T = typename Op::scalar_type;
  using I = typename Op::index_type;
  using O = typename Op::offset_type;
  require_same_shape(op, a_op, b_op);
  const index<std::int64_t> shape{a_op.rows(), a_op.cols()};
  if constexpr (is_by_columns<std::remove_cvref_t<C>>) { // C^T = A^T + B^T
    a_op.transposed = !a_op.transposed;
    b_op.transposed = !b_op.transposed;
  }
  const summand<T, I, O, S> left(ctx, a_op), right(ctx, b_op);
  if (nnz < 0) nnz = count_sum<T, I, O, S>(ctx, left, right);
  const auto to = result_arrays(op, "C", std::forward<C>(c), shape, nnz);
  const T alpha = static_cast<T>(a_op.alpha), beta = static_cast<T>(b_op.alpha);
  if constexpr (S == space::host)
    detail::cpu::fill_add<T, I, O>(ctx, alpha, left.view(), beta, right.view(), to);
  else
    detail::gpu::fill_add<T, I, O>(ctx, alpha, left.view(), beta, right.view(), to);
  state_result(std::forward<C>(c), nnz, {true, true});
}

template <class A> const auto& context_of_summand() {
  return default_context<operand_t<A>::memory_space>();
}

} // namespace detail

/// Into C: an owner becomes the sum, whatever it was; a view must have room, or size_mismatch says
/// how many entries there are, and C is as it was.
template <space S, class A, class B, class C>
  requires(detail::are_summands<A, B>&& detail::is_result<C>)
void add(const context<S>& ctx, const A& a, const B& b, C&& c) {
  if constexpr (!detail::is_owner<C>)
    detail::sum_into(ctx, "add", -1, a, b, std::forward<C>(c));
  else if constexpr (detail::is_by_columns<std::remove_cvref_t<C>>)
    c = std::remove_cvref_t<C>(detail::add_sparse<void>(ctx, transposed(a), transposed(b)));
  else
    c = detail::add_sparse<void>(ctx, a, b);
}
template <class A, class B, class C>
  requires(detail::are_summands<A, B>&& detail::is_result<C>)
void add(const A& a, const B& b, C&& c) {
  add(detail::context_of_summand<A>(), a, b, std::forward<C>(c));
}

/// Counts the entries of the sum; values are not read. Throws unsupported if they do not fit. `c`
/// is not used: it is there for the C++ Sparse BLAS.
template <space S, class A, class B>
  requires(detail::are_summands<A, B>)
operation_info_t add_inspect(const context<S>& ctx, const A& a, const B& b) {
  const detail::csr_rows_of a_rows(ctx, detail::operand(a));
  const detail::csr_rows_of b_rows(ctx, detail::operand(b));
  const auto a_op = a_rows.operand();
  const auto b_op = b_rows.operand();
  using Op = std::remove_cv_t<decltype(a_op)>;
  detail::require_summands<S, Op, decltype(b_op)>();
  using summand = detail::summand<typename Op::scalar_type, typename Op::index_type,
                                  typename Op::offset_type, S>;
  detail::require_same_shape("add_inspect", a_op, b_op);
  const summand left(ctx, a_op), right(ctx, b_op);
  const std::int64_t nnz = detail::count_sum(ctx, left, right);
  return operation_info_t(std::make_shared<detail::sum_inspection>(nnz), {a_op.rows(), a_op.cols()},
                          nnz);
}
template <space S, class A, class B, class C>
  requires(detail::are_summands<A, B>&& detail::is_compressed<C>)
operation_info_t add_inspect(const context<S>& ctx, const A& a, const B& b, const C&) {
  return add_inspect(ctx, a, b);
}
template <space S, class A, class B, class C>
  requires(detail::are_summands<A, B>&& detail::is_compressed<C>)
void add_inspect(const context<S>& ctx, operation_info_t& info, const A& a, const B& b, const C&) {
  info = add_inspect(ctx, a, b);
}
template <class A, class B>
  requires(detail::are_summands<A, B>)
operation_info_t add_inspect(const A& a, const B& b) {
  return add_inspect(detail::context_of_summand<A>(), a, b);
}
template <class A, class B, class C>
  requires(detail::are_summands<A, B>&& detail::is_compressed<C>)
operation_info_t add_inspect(const A& a, const B& b, const C&) { return add_inspect(a, b); }
template <class A, class B, class C>
  requires(detail::are_summands<A, B>&& detail::is_compressed<C>)
void add_inspect(operation_info_t& info, const A& a, const B& b, const C&) {
  info = add_inspect(a, b);
}

/// All of C. Values may have changed since add_inspect, and patterns if the count is still the
/// same: throws bad_input, and leaves C as it was, where it is not. An empty info stands for
/// nothing: add(ctx, a, b, c).
template <space S, class A, class B, class C>
  requires(detail::are_summands<A, B>)
void add_compute(const context<S>& ctx, const operation_info_t& info, const A& a, const B& b,
                 C&& c) {
  const auto* inspection = detail::found_in<detail::sum_inspection>(info, "add_compute");
  if (inspection != nullptr) {
    const auto a_op = detail::operand(a);
    detail::require_same_size("add_compute", "rows of A", a_op.rows(), "rows as inspected",
                              info.shape().row);
    detail::require_same_size("add_compute", "columns of A", a_op.cols(), "columns as inspected",
                              info.shape().col);
  }
  detail::sum_into(ctx, "add_compute", inspection == nullptr ? -1 : inspection->nnz, a, b,
                   std::forward<C>(c));
}
template <class A, class B, class C>
  requires(detail::are_summands<A, B>)
void add_compute(const operation_info_t& info, const A& a, const B& b, C&& c) {
  add_compute(detail::context_of_summand<A>(), info, a, b, std::forward<C>(c));
}

/// C += alpha op(A), where every entry of A has one of C's at its place: C's pattern stays. A may
/// be C. Throws bad_input, and leaves C as it was, if an entry has no place (the message names it)
/// or C's rows are not sorted and unique.
template <space S, class A, class C>
  requires(detail::is_summand<A>)
void add_to(const context<S>& ctx, const A& a, C&& c) {
  const detail::csr_rows_of a_rows(ctx, detail::operand(a));
  const auto a_op = a_rows.operand();
  const auto to = detail::mutable_view(std::forward<C>(c));
  using Op = decltype(a_op);
  using T = typename Op::scalar_type;
  using I = typename Op::index_type;
  using O = typename Op::offset_type;
  detail::require_summands<S, Op, decltype(to)>();
  detail::require_same_size("add_to", "rows of C", to.shape().row, "rows of A", a_op.rows());
  detail::require_same_size("add_to", "columns of C", to.shape().col, "columns of A", a_op.cols());
  if (!detail::has_ascending_rows(ctx, csr_view<const T, I, O, S>(to)))
    throw bad_input("add_to: the rows of C must be sorted and unique: sort or merge_duplicates");
  const detail::summand<T, I, O, S> from(ctx, a_op);
  const T alpha = static_cast<T>(a_op.alpha);
  if constexpr (S == space::host)
    detail::cpu::add_to_csr<T, I, O>(ctx, alpha, from.view(), to);
  else
    detail::gpu::add_to_csr<T, I, O>(ctx, alpha, from.view(), to);
}
template <class A, class C>
  requires(detail::is_summand<A>)
void add_to(const A& a, C&& c) {
  add_to(default_context<detail::operand_t<A>::memory_space>(), a, std::forward<C>(c));
}

} // namespace lacuna
