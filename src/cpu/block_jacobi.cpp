#include <lacuna/solver/block_jacobi.hpp>

#include <atomic>
#include <cmath>
#include <limits>

#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {
namespace {

constexpr int most_block_rows = 16;
/// Rows of blocks below which another thread does not pay.
constexpr std::int64_t block_row_grain = 2048;

/// [B | I] becomes [I | B^-1]; false if B is singular: the largest pivot of a column is within
/// rounding of what was stored in its row.
template <class T> struct block_inverse {
  T m[most_block_rows][2 * most_block_rows];
  T largest[most_block_rows]; // stored in each row

  bool invert(int size, int block) {
    for (int i = 0; i < size; ++i) {
      largest[i] = 0;
      for (int j = 0; j < size; ++j) largest[i] = std::max(largest[i], std::abs(m[i][j]));
    }
    for (int p = 0; p < size; ++p) {
      int best = p;
      for (int i = p + 1; i < size; ++i)
        if (std::abs(m[i][p]) > std::abs(m[best][p])) best = i;
      const T pivot = m[best][p];
      const T noise = 4 * size * std::numeric_limits<T>::epsilon() * largest[best];
      if (!(std::abs(pivot) > noise) || !std::isfinite(pivot)) return false;
      std::swap(m[p], m[best]);
      std::swap(largest[p], largest[best]);
      for (int j = 0; j < block + size; ++j) m[p][j] /= pivot;
      for (int i = 0; i < size; ++i) {
        if (i == p) continue;
        const T factor = m[i][p];
        for (int j = 0; j < block + size; ++j) m[i][j] -= factor * m[p][j];
      }
    }
    return true;
  }
};

} // namespace

template <class T>
std::int64_t invert_blocks(const host_context& ctx, csr_view<const T, std::int64_t, std::int64_t> a,
                           int block, vector_view<T> inverses) {
  const std::int64_t rows = a.shape().row, blocks = (rows + block - 1) / block;
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> singular{none};
  for_each_part(ctx, rows, block_row_grain, [&](int part, int parts) {
    const std::int64_t last = part_begin(blocks, part + 1, parts);
    for (std::int64_t b = part_begin(blocks, part, parts); b < last; ++b) {
      const std::int64_t first = b * block;
      const int size = static_cast<int>(std::min<std::int64_t>(block, rows - first));
      block_inverse<T> work{};
      for (int i = 0; i < size; ++i) {
        work.m[i][block + i] = 1;
        for (std::int64_t k = a.rowptr()[first + i]; k < a.rowptr()[first + i + 1]; ++k) {
          const std::int64_t column = a.colind()[k] - first;
          if (column >= 0 && column < size) work.m[i][column] += a.values()[k];
        }
      }
      if (!work.invert(size, block)) {
        std::int64_t seen = singular.load();
        while (b < seen && !singular.compare_exchange_weak(seen, b)) {
        }
        return; // blocks after it are this part's, and come later
      }
      T* const to = inverses.data() + b * block * block;
      for (int j = 0; j < size; ++j)
        for (int i = 0; i < size; ++i) to[j * block + i] = work.m[i][block + j];
    }
  });
  return singular == none ? -1 : singular.load();
}

template <class T>
void multiply_blocks(const host_context& ctx, int block, vector_view<const T> blocks,
                     vector_view<const T> r, vector_view<T> z) {
  const std::int64_t rows = z.size(), count = (rows + block - 1) / block;
  for_each_part(ctx, rows * block, entry_grain, [&](int part, int parts) {
    const std::int64_t last = part_begin(count, part + 1, parts);
    for (std::int64_t b = part_begin(count, part, parts); b < last; ++b) {
      const std::int64_t first = b * block;
      const int size = static_cast<int>(std::min<std::int64_t>(block, rows - first));
      const T* const m = blocks.data() + b * block * block;
      T sum[most_block_rows] = {};
      for (int j = 0; j < size; ++j)
        for (int i = 0; i < size; ++i) sum[i] += m[j * block + i] * r[first + j];
      for (int i = 0; i < size; ++i) z[first + i] = sum[i];
    }
  });
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template std::int64_t invert_blocks<T>(                                                          \
      const host_context&, csr_view<const T, std::int64_t, std::int64_t>, int, vector_view<T>);    \
  template void multiply_blocks<T>(const host_context&, int, vector_view<const T>,                 \
                                   vector_view<const T>, vector_view<T>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
