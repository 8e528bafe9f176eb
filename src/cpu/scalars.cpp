// Vector operations whose factors and sums are scalars in memory. Sums are formed block by block,
// in blocks that depend on the length alone, so that they are the same for any number of threads.
#include "core/scalar_program.hpp"
#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {
namespace {

constexpr std::int64_t scalars_grain = std::int64_t{1} << 15;
constexpr std::int64_t least_sum_block = 4096;
constexpr int sum_lanes = 16; // independent sums: hides the latency of an addition

bool is_done(const scalar_block& s, const double* slots) {
  return s.may_stop && slots[rule_slot::phase] == 2;
}

/// Calls body(begin, end, sums) on blocks of [0, rows), adds the sums up in the order of the
/// blocks, puts them into their slots and runs the program.
template <int Sums, class Body>
void sum_blocks(const host_context& ctx, const scalar_block& s, std::int64_t column,
                std::int64_t rows, const int* slot, const scalar_program& then, Body body) {
  double* const slots = s.slots + column * s.per_column;
  const std::int64_t block =
      std::max(least_sum_block, (rows + scalar_block::most_blocks - 1) / scalar_block::most_blocks);
  const std::int64_t blocks = (rows + block - 1) / block;
  double* const partials =
      s.partials + column * (scalar_block::most_sums * scalar_block::most_blocks);
  for_each_part(ctx, rows, scalars_grain, [&](int part, int parts) {
    const std::int64_t last = part_begin(blocks, part + 1, parts);
    for (std::int64_t b = part_begin(blocks, part, parts); b < last; ++b) {
      double sums[Sums > 0 ? Sums : 1] = {};
      body(b * block, std::min(rows, (b + 1) * block), sums);
      for (int k = 0; k < Sums; ++k) partials[k * scalar_block::most_blocks + b] = sums[k];
    }
  });
  for (int k = 0; k < Sums; ++k) {
    double sum = 0;
    for (std::int64_t b = 0; b < blocks; ++b) sum += partials[k * scalar_block::most_blocks + b];
    slots[slot[k]] = sum;
  }
  if (then.count == 0) return;
  run_steps(then, s.may_stop, slots, s.history + column * s.capacity, s.capacity);
  if (s.may_stop && s.mirror != nullptr)
    show_column(slots, s.mirror + column * scalar_block::mirrored);
}

/// The sum of lanes that were filled by element modulo their number.
double add_lanes(double* lane) {
  for (int width = sum_lanes / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
  return lane[0];
}

template <int Count, class T>
void dots_of(const host_context& ctx, const scalar_block& s, const dots_arguments<T>& a,
             const scalar_program& then, std::int64_t column) {
  const T *left[Count], *right[Count];
  for (int k = 0; k < Count; ++k) {
    left[k] = a.left[k].data + column * a.left[k].ld;
    right[k] = a.right[k].data + column * a.right[k].ld;
  }
  sum_blocks<Count>(ctx, s, column, a.rows, a.slot, then,
                    [&](std::int64_t begin, std::int64_t end, double* sums) {
                      double lane[Count][sum_lanes] = {};
                      std::int64_t i = begin;
                      for (; i + sum_lanes <= end; i += sum_lanes)
                        for (int k = 0; k < Count; ++k) {
                          const T *const p = left[k] + i, *const q = right[k] + i;
#pragma omp simd
                          for (int l = 0; l < sum_lanes; ++l)
                            lane[k][l] += static_cast<double>(p[l]) * static_cast<double>(q[l]);
                        }
                      for (int k = 0; k < Count; ++k) {
                        for (int l = 0; i + l < end; ++l)
                          lane[k][l] += static_cast<double>(left[k][i + l]) *
                                        static_cast<double>(right[k][i + l]);
                        sums[k] = add_lanes(lane[k]);
                      }
                    });
}

/// Terms known to the compiler; First 0: by the arguments.
template <int First, int Second, int Sums, class T>
void combine_of(const host_context& ctx, const scalar_block& s, const combine_arguments<T>& a,
                const scalar_program& then, std::int64_t column) {
  constexpr bool known = First > 0;
  const double* const slots = s.slots + column * s.per_column;
  const T* in[2][most_terms] = {};
  T factor[2][most_terms] = {};
  T* out[2];
  for (int o = 0; o < 2; ++o) {
    out[o] = a.out[o].data + column * a.out[o].ld;
    for (int k = 0; k < a.terms[o]; ++k) {
      in[o][k] = a.in[o][k].data + column * a.in[o][k].ld;
      factor[o][k] =
          static_cast<T>(a.constant[o][k] * (a.slot[o][k] >= 0 ? slots[a.slot[o][k]] : 1.0));
    }
  }
  const int terms[2] = {known ? First : a.terms[0], known ? Second : a.terms[1]};
  const int last = terms[1] > 0 ? 1 : 0;
  const T* const with = a.with.data + column * a.with.ld;
  // No element depends on another one, whatever is written to what is read: that is what simd
  // asserts. All is read before anything is written.
  const auto element = [&](std::int64_t i, double& square, double& product) {
    T v[2] = {};
    for (int o = 0; o < 2; ++o)
      for (int k = 0; k < most_terms; ++k)
        if (k < terms[o])
          v[o] = k == 0 ? factor[o][0] * in[o][0][i] : v[o] + factor[o][k] * in[o][k][i];
    out[0][i] = v[0];
    if (terms[1] > 0) out[1][i] = v[1];
    if constexpr (Sums > 0) square += static_cast<double>(v[last]) * static_cast<double>(v[last]);
    if constexpr (Sums > 1) product += static_cast<double>(v[last]) * static_cast<double>(with[i]);
  };
  sum_blocks<Sums>(ctx, s, column, a.rows, a.sum_slot, then,
                   [&](std::int64_t begin, std::int64_t end, double* sums) {
                     double square[sum_lanes] = {}, product[sum_lanes] = {};
                     std::int64_t i = begin;
                     for (; i + sum_lanes <= end; i += sum_lanes) {
#pragma omp simd
                       for (int l = 0; l < sum_lanes; ++l) element(i + l, square[l], product[l]);
                     }
                     for (int l = 0; i + l < end; ++l) element(i + l, square[l], product[l]);
                     if constexpr (Sums > 0) sums[0] = add_lanes(square);
                     if constexpr (Sums > 1) sums[1] = add_lanes(product);
                   });
}

template <class T>
using combine_function = void (*)(const host_context&, const scalar_block&,
                                  const combine_arguments<T>&, const scalar_program&, std::int64_t);
/// Those that solvers use are compiled for their terms; see src/gpu/scalars.cu.
template <class T> combine_function<T> find_combine(const combine_arguments<T>& a) {
  switch (100 * a.terms[0] + 10 * a.terms[1] + a.sums) {
  case 100: return combine_of<1, 0, 0, T>;
  case 200: return combine_of<2, 0, 0, T>;
  case 201: return combine_of<2, 0, 1, T>;
  case 220: return combine_of<2, 2, 0, T>;
  case 300: return combine_of<3, 0, 0, T>;
  case 301: return combine_of<3, 0, 1, T>;
  case 322: return combine_of<3, 2, 2, T>;
  case 430: return combine_of<4, 3, 0, T>;
  default: break;
  }
  if (a.sums == 0) return combine_of<0, 0, 0, T>;
  return a.sums == 1 ? combine_of<0, 0, 1, T> : combine_of<0, 0, 2, T>;
}

} // namespace

template <class T>
void dots(const host_context& ctx, const scalar_block& s, const dots_arguments<T>& a,
          const scalar_program& then) {
  for (std::int64_t column = 0; column < s.columns; ++column) {
    if (is_done(s, s.slots + column * s.per_column)) continue;
    switch (a.count) {
    case 1: dots_of<1>(ctx, s, a, then, column); break;
    case 2: dots_of<2>(ctx, s, a, then, column); break;
    case 3: dots_of<3>(ctx, s, a, then, column); break;
    default: dots_of<4>(ctx, s, a, then, column);
    }
  }
}

template <class T>
void combine(const host_context& ctx, const scalar_block& s, const combine_arguments<T>& a,
             const scalar_program& then) {
  for (std::int64_t column = 0; column < s.columns; ++column)
    if (!is_done(s, s.slots + column * s.per_column)) find_combine(a)(ctx, s, a, then, column);
}

template <class T>
void project(const host_context& ctx, const basis_arguments<T>& a, const scalar_block& s) {
  const T* const w = a.w;
  int k = 0;
  const auto some = [&]<int Count>(std::integral_constant<int, Count>) {
    dots_arguments<T> d;
    d.rows = a.rows;
    d.count = Count;
    for (int j = 0; j < Count; ++j) {
      d.left[j] = {a.v + (k + j) * a.ld, a.rows};
      d.right[j] = {w, a.rows};
      d.slot[j] = k + j;
    }
    scalar_block into = s;
    into.slots = a.h;
    into.may_stop = false;
    dots_of<Count>(ctx, into, d, {}, 0);
    k += Count;
  };
  while (k + 4 <= a.vectors) some(std::integral_constant<int, 4>{});
  while (k < a.vectors) some(std::integral_constant<int, 1>{});
  if (a.h_seen != nullptr) std::copy(a.h, a.h + a.vectors, a.h_seen);
}

template <class T>
void expand(const host_context& ctx, const basis_arguments<T>& a, const scalar_block& s) {
  scalar_block into = s;
  into.slots = a.h;
  into.may_stop = false;
  const int slot[1] = {a.vectors};
  sum_blocks<1>(ctx, into, 0, a.rows, slot, {},
                [&](std::int64_t begin, std::int64_t end, double* sums) {
                  for (int k = 0; k < a.vectors; ++k) {
                    const T factor = static_cast<T>(a.factor * a.h[k]);
                    const T* const v = a.v + k * a.ld;
#pragma omp simd
                    for (std::int64_t i = begin; i < end; ++i) a.w[i] += factor * v[i];
                  }
                  double lane[sum_lanes] = {};
                  std::int64_t i = begin;
                  const auto square = [&](std::int64_t at) {
                    return static_cast<double>(a.w[at]) * static_cast<double>(a.w[at]);
                  };
                  for (; i + sum_lanes <= end; i += sum_lanes)
                    for (int l = 0; l < sum_lanes; ++l) lane[l] += square(i + l);
                  for (int l = 0; i + l < end; ++l) lane[l] += square(i + l);
                  sums[0] = add_lanes(lane);
                });
  if (a.h_seen != nullptr) a.h_seen[a.vectors] = a.h[a.vectors];
}

void run_scalars(const host_context&, const scalar_block& s, const scalar_program& program) {
  for (std::int64_t column = 0; column < s.columns; ++column) {
    double* const slots = s.slots + column * s.per_column;
    if (is_done(s, slots)) continue;
    run_steps(program, s.may_stop, slots, s.history + column * s.capacity, s.capacity);
    if (s.may_stop && s.mirror != nullptr)
      show_column(slots, s.mirror + column * scalar_block::mirrored);
  }
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template void dots(const host_context&, const scalar_block&, const dots_arguments<T>&,           \
                     const scalar_program&);                                                       \
  template void combine(const host_context&, const scalar_block&, const combine_arguments<T>&,     \
                        const scalar_program&);                                                    \
  template void project(const host_context&, const basis_arguments<T>&, const scalar_block&);      \
  template void expand(const host_context&, const basis_arguments<T>&, const scalar_block&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
