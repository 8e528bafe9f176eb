// Block CSR on the host: made from CSR, given new values, taken apart and checked.
#include <lacuna/format/bsr.hpp>

#include <bit>
#include <limits>

#include <fmt/format.h>

#include "cpu/build_rows.hpp"
#include "cpu/stream.hpp"
#include "op/smallest_blocks.hpp"

namespace lacuna::detail::cpu {
namespace {

template <class I> constexpr I column_of(I stored) { return stored < 0 ? ~stored : stored; }
constexpr std::uint64_t all_of(int block) { return ~std::uint64_t{0} >> (64 - block * block); }

/// Calls f(block column) for each block of block row i that has entries, in order: the rows, which
/// are sorted, are merged.
template <class I, class O, class F>
void for_each_block(csr_view<const float, I, O> a, int block, std::int64_t i, F f) {
  const I b = static_cast<I>(block);
  const I* const colind = a.colind().data();
  const std::int64_t first = i * block, rows = a.shape().row - first;
  const int count = static_cast<int>(std::min<std::int64_t>(rows, block));
  O next[8], end[8];
  for (int r = 0; r < count; ++r) {
    next[r] = a.rowptr()[first + r];
    end[r] = a.rowptr()[first + r + 1];
  }
  while (true) {
    I least = std::numeric_limits<I>::max();
    for (int r = 0; r < count; ++r)
      if (next[r] < end[r]) least = std::min(least, colind[next[r]]);
    if (least == std::numeric_limits<I>::max()) return;
    const I column = static_cast<I>(least / b);
    const std::int64_t beyond = (std::int64_t{column} + 1) * b;
    for (int r = 0; r < count; ++r)
      while (next[r] < end[r] && colind[next[r]] < beyond) ++next[r];
    f(column);
  }
}

/// Blocks of block row i if all that it has are full, -1 otherwise: its rows have the same columns,
/// in runs of `block` that begin at multiples of it. Sorted rows without duplicates; quicker than
/// for_each_block by far.
template <class I, class O>
std::int64_t count_full_blocks(csr_view<const float, I, O> a, int block, std::int64_t i) {
  const I b = static_cast<I>(block);
  const std::int64_t first = i * block;
  if (first + block > a.shape().row) return -1;
  const O* const rowptr = a.rowptr().data() + first;
  const I* const columns = a.colind().data() + rowptr[0];
  const std::int64_t length = rowptr[1] - rowptr[0];
  if (length % b != 0 || rowptr[block] - rowptr[0] != length * b) return -1;
  for (int r = 1; r < block; ++r)
    if (rowptr[r + 1] - rowptr[r] != length ||
        !std::equal(columns, columns + length, columns + r * length))
      return -1;
  bool runs = true;
  for (std::int64_t k = 0; k < length; k += b)
    runs = runs && columns[k + b - 1] - columns[k] == b - 1 && columns[k] % b == 0;
  return runs ? length / b : -1;
}

/// Which blocks have entries: a matrix of blocks, its values unused.
template <class I, class O>
csr<float, I, O> block_pattern(const host_context& ctx, csr_view<const float, I, O> a, int block) {
  const std::int64_t rows = a.shape().row, cols = a.shape().col;
  const index<I> shape{(rows + block - 1) / block, (cols + block - 1) / block};
  if (a.order().sorted) {
    const std::int64_t block_rows = shape.row;
    const int parts = part_count(ctx, rows + a.size(), entry_grain);
    return build_rows<float, I, O>(
        ctx, shape, {true, true}, parts,
        [=](int part) { return part_begin(block_rows, part, parts); },
        [&](std::int64_t i) {
          std::int64_t count = a.order().unique ? count_full_blocks(a, block, i) : -1;
          if (count >= 0) return count;
          count = 0;
          for_each_block(a, block, i, [&](I) { ++count; });
          return count;
        },
        [&](std::int64_t i, I* colind, float*) {
          const std::int64_t full = a.order().unique ? count_full_blocks(a, block, i) : -1;
          const I* const column = a.colind().data() + a.rowptr()[i * block];
          for (std::int64_t k = 0; k < full; ++k)
            colind[k] = column[k * block] / static_cast<I>(block);
          if (full < 0) for_each_block(a, block, i, [&](I c) { *colind++ = c; });
        });
  }
  csr<float, I, O> blocks(ctx, shape, a.size());
  for_each_range(ctx, std::int64_t{shape.row} + 1, entry_grain,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i)
                     blocks.rowptr()[i] = a.rowptr()[std::min(i * block, rows)];
                 });
  for_each_range(ctx, a.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      blocks.colind()[k] = a.colind()[k] / static_cast<I>(block);
      blocks.values()[k] = 0;
    }
  });
  sort_csr<float, I, O>(ctx, blocks.view());
  return merge_csr<float, I, O>(ctx, std::as_const(blocks).view(), duplicates::first);
}

/// Calls f(block row) for all of them, shared out by their blocks. f may stream what it writes.
template <class O, class F>
void for_each_block_row(const host_context& ctx, const O* rowptr, std::int64_t block_rows, F f) {
  const std::int64_t blocks = block_rows == 0 ? 0 : std::int64_t{rowptr[block_rows]};
  for_each_part(ctx, block_rows + blocks, entry_grain / 16, [&](int part, int parts) {
    const std::int64_t end = first_row(rowptr, block_rows, part + 1, parts);
    for (std::int64_t i = first_row(rowptr, block_rows, part, parts); i < end; ++i) f(i);
    finish_streaming();
  });
}

/// The block of a block row that holds a column; there is one.
template <class I, class O>
std::int64_t find_block(const I* colind, O begin, O end, I block_column) {
  return std::partition_point(colind + begin, colind + end,
                              [=](I stored) { return column_of(stored) < block_column; }) -
         colind;
}

} // namespace

template <class I, class O>
bsr_blocks<I, O, space::host> find_blocks(const host_context& ctx, csr_view<const float, I, O> a,
                                          int asked, std::size_t value_bytes) {
  auto [block, pattern] = smallest_blocks(asked, value_bytes, sizeof(I),
                                          [&](int tried) { return block_pattern(ctx, a, tried); });
  bsr_blocks<I, O, space::host> result{block, {}, {}, {}, false};
  const std::int64_t blocks = pattern.size();
  array<float> unused;
  std::tie(result.rowptr, result.colind, unused) = std::move(pattern).release();
  unused = {};
  array<std::uint64_t> masks(ctx, blocks);

  const O* const rowptr = result.rowptr.data();
  I* const colind = result.colind.data();
  const std::int64_t block_rows = result.rowptr.size() - 1, b = block;
  for_each_block_row(ctx, rowptr, block_rows, [&](std::int64_t i) {
    const std::int64_t last = std::min<std::int64_t>((i + 1) * b, a.shape().row);
    const std::int64_t entries = a.rowptr()[last] - a.rowptr()[i * b];
    const bool full = a.order().unique && entries == (rowptr[i + 1] - rowptr[i]) * b * b;
    std::fill(masks.begin() + rowptr[i], masks.begin() + rowptr[i + 1],
              full ? all_of(static_cast<int>(b)) : std::uint64_t{0});
    if (full) return;
    for (std::int64_t row = i * b; row < last; ++row) {
      std::int64_t k = rowptr[i]; // of sorted rows the next block is the same one or near
      for (O e = a.rowptr()[row]; e < a.rowptr()[row + 1]; ++e) {
        const I column = a.colind()[e], block_column = static_cast<I>(column / b);
        if (colind[k] > block_column)
          k = find_block(colind, rowptr[i], rowptr[i + 1], block_column);
        while (colind[k] < block_column) ++k;
        masks[k] |= std::uint64_t{1} << (column % b * b + row - i * b);
      }
    }
  });
  std::int64_t places_taken = 0;
  for (const std::uint64_t mask : masks) places_taken += std::popcount(mask);
  result.merged = places_taken != a.size();
  const auto lacks = [all = all_of(block)](std::uint64_t mask) { return mask != all; };
  if (std::any_of(masks.begin(), masks.end(), lacks)) {
    for (std::int64_t k = 0; k < blocks; ++k)
      if (lacks(masks[k])) colind[k] = ~colind[k];
    result.masks = std::move(masks);
  }
  return result;
}

namespace {

/// Full blocks one after the other, by columns: b values from where each of b rows is, which goes
/// on. The rows are b short streams, which no prefetcher of a chip follows into the next block row.
template <int b, bool streams, class T>
void place_full_blocks(const T* values, std::int64_t* next, std::int64_t count, T* places) {
  constexpr std::int64_t ahead = 4096 / sizeof(T);
  const T* rows[b];
  for (int r = 0; r < b; ++r) rows[r] = values + next[r];
  for (std::int64_t k = 0; k < count; ++k, places += b * b) {
    T block[b * b];
    for (int r = 0; r < b; ++r) __builtin_prefetch(rows[r] + ahead);
    for (int r = 0; r < b; ++r)
      for (int c = 0; c < b; ++c) block[c * b + r] = rows[r][c];
    for (int e = 0; e < b * b; ++e) write_value<streams>(places + e, block[e]);
    for (int r = 0; r < b; ++r) rows[r] += b;
  }
  for (int r = 0; r < b; ++r) next[r] += count * b;
}
template <class T> using place_blocks = void (*)(const T*, std::int64_t*, std::int64_t, T*);
template <bool streams, class T>
constexpr place_blocks<T> place_full[] = {nullptr,
                                          nullptr,
                                          place_full_blocks<2, streams, T>,
                                          place_full_blocks<3, streams, T>,
                                          place_full_blocks<4, streams, T>,
                                          place_full_blocks<5, streams, T>,
                                          place_full_blocks<6, streams, T>,
                                          place_full_blocks<7, streams, T>,
                                          place_full_blocks<8, streams, T>};

/// Block row i from rows that are sorted and unique: their entries come in the order of the blocks,
/// so nothing is searched for.
template <bool streams, class T, class I, class O>
void place_in_order(const bsr_values<T, I, O, space::host>& v, bsr_view<T, I, O> to,
                    std::int64_t i) {
  const int block = to.block();
  const std::int64_t entries = to.size(), last = to.rowptr()[i + 1];
  std::int64_t next[8]; // entry of each row
  std::int64_t furthest = 0;
  for (int r = 0; r < block; ++r) {
    const std::int64_t row = i * block + r;
    next[r] = row < to.shape().row ? std::int64_t{v.rowptr[row]} : entries;
    furthest = std::max(furthest, next[r]);
  }
  for (std::int64_t k = to.rowptr()[i]; k < last;) {
    T* const places = to.values().data() + k * block * block;
    std::int64_t full = k;
    while (full < last && to.colind()[full] >= 0) ++full;
    // A matrix of another pattern may have too few entries: none are read beyond its last.
    const std::int64_t step = (full - k) * block;
    if (step > 0 && v.from == nullptr && furthest + step <= entries) {
      place_full<streams, T>[block](v.values, next, full - k, places);
      furthest += step;
      k = full;
      continue;
    }
    const std::uint64_t mask = to.colind()[k] < 0 ? to.masks()[k] : all_of(block);
    for (int place = 0; place < block * block; ++place) {
      std::int64_t& e = next[place % block];
      const bool on = (mask >> place & 1) != 0 && e < entries;
      write_value<streams>(places + place, on ? v.value(e++) : -T{0});
      furthest = std::max(furthest, e);
    }
    ++k;
  }
}
/// Block row i from rows in any order, with duplicates: blocks are searched for.
template <class T, class I, class O>
void place_by_search(const bsr_values<T, I, O, space::host>& v, bsr_view<T, I, O> to,
                     std::int64_t i) {
  const std::int64_t block = to.block();
  const I* const colind = to.colind().data();
  const O first = to.rowptr()[i], last = to.rowptr()[i + 1];
  // -0 is what a sum begins with: it changes no bit of the first value.
  std::fill_n(to.values().data() + std::int64_t{first} * block * block,
              std::int64_t{last - first} * block * block, -T{0});
  const std::int64_t end = std::min<std::int64_t>((i + 1) * block, to.shape().row);
  for (std::int64_t row = i * block; row < end; ++row)
    for (O e = v.rowptr[row]; e < v.rowptr[row + 1]; ++e) {
      const I column = v.colind[e];
      const std::int64_t k = find_block(colind, first, last, static_cast<I>(column / block));
      if (k == last || column_of(colind[k]) != column / block) continue; // of another pattern
      T& place = to.values()[k * block * block + column % block * block + row - i * block];
      place = to.merged() ? place + v.value(e) : v.value(e);
    }
}

} // namespace

template <class T, class I, class O>
void place_in_bsr(const host_context& ctx, const bsr_values<T, I, O, space::host>& v,
                  bsr_view<T, I, O> to) {
  const auto place = [&](auto place_block_row) {
    for_each_block_row(ctx, to.rowptr().data(), to.block_rows(),
                       [&](std::int64_t i) { place_block_row(v, to, i); });
  };
  if (!v.sorted || to.merged())
    place(place_by_search<T, I, O>);
  else if (to.values().size() * std::int64_t{sizeof(T)} < streamed_bytes)
    place(place_in_order<false, T, I, O>);
  else
    place(place_in_order<true, T, I, O>);
}

template <class T, class I, class O>
csr<T, I, O> bsr_to_csr(const host_context& ctx, bsr_view<const T, I, O> a) {
  const int block = a.block();
  const std::int64_t rows = a.shape().row;
  const auto mask_of = [=](std::int64_t k) {
    return a.colind()[k] < 0 ? a.masks()[k] : all_of(block);
  };
  // Bits of row r of a block: every block-th, from r on.
  std::uint64_t first_row_bits = 0;
  for (int c = 0; c < block; ++c) first_row_bits |= std::uint64_t{1} << (c * block);
  const int parts = part_count(ctx, rows + a.values().size(), entry_grain);
  return build_rows<T, I, O>(
      ctx, a.shape(), {true, true}, parts, [=](int part) { return part_begin(rows, part, parts); },
      [&](std::int64_t row) {
        std::int64_t count = 0;
        for (O k = a.rowptr()[row / block]; k < a.rowptr()[row / block + 1]; ++k)
          count += std::popcount(mask_of(k) & first_row_bits << (row % block));
        return count;
      },
      [&](std::int64_t row, I* colind, T* values) {
        for (O k = a.rowptr()[row / block]; k < a.rowptr()[row / block + 1]; ++k)
          for (int c = 0; c < block; ++c) {
            const std::int64_t place = c * block + row % block;
            if ((mask_of(k) >> place & 1) == 0) continue;
            *colind++ = column_of(a.colind()[k]) * static_cast<I>(block) + static_cast<I>(c);
            *values++ = a.values()[std::int64_t{k} * block * block + place];
          }
      });
}

template <class T, class I, class O>
void check_bsr(const host_context&, bsr_view<const T, I, O> a) {
  const auto fail = [](const std::string& what) { throw bad_input("bsr: " + what); };
  const int block = a.block();
  const auto [rows, cols] = a.shape();
  if (rows < 0 || cols < 0) throw_bad_shape("bsr", rows, cols, a.size());
  if (block < 2 || block > 8) fail(fmt::format("blocks of {} rows", block));
  const std::int64_t block_rows = (std::int64_t{rows} + block - 1) / block;
  if (a.rowptr().empty() && rows == 0 && a.values().empty()) return; // moved from
  if (a.block_rows() != block_rows)
    fail(fmt::format("{} block rows, {} are needed", a.block_rows(), block_rows));
  const std::int64_t blocks = a.colind().size();
  if (a.rowptr()[0] != 0 || a.rowptr()[block_rows] != blocks)
    fail(fmt::format("rowptr goes from {} to {}, there are {} blocks", a.rowptr()[0],
                     a.rowptr()[block_rows], blocks));
  if (a.values().size() != blocks * block * block)
    fail(fmt::format("{} values for {} blocks of {}", a.values().size(), blocks, block * block));
  if (!a.masks().empty() && a.masks().size() != blocks)
    fail(fmt::format("{} masks for {} blocks", a.masks().size(), blocks));
  for (std::int64_t i = 0; i < block_rows; ++i) {
    if (a.rowptr()[i + 1] < a.rowptr()[i]) fail(fmt::format("rowptr decreases at {}", i + 1));
    for (std::int64_t k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k) {
      const std::int64_t column = column_of(a.colind()[k]);
      const bool lacks = a.colind()[k] < 0;
      if (column * block >= cols) fail(fmt::format("colind[{}] = {} is outside", k, column));
      if (k > a.rowptr()[i] && column <= column_of(a.colind()[k - 1]))
        fail(fmt::format("columns of block row {} do not ascend at {}", i, k));
      if (lacks && a.masks().empty()) fail(fmt::format("block {} lacks entries and masks", k));
      const std::uint64_t mask = a.masks().empty() ? all_of(block) : a.masks()[k];
      if (!lacks && mask != all_of(block)) fail(fmt::format("block {} is said to be full", k));
      for (int place = 0; place < 64; ++place)
        if ((mask >> place & 1) != 0 &&
            (place >= block * block || i * block + place % block >= rows ||
             column * block + place / block >= cols))
          fail(fmt::format("block {} has entry {} outside", k, place));
    }
  }
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template bsr_blocks<I, O, space::host> find_blocks<I, O>(                                        \
      const host_context&, csr_view<const float, I, O>, int, std::size_t);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void place_in_bsr<T, I, O>(const host_context&,                                         \
                                      const bsr_values<T, I, O, space::host>&, bsr_view<T, I, O>); \
  template csr<T, I, O> bsr_to_csr<T, I, O>(const host_context&, bsr_view<const T, I, O>);         \
  template void check_bsr<T, I, O>(const host_context&, bsr_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
