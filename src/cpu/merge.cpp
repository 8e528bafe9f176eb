#include <lacuna/op/convert.hpp>

#include "cpu/build_rows.hpp"

namespace lacuna::detail::cpu {
namespace {

/// The one value of entries [first, last) with the same coordinate.
template <class T>
T merged(const T* value, std::int64_t first, std::int64_t last, duplicates rule) {
  if (rule == duplicates::first) return value[first];
  if (rule == duplicates::last) return value[last - 1];
  T sum = value[first];
  for (std::int64_t k = first + 1; k < last; ++k) sum += value[k];
  return sum;
}

} // namespace

template <class T, class I, class O>
csr<T, I, O> merge_csr(const host_context& ctx, csr_view<const T, I, O> a, duplicates rule) {
  const std::int64_t rows = a.shape().row;
  const O* const rowptr = a.rowptr().data();
  const I* const col = a.colind().data();
  const T* const value = a.values().data();
  const int parts = part_count(ctx, rows + a.size(), entry_grain);
  return build_rows<T, I, O>(
      ctx, a.shape(), {true, true}, parts,
      [=](int part) { return first_row(rowptr, rows, part, parts); },
      [=](std::int64_t i) {
        std::int64_t count = rowptr[i] < rowptr[i + 1] ? 1 : 0;
        for (std::int64_t k = std::int64_t{rowptr[i]} + 1; k < rowptr[i + 1]; ++k)
          count += col[k] != col[k - 1] ? 1 : 0;
        return count;
      },
      [=](std::int64_t i, I* to_col, T* to_value) {
        const std::int64_t end = rowptr[i + 1];
        for (std::int64_t k = rowptr[i]; k < end;) {
          const std::int64_t first = k;
          while (k < end && col[k] == col[first]) ++k;
          *to_col++ = col[first];
          *to_value++ = merged(value, first, k, rule);
        }
      });
}

template <class T, class I, class O>
coo<T, I, O> merge_coo(const host_context& ctx, coo_view<const T, I, O> a, duplicates rule) {
  const std::int64_t nnz = a.size();
  const I* const row = a.rowind().data();
  const I* const col = a.colind().data();
  const auto opens = [=](std::int64_t k) {
    return k == 0 || row[k] != row[k - 1] || col[k] != col[k - 1];
  };
  const int parts = part_count(ctx, nnz, entry_grain);
  array<std::int64_t> base(ctx, std::int64_t{parts} + 1); // first result of each part
  for_each_part(ctx, parts, 1, [&](int part, int) {
    std::int64_t count = 0;
    const std::int64_t end = part_begin(nnz, part + 1, parts);
    for (std::int64_t k = part_begin(nnz, part, parts); k < end; ++k) count += opens(k) ? 1 : 0;
    base[part + 1] = count;
  });
  base[0] = 0;
  for (int part = 0; part < parts; ++part) base[part + 1] += base[part];

  coo<T, I, O> result(ctx, a.shape(), static_cast<O>(base[parts]), {true, true});
  const auto to = result.view();
  for_each_part(ctx, parts, 1, [&](int part, int) {
    const std::int64_t end = part_begin(nnz, part + 1, parts);
    std::int64_t at = base[part], k = part_begin(nnz, part, parts);
    while (k < end && !opens(k)) ++k; // the part before takes these
    while (k < end) {
      const std::int64_t first = k++;
      while (k < nnz && !opens(k)) ++k;
      to.rowind()[at] = row[first];
      to.colind()[at] = col[first];
      to.values()[at++] = merged(a.values().data(), first, k, rule);
    }
  });
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> merge_csr(const host_context&, csr_view<const T, I, O>, duplicates);       \
  template coo<T, I, O> merge_coo(const host_context&, coo_view<const T, I, O>, duplicates);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
