#include <lacuna/plan/statistics.hpp>

#include <atomic>
#include <bit>
#include <cmath>
#include <vector>

#include "cpu/rows.hpp"
#include <lacuna/op/transpose.hpp>

namespace lacuna {
namespace {

constexpr std::int64_t block = matrix_statistics::block_size;

/// What one thread adds up; whole numbers only, so that the order of adding does not matter.
struct partial {
  matrix_statistics statistics;
  __int128 squares = 0; // of row lengths: up to 2^31 rows of 2^31 entries and more
};

/// Marks blocks of columns within one row of blocks. Cost: what is marked.
class bit_marks {
public:
  explicit bit_marks(std::uint64_t* words) : words_(words) {}
  void mark(std::int64_t k) {
    std::uint64_t& word = words_[k >> 6];
    count_ += static_cast<std::int64_t>(~word >> (k & 63) & 1);
    word |= std::uint64_t{1} << (k & 63);
  }
  /// How many were marked.
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Ready for the next row of blocks.
  template <class I> void clear(const I* first, const I* last) {
    for (; first != last; ++first) words_[*first / block >> 6] = 0;
    count_ = 0;
  }

private:
  std::uint64_t* words_;
  std::int64_t count_ = 0;
};

/// The same by sorting; scratch has the size of [first, last).
template <class I> std::int64_t count_by_sorting(const I* first, const I* last, I* scratch) {
  I* const end =
      std::transform(first, last, scratch, [](I col) { return static_cast<I>(col / block); });
  std::sort(scratch, end);
  return std::unique(scratch, end) - scratch;
}

/// Row lengths, band and values of one row.
template <class T, class I>
void add_row(partial& p, std::int64_t row, const I* col, const T* value, std::int64_t length) {
  matrix_statistics& f = p.statistics;
  f.row_length.longest = std::max(f.row_length.longest, length);
  f.shortest_row = std::min(f.shortest_row, length);
  f.row_length.empty += length == 0 ? 1 : 0;
  ++f.length_histogram[static_cast<std::size_t>(
      std::bit_width(static_cast<std::uint64_t>(length)))];
  p.squares += static_cast<__int128>(length) * length;
  if (length == 0) return;
  std::int64_t left = col[0], right = col[0], diagonal = 0, zeros = 0, nans = 0, infinities = 0;
  for (std::int64_t k = 0; k < length; ++k) {
    const std::int64_t j = col[k];
    left = std::min(left, j);
    right = std::max(right, j);
    diagonal += j == row ? 1 : 0;
    zeros += value[k] == 0 ? 1 : 0;
    nans += value[k] != value[k] ? 1 : 0;
    infinities += std::isinf(value[k]) ? 1 : 0;
  }
  f.lower_bandwidth = std::max(f.lower_bandwidth, row - left);
  f.upper_bandwidth = std::max(f.upper_bandwidth, right - row);
  f.profile += std::max<std::int64_t>(row - left, 0);
  f.diagonal_entries += diagonal;
  f.zeros += zeros;
  f.nans += nans;
  f.infinities += infinities;
}

void join(partial& all, const partial& p) {
  matrix_statistics& f = all.statistics;
  const matrix_statistics& g = p.statistics;
  f.row_length.longest = std::max(f.row_length.longest, g.row_length.longest);
  f.row_length.empty += g.row_length.empty;
  f.shortest_row = std::min(f.shortest_row, g.shortest_row);
  for (std::size_t k = 0; k < f.length_histogram.size(); ++k)
    f.length_histogram[k] += g.length_histogram[k];
  f.lower_bandwidth = std::max(f.lower_bandwidth, g.lower_bandwidth);
  f.upper_bandwidth = std::max(f.upper_bandwidth, g.upper_bandwidth);
  f.profile += g.profile;
  f.diagonal_entries += g.diagonal_entries;
  f.zeros += g.zeros;
  f.nans += g.nans;
  f.infinities += g.infinities;
  f.blocks += g.blocks;
  all.squares += p.squares;
}

/// First row of a part, on the edge of a block.
template <class O>
std::int64_t first_block_row(const O* rowptr, std::int64_t rows, int part, int parts) {
  return std::min(rows,
                  (detail::cpu::first_row(rowptr, rows, part, parts) + block - 1) / block * block);
}

} // namespace

template <class T, class I, class O>
matrix_statistics statistics(const host_context& ctx, csr_view<const T, I, O> a) {
  const std::int64_t rows = a.shape().row, cols = a.shape().col, nnz = a.size();
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  const T* const values = a.values().data();

  partial all;
  all.statistics.shortest_row = rows == 0 ? 0 : nnz;
  const int parts =
      rows == 0 ? 1 : detail::cpu::part_count(ctx, rows + nnz, detail::cpu::entry_grain);
  std::vector<partial> partials(static_cast<std::size_t>(parts), all);
  // Very many columns, nearly empty: marks would be larger than the matrix.
  const std::int64_t words = cols / block / 64 + 1;
  const bool by_sorting = words > 1024 && words > nnz / parts;
  array<std::uint64_t> marks(ctx, by_sorting ? 0 : words * parts);
  std::fill(marks.begin(), marks.end(), 0);
  array<I> sorted(ctx, by_sorting ? nnz : 0);

  detail::cpu::for_each_part(ctx, parts, 1, [&](int part, int) {
    partial mine = partials[static_cast<std::size_t>(part)];
    bit_marks marked(by_sorting ? nullptr : marks.data() + words * part);
    const std::int64_t end = rows == 0 ? 0 : first_block_row(rowptr, rows, part + 1, parts);
    for (std::int64_t top = rows == 0 ? 0 : first_block_row(rowptr, rows, part, parts); top < end;
         top += block) {
      const std::int64_t bottom = std::min(top + block, end);
      for (std::int64_t i = top; i < bottom; ++i)
        add_row(mine, i, colind + rowptr[i], values + rowptr[i], rowptr[i + 1] - rowptr[i]);
      const I* const first = colind + rowptr[top];
      const I* const last = colind + rowptr[bottom];
      if (by_sorting) {
        mine.statistics.blocks += count_by_sorting(first, last, sorted.data() + rowptr[top]);
        continue;
      }
      for (const I* col = first; col != last; ++col) marked.mark(*col / block);
      mine.statistics.blocks += marked.count();
      marked.clear(first, last);
    }
    partials[static_cast<std::size_t>(part)] = mine;
  });
  for (const partial& p : partials) join(all, p);

  matrix_statistics& f = all.statistics;
  f.rows = rows;
  f.cols = cols;
  f.entries = nnz;
  if (rows > 0) {
    const auto n = static_cast<double>(rows);
    const __int128 spread =
        static_cast<__int128>(rows) * all.squares - static_cast<__int128>(nnz) * nnz;
    f.row_length.mean = static_cast<double>(nnz) / n;
    f.row_length.deviation = std::sqrt(static_cast<double>(spread)) / n;
  }
  return f;
}

template <class T, class I, class O>
symmetry_found find_symmetry(const host_context& ctx, csr_view<const T, I, O> a) {
  if (a.shape().row != a.shape().col) return {};
  if (a.shape().row == 0) return {true, true, true};
  const csr<T, I, O> b = transpose(ctx, a);
  if (!a.order().sorted) {
    const csr<T, I, O> sorted = transpose(ctx, b);
    return find_symmetry<T, I, O>(ctx, sorted.view());
  }
  const std::int64_t rows = a.shape().row;
  std::atomic<bool> pattern{true}, symmetric{true}, skew{true};
  detail::cpu::for_each_range(
      ctx, rows + 1, detail::cpu::entry_grain, [&](std::int64_t begin, std::int64_t end) {
        if (!std::equal(a.rowptr().begin() + begin, a.rowptr().begin() + end,
                        b.rowptr().begin() + begin))
          pattern = false;
      });
  detail::cpu::for_each_range(ctx, a.size(), detail::cpu::entry_grain,
                              [&](std::int64_t begin, std::int64_t end) {
                                bool same_place = true, same = true, opposite = true;
                                for (std::int64_t k = begin; k < end; ++k) {
                                  const T left = a.values()[k], right = b.values()[k];
                                  const bool both_nan = left != left && right != right;
                                  same_place &= a.colind()[k] == b.colind()[k];
                                  same &= left == right || both_nan;
                                  opposite &= left == -right || both_nan;
                                }
                                if (!same_place) pattern = false;
                                if (!same) symmetric = false;
                                if (!opposite) skew = false;
                              });
  return {pattern, pattern && symmetric, pattern && skew};
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template matrix_statistics statistics(const host_context&, csr_view<const T, I, O>);             \
  template symmetry_found find_symmetry(const host_context&, csr_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna
