// HYB (Bell and Garland 2009), to be compared with: as many entries of every row as most rows have
// in ELL, the rest in CSR (theirs is in coordinates). The ELL part has `width` columns of `stride`
// places, one per row, stored column by column: entry k of row i is at k stride + i. Places without
// an entry hold column -1 and value 0. The rest has the shape of the whole matrix.
//
// Made on the host, whatever engine multiplies. Every sum has a fixed order.
#pragma once

#include <vector>

#include <lacuna/op/copy.hpp>
#include <lacuna/op/multiply.hpp>

namespace lacuna::bench {

/// The rule: the largest width that a third of the rows fill, and 4096 rows: ELL is taken to be 3
/// times as fast as the rest. rows_of_length[n] counts the rows of n entries.
std::int64_t choose_hyb_width(std::int64_t rows, const std::vector<std::int64_t>& rows_of_length);

template <class T, space S> struct hyb {
  index<index_t> shape{};
  std::int64_t width = 0, stride = 0;
  array<index_t, S> columns;
  array<T, S> values;
  csr<T, index_t, offset_t, S> rest;
  operation_info_t info; ///< of the rest, on a device
  [[nodiscard]] std::size_t bytes() const {
    return columns.bytes() + values.bytes() + rest.bytes() + info.bytes();
  }
};

/// width: of the ELL part; 0: the rule's. At most so many places per entry of the matrix.
template <class T>
hyb<T, space::host> make_hyb(const host_context& ctx, csr_view<const T> a, std::int64_t width = 0,
                             std::int64_t most_places = 3);

/// y = A x of the ELL part. Queued on a device.
template <class T>
void multiply_ell(const host_context& ctx, const hyb<T, space::host>& a, vector_view<const T> x,
                  vector_view<T> y);
template <class T>
void multiply_ell(const device_context& ctx, const hyb<T, space::device>& a,
                  vector_view<const T, space::device> x, vector_view<T, space::device> y);

template <class T, space S>
hyb<T, S> to_hyb(const context<S>& ctx, csr_view<const T, index_t, offset_t, S> a,
                 std::int64_t width = 0, std::int64_t most_places = 3) {
  const host_context host;
  const auto on_host = copy_to(host, a);
  const hyb<T, space::host> made = make_hyb<T>(host, on_host.view(), width, most_places);
  hyb<T, S> result{made.shape,
                   made.width,
                   made.stride,
                   copy_to(ctx, made.columns),
                   copy_to(ctx, made.values),
                   copy_to(ctx, made.rest),
                   {}};
  const vector_view<const T, S> nothing;
  if constexpr (S == space::device)
    result.info = multiply_inspect(ctx, result.rest, nothing, nothing);
  return result;
}

/// y = A x: the ELL part, then the rest.
template <class T, space S>
void multiply_hyb(const context<S>& ctx, const hyb<T, S>& a, vector_view<const T, S> x,
                  vector_view<T, S> y) {
  multiply_ell<T>(ctx, a, x, y);
  if (a.rest.size() > 0) multiply(ctx, a.info, a.rest, x, scaled(1, y), y);
}

} // namespace lacuna::bench
