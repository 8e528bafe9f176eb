// A CSR matrix from entries in any order: where a program's own data becomes a matrix.
//
//   auto a = from_triplets({3, 3}, rows, cols, values);             three ranges of one length
//   auto a = from_triplets(ctx, {3, 3}, rows, cols, values, duplicates::last);
//
//   struct entry { int row, col; double value; };                   or std::tuple, or any type with
//   std::vector<entry> list = …;                                    row, col and value
//   auto a = from_triplets({3, 3}, list);
//
// Every index is checked: bad_input names the first entry that lies outside of the shape. Rows of
// the result are sorted, each coordinate is there once. On a device: ranges of the host's are
// copied, device vectors are used where they are; it waits. O(nnz log nnz) at most.
#pragma once

#include <lacuna/op/convert.hpp>

namespace lacuna {

namespace detail {

template <class R>
concept index_range = requires(const R& r) {
  requires std::integral<std::remove_cvref_t<decltype(*const_view(r).data())>>;
};

/// Indices as the engines read them, in ctx's space: the caller's array, or a converted copy.
template <class I, space S> class index_operand {
public:
  template <class R> index_operand(const context<S>& ctx, const R& range, const char* what) {
    const auto view = const_view(range);
    using J = typename decltype(view)::scalar_type;
    if constexpr (std::is_same_v<index_like<J>, I> && decltype(view)::memory_space == S) {
      view_ = {index_pointer<const I>(view.data()), view.size()};
    } else {
      static_assert(
          decltype(view)::memory_space == space::host,
          "lacuna: index arrays on a device are int32_t or int64_t, rows and columns alike");
      const host_context host;
      array<I> converted(host, view.size());
      for (std::int64_t k = 0; k < view.size(); ++k) converted[k] = integer<I>(view[k], what);
      own_ = into(ctx, std::move(converted));
      view_ = std::as_const(own_).view();
    }
  }
  [[nodiscard]] vector_view<const I, S> view() const { return view_; }

private:
  static array<I> into(const host_context&, array<I> a) { return a; }
  static array<I, space::device> into(const device_context& ctx, const array<I>& a) {
    return copy_to(ctx, a);
  }
  array<I, S> own_;
  vector_view<const I, S> view_;
};

template <class T, class I, class O, space S>
csr<T, I, O, S> csr_from_coo(const context<S>& ctx, coo_view<const T, I, O, S> entries,
                             duplicates rule) {
  auto a = to_csr(ctx, entries);
  sort(ctx, a);
  return merge_duplicates(ctx, a, rule);
}

/// Row, column and value of what a range of entries holds.
template <class E> auto row_of(const E& e) {
  if constexpr (requires { e.row; })
    return e.row;
  else
    return std::get<0>(e);
}
template <class E> auto column_of(const E& e) {
  if constexpr (requires { e.col; })
    return e.col;
  else
    return std::get<1>(e);
}
template <class E> auto value_of(const E& e) {
  if constexpr (requires { e.value; })
    return e.value;
  else
    return std::get<2>(e);
}

} // namespace detail

/// Value type: that of `values`. I and O: 32 bits unless named, from_triplets<int64_t>(…).
template <class I = index_t, class O = I, space S, detail::index_range R, detail::index_range C,
          class V>
auto from_triplets(const context<S>& ctx, index<I> shape, const R& rows, const C& cols,
                   const V& values, duplicates rule = duplicates::sum) {
  const auto given = detail::const_view(values);
  using T = typename decltype(given)::scalar_type;
  static_assert(detail::is_value<T>, "lacuna: values are float or double");
  const detail::index_operand<I, S> row(ctx, rows, "a row"), col(ctx, cols, "a column");
  detail::require_same_size("from_triplets", "rows", row.view().size(), "values", given.size());
  detail::require_same_size("from_triplets", "columns", col.view().size(), "values", given.size());
  array<T, S> copied;
  const T* data = given.data();
  if constexpr (decltype(given)::memory_space != S) {
    copied = copy_to(ctx, given);
    data = copied.data();
  }
  return detail::csr_from_coo(
      ctx,
      coo_view<const T, I, O, S>(data, row.view().data(), col.view().data(), shape, given.size()),
      rule);
}
template <class I = index_t, class O = I, detail::index_range R, detail::index_range C, class V>
auto from_triplets(index<I> shape, const R& rows, const C& cols, const V& values,
                   duplicates rule = duplicates::sum) {
  return from_triplets<I, O>(default_context<decltype(detail::const_view(values))::memory_space>(),
                             shape, rows, cols, values, rule);
}

/// From a host range of {row, col, value}.
template <class I = index_t, class O = I, space S, std::ranges::input_range E>
auto from_triplets(const context<S>& ctx, index<I> shape, const E& entries,
                   duplicates rule = duplicates::sum) {
  using T = std::remove_cvref_t<decltype(detail::value_of(*std::ranges::begin(entries)))>;
  static_assert(detail::is_value<T>, "lacuna: values are float or double");
  const host_context host;
  const auto size = static_cast<std::int64_t>(std::ranges::distance(entries));
  array<I> rows(host, size), cols(host, size);
  array<T> values(host, size);
  std::int64_t k = 0;
  for (const auto& e : entries) {
    rows[k] = detail::integer<I>(detail::row_of(e), "a row");
    cols[k] = detail::integer<I>(detail::column_of(e), "a column");
    values[k++] = detail::value_of(e);
  }
  return from_triplets<I, O>(ctx, shape, rows, cols, values, rule);
}
template <class I = index_t, class O = I, std::ranges::input_range E>
auto from_triplets(index<I> shape, const E& entries, duplicates rule = duplicates::sum) {
  return from_triplets<I, O>(default_context<space::host>(), shape, entries, rule);
}

} // namespace lacuna
