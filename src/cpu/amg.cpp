// AMG's passes on the host (solver/amg_rows.hpp).
#include "solver/amg_engine.hpp"

#include <lacuna/core/checked.hpp>

#include "cpu/parallel.hpp"

namespace lacuna::detail::cpu {
namespace {
/// Rows for which another thread pays: a few entries each, 5 us of work.
constexpr std::int64_t row_grain = 2048;
constexpr std::int64_t dot_block = 4096; // summed one after another
} // namespace

template <class F> void amg_each(const host_context& ctx, std::int64_t n, const F& f) {
  for_each_range(ctx, n, row_grain, [&f](std::int64_t begin, std::int64_t end) {
    const F row = f; // of this thread alone: its numbers stay in registers, loops vectorise
    for (std::int64_t i = begin; i < end; ++i) row(i);
  });
}

std::int64_t amg_sums(const host_context&, std::int64_t n, const int* counts, int* sums) {
  std::int64_t all = 0;
  sums[0] = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    all += counts[i];
    sums[i + 1] = static_cast<int>(all);
  }
  checked_cast<int>(all, "entries of a prolongator");
  return all;
}

template <class T>
void amg_dots(const host_context& ctx, std::int64_t n, const T* x, const T* y0, const T* y1,
              const T* y2, double* scratch, T* to) {
  constexpr std::int64_t most = amg_dots_scratch / 3;
  const std::int64_t block = std::max(dot_block, (n + most - 1) / most);
  const std::int64_t blocks = (n + block - 1) / block;
  const T* const others[3] = {y0, y1, y2};
  for_each_range(ctx, blocks, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b)
      for (int which = 0; which < 3; ++which) {
        const T* const y = others[which];
        double sum = 0;
        if (y != nullptr)
          for (std::int64_t i = b * block; i < std::min(n, (b + 1) * block); ++i)
            sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
        scratch[3 * b + which] = sum;
      }
  });
  for (int which = 0; which < 3; ++which) {
    if (others[which] == nullptr) continue;
    double sum = 0;
    for (std::int64_t b = 0; b < blocks; ++b) sum += scratch[3 * b + which];
    to[which] = static_cast<T>(sum);
  }
}

template <class T>
void amg_dense(const host_context&, std::int64_t n, const T* m, const T* r, T* z) {
  for (std::int64_t i = 0; i < n; ++i) z[i] = T{0};
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) z[i] += m[j * n + i] * r[j];
}

#define LACUNA_AMG_PLAIN(F)                                                                        \
  template void amg_each(const host_context&, std::int64_t, const amg_rows::F&);
#define LACUNA_AMG_VALUED(F, T)                                                                    \
  template void amg_each(const host_context&, std::int64_t, const amg_rows::F<T>&);
#define LACUNA_INSTANTIATE(T)                                                                      \
  LACUNA_FOR_EACH_AMG_VALUED(LACUNA_AMG_VALUED, T)                                                 \
  template void amg_dots(const host_context&, std::int64_t, const T*, const T*, const T*,          \
                         const T*, double*, T*);                                                   \
  template void amg_dense(const host_context&, std::int64_t, const T*, const T*, T*);
LACUNA_FOR_EACH_AMG_PLAIN(LACUNA_AMG_PLAIN)
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
template void amg_each(const host_context&, std::int64_t,
                       const amg_rows::convert_values<double, float>&);
template void amg_each(const host_context&, std::int64_t,
                       const amg_rows::convert_values<float, double>&);

} // namespace lacuna::detail::cpu
