// C = alpha op(A) op(B) in phases, into memory of the caller's.
//
//   auto info = multiply_compute(ctx, a, b, c);    counts; waits for the number
//   csr<T, I, O, S> c(ctx, info.result_shape(), info.result_nnz());
//   multiply_fill(ctx, info, a, b, c);             all of C: row pointers, columns, values
//   multiply_refill(ctx, info, a2, b2, c);         same patterns, other values: values alone
//
//   multiply(ctx, a, b, c);                        the first and the third in one
//
//   auto c = multiply_transposed_self(ctx, a);     A^T A
//
// The context is optional. C is a csr or a csc, an owner or a view; result.hpp says which sizes it
// may have. A csc is made as C^T = B^T A^T: with alpha = 1 and sorted, unique rows and columns its
// values have the bits of the csr.
//
// An info is for A and B of the patterns that were counted, wherever they are. Shapes and numbers
// of entries are compared. Patterns are too, by a stamp (one pass over columns and row pointers),
// on a device and where an operand is transposed; elsewhere an entry of A B that C has no place for
// is found as it is made. Both throw bad_input.
//
// Names of the C++ Sparse BLAS for the same: multiply_symbolic_compute (multiply_compute),
// multiply_symbolic_fill (columns and row pointers; no value is read, those of C are 1),
// multiply_numeric (multiply_refill).
#pragma once

#include <lacuna/op/copy.hpp>
#include <lacuna/op/result.hpp>
#include <lacuna/op/spgemm.hpp>

namespace lacuna {

namespace detail {

LACUNA_EXPORT std::string explain_product(std::int64_t entries, bool by_columns, bool a_turned,
                                          bool b_turned, std::size_t bytes);
/// bad_input: "multiply_refill: A has as many entries as the matrix that was counted, but
/// elsewhere".
[[noreturn]] LACUNA_EXPORT void throw_other_pattern(const char* op, const char* name);

/// What is known of an operand.
template <class I, class O, space S> struct kept_factor {
  const char* name = "A";
  index<std::int64_t> shape{}; ///< of op(A)
  std::int64_t nnz = 0;
  std::uint64_t stamp = 0;
  /// Null: A's own rows are read.
  std::shared_ptr<const transposed_pattern<I, O, S>> pattern_of_transpose;

  kept_factor() = default;
  template <class T>
  kept_factor(const context<S>& ctx, const char* its_name, const matrix_operand<T, I, O, S>& op)
      : name(its_name), shape{op.rows(), op.cols()}, nnz(op.a.size()) {
    if (op.transposed)
      pattern_of_transpose =
          std::make_shared<transposed_pattern<I, O, S>>(keep_transposed(ctx, op.a));
  }
  [[nodiscard]] std::size_t bytes() const {
    return pattern_of_transpose ? pattern_of_transpose->bytes() : 0;
  }

  /// Sizes and direction; where entries are is the stamp's matter.
  template <class T> void require(const char* op, const matrix_operand<T, I, O, S>& a) const {
    const auto same = [&](const char* what, std::int64_t given, std::int64_t counted) {
      if (given != counted)
        throw_size_mismatch(op, std::string(what) + " of " + name, given,
                            std::string(what) + " as counted", counted);
    };
    same("rows", a.rows(), shape.row);
    same("columns", a.cols(), shape.col);
    same("entries", a.a.size(), nnz);
    if (a.transposed != (pattern_of_transpose != nullptr))
      throw_other_direction(op, name, a.transposed);
  }
};

/// An operand's rows as the engines read them, with the values that it has now.
template <class T, class I, class O, space S> class factor {
public:
  factor(const context<S>& ctx, const kept_factor<I, O, S>& kept,
         const matrix_operand<T, I, O, S>& op)
      : a_(op.a) {
    if (kept.pattern_of_transpose == nullptr) return;
    own_ = regathered<T, I, O, S>(ctx, *kept.pattern_of_transpose, op.a.values().data());
    a_ = own_.a;
  }
  factor(const factor&) = delete;
  factor& operator=(const factor&) = delete;
  [[nodiscard]] csr_view<const T, I, O, S> view() const { return a_; }

private:
  regathered<T, I, O, S> own_;
  csr_view<const T, I, O, S> a_;
};

/// What multiply_compute keeps. For a csc `left` is B^T and `right` A^T.
template <class I, class O, class OC, space S> struct product_inspection : inspection {
  bool by_columns = false;
  kept_factor<I, O, S> left, right;
  array<OC, S> rowptr; ///< of C, or of C^T
  std::int64_t nnz = 0;
  std::shared_ptr<const kept_analysis> analysis; ///< on a device

  [[nodiscard]] std::string explain() const override {
    const bool l = left.pattern_of_transpose != nullptr, r = right.pattern_of_transpose != nullptr;
    return explain_product(nnz, by_columns, by_columns ? r : l, by_columns ? l : r, bytes());
  }
  [[nodiscard]] std::size_t bytes() const override {
    return left.bytes() + right.bytes() + rowptr.bytes() + (analysis ? analysis->bytes() : 0);
  }
};

/// Whose patterns an engine would not find to have changed.
template <class T, class I, class O, space S>
pattern_arrays<I, O, S> arrays_to_stamp(const matrix_operand<T, I, O, S>& op) {
  if (S == space::host && !op.transposed) return {};
  return arrays_of(op.a);
}
template <class T, class I, class O, space S>
stamp_pair stamps_of(const context<S>& ctx, const matrix_operand<T, I, O, S>& left,
                     const matrix_operand<T, I, O, S>& right) {
  return stamp_patterns(ctx, arrays_to_stamp(left), arrays_to_stamp(right));
}

template <class T, class I, class O, space S>
matrix_operand<T, I, O, S> exchanged_operand(matrix_operand<T, I, O, S> op) {
  op.transposed = !op.transposed;
  return op;
}

/// C = left right by rows, from factors that are kept already.
template <class OC, class T, class I, class O, space S>
std::shared_ptr<product_inspection<I, O, OC, S>>
count_kept(const context<S>& ctx, kept_factor<I, O, S> left, const matrix_operand<T, I, O, S>& l,
           kept_factor<I, O, S> right, const matrix_operand<T, I, O, S>& r) {
  auto result = std::make_shared<product_inspection<I, O, OC, S>>();
  std::tie(left.stamp, right.stamp) = stamps_of(ctx, l, r);
  const factor<T, I, O, S> x(ctx, left, l), y(ctx, right, r);
  result->rowptr = array<OC, S>(ctx, l.rows() + 1);
  if constexpr (S == space::host)
    result->nnz =
        detail::cpu::count_spgemm<T, I, O, OC>(ctx, x.view(), y.view(), result->rowptr.view());
  else
    result->nnz = detail::gpu::count_spgemm<T, I, O, OC>(ctx, x.view(), y.view(),
                                                         result->rowptr.view(), result->analysis);
  result->left = std::move(left);
  result->right = std::move(right);
  return result;
}

template <class OC, bool by_columns, class T, class I, class O, space S>
operation_info_t compute_product(const context<S>& ctx, const matrix_operand<T, I, O, S>& a,
                                 const matrix_operand<T, I, O, S>& b) {
  require_same_size("multiply_compute", "columns of A", a.cols(), "rows of B", b.rows());
  using kept = kept_factor<I, O, S>;
  std::shared_ptr<product_inspection<I, O, OC, S>> product;
  if constexpr (by_columns) {
    const auto l = exchanged_operand(b), r = exchanged_operand(a);
    product = count_kept<OC>(ctx, kept(ctx, "B", l), l, kept(ctx, "A", r), r);
  } else {
    product = count_kept<OC>(ctx, kept(ctx, "A", a), a, kept(ctx, "B", b), b);
  }
  product->by_columns = by_columns;
  const std::int64_t nnz = product->nnz;
  return operation_info_t(std::move(product), {a.rows(), b.cols()}, nnz);
}

/// What of C is written.
enum class product_part {
  all,     ///< row pointers, columns, values
  pattern, ///< the same, but no value is read: those of C are 1
  values   ///< values, where the rest is there
};

/// C's arrays (those of C^T for a csc) as the info has them. Row pointers are the info's until all
/// else is written: an exception leaves those of C as they were, and none is believed.
template <class T, class I, class O, class OC, space S>
void make_product(const context<S>& ctx, const char* op,
                  const product_inspection<I, O, OC, S>& product,
                  const matrix_operand<T, I, O, S>& left, const matrix_operand<T, I, O, S>& right,
                  csr_view<T, I, OC, S> to, product_part part) {
  const auto [left_stamp, right_stamp] = stamps_of(ctx, left, right);
  if (left_stamp != product.left.stamp) throw_other_pattern(op, product.left.name);
  if (right_stamp != product.right.stamp) throw_other_pattern(op, product.right.name);
  const factor<T, I, O, S> x(ctx, product.left, left), y(ctx, product.right, right);
  const T alpha = static_cast<T>(left.alpha * right.alpha);
  const csr_view<T, I, OC, S> c(to.values().data(), const_cast<OC*>(product.rowptr.data()),
                                to.colind().data(), to.shape(), to.size());
  if (part == product_part::values) {
    if constexpr (S == space::host)
      detail::cpu::refill_spgemm<T, I, O, OC>(ctx, alpha, x.view(), y.view(), c);
    else
      detail::gpu::refill_spgemm<T, I, O, OC>(ctx, *product.analysis, alpha, x.view(), y.view(), c);
    return;
  }
  const bool pattern = part == product_part::pattern;
  if constexpr (S == space::host)
    detail::cpu::fill_spgemm<T, I, O, OC>(ctx, alpha, x.view(), y.view(), c, pattern);
  else
    detail::gpu::fill_spgemm<T, I, O, OC>(ctx, *product.analysis, alpha, x.view(), y.view(), c,
                                          pattern);
  if (to.rowptr().data() != nullptr)
    copy_bytes(ctx, to.rowptr().data(), product.rowptr.data(), product.rowptr.bytes(), S);
}

template <space S, class T, class I, class O, class C>
void fill_product(const context<S>& ctx, const char* op, const operation_info_t& info,
                  const matrix_operand<T, I, O, S>& a, const matrix_operand<T, I, O, S>& b, C&& c,
                  product_part part) {
  using View = std::remove_cv_t<decltype(compressed_rows(mutable_view(std::forward<C>(c))))>;
  using OC = typename View::offset_type;
  require_same_space<S, View>();
  static_assert(std::is_same_v<View, csr_view<T, I, OC, S>>,
                "lacuna: C must have the values and indices that A and B have");
  require_same_size(op, "columns of A", a.cols(), "rows of B", b.rows());
  const auto* product = found_in<product_inspection<I, O, OC, S>>(info, op);
  constexpr bool by_columns = is_by_columns<std::remove_cvref_t<C>>;
  if (product == nullptr || product->by_columns != by_columns) throw_other_info(op);
  const auto l = by_columns ? exchanged_operand(b) : a, r = by_columns ? exchanged_operand(a) : b;
  product->left.require(op, l);
  product->right.require(op, r);
  const auto to = result_arrays(op, "C", std::forward<C>(c), info.result_shape(), product->nnz);
  make_product(ctx, op, *product, l, r, to, part);
  if (part != product_part::values) state_result(std::forward<C>(c), product->nnz, {true, true});
}

/// The offsets of C: its own, or where there is none yet, A's.
template <class A, class C> struct offset_of { using type = typename C::offset_type; };
template <class A> struct offset_of<A, void> { using type = typename operand_t<A>::offset_type; };

/// C: a type like its, or void.
template <class C, space S, class A, class B>
operation_info_t compute_for(const context<S>& ctx, const A& a, const B& b) {
  const csr_rows_of a_rows(ctx, operand(a));
  const csr_rows_of b_rows(ctx, operand(b));
  const auto a_op = a_rows.operand();
  const auto b_op = b_rows.operand();
  require_like_factors<S, decltype(a_op), decltype(b_op)>();
  using OC = typename offset_of<A, C>::type;
  static_assert(sizeof(OC) >= sizeof(typename decltype(a_op)::offset_type),
                "lacuna: C's offsets are narrower than those of A and B");
  return compute_product<OC, is_by_columns<C>>(ctx, a_op, b_op);
}

} // namespace detail

/// A product of sparse matrices has nothing to be looked at before it is counted: the info tells
/// C's shape, and multiply_compute takes it.
template <space S, class A, class B, class C>
  requires(detail::are_sparse<A, B>)
operation_info_t multiply_inspect(const context<S>&, const A& a, const B& b, const C&) {
  const auto a_op = detail::operand(a);
  const auto b_op = detail::operand(b);
  detail::require_like_factors<S, decltype(a_op), decltype(b_op)>();
  detail::require_same_size("multiply_inspect", "columns of A", a_op.cols(), "rows of B",
                            b_op.rows());
  return operation_info_t(nullptr, {a_op.rows(), b_op.cols()});
}
template <class A, class B, class C>
  requires(detail::are_sparse<A, B>)
operation_info_t multiply_inspect(const A& a, const B& b, const C& c) {
  return multiply_inspect(detail::default_context_of<A>(), a, b, c);
}

/// Counts C's entries; values are not read. Throws as multiply does. `c`, a matrix or view of any
/// size, tells whether C will be a csr or a csc and the width of its offsets; without it C is a csr
/// with A's. Keeps where C's rows begin; on a device what the analysis found, 12 to 24 bytes per
/// row; for a transposed operand (with a csc: one that is not) its transposed pattern.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
operation_info_t multiply_compute(const context<S>& ctx, const A& a, const B& b) {
  return detail::compute_for<void>(ctx, a, b);
}
template <space S, class A, class B, class C>
  requires(detail::are_sparse<A, B>&& detail::is_compressed<C>)
operation_info_t multiply_compute(const context<S>& ctx, const A& a, const B& b, const C&) {
  return detail::compute_for<C>(ctx, a, b);
}
template <space S, class A, class B, class C>
  requires(detail::are_sparse<A, B>&& detail::is_compressed<C>)
void multiply_compute(const context<S>& ctx, operation_info_t& info, const A& a, const B& b,
                      const C& c) {
  info = multiply_compute(ctx, a, b, c);
}
template <class A, class B>
  requires(detail::are_sparse<A, B>)
operation_info_t multiply_compute(const A& a, const B& b) {
  return multiply_compute(detail::default_context_of<A>(), a, b);
}
template <class A, class B, class C>
  requires(detail::are_sparse<A, B>&& detail::is_compressed<C>)
operation_info_t multiply_compute(const A& a, const B& b, const C& c) {
  return multiply_compute(detail::default_context_of<A>(), a, b, c);
}
template <class A, class B, class C>
  requires(detail::are_sparse<A, B>&& detail::is_compressed<C>)
void multiply_compute(operation_info_t& info, const A& a, const B& b, const C& c) {
  info = multiply_compute(a, b, c);
}

/// All of C, which shares no memory with A or B. Throws size_mismatch if C, A or B have not the
/// sizes that were counted for, bad_input (error) if A or B have other patterns: C's entries are
/// unspecified then. After out_of_memory C is as it was.
template <space S, class A, class B, class C>
  requires(detail::are_sparse<A, B>)
void multiply_fill(const context<S>& ctx, const operation_info_t& info, const A& a, const B& b,
                   C&& c) {
  const detail::csr_rows_of left(ctx, detail::operand(a));
  const detail::csr_rows_of right(ctx, detail::operand(b));
  detail::fill_product(ctx, "multiply_fill", info, left.operand(), right.operand(),
                       std::forward<C>(c), detail::product_part::all);
}
template <class A, class B, class C>
  requires(detail::are_sparse<A, B>)
void multiply_fill(const operation_info_t& info, const A& a, const B& b, C&& c) {
  multiply_fill(detail::default_context_of<A>(), info, a, b, std::forward<C>(c));
}

/// Values of C alone, whose pattern is as multiply_fill left it, with the bits that multiply_fill
/// would give. A device analyses nothing again; its first refill keeps the places of products in
/// the info, at most as many bytes as C takes, which makes later ones faster. Throws as
/// multiply_fill does.
template <space S, class A, class B, class C>
  requires(detail::are_sparse<A, B>)
void multiply_refill(const context<S>& ctx, const operation_info_t& info, const A& a, const B& b,
                     C&& c) {
  const detail::csr_rows_of left(ctx, detail::operand(a));
  const detail::csr_rows_of right(ctx, detail::operand(b));
  detail::fill_product(ctx, "multiply_refill", info, left.operand(), right.operand(),
                       std::forward<C>(c), detail::product_part::values);
}
template <class A, class B, class C>
  requires(detail::are_sparse<A, B>)
void multiply_refill(const operation_info_t& info, const A& a, const B& b, C&& c) {
  multiply_refill(detail::default_context_of<A>(), info, a, b, std::forward<C>(c));
}

/// The phases by the names of the C++ Sparse BLAS, where patterns stay and values change.
template <space S, class A, class B, class C>
  requires(detail::are_sparse<A, B>&& detail::is_compressed<C>)
void multiply_symbolic_compute(const context<S>& ctx, operation_info_t& info, const A& a,
                               const B& b, const C& c) {
  info = multiply_compute(ctx, a, b, c);
}
template <class A, class B, class C>
  requires(detail::are_sparse<A, B>&& detail::is_compressed<C>)
void multiply_symbolic_compute(operation_info_t& info, const A& a, const B& b, const C& c) {
  info = multiply_compute(a, b, c);
}
template <space S, class A, class B, class C>
  requires(detail::are_sparse<A, B>)
void multiply_symbolic_fill(const context<S>& ctx, const operation_info_t& info, const A& a,
                            const B& b, C&& c) {
  const detail::csr_rows_of left(ctx, detail::operand(a));
  const detail::csr_rows_of right(ctx, detail::operand(b));
  detail::fill_product(ctx, "multiply_symbolic_fill", info, left.operand(), right.operand(),
                       std::forward<C>(c), detail::product_part::pattern);
}
template <class A, class B, class C>
  requires(detail::are_sparse<A, B>)
void multiply_symbolic_fill(const operation_info_t& info, const A& a, const B& b, C&& c) {
  multiply_symbolic_fill(detail::default_context_of<A>(), info, a, b, std::forward<C>(c));
}
template <space S, class A, class B, class C>
  requires(detail::are_sparse<A, B>)
void multiply_numeric(const context<S>& ctx, const operation_info_t& info, const A& a, const B& b,
                      C&& c) {
  multiply_refill(ctx, info, a, b, std::forward<C>(c));
}
template <class A, class B, class C>
  requires(detail::are_sparse<A, B>)
void multiply_numeric(const operation_info_t& info, const A& a, const B& b, C&& c) {
  multiply_refill(info, a, b, std::forward<C>(c));
}

/// Into C: an owner becomes the product, whatever it was; a view must have room, or size_mismatch
/// says how many entries there are. Counts, then fills: multiply(ctx, a, b) is up to twice as fast
/// and takes twice C's memory meanwhile.
template <space S, class A, class B, class C>
  requires(detail::are_sparse<A, B>&& detail::is_result<C>)
void multiply(const context<S>& ctx, const A& a, const B& b, C&& c) {
  using result = std::remove_cvref_t<C>;
  const auto info = multiply_compute(ctx, a, b, c);
  if constexpr (detail::is_owner<C>) {
    const index<typename result::index_type> shape{
        static_cast<typename result::index_type>(info.result_shape().row),
        static_cast<typename result::index_type>(info.result_shape().col)};
    result made(ctx, shape, static_cast<typename result::offset_type>(info.result_nnz()));
    multiply_fill(ctx, info, a, b, made);
    c = std::move(made);
  } else {
    multiply_fill(ctx, info, a, b, std::forward<C>(c));
  }
}
template <class A, class B, class C>
  requires(detail::are_sparse<A, B>&& detail::is_result<C>)
void multiply(const A& a, const B& b, C&& c) {
  multiply(detail::default_context_of<A>(), a, b, std::forward<C>(c));
}

/// What a product would take, without doing it: reads B's row pointers once for each entry of A.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
spgemm_estimate estimate(const context<S>& ctx, const A& a, const B& b) {
  const detail::csr_rows_of a_rows(ctx, detail::operand(a));
  const detail::csr_rows_of b_rows(ctx, detail::operand(b));
  const auto a_op = a_rows.operand();
  const auto b_op = b_rows.operand();
  using T = typename decltype(a_op)::scalar_type;
  using I = typename decltype(a_op)::index_type;
  using O = typename decltype(a_op)::offset_type;
  detail::require_like_factors<S, decltype(a_op), decltype(b_op)>();
  detail::require_same_size("multiply", "columns of A", a_op.cols(), "rows of B", b_op.rows());
  const detail::sparse_factor<T, I, O, S> left(ctx, a_op), right(ctx, b_op);
  if constexpr (S == space::host)
    return detail::cpu::estimate_spgemm<T, I, O>(ctx, left.a, right.a);
  else
    return detail::gpu::estimate_spgemm<T, I, O>(ctx, left.a, right.a);
}
template <class A, class B>
  requires(detail::are_sparse<A, B>)
spgemm_estimate estimate(const A& a, const B& b) {
  return estimate(detail::default_context_of<A>(), a, b);
}

/// A^T A, for a csr or csc or an operand. A transposed copy of A is made meanwhile.
template <space S, class A>
  requires(detail::is_matrix_operand<A>)
auto multiply_transposed_self(const context<S>& ctx, const A& a,
                              const spgemm_options& options = {}) {
  return multiply(ctx, transposed(a), a, options);
}
template <class A>
  requires(detail::is_matrix_operand<A>)
auto multiply_transposed_self(const A& a, const spgemm_options& options = {}) {
  return multiply_transposed_self(detail::default_context_of<A>(), a, options);
}

} // namespace lacuna
