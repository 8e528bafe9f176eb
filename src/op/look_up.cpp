// Entries and rows of a dynamic matrix, brought to the host.
#include <lacuna/op/look_up.hpp>

#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace lacuna::detail {
namespace {

/// The segments of a row, one behind the other, on the host. Device: waits.
template <class T, class I, class O, space S> struct row_segments {
  array<I> columns;
  array<T> values;
  std::vector<std::int64_t> starts{0};

  row_segments(const context<S>& ctx, const dynamic_csr_view<const T, I, O, S>& m,
               std::int64_t row) {
    const host_context host;
    ctx.synchronize();
    const auto get = [&](auto* to, const auto* from, std::int64_t n) {
      copy_bytes(host, to, from, static_cast<std::size_t>(n) * sizeof *to, S);
    };
    std::uint8_t count = 0;
    get(&count, m.counts + row, 1);
    std::vector<O> begin(count), end(count);
    for (int s = 0; s < count; ++s) {
      get(&begin[s], m.begin + s * m.pitch + row, 1);
      get(&end[s], m.end + s * m.pitch + row, 1);
      starts.push_back(starts.back() + end[s] - begin[s]);
    }
    columns = array<I>(host, starts.back());
    values = array<T>(host, starts.back());
    for (int s = 0; s < count; ++s) {
      get(columns.data() + starts[s], m.colind + begin[s], end[s] - begin[s]);
      get(values.data() + starts[s], m.values + begin[s], end[s] - begin[s]);
    }
  }
};

template <class I> void require_row(const char* what, index<I> shape, std::int64_t row) {
  if (row < 0 || row >= shape.row)
    throw bad_input(
        fmt::format("{}: row {} is outside of {} x {}", what, row, shape.row, shape.col));
}

} // namespace

template <class T, class I, class O, space S>
std::optional<T> find_entry(const context<S>& ctx, const dynamic_csr_view<const T, I, O, S>& m,
                            std::int64_t row, std::int64_t col) {
  if (row < 0 || row >= m.extent.row || col < 0 || col >= m.extent.col)
    throw bad_input(
        fmt::format("entry: ({}, {}) is outside of {} x {}", row, col, m.extent.row, m.extent.col));
  const auto column = static_cast<I>(col);
  if constexpr (S == space::host) {
    (void)ctx;
    const std::int64_t place = m.find(row, column);
    return place < 0 ? std::optional<T>() : m.values[place];
  } else {
    const row_segments<T, I, O, S> r(ctx, m, row);
    for (std::size_t s = 0; s + 1 < r.starts.size(); ++s) {
      const I* const end = r.columns.data() + r.starts[s + 1];
      const I* const at = std::lower_bound(r.columns.data() + r.starts[s], end, column);
      if (at != end && *at == column) return r.values[at - r.columns.data()];
    }
    return {};
  }
}

template <class T, class I, class O, space S>
row_entries<T, I> copy_row(const context<S>& ctx, const dynamic_csr_view<const T, I, O, S>& m,
                           std::int64_t row) {
  require_row("row", m.extent, row);
  row_segments<T, I, O, S> r(ctx, m, row);
  if (r.starts.size() <= 2) return {std::move(r.columns), std::move(r.values)};
  const host_context host;
  array<std::int64_t> order(host, r.columns.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t s = 2; s < r.starts.size(); ++s) // segments ascend, equal ones stay in order
    std::inplace_merge(order.begin(), order.data() + r.starts[s - 1], order.data() + r.starts[s],
                       [&](std::int64_t a, std::int64_t b) { return r.columns[a] < r.columns[b]; });
  row_entries<T, I> result{array<I>(host, order.size()), array<T>(host, order.size())};
  for (std::int64_t k = 0; k < order.size(); ++k) {
    result.columns[k] = r.columns[order[k]];
    result.values[k] = r.values[order[k]];
  }
  return result;
}

#define LACUNA_INSTANTIATE_IN(T, I, O, S)                                                          \
  template std::optional<T> find_entry<T, I, O, S>(                                                \
      const context<S>&, const dynamic_csr_view<const T, I, O, S>&, std::int64_t, std::int64_t);   \
  template row_entries<T, I> copy_row<T, I, O, S>(                                                 \
      const context<S>&, const dynamic_csr_view<const T, I, O, S>&, std::int64_t);
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  LACUNA_INSTANTIATE_IN(T, I, O, space::host)                                                      \
  LACUNA_INSTANTIATE_IN(T, I, O, space::device)
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail
