#include <lacuna/op/select.hpp>

#include <fmt/format.h>

#include "cpu/rows.hpp"
#include "op/keeps_entry.hpp"

namespace lacuna {
namespace detail::cpu {
namespace {

/// First row of a part when rows and entries of rows that follow one another are dealt out evenly.
template <class O>
std::int64_t first_of_part(const O* starts, std::int64_t rows, int part, int parts) {
  if (part == 0 || rows == 0) return 0;
  if (part == parts) return rows;
  const std::int64_t target = part_begin(rows + (starts[rows] - starts[0]), part, parts);
  std::int64_t low = 0, high = rows;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (middle + (starts[middle] - starts[0]) < target)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

} // namespace

template <class T, class I, class O>
csr<T, I, O> select_entries(const host_context& ctx, csr_view<const T, I, O> a,
                            const entry_choice<T, I>& choice, facts order) {
  const std::int64_t rows = choice.shape.row;
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  const T* const values = a.values().data();
  const bool by_value = reads_values(choice.rule);
  const int parts = part_count(ctx, rows + a.size(), entry_grain);
  const auto first_row_of = [&](int part) {
    // A list may have rows that are long and rows that are not: even shares of it.
    return choice.rows != nullptr ? part_begin(rows, part, parts)
                                  : first_of_part(rowptr + choice.first_row, rows, part, parts);
  };
  const auto row_at = [&](std::int64_t i) {
    return choice.rows != nullptr ? static_cast<std::int64_t>(choice.rows[i])
                                  : choice.first_row + i;
  };

  array<O> to_rowptr(ctx, rows + 1);
  array<std::int64_t> base(ctx, std::int64_t{parts} + 1); // first entry of each part
  array<char> kept(ctx, by_value ? a.size() : 0);         // values are looked at once
  to_rowptr[0] = 0;
  base[0] = 0;
  for_each_part(ctx, parts, 1, [&](int part, int) {
    const entry_choice<T, I> c = choice; // a copy that nothing written can change
    std::int64_t sum = 0;
    const std::int64_t stop = first_row_of(part + 1);
    for (std::int64_t i = first_row_of(part); i < stop; ++i) {
      const std::int64_t row = row_at(i), last = rowptr[row + 1];
      if (by_value) {
        for (std::int64_t k = rowptr[row]; k < last; ++k) {
          const bool keep = keeps_entry(c, true, row, colind[k], values, k);
          kept[k] = keep ? 1 : 0;
          sum += keep ? 1 : 0;
        }
      } else {
        for (std::int64_t k = rowptr[row]; k < last; ++k)
          sum += keeps_entry(c, false, row, colind[k], values, k) ? 1 : 0;
      }
      to_rowptr[i + 1] = static_cast<O>(sum); // wraps only if the total does not fit either
    }
    base[part + 1] = sum;
  });
  for (int part = 0; part < parts; ++part) base[part + 1] = checked_add(base[part], base[part + 1]);
  const O nnz = checked_cast<O>(base[parts], "the number of entries");

  array<I> to_colind(ctx, nnz);
  array<T> to_values(ctx, nnz);
  for_each_part(ctx, parts, 1, [&](int part, int) {
    entry_choice<T, I> c = choice;
    if (by_value) c.flags = kept.data();
    std::int64_t at = base[part];
    const std::int64_t stop = first_row_of(part + 1);
    for (std::int64_t i = first_row_of(part); i < stop; ++i) {
      const std::int64_t row = row_at(i), end = base[part] + to_rowptr[i + 1];
      // Written whether it is kept or not: the next one that is kept is put over it, and as long
      // as the row is not full, there is one.
      for (std::int64_t k = rowptr[row]; at < end; ++k) {
        to_colind[at] = static_cast<I>(new_column(c, colind[k]));
        to_values[at] = values[k];
        at += keeps_entry(c, false, row, colind[k], values, k) ? 1 : 0;
      }
      to_rowptr[i + 1] = static_cast<O>(end);
    }
  });
  return {choice.shape, std::move(to_rowptr), std::move(to_colind), std::move(to_values), order};
}

template <class I>
list_facts examine_list(const host_context&, vector_view<const I> list, std::int64_t limit,
                        vector_view<I> places) {
  list_facts found;
  std::fill(places.begin(), places.end(), I{-1});
  for (std::int64_t p = 0; p < list.size(); ++p) {
    found.index = list[p];
    if (p > 0 && list[p] <= list[p - 1]) found.ascends = false;
    if (p > 0 && list[p] < list[p - 1]) found.sorted = false;
    if (list[p] < 0 || list[p] >= limit) {
      found.outside = p;
      return found;
    }
    if (places.empty()) continue;
    if (places[list[p]] >= 0) {
      found.repeated = p;
      return found;
    }
    places[list[p]] = static_cast<I>(p);
  }
  return found;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> select_entries<T, I, O>(const host_context&, csr_view<const T, I, O>,      \
                                                const entry_choice<T, I>&, facts);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
template list_facts examine_list<std::int32_t>(const host_context&, vector_view<const std::int32_t>,
                                               std::int64_t, vector_view<std::int32_t>);
template list_facts examine_list<std::int64_t>(const host_context&, vector_view<const std::int64_t>,
                                               std::int64_t, vector_view<std::int64_t>);

} // namespace detail::cpu

void detail::throw_bad_range(const char* what, line_range range, std::int64_t limit) {
  const std::string last = range.last == line_range::end ? "end" : fmt::to_string(range.last);
  throw bad_input(fmt::format("submatrix: {} [{}, {}) do not lie within the {} that A has", what,
                              range.first, last, limit));
}

void detail::throw_bad_list(const char* what, const list_facts& found, std::int64_t limit) {
  if (found.outside >= 0)
    throw bad_input(fmt::format("submatrix: {}[{}] = {} is outside of the {} that A has", what,
                                found.outside, found.index, limit));
  throw bad_input(fmt::format("submatrix: {}[{}] = {} stands in the list twice", what,
                              found.repeated, found.index));
}

void detail::throw_nan_rule() { throw bad_input("filter: a threshold of the rule is NaN"); }

} // namespace lacuna
