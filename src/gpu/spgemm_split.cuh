// Lists of rows in two.
#pragma once

#include <cub/device/device_partition.cuh>

#include "gpu/parts/reduce.cuh"
#include "gpu/spgemm_bins.cuh"

namespace lacuna::gpu {

template <class I> struct listed_row {
  row_list<I> rows;
  __device__ I operator()(std::int64_t i) const { return static_cast<I>(rows[i]); }
};

/// The rows of a list for which a condition holds, and the others, both in their order. Waits,
/// unless it is known that there are none and `look` is false.
template <class I> class row_split {
public:
  template <class Condition>
  row_split(const device_context& ctx, row_list<I> rows, bool look, const Condition& holds)
      : those{nullptr, 0}, others(rows) {
    if (rows.count == 0 || !look) return;
    list_ = array<I, space::device>(ctx, rows.count);
    array<std::int64_t, space::device> found(ctx, 1);
    run_cub(ctx, "row_split", [&](void* scratch, std::size_t& bytes) {
      return cub::DevicePartition::If(
          scratch, bytes,
          thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}),
                                          listed_row<I>{rows}),
          list_.data(), found.data(), rows.count, holds, ctx.stream());
    });
    read_back(ctx, &those.count, found.data(), 1);
    those.rows = list_.data();
    others = {list_.data(), rows.count - those.count, those.count};
  }
  row_list<I> those, others;

private:
  array<I, space::device> list_;
};

/// Heavy rows whose products are so few beside their columns that ranges of columns would mostly be
/// empty.
template <class I, class O> struct is_wide_row {
  known_rows<I, O> known;
  std::int64_t wide_span;
  __device__ bool operator()(I row) const { return spgemm::is_wide(known.work(row), wide_span); }
};

} // namespace lacuna::gpu
