#include <lacuna/op/select.hpp>

#include <fmt/format.h>

#include "cpu/build_rows.hpp"
#include "op/kept_column.hpp"

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
  // A list may have rows that are long and rows that are not: even shares of it.
  const int parts = part_count(ctx, rows + a.size(), entry_grain);
  const auto row_at = [&](std::int64_t i) {
    return choice.rows != nullptr ? static_cast<std::int64_t>(choice.rows[i])
                                  : choice.first_row + i;
  };
  return build_rows<T, I, O>(
      ctx, choice.shape, order, parts,
      [&](int part) {
        return choice.rows != nullptr ? part_begin(rows, part, parts)
                                      : first_of_part(rowptr + choice.first_row, rows, part, parts);
      },
      [&](std::int64_t i) {
        const std::int64_t row = row_at(i);
        std::int64_t count = 0;
        for (std::int64_t k = rowptr[row]; k < rowptr[row + 1]; ++k)
          count += kept_column<T, I>(choice, row, colind[k], values[k], k) >= 0 ? 1 : 0;
        return count;
      },
      [&](std::int64_t i, I* to_col, T* to_value) {
        const std::int64_t row = row_at(i);
        for (std::int64_t k = rowptr[row]; k < rowptr[row + 1]; ++k) {
          const std::int64_t column = kept_column<T, I>(choice, row, colind[k], values[k], k);
          if (column < 0) continue;
          *to_col++ = static_cast<I>(column);
          *to_value++ = values[k];
        }
      });
}

template <class I>
list_facts examine_list(const host_context&, vector_view<const I> list, std::int64_t limit,
                        vector_view<I> places) {
  list_facts found;
  std::fill(places.begin(), places.end(), I{-1});
  for (std::int64_t p = 0; p < list.size(); ++p) {
    found.index = list[p];
    if (p > 0 && list[p] <= list[p - 1]) found.ascends = false;
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
