// Lines along which entries are stored are summed piece by piece, a long one by several threads;
// across them, blocks of entries have accumulators of their own, which are joined in order. Where
// pieces and blocks begin depends on the matrix alone.
#include <lacuna/op/reduce.hpp>

#include <limits>

#include "cpu/shares.hpp"

namespace lacuna::detail {

void throw_nothing_to_reduce(const char* op) {
  throw bad_input(std::string(op) + ": of 0 elements there is no largest or smallest");
}

} // namespace lacuna::detail

namespace lacuna::detail::cpu {
namespace {

struct summed {
  static constexpr double none = 0;
  static constexpr bool reads_missing = false;
  static double take(double sum, double v) { return sum + v; }
  static double take_number(double sum, double v) { return sum + v; }
  static double join(double a, double b) { return a + b; }
};
struct summed_magnitudes : summed {
  static double take(double sum, double v) { return sum + std::abs(v); }
  static double take_number(double sum, double v) { return take(sum, v); }
};
struct summed_squares : summed {
  static double take(double sum, double v) { return sum + v * v; }
  static double take_number(double sum, double v) { return take(sum, v); }
};
/// Once NaN, always NaN.
struct largest {
  static constexpr double none = -std::numeric_limits<double>::infinity();
  static constexpr bool reads_missing = true;
  static double take(double so_far, double v) { return ((v > so_far) | (v != v)) ? v : so_far; }
  static double take_number(double so_far, double v) { return v > so_far ? v : so_far; }
  static double join(double a, double b) { return take(a, b); }
};
struct smallest {
  static constexpr double none = std::numeric_limits<double>::infinity();
  static constexpr bool reads_missing = true;
  static double take(double so_far, double v) { return ((v < so_far) | (v != v)) ? v : so_far; }
  static double take_number(double so_far, double v) { return v < so_far ? v : so_far; }
  static double join(double a, double b) { return take(a, b); }
};

/// f(Kind{}) of the reduction that is asked for.
template <class F> auto with_kind(reduction how, F f) {
  switch (how) {
  case reduction::sum_of_magnitudes: return f(summed_magnitudes{});
  case reduction::sum_of_squares: return f(summed_squares{});
  case reduction::max: return f(largest{});
  case reduction::min: return f(smallest{});
  case reduction::sum: break;
  }
  return f(summed{});
}

/// Of values that follow one another, in 8 interleaved accumulators: hides the latency of one. NaN
/// is looked for apart from extremes, so that both become vectors.
template <class Kind, class T> double reduce_piece(const T* value, std::int64_t size) {
  constexpr std::int64_t lanes = 8;
  if (size < lanes) {
    double result = Kind::none;
    for (std::int64_t k = 0; k < size; ++k) result = Kind::take(result, value[k]);
    return result;
  }
  double lane[lanes];
  std::int64_t is_nan[lanes] = {};
  for (std::int64_t l = 0; l < lanes; ++l) lane[l] = Kind::none;
  std::int64_t k = 0;
  for (; k + lanes <= size; k += lanes)
    for (std::int64_t l = 0; l < lanes; ++l) {
      const double v = value[k + l];
      lane[l] = Kind::take_number(lane[l], v);
      if constexpr (Kind::reads_missing) is_nan[l] |= v != v ? 1 : 0;
    }
  for (std::int64_t l = 0; l < lanes; ++l)
    if (is_nan[l] != 0) return std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t l = 0; k + l < size; ++l) lane[l] = Kind::take(lane[l], value[k + l]);
  for (std::int64_t width = lanes / 2; width > 0; width /= 2)
    for (std::int64_t l = 0; l < width; ++l) lane[l] = Kind::join(lane[l], lane[l + width]);
  return lane[0];
}

/// With the zeros that are not stored.
template <class Kind> double finished(double result, bool full) {
  return Kind::reads_missing && !full ? Kind::take(result, 0) : result;
}

/// Blocks of entries across the lines: accumulators for all of them are no more than the entries.
/// 16: reasoned, enough for the cores of most machines.
std::int64_t block_count(std::int64_t entries, std::int64_t lines) {
  return std::clamp<std::int64_t>(entries / std::max<std::int64_t>(lines, entry_grain), 1, 16);
}

} // namespace

template <class T, class O>
void reduce_lines(const host_context& ctx, reduction how, std::int64_t length,
                  vector_view<const O> starts, vector_view<const T> values, vector_view<T> result) {
  const std::int64_t lines = result.size();
  const O* const start = starts.data();
  const T* const value = values.data();
  T* const to = result.data();
  array<double> pieces;
  with_kind(how, [&](auto kind) {
    using Kind = decltype(kind);
    const auto store = [=](std::int64_t line, double reduced) {
      to[line] = static_cast<T>(finished<Kind>(reduced, start[line + 1] - start[line] == length));
    };
    for_each_share(
        ctx, start, lines, [&](std::int64_t slots) { pieces = array<double>(ctx, slots); },
        [=](std::int64_t first, std::int64_t last) {
          for (std::int64_t line = first; line < last; ++line) {
            std::int64_t k = start[line];
            const std::int64_t end = start[line + 1];
            double reduced = reduce_piece<Kind>(value + k, std::min(end - k, piece_entries));
            for (k += piece_entries; k < end; k += piece_entries)
              reduced = Kind::join(reduced,
                                   reduce_piece<Kind>(value + k, std::min(end - k, piece_entries)));
            store(line, reduced);
          }
        },
        [&](std::int64_t, std::int64_t first, std::int64_t last, std::int64_t slot) {
          pieces[slot] = reduce_piece<Kind>(value + first, last - first);
        },
        [&](std::int64_t line, std::int64_t first, std::int64_t last) {
          double reduced = pieces[first];
          for (std::int64_t slot = first + 1; slot < last; ++slot)
            reduced = Kind::join(reduced, pieces[slot]);
          store(line, reduced);
        });
  });
}

template <class T, class I>
void reduce_across(const host_context& ctx, reduction how, std::int64_t length,
                   vector_view<const I> indices, vector_view<const T> values,
                   vector_view<T> result) {
  const std::int64_t entries = indices.size(), lines = result.size();
  const std::int64_t blocks = block_count(entries, lines);
  const bool counts = how == reduction::max || how == reduction::min;
  array<double> reduced(ctx, blocks * lines);
  array<std::int64_t> stored(ctx, counts ? blocks * lines : 0);
  const int parts = static_cast<int>(blocks), threads = std::min(parts, ctx.threads());
  with_kind(how, [&](auto kind) {
    using Kind = decltype(kind);
    for_each_dynamic(threads, parts, [&](int block) {
      double* const to = reduced.data() + block * lines;
      std::int64_t* const count = stored.data() + (counts ? block * lines : 0);
      std::fill_n(to, lines, Kind::none);
      if (counts) std::fill_n(count, lines, 0);
      const std::int64_t end = part_begin(entries, block + 1, parts);
      for (std::int64_t k = part_begin(entries, block, parts); k < end; ++k) {
        to[indices[k]] = Kind::take(to[indices[k]], values[k]);
        if constexpr (Kind::reads_missing) ++count[indices[k]];
      }
    });
    for_each_range(ctx, lines, entry_grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) {
        double all = reduced[j];
        std::int64_t count = counts ? stored[j] : 0;
        for (std::int64_t block = 1; block < blocks; ++block) {
          all = Kind::join(all, reduced[block * lines + j]);
          if (counts) count += stored[block * lines + j];
        }
        result[j] = static_cast<T>(finished<Kind>(all, count == length));
      }
    });
  });
}

template <class T>
T reduce_values(const host_context& ctx, reduction how, std::int64_t elements,
                vector_view<const T> values) {
  const std::int64_t size = values.size(), pieces = std::max<std::int64_t>(piece_count(size), 1);
  array<double> reduced(ctx, pieces);
  return with_kind(how, [&](auto kind) {
    using Kind = decltype(kind);
    for_each_range(ctx, pieces, 2, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t piece = first; piece < last; ++piece) {
        const std::int64_t begin = piece * piece_entries;
        reduced[piece] = reduce_piece<Kind>(values.data() + begin,
                                            std::min(size - begin, std::int64_t{piece_entries}));
      }
    });
    double all = reduced[0];
    for (std::int64_t piece = 1; piece < pieces; ++piece) all = Kind::join(all, reduced[piece]);
    return static_cast<T>(finished<Kind>(all, size == elements));
  });
}

template <class O>
void line_sizes(const host_context& ctx, vector_view<const O> starts, vector_view<O> result) {
  for_each_range(ctx, result.size(), entry_grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) result[i] = starts[i + 1] - starts[i];
  });
}

template <class I, class O>
void count_indices(const host_context& ctx, vector_view<const I> indices, vector_view<O> result) {
  const std::int64_t entries = indices.size(), lines = result.size();
  const std::int64_t blocks = block_count(entries, lines);
  const int parts = static_cast<int>(blocks);
  array<O> counts(ctx, blocks * lines);
  for_each_dynamic(std::min(parts, ctx.threads()), parts, [&](int block) {
    O* const count = counts.data() + block * lines;
    std::fill_n(count, lines, O{0});
    const std::int64_t end = part_begin(entries, block + 1, parts);
    for (std::int64_t k = part_begin(entries, block, parts); k < end; ++k) ++count[indices[k]];
  });
  for_each_range(ctx, lines, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      O all = 0;
      for (std::int64_t block = 0; block < blocks; ++block) all += counts[block * lines + j];
      result[j] = all;
    }
  });
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void reduce_lines<T, I>(const host_context&, reduction, std::int64_t,                   \
                                   vector_view<const I>, vector_view<const T>, vector_view<T>);    \
  template void reduce_across<T, I>(const host_context&, reduction, std::int64_t,                  \
                                    vector_view<const I>, vector_view<const T>, vector_view<T>);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T)                                                                      \
  template T reduce_values<T>(const host_context&, reduction, std::int64_t, vector_view<const T>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template void count_indices<I, O>(const host_context&, vector_view<const I>, vector_view<O>);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
template void line_sizes(const host_context&, vector_view<const std::int32_t>,
                         vector_view<std::int32_t>);
template void line_sizes(const host_context&, vector_view<const std::int64_t>,
                         vector_view<std::int64_t>);

} // namespace lacuna::detail::cpu
