// Internal: a range of a CSR matrix's rows as a matrix.
#pragma once

#include <lacuna/format/csr.hpp>

#include "op/part_contexts.hpp"
#include "op/row_ranges.hpp"

namespace lacuna::detail {

/// Row pointers of its own, the rest is viewed.
template <class T, class I, class O, space S> struct viewed_rows {
  array<O, S> rowptr;
  csr_view<const T, I, O, S> a;
  viewed_rows(const context<S>& ctx, csr_view<const T, I, O, S> all, const row_range& rows)
      : rowptr(ctx, rows.last - rows.first + 1) {
    shift_offsets<O, S>(ctx, all.rowptr().data() + rows.first, rowptr.size(),
                        static_cast<O>(-rows.begin), rowptr.data());
    a = {all.values().data() + rows.begin,
         std::as_const(rowptr).data(),
         all.colind().data() + rows.begin,
         {static_cast<I>(rows.last - rows.first), all.shape().col},
         static_cast<O>(rows.end - rows.begin),
         all.order()};
  }
};

/// A copy of a range of `all`, which is in the place of `here`, queued on `there`.
template <class T, class I, class O, space S>
csr<T, I, O, S> copied_rows(const context<S>& here, csr_view<const T, I, O, S> all,
                            const row_range& rows, const context<S>& there) {
  const std::int64_t count = rows.end - rows.begin, offsets = rows.last - rows.first + 1;
  array<O, S> rowptr(there, offsets);
  array<I, S> colind(there, count);
  array<T, S> values(there, count);
  copy_between(there, rowptr.data(), there, all.rowptr().data() + rows.first, here, offsets);
  copy_between(there, colind.data(), there, all.colind().data() + rows.begin, here, count);
  copy_between(there, values.data(), there, all.values().data() + rows.begin, here, count);
  shift_offsets<O, S>(there, rowptr.data(), offsets, static_cast<O>(-rows.begin), rowptr.data());
  return {{static_cast<I>(rows.last - rows.first), all.shape().col},
          std::move(rowptr),
          std::move(colind),
          std::move(values),
          all.order()};
}

} // namespace lacuna::detail
