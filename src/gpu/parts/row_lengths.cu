#include "gpu/parts/row_lengths.cuh"

#include <cub/device/device_select.cuh>

#include "gpu/parts/reduce.cuh"
#include "plan/ell_csr_layout.hpp"

namespace lacuna::detail::gpu {
namespace {

struct add_lengths {
  __device__ length_totals operator()(const length_totals& a, const length_totals& b) const {
    return {a.rows + b.rows, a.entries + b.entries, max(a.longest, b.longest),
            a.squares + b.squares};
  }
};
template <class O> struct length_of_row {
  const O* rowptr;
  std::int64_t limit;
  __device__ length_totals operator()(std::int64_t row) const {
    const std::int64_t length = rowptr[row + 1] - rowptr[row];
    if (length > limit) return {0, 0, 0, 0};
    const auto l = static_cast<double>(length);
    return {1, length, length, l * l};
  }
};

struct add_spreads {
  __device__ length_spread operator()(const length_spread& a, const length_spread& b) const {
    return {a.squares + b.squares, max(a.longest, b.longest), a.empty + b.empty};
  }
};
template <class O> struct spread_of_row {
  const O* rowptr;
  double mean;
  __device__ length_spread operator()(std::int64_t row) const {
    const std::int64_t length = rowptr[row + 1] - rowptr[row];
    const double off = static_cast<double>(length) - mean;
    return {off * off, length, length == 0};
  }
};

struct add_pieces {
  __device__ piece_totals operator()(const piece_totals& a, const piece_totals& b) const {
    return {a.pieces + b.pieces, max(a.longest_short, b.longest_short)};
  }
};
template <class O> struct pieces_of_row {
  const O* rowptr;
  std::int64_t long_row, piece;
  __device__ piece_totals operator()(std::int64_t row) const {
    const std::int64_t length = rowptr[row + 1] - rowptr[row];
    const std::int64_t pieces = detail::piece_count(length, long_row, piece);
    return {pieces, pieces > 0 ? 0 : length};
  }
};

template <class O> struct is_long_row {
  const O* rowptr;
  std::int64_t limit;
  __device__ bool operator()(std::int64_t row) const {
    return rowptr[row + 1] - rowptr[row] > limit;
  }
};

} // namespace

template <class O>
length_totals total_lengths(const device_context& ctx, const O* rowptr, std::int64_t rows,
                            std::int64_t limit) {
  return reduce(ctx, rows, length_of_row<O>{rowptr, limit}, add_lengths{},
                length_totals{0, 0, 0, 0});
}

template <class O>
length_spread spread_of_lengths(const device_context& ctx, const O* rowptr, std::int64_t rows,
                                double mean) {
  return reduce(ctx, rows, spread_of_row<O>{rowptr, mean}, add_spreads{}, length_spread{0, 0, 0});
}

template <class O>
piece_totals total_pieces(const device_context& ctx, const O* rowptr, std::int64_t rows,
                          std::int64_t long_row, std::int64_t piece) {
  return reduce(ctx, rows, pieces_of_row<O>{rowptr, long_row, piece}, add_pieces{},
                piece_totals{0, 0});
}

template <class O>
array<std::int64_t, space::device> find_long_rows(const device_context& ctx, const O* rowptr,
                                                  std::int64_t rows, std::int64_t limit,
                                                  std::int64_t count) {
  array<std::int64_t, space::device> long_rows(ctx, count);
  if (count == 0) return long_rows;
  array<std::int64_t, space::device> number(ctx, 1);
  run_cub(ctx, "find_long_rows", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceSelect::If(scratch, bytes, thrust::make_counting_iterator(std::int64_t{0}),
                                 long_rows.data(), number.data(), rows,
                                 is_long_row<O>{rowptr, limit}, ctx.stream());
  });
  return long_rows;
}

#define LACUNA_INSTANTIATE(O)                                                                      \
  template length_totals total_lengths<O>(const device_context&, const O*, std::int64_t,           \
                                          std::int64_t);                                           \
  template length_spread spread_of_lengths<O>(const device_context&, const O*, std::int64_t,       \
                                              double);                                             \
  template piece_totals total_pieces<O>(const device_context&, const O*, std::int64_t,             \
                                        std::int64_t, std::int64_t);                               \
  template array<std::int64_t, space::device> find_long_rows<O>(                                   \
      const device_context&, const O*, std::int64_t, std::int64_t, std::int64_t);
LACUNA_INSTANTIATE(std::int32_t)
LACUNA_INSTANTIATE(std::int64_t)

} // namespace lacuna::detail::gpu
