// The reference of operations on matrices element by element and by lines (docs/elementwise.md).
#pragma once

#include <lacuna/op/reduce.hpp>

#include "reference/reference.hpp"

namespace lacuna::reference {

/// rule(alpha a_ij, beta b_ij), rounded to T, of elements that either matrix stores, but those that
/// come out as 0; `of_both`: of those that both store, zeros kept. Sorted; operands as add's.
template <class T>
triplets combine(double alpha, const triplets& a, double beta, const triplets& b,
                 const std::function<double(double, double)>& rule, bool of_both = false);
/// 1 where a stores nothing.
triplets complement(const triplets& a);

enum class side { rows, columns, all };
/// Elements that are missing are 0; duplicates are summed in T first, but for a plain sum.
template <class T> expected reduce(const triplets& a, reduction how, side of);
/// Entries stored in each row or column.
std::vector<std::int64_t> count_entries(const triplets& a, side of);

/// a(rows[k], columns[k]), duplicates summed in T in stored order.
template <class T>
std::vector<T> elements(const triplets& a, const std::vector<std::int64_t>& rows,
                        const std::vector<std::int64_t>& columns);
/// Row i is row rows[i], column j column columns[j]. Within a row: in a's order, then by j.
triplets gather(const triplets& a, const std::vector<std::int64_t>& rows,
                const std::vector<std::int64_t>& columns);

/// a's entries, then b's moved by so many rows and columns, ordered by row.
triplets put_beside(const triplets& a, const triplets& b, std::int64_t down, std::int64_t along,
                    index<std::int64_t> shape);
/// Products rounded to T; row by row, a's order, then b's.
template <class T> triplets kron(const triplets& a, const triplets& b);
/// Row-major elements, ordered by row.
triplets reshape(const triplets& a, index<std::int64_t> shape);

} // namespace lacuna::reference
