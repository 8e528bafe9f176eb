// y = alpha A^T x + beta z on the host without a transposed copy: each thread scatters its rows
// into a window of y of its own; windows are added up in the order of the threads.
//
// The windows cover the columns a thread's rows touch. Where they are long, fewer threads work, so
// that zeroing and adding windows never costs more than the multiplication itself.
#include <lacuna/op/multiply.hpp>

#include <vector>

#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {
namespace {

struct window {
  std::int64_t first_row = 0, last_row = 0;
  std::int64_t first_column = 0, last_column = 0;
  std::int64_t place = 0; // where it begins among all windows
};

/// Columns that rows of the window touch; all of them if the rows are not sorted.
template <class T, class I, class O> void find_columns(csr_view<const T, I, O> a, window& w) {
  w.first_column = a.order().sorted ? a.shape().col : 0;
  w.last_column = a.order().sorted ? 0 : a.shape().col;
  if (!a.order().sorted) return;
  for (std::int64_t row = w.first_row; row < w.last_row; ++row) {
    const std::int64_t begin = a.rowptr()[row], end = a.rowptr()[row + 1];
    if (begin == end) continue;
    w.first_column = std::min<std::int64_t>(w.first_column, a.colind()[begin]);
    w.last_column = std::max<std::int64_t>(w.last_column, a.colind()[end - 1] + 1);
  }
  w.first_column = std::min(w.first_column, w.last_column);
}

template <class T, class I, class O>
std::vector<window> make_windows(const host_context& ctx, csr_view<const T, I, O> a) {
  const std::int64_t rows = a.shape().row, columns = a.shape().col;
  const std::int64_t allowed = columns + a.size() / 2;
  for (int parts = part_count(ctx, rows + a.size(), entry_grain);; parts = parts * 3 / 4) {
    std::vector<window> windows(static_cast<std::size_t>(parts));
    for_each_part(ctx, parts, 1, [&](int part, int) {
      window& w = windows[static_cast<std::size_t>(part)];
      w.first_row = first_row(a.rowptr().data(), rows, part, parts);
      w.last_row = first_row(a.rowptr().data(), rows, part + 1, parts);
      find_columns(a, w);
    });
    std::int64_t total = 0;
    for (window& w : windows) {
      w.place = total;
      total += w.last_column - w.first_column;
    }
    if (parts == 1 || total <= allowed) return windows;
  }
}

} // namespace

template <class T, class I, class O>
void multiply_csr_transposed(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                             vector_view<const T> x, T beta, vector_view<const T> z,
                             vector_view<T> y) {
  const auto windows = make_windows(ctx, a);
  const window& end = windows.back();
  array<T> sums(ctx, end.place + end.last_column - end.first_column);
  for_each_part(ctx, static_cast<std::int64_t>(windows.size()), 1, [&](int part, int) {
    const window& w = windows[static_cast<std::size_t>(part)];
    std::fill_n(sums.data() + w.place, w.last_column - w.first_column, T{0});
    T* mine = sums.data() + w.place - w.first_column;
    const O* rowptr = a.rowptr().data();
    const I* colind = a.colind().data();
    const T* values = a.values().data();
    for (std::int64_t row = w.first_row; row < w.last_row; ++row)
      for (std::int64_t k = rowptr[row]; k < rowptr[row + 1]; ++k)
        mine[colind[k]] += values[k] * x[row];
  });
  for_each_range(ctx, y.size(), entry_grain, [&](std::int64_t first, std::int64_t last) {
    constexpr std::int64_t block = 2048; // stays in L1 while windows are added
    T total[block];
    for (std::int64_t begin = first; begin < last; begin += block) {
      const std::int64_t count = std::min(block, last - begin);
      std::fill_n(total, count, T{0});
      for (const window& w : windows) {
        const std::int64_t from = std::max(begin, w.first_column);
        const std::int64_t to = std::min(begin + count, w.last_column);
        const T* theirs = sums.data() + w.place - w.first_column;
        for (std::int64_t c = from; c < to; ++c) total[c - begin] += theirs[c];
      }
      for (std::int64_t c = 0; c < count; ++c)
        y[begin + c] = beta == T{0} ? alpha * total[c] : alpha * total[c] + beta * z[begin + c];
    }
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_csr_transposed<T, I, O>(const host_context&, T, csr_view<const T, I, O>,  \
                                                 vector_view<const T>, T, vector_view<const T>,    \
                                                 vector_view<T>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
