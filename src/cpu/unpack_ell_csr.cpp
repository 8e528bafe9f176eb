// ell_csr taken apart on the host: back to CSR, and the test of its invariants.
#include <cstring>

#include <fmt/format.h>

#include "plan/ell_csr_layout.hpp"
#include "cpu/rows.hpp"
#include "cpu/scatter.hpp"
#include <lacuna/format/ell_csr.hpp>

namespace lacuna::detail::cpu {
namespace {

/// The column of lane l in a step.
template <class I>
std::int64_t column_of(packing kind, const ell_step<I>& step, const unsigned char* columns, int l) {
  const auto read = [&](auto d) {
    std::memcpy(&d, columns + static_cast<std::size_t>(l) * sizeof d, sizeof d);
    return static_cast<std::int64_t>(d);
  };
  const std::int64_t base = step.base;
  switch (kind) {
  case packing::diagonal: return base + l;
  case packing::bits8: return base + read(std::uint8_t{});
  case packing::bits16: return base + read(std::uint16_t{});
  case packing::full: break;
  }
  return base + read(std::make_unsigned_t<I>{});
}

/// Calls f(row, place, column, value) for the entries of a slice, step by step. An entry's place is
/// counted from the slice's first of that row.
template <class T, class I, class F>
void for_each_entry(ell_csr_view<const T, I> a, std::int64_t slice, F&& f) {
  const ell_slice s = a.slices()[slice];
  const std::int64_t pieces = a.pieces().size();
  const int lanes = s.row_lanes();
  std::int64_t next[slice_lanes];
  for (int l = 0; l < slice_lanes; ++l) next[l] = l % lanes;
  const unsigned char* columns = a.columns().data() + s.first_byte();
  for (std::int64_t k = s.step; k < a.slices()[slice + 1].step; ++k) {
    const ell_step<I> step = a.steps()[k];
    for (int l = 0; l < slice_lanes; ++l) {
      if ((step.mask >> l & 1U) == 0) continue;
      const std::int64_t slot = (slice - pieces) * slice_lanes + l / lanes;
      const std::int64_t row = slice < pieces     ? std::int64_t{a.pieces()[slice].row}
                               : a.rows().empty() ? slot
                                                  : std::int64_t{a.rows()[slot]};
      f(row, next[l], column_of(s.kind(), step, columns, l), a.values()[slice_lanes * k + l]);
      next[l] += lanes;
    }
    columns += detail::step_column_bytes(s.kind(), sizeof(I));
  }
}

/// How far into its row the entries of a slice begin: pieces before it are full.
template <class T, class I>
std::int64_t begin_in_row(ell_csr_view<const T, I> a, std::int64_t slice) {
  if (slice >= a.pieces().size()) return 0;
  const std::int64_t first = a.pieces()[slice].first;
  return (slice - first) * slice_lanes * (a.slices()[first + 1].step - a.slices()[first].step);
}

} // namespace

template <class T, class I>
csr<T, I, std::int64_t> ell_csr_to_csr(const host_context& ctx, ell_csr_view<const T, I> a) {
  const std::int64_t rows = a.shape().row, slices = a.slice_count(), pieces = a.pieces().size();
  csr<T, I, std::int64_t> result(ctx, a.shape(), a.size());
  array<std::int64_t> sums(ctx, 1);
  const auto rowptr = result.rowptr();
  std::fill(rowptr.begin(), rowptr.end(), 0);
  const auto count = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s)
      for_each_entry(a, s,
                     [&](std::int64_t row, std::int64_t, std::int64_t, T) { ++rowptr[row + 1]; });
  };
  count(0, pieces); // several pieces may be of one row, other slices never
  for_each_range(ctx, slices - pieces, 64, [&](std::int64_t begin, std::int64_t end) {
    count(pieces + begin, pieces + end);
  });
  inclusive_scan(ctx, rowptr.data(), rows, sums);
  for_each_range(ctx, slices, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      const std::int64_t before = begin_in_row(a, s);
      for_each_entry(a, s, [&](std::int64_t row, std::int64_t place, std::int64_t col, T value) {
        result.colind()[rowptr[row] + before + place] = static_cast<I>(col);
        result.values()[rowptr[row] + before + place] = value;
      });
    }
  });
  return result;
}

namespace {
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw bad_input("ell_csr: " + fmt::format(format, std::forward<Args>(args)...));
}
} // namespace

template <class T, class I>
void check_ell_csr(const host_context& ctx, ell_csr_view<const T, I> a) {
  const std::int64_t rows = a.shape().row, cols = a.shape().col;
  const std::int64_t slices = a.slice_count(), pieces = a.pieces().size();
  if (slices == 0 && a.size() == 0) return;
  if (pieces > slices) fail("{} pieces but {} slices", pieces, slices);
  if (a.slices()[0].step != 0) fail("slice 0 begins at step {}", a.slices()[0].step);
  std::int64_t byte = 0;
  for (std::int64_t s = 0; s < slices; ++s) {
    const ell_slice slice = a.slices()[s];
    const std::int64_t count = a.slices()[s + 1].step - slice.step;
    if (count < 0) fail("slice {} ends before it begins", s);
    if (slice.first_byte() != byte)
      fail("the columns of slice {} begin at byte {} instead of {}", s, slice.first_byte(), byte);
    if ((s < pieces) != (slice.row_lanes() == slice_lanes))
      fail("slice {} has {} lanes a row; pieces have 32, others fewer", s, slice.row_lanes());
    byte += count * detail::step_column_bytes(slice.kind(), sizeof(I));
  }
  const std::int64_t steps = a.slices()[slices].step;
  if (a.steps().size() != steps) fail("{} steps instead of {}", a.steps().size(), steps);
  if (a.columns().size() != byte)
    fail("{} bytes of columns instead of {}", a.columns().size(), byte);
  if (a.values().size() != steps * slice_lanes)
    fail("{} values instead of {}", a.values().size(), steps * slice_lanes);
  if (a.rows().empty() ? pieces > 0 && slices > pieces
                       : a.rows().size() != (slices - pieces) * slice_lanes)
    fail("rows has {} elements instead of {}", a.rows().size(), (slices - pieces) * slice_lanes);

  array<unsigned char> seen(ctx, rows);
  std::fill(seen.begin(), seen.end(), 0);
  const auto see = [&](std::int64_t row, std::int64_t s) {
    if (row < 0 || row >= rows) fail("slice {} has row {} of {}", s, row, rows);
    if (seen[row]++ != 0) fail("row {} is in two slices; the second is {}", row, s);
  };
  for (std::int64_t s = 0; s < pieces; ++s) {
    const row_piece<I> p = a.pieces()[s];
    if (p.first < 0 || s < p.first || p.count < 1 || s >= p.first + p.count ||
        p.first + p.count > pieces)
      fail("piece {} is none of the {} of its row that begin with {}", s, p.count, p.first);
    const row_piece<I> first = a.pieces()[p.first];
    if (first.row != p.row || first.count != p.count || first.first != p.first)
      fail("piece {} and the first of its row do not agree", s);
    if (s == p.first) see(p.row, s);
  }
  if (a.rows().empty()) {
    if ((slices - pieces) * slice_lanes < rows && pieces == 0)
      fail("{} slices for {} rows", slices, rows);
    if (pieces == 0) std::fill(seen.begin(), seen.end(), 1);
  } else {
    for (std::int64_t i = 0; i < a.rows().size(); ++i)
      if (a.rows()[i] != -1) see(a.rows()[i], pieces + i / slice_lanes);
  }
  const auto missing = std::find(seen.begin(), seen.end(), 0);
  if (missing != seen.end()) fail("row {} is in no slice", missing - seen.begin());

  const even_slices even = a.even();
  for (std::int64_t s = 0; s < slices && even.width > 0; ++s)
    if (!a.rows().empty() || a.slices()[s].kind() != even.kind ||
        a.slices()[s + 1].step - a.slices()[s].step != even.width)
      fail("slice {} is not like the others, though slices are said to be even", s);
  std::int64_t entries = 0;
  for (std::int64_t s = 0; s < slices; ++s)
    for_each_entry(a, s, [&](std::int64_t row, std::int64_t, std::int64_t col, T) {
      if (row < 0 || row >= rows) fail("slice {} has an entry in row {} of {}", s, row, rows);
      if (col < 0 || col >= cols)
        fail("row {} has column {} of {}, in slice {}", row, col, cols, s);
      ++entries;
    });
  if (entries != a.size()) fail("{} entries but nnz = {}", entries, a.size());
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template csr<T, I, std::int64_t> ell_csr_to_csr<T, I>(const host_context&,                       \
                                                        ell_csr_view<const T, I>);                 \
  template void check_ell_csr<T, I>(const host_context&, ell_csr_view<const T, I>);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
