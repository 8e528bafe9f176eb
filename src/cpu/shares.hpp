// Equal shares of a CSR matrix for threads, where a long row may be shared too.
#pragma once

#include <vector>

#include "cpu/row_kernels.hpp"
#include "cpu/rows.hpp"
#include <lacuna/core/array.hpp>

namespace lacuna::detail::cpu {

/// Shares hold equal rows and entries, but where x is scattered some cost several times what
/// others do: threads take them one by one. Against one share per thread, beside Eigen in the same
/// run on EPYC with 2 threads: rmat 0.76 -> 0.86, kron 0.82 -> 0.90; other counts were not tried.
inline constexpr int shares_per_thread = 16;

/// Rows and entries for which another thread pays, some 5 us of work: to start one that waits and
/// to meet it again takes 1 to 2. Zen 3, 2 threads, 60 k entries: 17 us, alone 29.
inline constexpr std::int64_t thread_work = std::int64_t{1} << 13;
/// Rows and entries that a share has at least: to find where it begins and to take it costs as much
/// as a few hundred. Half of it: 5 % longer on matrices of 50 k to 100 k entries.
inline constexpr std::int64_t share_work = std::int64_t{1} << 15;

/// Where one share ends and the next begins: before piece `piece` of row `row`.
struct share_cut {
  std::int64_t row = 0;
  std::int64_t piece = 0;
};

inline std::int64_t piece_count(std::int64_t entries) {
  return (entries + piece_entries - 1) / piece_entries;
}

template <class O> share_cut cut_share(const O* rowptr, std::int64_t rows, int part, int parts) {
  const std::int64_t row = first_row(rowptr, rows, part, parts);
  if (row == 0 || part == parts) return {row, 0};
  // The row before may reach far past the even share: cut it between pieces then.
  const std::int64_t pieces = piece_count(rowptr[row] - rowptr[row - 1]);
  if (pieces < 2) return {row, 0};
  const std::int64_t target = part_begin(rows + rowptr[rows], part, parts) - (row - 1);
  const std::int64_t piece = std::max<std::int64_t>(target - rowptr[row - 1], 0) / piece_entries;
  return piece < pieces ? share_cut{row - 1, piece} : share_cut{row, 0};
}

/// Runs whole(first, last) on ranges of whole rows and piece(row, first, last, slot) on pieces of
/// rows that several threads share, in parallel; then join(row, first_slot, last_slot) for each
/// shared row, whose pieces are in that order. `prepare(slots)` is called before, to allocate what
/// pieces leave behind.
template <class O, class Prepare, class Whole, class Piece, class Join>
void for_each_share(const host_context& ctx, const O* rowptr, std::int64_t rows, Prepare&& prepare,
                    Whole&& whole, Piece&& piece, Join&& join) {
  if (rows == 0) return;
  const std::int64_t work = rows + rowptr[rows];
  const int threads = part_count(ctx, work, thread_work);
  const int parts = threads == 1
                        ? 1
                        : threads * static_cast<int>(std::clamp<std::int64_t>(
                                        work / threads / share_work, 1, shares_per_thread));
  std::vector<share_cut> cuts;
  std::vector<std::int64_t> slot_of_row; // first slot of the row each cut is in
  cuts.reserve(parts + 1);
  slot_of_row.reserve(parts + 1);
  std::int64_t slots = 0;
  for (int part = 0; part <= parts; ++part) {
    cuts.push_back(cut_share(rowptr, rows, part, parts));
    const bool same = part > 0 && cuts[part - 1].piece > 0 && cuts[part].row == cuts[part - 1].row;
    slot_of_row.push_back(same ? slot_of_row.back() : slots);
    if (cuts[part].piece > 0 && !same)
      slots += piece_count(rowptr[cuts[part].row + 1] - rowptr[cuts[part].row]);
  }
  prepare(slots);

  for_each_dynamic(threads, parts, [&](int part) {
    const auto pieces = [&](std::int64_t row, std::int64_t begin, std::int64_t end,
                            std::int64_t slot) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = rowptr[row] + i * piece_entries;
        piece(row, first, std::min<std::int64_t>(first + piece_entries, rowptr[row + 1]), slot + i);
      }
    };
    const share_cut begin = cuts[part], end = cuts[part + 1];
    if (begin.piece > 0 && begin.row == end.row)
      return pieces(begin.row, begin.piece, end.piece, slot_of_row[part]);
    if (begin.piece > 0)
      pieces(begin.row, begin.piece, piece_count(rowptr[begin.row + 1] - rowptr[begin.row]),
             slot_of_row[part]);
    whole(begin.row + (begin.piece > 0 ? 1 : 0), end.row);
    if (end.piece > 0) pieces(end.row, 0, end.piece, slot_of_row[part + 1]);
  });

  for (int part = 1; part < parts; ++part) {
    const bool again = cuts[part - 1].piece > 0 && cuts[part - 1].row == cuts[part].row;
    if (cuts[part].piece == 0 || again) continue;
    const std::int64_t row = cuts[part].row, slot = slot_of_row[part];
    join(row, slot, slot + piece_count(rowptr[row + 1] - rowptr[row]));
  }
}

/// One column of Y. `sums` is scratch for the pieces of shared rows, and may be passed again for
/// the next column: all allocation is in the first call.
template <class T, class I, class O>
void multiply_column(const host_context& ctx, const row_arguments<T, I, O>& p, std::int64_t rows,
                     array<T>& sums) {
  const auto& kernels = best_row_kernels<T, I, O>();
  for_each_share(
      ctx, p.rowptr, rows,
      [&](std::int64_t slots) {
        if (sums.size() < slots) sums = array<T>(ctx, slots);
      },
      [&](std::int64_t first, std::int64_t last) { kernels.rows(p, first, last); },
      [&](std::int64_t, std::int64_t first, std::int64_t last, std::int64_t slot) {
        sums[slot] = kernels.piece(p, first, last);
      },
      [&](std::int64_t row, std::int64_t first, std::int64_t last) {
        T sum{0};
        for (std::int64_t slot = first; slot < last; ++slot) sum += sums[slot];
        store_sum(p, row, 0, sum);
      });
}

} // namespace lacuna::detail::cpu
