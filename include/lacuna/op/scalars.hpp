// Numbers that stay where the vectors are, and vector operations that read their factors from them
// and leave their sums in them: what an iteration of a solver is made of, without a wait.
//
//   scalars<S> s(ctx, 4);                                 slots 0 .. 3
//   dots(ctx, s, {{x, y, 0}, {x, x, 1}}, {step::divide(2, 0, 1)});    s[0] = x.y, s[1] = x.x, s[2]
//   = s0/s1 combine(ctx, s, {y, {{y}, {x, times_minus(2)}}});           y = y - s[2] x
//
// Vectors are columns: dense views, column-major, all of the same shape; each column has slots of
// its own. Sums are accumulated in double in an order that depends on the length alone; on a device
// by one launch, whose last block adds up what the blocks found and then runs the program. Nothing
// waits, nothing allocates: everything here can be captured in a CUDA graph.
//
// Iterations end by themselves: a program may stop its column (`stop_test`, `halt_…`), and whatever
// is queued for a stopped column changes nothing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <lacuna/core/array.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/format/dense.hpp>

namespace lacuna {

/// Why a column stopped; 0 while it runs. solver/report.hpp gives them names.
enum class stop_reason : int {
  none = 0,
  converged,
  iteration_limit,
  time_limit,
  stagnation,
  breakdown_rho,   ///< the residual became orthogonal to what it is compared with
  breakdown_omega, ///< BiCGStab's second factor vanished
  breakdown_pivot, ///< a direction has no length in the matrix's product: p.Ap = 0
  indefinite,      ///< p.Ap < 0 or r.Mr < 0 where the method wants both positive
  nan,             ///< a NaN or Inf appeared
  cancelled,
  precision_limit ///< rounding of A x alone is more than the residual was to be
};

/// One step of a scalar program: slots by number.
struct scalar_step {
  enum class kind : std::uint8_t {
    copy,
    negate,
    add,
    subtract,
    multiply,
    divide,      // 0 / 0 is 0: what vanished stays so
    square_root, // of a negative number: that number, for a test to find
    larger,
    power_of_two,
    begin,
    stop_test,
    halt_unless_positive,
    end_unless_positive,
    halt_if_zero
  };
  kind what = kind::copy;
  std::int8_t to = 0, left = 0, right = 0;
};

/// What a program is written in.
namespace step {
constexpr scalar_step make(scalar_step::kind k, int to, int left = 0, int right = 0) {
  return {k, static_cast<std::int8_t>(to), static_cast<std::int8_t>(left),
          static_cast<std::int8_t>(right)};
}
constexpr scalar_step copy(int to, int from) { return make(scalar_step::kind::copy, to, from); }
constexpr scalar_step negate(int to, int of) { return make(scalar_step::kind::negate, to, of); }
constexpr scalar_step add(int to, int left, int right) {
  return make(scalar_step::kind::add, to, left, right);
}
constexpr scalar_step subtract(int to, int left, int right) {
  return make(scalar_step::kind::subtract, to, left, right);
}
constexpr scalar_step multiply(int to, int left, int right) {
  return make(scalar_step::kind::multiply, to, left, right);
}
constexpr scalar_step divide(int to, int left, int right) {
  return make(scalar_step::kind::divide, to, left, right);
}
constexpr scalar_step square_root(int to, int of) {
  return make(scalar_step::kind::square_root, to, of);
}
constexpr scalar_step larger(int to, int left, int right) {
  return make(scalar_step::kind::larger, to, left, right);
}
/// 2^exponent; -128 to 127.
constexpr scalar_step power_of_two(int to, int exponent) {
  return make(scalar_step::kind::power_of_two, to, 0, exponent);
}
/// The first step of an iteration's first sum: a column that was to end with the iteration before
/// is done now.
constexpr scalar_step begin_iteration() { return make(scalar_step::kind::begin, 0); }
/// Counts the iteration, keeps the residual's norm in the history, and lets the column end with
/// this iteration if the norm says so.
constexpr scalar_step stop_test(int norm) { return make(scalar_step::kind::stop_test, 0, norm); }
/// Done at once unless the slot is above 0: for `reason` if it is below, for `if_zero` if it is 0
/// (none: 0 will do), nan if it is not finite.
constexpr scalar_step halt_unless_positive(int of, stop_reason reason, stop_reason if_zero) {
  return make(scalar_step::kind::halt_unless_positive, static_cast<int>(if_zero), of,
              static_cast<int>(reason));
}
/// The same, but this iteration is finished first.
constexpr scalar_step end_unless_positive(int of, stop_reason reason) {
  return make(scalar_step::kind::end_unless_positive, 0, of, static_cast<int>(reason));
}
/// Done at once if the slot is 0, or not finite (nan).
constexpr scalar_step halt_if_zero(int of, stop_reason reason) {
  return make(scalar_step::kind::halt_if_zero, 0, of, static_cast<int>(reason));
}
} // namespace step

/// What is done with the sums of one operation: at most 48 steps, in order.
struct scalar_program {
  static constexpr int most = 48;
  constexpr scalar_program() = default;
  constexpr scalar_program(std::initializer_list<scalar_step> list) {
    if (list.size() > most) throw bad_input("scalar_program: more than 48 steps");
    for (const scalar_step& s : list) steps[count++] = s;
  }
  scalar_step steps[most] = {};
  int count = 0;
};

/// Slots that every column of a solver has before its own: the stopping rule's.
namespace rule_slot {
enum : int {
  phase,     ///< 0 runs, 1 ends with this iteration, 2 is done
  reason,    ///< a stop_reason
  iteration, ///< counted by stop_test
  norm,      ///< the last one tested
  target,    ///< a norm of at most this is convergence
  best,      ///< the least norm so far
  since,     ///< iterations since that was 1 % less than before
  limit,     ///< iterations at most
  window,    ///< iterations without improvement at most
  first_free
};
}

namespace detail {
/// Pointers, for kernels. Slot s of column j is slots[j * per_column + s].
struct scalar_block {
  static constexpr int most_slots = 48;
  static constexpr std::int64_t most_blocks = 1024; ///< of a column's sums
  static constexpr int most_sums = 4;
  static constexpr int ring = 64;           ///< residuals that a mirror holds
  static constexpr int mirrored = 3 + ring; ///< phase, reason, iteration, residuals by iteration
  double* slots = nullptr;
  double* partials = nullptr; ///< most_sums * most_blocks for each column
  unsigned* tickets = nullptr;
  double* history = nullptr; ///< of a column: `capacity` norms
  std::int64_t capacity = 0;
  double* mirror = nullptr; ///< memory that the host reads meanwhile
  std::int64_t columns = 0;
  int per_column = 0;
  bool may_stop = false; ///< columns have the slots of rule_slot
};

/// Column j of a matrix is at data + j * ld.
template <class T> struct column_pointer {
  T* data = nullptr;
  std::int64_t ld = 0;
};
constexpr int most_terms = 4;
/// Both outputs of combine and what they read.
template <class T> struct combine_arguments {
  std::int64_t rows = 0;
  column_pointer<T> out[2];
  column_pointer<const T> in[2][most_terms];
  double constant[2][most_terms] = {};
  int slot[2][most_terms] = {}; ///< -1: the constant alone
  int terms[2] = {0, 0};
  column_pointer<const T> with; ///< second sum: the last output times this; null: none
  int sums = 0, sum_slot[2] = {0, 0};
};
template <class T> struct dots_arguments {
  std::int64_t rows = 0;
  column_pointer<const T> left[scalar_block::most_sums], right[scalar_block::most_sums];
  int slot[scalar_block::most_sums] = {};
  int count = 0;
};
/// h[k] = V[:, k] . w, and ww = w . w where asked for; or w -= V h, and then w . w.
template <class T> struct basis_arguments {
  std::int64_t rows = 0, ld = 0;
  const T* v = nullptr;
  int vectors = 0;
  T* w = nullptr;
  double* h = nullptr;
  double* h_seen = nullptr; ///< the same for the host; may be null
  double factor = -1;       ///< of V h
};
} // namespace detail

namespace detail::cpu {
template <class T>
LACUNA_EXPORT void dots(const host_context& ctx, const scalar_block& s, const dots_arguments<T>& a,
                        const scalar_program& then);
template <class T>
LACUNA_EXPORT void combine(const host_context& ctx, const scalar_block& s,
                           const combine_arguments<T>& a, const scalar_program& then);
template <class T>
LACUNA_EXPORT void project(const host_context& ctx, const basis_arguments<T>& a,
                           const scalar_block& s);
template <class T>
LACUNA_EXPORT void expand(const host_context& ctx, const basis_arguments<T>& a,
                          const scalar_block& s);
LACUNA_EXPORT void run_scalars(const host_context& ctx, const scalar_block& s,
                               const scalar_program& program);
} // namespace detail::cpu
namespace detail::gpu {
template <class T>
LACUNA_GPU_EXPORT void dots(const device_context& ctx, const scalar_block& s,
                            const dots_arguments<T>& a, const scalar_program& then);
template <class T>
LACUNA_GPU_EXPORT void combine(const device_context& ctx, const scalar_block& s,
                               const combine_arguments<T>& a, const scalar_program& then);
template <class T>
LACUNA_GPU_EXPORT void project(const device_context& ctx, const basis_arguments<T>& a,
                               const scalar_block& s);
template <class T>
LACUNA_GPU_EXPORT void expand(const device_context& ctx, const basis_arguments<T>& a,
                              const scalar_block& s);
LACUNA_GPU_EXPORT void run_scalars(const device_context& ctx, const scalar_block& s,
                                   const scalar_program& program);
} // namespace detail::gpu

/// Owner of `slots` numbers for each of `columns` columns, and of what sums need. New slots are 0.
template <space S> class scalars {
public:
  /// history: norms kept per column; 0: no stopping rule. mirror: see scalar_block; may be null.
  scalars(const context<S>& ctx, int slots, std::int64_t columns = 1, std::int64_t history = 0,
          double* mirror = nullptr);
  [[nodiscard]] detail::scalar_block block() const { return block_; }
  vector_view<double, S> view() { return slots_.view(); }
  vector_view<const double, S> view() const { return slots_.view(); }
  vector_view<const double, S> history() const { return history_.view(); }
  /// One slot of one column, from and to the host. Waits on a device.
  [[nodiscard]] std::vector<double> read(const context<S>& ctx) const;
  void write(const context<S>& ctx, const std::vector<double>& values);

private:
  array<double, S> slots_, partials_, history_;
  array<unsigned, S> tickets_;
  detail::scalar_block block_;
};

/// A factor: a constant, times a slot if there is one.
struct scalar_factor {
  double constant = 1;
  int slot = -1;
};
constexpr scalar_factor times(int slot) { return {1, slot}; }
constexpr scalar_factor times_minus(int slot) { return {-1, slot}; }
template <class T, space S> struct scaled_columns {
  dense_view<const T, S> x;
  scalar_factor by = {};
};
/// out = sum of the terms, of which there are 1 to 4. `out` may be among them.
template <class T, space S> struct linear_combination {
  dense_view<T, S> out;
  std::vector<scaled_columns<T, S>> terms;
};
/// Into which slots go the last output's dot product with itself, and with a vector.
template <class T, space S> struct sums_of {
  int square = -1;
  dense_view<const T, S> with = {};
  int product = -1;
};
template <class T, space S> struct dot_product {
  dense_view<const T, S> x, y;
  int slot = 0;
};

namespace detail {
template <class T, space S>
column_pointer<T> columns_of(const char* op, dense_view<T, S> v, index<std::int64_t> shape) {
  require_same_size(op, "rows of a vector", v.shape().row, "rows of the first", shape.row);
  require_same_size(op, "columns of a vector", v.shape().col, "columns of the first", shape.col);
  if (v.row_stride() != 1 && v.shape().row > 1)
    throw bad_input(std::string(op) + ": columns are not contiguous");
  return {v.data(), v.col_stride()};
}
template <space S>
void require_columns(const char* op, const scalar_block& s, std::int64_t columns) {
  require_same_size(op, "columns", columns, "columns that have scalars", s.columns);
}
} // namespace detail

/// Up to four dot products at once.
template <class T, space S>
void dots(const context<S>& ctx, const scalars<S>& s, const std::vector<dot_product<T, S>>& list,
          const scalar_program& then = {}) {
  if (list.empty() || list.size() > detail::scalar_block::most_sums)
    throw bad_input("dots: one to four products at once");
  detail::dots_arguments<T> a;
  const auto shape = list.front().x.shape();
  detail::require_columns<S>("dots", s.block(), shape.col);
  a.rows = shape.row;
  for (const auto& d : list) {
    a.left[a.count] = detail::columns_of("dots", d.x, shape);
    a.right[a.count] = detail::columns_of("dots", d.y, shape);
    a.slot[a.count++] = d.slot;
  }
  if constexpr (S == space::host)
    detail::cpu::dots<T>(ctx, s.block(), a, then);
  else
    detail::gpu::dots<T>(ctx, s.block(), a, then);
}

/// One or two linear combinations of the same old vectors, in one pass: whatever is read is read
/// before anything is written. Sums are of the last output as it is written.
template <class T, space S>
void combine(const context<S>& ctx, const scalars<S>& s,
             const std::vector<linear_combination<T, S>>& outputs, const sums_of<T, S>& sums = {},
             const scalar_program& then = {}) {
  if (outputs.empty() || outputs.size() > 2) throw bad_input("combine: one or two outputs");
  detail::combine_arguments<T> a;
  const auto shape = outputs.front().out.shape();
  detail::require_columns<S>("combine", s.block(), shape.col);
  a.rows = shape.row;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const auto& [out, terms] = outputs[o];
    if (terms.empty() || terms.size() > detail::most_terms)
      throw bad_input("combine: one to four terms");
    a.out[o] = detail::columns_of("combine", out, shape);
    for (const auto& t : terms) {
      const int k = a.terms[o]++;
      a.in[o][k] = detail::columns_of("combine", t.x, shape);
      a.constant[o][k] = t.by.constant;
      a.slot[o][k] = t.by.slot;
    }
  }
  if (sums.square >= 0) a.sum_slot[a.sums++] = sums.square;
  if (sums.product >= 0) {
    if (sums.square < 0) throw bad_input("combine: a product of the result comes with its square");
    a.with = detail::columns_of("combine", sums.with, shape);
    a.sum_slot[a.sums++] = sums.product;
  }
  if constexpr (S == space::host)
    detail::cpu::combine<T>(ctx, s.block(), a, then);
  else
    detail::gpu::combine<T>(ctx, s.block(), a, then);
}

/// A program alone, for every column.
template <space S>
void run_scalars(const context<S>& ctx, const scalars<S>& s, const scalar_program& program) {
  if constexpr (S == space::host)
    detail::cpu::run_scalars(ctx, s.block(), program);
  else
    detail::gpu::run_scalars(ctx, s.block(), program);
}

} // namespace lacuna

#include <lacuna/op/scalars_owner.hpp>
