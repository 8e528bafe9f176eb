// Changes to dynamic matrices: from the public calls to dynamic_access.
#include <lacuna/op/update.hpp>

#include "op/dynamic_access.hpp"
#include "op/replace_rows.hpp"

namespace lacuna {
namespace detail {

template <class T, class I, class O, space S>
dynamic_csr<T, I, O, S> make_dynamic(const context<S>& ctx, index<I> shape,
                                     const csr_view<const T, I, O, S>* a,
                                     const dynamic_csr_options& options) {
  return dynamic_access<T, I, O, S>::make(ctx, shape, a, options);
}
template <class T, class I, class O, space S>
dynamic_csr<T, I, O, S> take_dynamic(const context<S>& ctx, csr<T, I, O, S>&& a,
                                     const dynamic_csr_options& options) {
  return dynamic_access<T, I, O, S>::take(ctx, std::move(a), options);
}
template <class T, class I, class O, space S>
dynamic_csr<T, I, O, S> take_segments(const context<S>& ctx, index<I> shape,
                                      row_segments<T, I, O, S>&& made,
                                      const dynamic_csr_options& options) {
  return dynamic_access<T, I, O, S>::take(ctx, shape, std::move(made), options);
}
template <class T, class I, class O, space S>
csr<T, I, O, S> dynamic_to_csr(const context<S>& ctx, dynamic_csr_view<const T, I, O, S> a) {
  using access = dynamic_access<T, I, O, S>;
  csr<T, I, O, S> result(ctx, a.extent, static_cast<O>(a.nnz), facts{true, a.unique});
  if (a.compact) {
    copy_bytes(ctx, result.rowptr().data(), a.begin,
               (static_cast<std::size_t>(a.extent.row) + 1) * sizeof(O), S);
    copy_bytes(ctx, result.colind().data(), a.colind, static_cast<std::size_t>(a.nnz) * sizeof(I),
               S);
    copy_bytes(ctx, result.values().data(), a.values, static_cast<std::size_t>(a.nnz) * sizeof(T),
               S);
    return result;
  }
  access::place(ctx, a.sizes, a.extent.row, result.rowptr().data());
  access::gather(ctx, access::rows_of(a), result.rowptr().data(), result.colind().data(),
                 result.values().data(), a.nnz);
  return result;
}

} // namespace detail

namespace {
/// The change f, then readers beside the writer see it.
template <class T, class I, class O, space S, class F>
update_counts shared_after(const context<S>& ctx, dynamic_csr<T, I, O, S>& m, F f) {
  using access = detail::dynamic_access<T, I, O, S>;
  const update_counts counts = f(access());
  access::share(ctx, m);
  return counts;
}
} // namespace

template <class T, class I, class O, space S>
update_counts insert(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                     std::type_identity_t<coo_view<const T, I, O, S>> batch,
                     const insert_options& options) {
  return shared_after(ctx, m, [&](auto access) { return access.insert(ctx, m, batch, options); });
}
template <class T, class I, class O, space S>
update_counts insert(const context<S>& ctx, dynamic_csr<T, I, O, S>& m, const csr<T, I, O, S>& b,
                     const insert_options& options) {
  const auto entries = to_coo(ctx, b);
  return insert<T, I, O, S>(ctx, m, entries.view(), options);
}
template <class T, class I, class O, space S>
update_counts erase(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                    std::type_identity_t<coo_view<const T, I, O, S>> batch) {
  return shared_after(ctx, m, [&](auto access) { return access.erase(ctx, m, batch); });
}
template <class T, class I, class O, space S>
update_counts erase_rows(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                         std::type_identity_t<vector_view<const I, S>> rows) {
  return shared_after(ctx, m, [&](auto access) { return access.erase_rows(ctx, m, rows); });
}
template <class T, class I, class O, space S>
update_counts replace_rows(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                           std::type_identity_t<vector_view<const I, S>> rows,
                           const csr<T, I, O, S>& b) {
  return shared_after(
      ctx, m, [&](auto) { return detail::row_replacement<T, I, O, S>::replace(ctx, m, rows, b); });
}
template <class T, class I, class O, space S>
update_counts erase_columns(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                            std::type_identity_t<vector_view<const I, S>> columns) {
  return shared_after(ctx, m, [&](auto access) { return access.erase_columns(ctx, m, columns); });
}
template <class T, class I, class O, space S>
update_counts erase_vertices(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                             std::type_identity_t<vector_view<const I, S>> vertices) {
  return shared_after(ctx, m, [&](auto access) { return access.erase_vertices(ctx, m, vertices); });
}
template <class T, class I, class O, space S>
void scale_rows(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                std::type_identity_t<vector_view<const T, S>> factors) {
  detail::dynamic_access<T, I, O, S>::scale_rows(ctx, m, factors);
  detail::dynamic_access<T, I, O, S>::share(ctx, m);
}
template <class T, class I, class O, space S>
void compact(const context<S>& ctx, dynamic_csr<T, I, O, S>& m, const compact_options& options) {
  detail::dynamic_access<T, I, O, S>::compact(ctx, m, options);
  detail::dynamic_access<T, I, O, S>::share(ctx, m);
}
template <class T, class I, class O, space S>
void reserve(const context<S>& ctx, dynamic_csr<T, I, O, S>& m, std::int64_t entries) {
  using access = detail::dynamic_access<T, I, O, S>;
  access::require_offsets(entries);
  if (entries <= m.capacity()) return;
  access::grow(ctx, m, entries);
  access::share(ctx, m);
}

#define LACUNA_INSTANTIATE_IN(T, I, O, S)                                                          \
  namespace detail {                                                                               \
  template dynamic_csr<T, I, O, S> make_dynamic<T, I, O, S>(const context<S>&, index<I>,           \
                                                            const csr_view<const T, I, O, S>*,     \
                                                            const dynamic_csr_options&);           \
  template dynamic_csr<T, I, O, S> take_dynamic<T, I, O, S>(const context<S>&, csr<T, I, O, S>&&,  \
                                                            const dynamic_csr_options&);           \
  template dynamic_csr<T, I, O, S> take_segments<T, I, O, S>(const context<S>&, index<I>,          \
                                                             row_segments<T, I, O, S>&&,           \
                                                             const dynamic_csr_options&);          \
  template csr<T, I, O, S> dynamic_to_csr<T, I, O, S>(const context<S>&,                           \
                                                      dynamic_csr_view<const T, I, O, S>);         \
  }                                                                                                \
  template update_counts insert<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,           \
                                            coo_view<const T, I, O, S>, const insert_options&);    \
  template update_counts insert<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,           \
                                            const csr<T, I, O, S>&, const insert_options&);        \
  template update_counts erase<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,            \
                                           coo_view<const T, I, O, S>);                            \
  template update_counts erase_rows<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,       \
                                                vector_view<const I, S>);                          \
  template update_counts replace_rows<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,     \
                                                  vector_view<const I, S>,                         \
                                                  const csr<T, I, O, S>&);                         \
  template update_counts erase_columns<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,    \
                                                   vector_view<const I, S>);                       \
  template update_counts erase_vertices<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,   \
                                                    vector_view<const I, S>);                      \
  template void scale_rows<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,                \
                                       vector_view<const T, S>);                                   \
  template void compact<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&,                   \
                                    const compact_options&);                                       \
  template void reserve<T, I, O, S>(const context<S>&, dynamic_csr<T, I, O, S>&, std::int64_t);
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  LACUNA_INSTANTIATE_IN(T, I, O, space::host)                                                      \
  LACUNA_INSTANTIATE_IN(T, I, O, space::device)
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna
