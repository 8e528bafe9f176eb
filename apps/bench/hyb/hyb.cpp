#include "bench/hyb/hyb.hpp"

#include <algorithm>

namespace lacuna::bench {

std::int64_t choose_hyb_width(std::int64_t rows, const std::vector<std::int64_t>& rows_of_length) {
  constexpr std::int64_t relative_speed = 3, least_rows = 4096;
  std::int64_t filled = 0; // rows of at least so many entries
  for (std::size_t width = rows_of_length.size(); width-- > 1;) {
    filled += rows_of_length[width];
    if (relative_speed * filled >= rows && filled >= least_rows)
      return static_cast<std::int64_t>(width);
  }
  return 0;
}

template <class T>
hyb<T, space::host> make_hyb(const host_context& ctx, csr_view<const T> a, std::int64_t width,
                             std::int64_t most_places) {
  const std::int64_t rows = a.shape().row;
  const std::int64_t widest = rows == 0 ? 0 : most_places * a.size() / rows;
  if (width == 0) {
    std::vector<std::int64_t> rows_of_length(static_cast<std::size_t>(widest) + 2);
    for (std::int64_t i = 0; i < rows; ++i)
      ++rows_of_length[static_cast<std::size_t>(
          std::min<std::int64_t>(a.rowptr()[i + 1] - a.rowptr()[i], widest + 1))];
    width = choose_hyb_width(rows, rows_of_length);
  }
  width = std::min(width, widest);
  hyb<T, space::host> result{a.shape(), width, (rows + 31) / 32 * 32, {}, {}, {}, {}};
  result.columns = array<index_t>(ctx, width * result.stride);
  result.values = array<T>(ctx, width * result.stride);
  std::fill(result.columns.begin(), result.columns.end(), -1);
  std::fill(result.values.begin(), result.values.end(), T{0});
  std::int64_t beyond = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    beyond += std::max<std::int64_t>(a.rowptr()[i + 1] - a.rowptr()[i] - width, 0);
  result.rest = csr<T>(ctx, a.shape(), beyond, a.order());
  offset_t next = 0;
  result.rest.rowptr()[0] = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t k = 0;
    for (offset_t e = a.rowptr()[i]; e < a.rowptr()[i + 1]; ++e, ++k) {
      if (k < width) {
        result.columns[k * result.stride + i] = a.colind()[e];
        result.values[k * result.stride + i] = a.values()[e];
      } else {
        result.rest.colind()[next] = a.colind()[e];
        result.rest.values()[next++] = a.values()[e];
      }
    }
    result.rest.rowptr()[i + 1] = next;
  }
  return result;
}

template <class T>
void multiply_ell(const host_context& ctx, const hyb<T, space::host>& a, vector_view<const T> x,
                  vector_view<T> y) {
  constexpr std::int64_t block = 256; // rows whose sums are kept while columns are passed through
  const std::int64_t rows = a.shape.row;
#pragma omp parallel for num_threads(ctx.threads()) schedule(static)
  for (std::int64_t first = 0; first < rows; first += block) {
    const std::int64_t count = std::min(block, rows - first);
    T sums[block] = {};
    for (std::int64_t k = 0; k < a.width; ++k) {
      const index_t* const columns = a.columns.data() + k * a.stride + first;
      const T* const values = a.values.data() + k * a.stride + first;
      for (std::int64_t i = 0; i < count; ++i)
        if (columns[i] >= 0) sums[i] += values[i] * x[columns[i]];
    }
    std::copy(sums, sums + count, y.data() + first);
  }
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template hyb<T, space::host> make_hyb<T>(const host_context&, csr_view<const T>, std::int64_t,   \
                                           std::int64_t);                                          \
  template void multiply_ell<T>(const host_context&, const hyb<T, space::host>&,                   \
                                vector_view<const T>, vector_view<T>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::bench
