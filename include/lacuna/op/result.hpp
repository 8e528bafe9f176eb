// How operations write a sparse result into memory of the caller's: a csr or a csc, an owner or a
// view.
//
// An owner, and a view that is passed as a temporary, must have as many entries as the result. A
// view with a name must have room for them; it has that size, and the result's order, afterwards.
#pragma once

#include <lacuna/op/operand.hpp>

namespace lacuna::detail {

/// The CSR arrays that hold a matrix: its own, or for a csc those of its transpose.
template <class T, class I, class O, space S>
csr_view<T, I, O, S> compressed_rows(csr_view<T, I, O, S> a) {
  return a;
}
template <class T, class I, class O, space S>
csr_view<T, I, O, S> compressed_rows(csc_view<T, I, O, S> a) {
  return a.transpose();
}
template <class A> inline constexpr bool is_compressed = requires(const A& a) {
  compressed_rows(const_view(a));
};
/// Whether a matrix is stored by columns.
template <class A> inline constexpr bool is_by_columns = requires(const A& a) { a.colptr(); };

/// An owner, or a view, that a result can be written to.
template <class C> inline constexpr bool is_result = requires(C&& c) {
  compressed_rows(mutable_view(std::forward<C>(c)));
};
template <class C> inline constexpr bool is_owner = requires(C& c) { c.state(facts{}); };
template <class C>
inline constexpr bool can_grow =
    std::is_lvalue_reference_v<C> && !is_owner<C> && !std::is_const_v<std::remove_reference_t<C>>;

/// size_mismatch: "multiply_fill: C has room for 3 entries, the result has 5".
[[noreturn]] LACUNA_EXPORT void throw_no_room(const char* op, const char* name, std::int64_t room,
                                              std::int64_t needed);
/// bad_input: C is a view without row (column) pointers.
[[noreturn]] LACUNA_EXPORT void throw_no_pointers(const char* op, const char* name);

/// The arrays of C, or of C^T for a csc, as a CSR of `nnz` entries. Throws size_mismatch if C has
/// another shape or no room.
template <class C>
auto result_arrays(const char* op, const char* name, C&& c, index<std::int64_t> shape,
                   std::int64_t nnz) {
  const auto view = compressed_rows(mutable_view(std::forward<C>(c)));
  using V = std::remove_cv_t<decltype(view)>;
  const index<std::int64_t> given{c.shape().row, c.shape().col};
  const auto require = [&](const char* what, std::int64_t present, std::int64_t wanted) {
    if (present != wanted)
      throw_size_mismatch(op, std::string(what) + " of " + name, present,
                          std::string(what) + " of the result", wanted);
  };
  require("rows", given.row, shape.row);
  require("columns", given.col, shape.col);
  if constexpr (can_grow<C>) {
    if (view.capacity() < nnz) throw_no_room(op, name, view.capacity(), nnz);
  } else {
    require("entries", view.size(), nnz);
  }
  if (view.rowptr().data() == nullptr && (view.shape().row > 0 || nnz > 0))
    throw_no_pointers(op, name);
  using O = typename V::offset_type;
  return V(view.values().data(), view.rowptr().data(), view.colind().data(), view.shape(),
           static_cast<O>(nnz));
}

/// C has `nnz` entries in this order now.
template <class C> void state_result(C&& c, std::int64_t nnz, facts order) {
  if constexpr (is_owner<C>) {
    c.state(order);
  } else if constexpr (can_grow<C>) {
    const auto rows = compressed_rows(c);
    if (rows.rowptr().empty()) return; // no rows, no arrays
    c.update({rows.values().data(), rows.capacity()}, rows.rowptr(),
             {rows.colind().data(), rows.capacity()}, c.shape(), nnz, order);
  }
}

} // namespace lacuna::detail
