#include "io/assemble.hpp"

#include <atomic>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>
#include <lacuna/op/convert.hpp>

#include "cpu/row_starts.hpp"
#include "cpu/scatter.hpp"

namespace lacuna::io {
namespace {

using detail::cpu::entry_grain;

/// The entries of a file and, behind them (before them, if the file holds the upper triangle),
/// their mirror images: so the rows of a file in order come out in order. Mirror images of the
/// diagonal go to a row past the last, from where they are dropped.
template <class I> struct unfolded_rows {
  const I *rowind, *colind;
  std::int64_t stored, nowhere;
  bool mirror_first;

  [[nodiscard]] bool is_mirror(std::int64_t k) const { return (k < stored) == mirror_first; }
  [[nodiscard]] std::int64_t entry(std::int64_t k) const { return k < stored ? k : k - stored; }
  std::int64_t operator[](std::int64_t k) const {
    const std::int64_t e = entry(k);
    if (!is_mirror(k)) return rowind[e];
    return rowind[e] == colind[e] ? nowhere : std::int64_t{colind[e]};
  }
};

template <class I>
std::int64_t count_diagonal(const host_context& ctx, const array<I>& rowind,
                            const array<I>& colind) {
  std::atomic<std::int64_t> total{0};
  detail::cpu::for_each_range(ctx, rowind.size(), entry_grain,
                              [&](std::int64_t begin, std::int64_t end) {
                                std::int64_t count = 0;
                                for (std::int64_t k = begin; k < end; ++k)
                                  count += rowind[k] == colind[k] ? 1 : 0;
                                total += count;
                              });
  return total.load();
}

template <class I> bool begins_above(const array<I>& rowind, const array<I>& colind) {
  for (std::int64_t k = 0; k < rowind.size(); ++k)
    if (rowind[k] != colind[k]) return rowind[k] < colind[k];
  return false;
}

template <class T> void fill_ones(const host_context& ctx, array<T>& values) {
  detail::cpu::for_each_range(ctx, values.size(), entry_grain,
                              [&](std::int64_t begin, std::int64_t end) {
                                std::fill(values.data() + begin, values.data() + end, T{1});
                              });
}

template <class T, class I, class O>
csr<T, I, O> unfold(const host_context& ctx, triplets<T, I> t, symmetry s, std::int64_t nnz) {
  const std::int64_t stored = t.rowind.size(), rows = t.shape.row;
  const unfolded_rows<I> keys{t.rowind.data(), t.colind.data(), stored, rows,
                              begins_above(t.rowind, t.colind)};
  const T* const values = t.values.empty() ? nullptr : t.values.data();
  const T mirrored_sign = s == symmetry::skew_symmetric ? T{-1} : T{1};
  array<O> rowptr(ctx, rows + 2); // one more for the row that is dropped
  array<I> colind(ctx, nnz);
  array<T> to_values(ctx, nnz);
  detail::cpu::scatter_by_key(ctx, keys, 2 * stored, rows + 1, stored, rowptr.data(),
                              [&](std::int64_t begin, std::int64_t end, O* next, std::int64_t low) {
                                for (std::int64_t k = begin; k < end; ++k) {
                                  const std::int64_t row = keys[k], e = keys.entry(k);
                                  if (row == rows) continue;
                                  const bool mirror = keys.is_mirror(k);
                                  const O to = next[row - low]++;
                                  colind[to] = mirror ? keys.rowind[e] : keys.colind[e];
                                  to_values[to] = (mirror ? mirrored_sign : T{1}) *
                                                  (values == nullptr ? T{1} : values[e]);
                                }
                              });
  array<O> exact(ctx, rows + 1);
  std::copy_n(rowptr.data(), rows + 1, exact.data());
  return {t.shape, std::move(exact), std::move(colind), std::move(to_values), {}};
}

template <class T, class I, class O>
csr<T, I, O> compress(const host_context& ctx, triplets<T, I> t) {
  const std::int64_t rows = t.shape.row, nnz = t.rowind.size();
  array<O> rowptr(ctx, rows + 1);
  const bool pattern = t.values.empty();
  if (detail::cpu::ascends<I>(ctx,
                              std::as_const(t.rowind).view())) { // CSR already: nothing is copied
    detail::cpu::find_row_starts(ctx, std::as_const(t.rowind).view(), rows, rowptr.data());
    t.rowind = {};
    array<T> values = pattern ? array<T>(ctx, nnz) : std::move(t.values);
    if (pattern) fill_ones(ctx, values);
    return {t.shape, std::move(rowptr), std::move(t.colind), std::move(values), {}};
  }
  array<I> colind(ctx, nnz);
  array<T> values(ctx, nnz);
  const I* const rowind = t.rowind.data();
  detail::cpu::scatter_by_key(ctx, rowind, nnz, rows, nnz, rowptr.data(),
                              [&](std::int64_t begin, std::int64_t end, O* next, std::int64_t low) {
                                for (std::int64_t k = begin; k < end; ++k) {
                                  const O to = next[rowind[k] - low]++;
                                  colind[to] = t.colind[k];
                                  values[to] = pattern ? T{1} : t.values[k];
                                }
                              });
  return {t.shape, std::move(rowptr), std::move(colind), std::move(values), {}};
}

/// The first coordinate that is stored twice, of a sorted matrix; row -1 if there is none.
template <class T, class I, class O>
index<std::int64_t> find_duplicate(const host_context& ctx, const csr<T, I, O>& a) {
  std::atomic<std::int64_t> first{INT64_MAX};
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  const std::int64_t rows = a.shape().row;
  detail::cpu::for_each_part(ctx, rows + a.size(), entry_grain, [&](int part, int parts) {
    const std::int64_t end = detail::cpu::first_row(rowptr, rows, part + 1, parts);
    for (std::int64_t i = detail::cpu::first_row(rowptr, rows, part, parts); i < end; ++i)
      for (std::int64_t k = std::int64_t{rowptr[i]} + 1; k < rowptr[i + 1]; ++k)
        if (colind[k] == colind[k - 1]) {
          for (auto seen = first.load(); k < seen && !first.compare_exchange_weak(seen, k);) {
          }
          return;
        }
  });
  if (first.load() == INT64_MAX) return {-1, -1};
  return {detail::cpu::row_of_entry(rowptr, rows, first.load()), colind[first.load()]};
}

template <class T, class I, class O>
csr<T, I, O> finish(const host_context& ctx, csr<T, I, O> a, duplicates rule,
                    const repeated_entry& repeated) {
  sort(ctx, a);
  const auto twice = find_duplicate(ctx, a);
  if (twice.row < 0) {
    a.state({true, true});
    return a;
  }
  if (rule == duplicates::error) repeated(twice.row, twice.col);
  return merge_duplicates(ctx, a, rule);
}

template <class T, class I>
any_csr<T> assemble_as(const host_context& ctx, triplets<T, I> t, const file_info& about,
                       duplicates rule, const repeated_entry& repeated) {
  if (!t.imaginary.empty())
    throw unsupported("the values are complex, the matrix that is asked for is real", about.file,
                      0);
  const bool general = about.structure == symmetry::general;
  const std::int64_t stored = t.rowind.size();
  const std::int64_t nnz =
      general ? stored : checked_mul(2, stored) - count_diagonal(ctx, t.rowind, t.colind);
  const auto make = [&]<class O>(O) -> any_csr<T> {
    csr<T, I, O> a = general ? compress<T, I, O>(ctx, std::move(t))
                             : unfold<T, I, O>(ctx, std::move(t), about.structure, nnz);
    return finish(ctx, std::move(a), rule, repeated);
  };
  // unfold() counts the mirror images of the diagonal, too.
  if constexpr (sizeof(I) == 4)
    if (fits<std::int32_t>(general ? stored : 2 * stored)) return make(std::int32_t{});
  return make(std::int64_t{});
}

} // namespace

template <class T>
any_csr<T> assemble(const host_context& ctx, file_triplets<T> entries, duplicates rule,
                    const repeated_entry& repeated) {
  return std::visit(
      [&](auto&& t) { return assemble_as<T>(ctx, std::move(t), entries.about, rule, repeated); },
      std::move(entries.entries));
}

template <class T>
any_csr<T> assemble(const host_context& ctx, file_triplets<T> entries, duplicates rule) {
  const std::string file = entries.about.file;
  return assemble(ctx, std::move(entries), rule, [&](std::int64_t row, std::int64_t col) {
    throw bad_input(fmt::format("entry ({}, {}) is stored more than once", row + 1, col + 1), file,
                    0);
  });
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template any_csr<T> assemble(const host_context&, file_triplets<T>, duplicates,                  \
                               const repeated_entry&);                                             \
  template any_csr<T> assemble(const host_context&, file_triplets<T>, duplicates);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::io
