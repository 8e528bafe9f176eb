#include <lacuna/op/diagonals.hpp>

#include <fmt/format.h>

#include "cpu/build_rows.hpp"
#include "gen/random.hpp"

namespace lacuna::detail {

void throw_bad_diagonal(std::int64_t k, std::int64_t rows, std::int64_t cols) {
  throw bad_input(
      fmt::format("from_diagonals: a {} x {} matrix has no diagonal {}", rows, cols, k));
}
void throw_diagonal_twice(std::int64_t k) {
  throw bad_input(fmt::format("from_diagonals: diagonal {} is given twice", k));
}
void throw_bad_density(double density) {
  throw bad_input(fmt::format("random_csr: the density {} is not within [0, 1]", density));
}

} // namespace lacuna::detail

namespace lacuna::detail::cpu {

template <class T, class I, class O>
csr<T, I, O> csr_from_diagonals(const host_context& ctx, index<I> shape,
                                const std::vector<diagonal_values<T>>& diagonals) {
  const std::int64_t rows = shape.row, cols = shape.col;
  const int parts =
      part_count(ctx, rows * (1 + static_cast<std::int64_t>(diagonals.size())), entry_grain);
  const auto is_in = [=](std::int64_t row, const diagonal_values<T>& d) {
    return row + d.offset >= 0 && row + d.offset < cols;
  };
  return build_rows<T, I, O>(
      ctx, shape, {true, true}, parts, [=](int part) { return part_begin(rows, part, parts); },
      [&](std::int64_t row) {
        std::int64_t count = 0;
        for (const auto& d : diagonals) count += is_in(row, d) ? 1 : 0;
        return count;
      },
      [&](std::int64_t row, I* col, T* value) {
        for (const auto& d : diagonals) {
          if (!is_in(row, d)) continue;
          *col++ = static_cast<I>(row + d.offset);
          *value++ = d.value[d.repeated ? 0 : std::min(row, row + d.offset)];
        }
      });
}

template <class T, class I, class O>
coo<T, I, O> random_coo(const host_context& ctx, index<I> shape, std::int64_t entries,
                        std::uint64_t seed) {
  coo<T, I, O> result(ctx, shape, checked_cast<O>(entries, "the number of entries"), {false, true});
  const std::int64_t cols = shape.col;
  const gen::permutation element(std::int64_t{shape.row} * cols, seed);
  const auto to = result.view();
  constexpr std::int64_t grain = 1024; // some 50 ns per entry
  for_each_range(ctx, entries, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t at = element(k);
      to.rowind()[k] = static_cast<I>(at / cols);
      to.colind()[k] = static_cast<I>(at % cols);
      to.values()[k] = static_cast<T>(gen::unit_value(seed, at)); // by element, not by k
    }
  });
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> csr_from_diagonals(const host_context&, index<I>,                          \
                                           const std::vector<diagonal_values<T>>&);                \
  template coo<T, I, O> random_coo(const host_context&, index<I>, std::int64_t, std::uint64_t);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
