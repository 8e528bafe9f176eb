#include "gen/source.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>
#include <lacuna/op/convert.hpp>

#include "cpu/build_rows.hpp"

namespace lacuna::gen {
namespace {

struct counter final : row_sink {
  std::int64_t total = 0;

private:
  void take(const std::int64_t*, const double*, int count) override { total += count; }
};

template <class T, class I> struct writer final : row_sink {
  writer(I* colind, T* values) : colind_(colind), values_(values) {}

private:
  void take(const std::int64_t* columns, const double* values, int count) override {
    for (int k = 0; k < count; ++k) colind_[k] = static_cast<I>(columns[k]);
    for (int k = 0; k < count; ++k) values_[k] = static_cast<T>(values[k]);
    colind_ += count;
    values_ += count;
  }

  I* colind_;
  T* values_;
};

template <class T, class I, class O>
csr<T, I, O> from_rows(const host_context& ctx, index<I> shape, const source& from) {
  const std::int64_t rows = shape.row;
  const int parts = detail::cpu::part_count(ctx, rows, 256);
  return detail::cpu::build_rows<T, I, O>(
      ctx, shape, {true, true}, parts,
      [=](int part) { return detail::cpu::part_begin(rows, part, parts); },
      [&](std::int64_t i) {
        if (from.row_length) return from.row_length(i);
        counter count;
        from.row(i, count);
        count.flush();
        return count.total;
      },
      [&](std::int64_t i, I* colind, T* values) {
        writer<T, I> write(colind, values);
        from.row(i, write);
        write.flush();
      });
}

/// Needs memory for all edges before they are merged.
template <class T, class I, class O>
csr<T, I, O> from_edges(const host_context& ctx, index<I> shape, const source& from) {
  const std::int64_t each = from.both_ways ? 2 : 1;
  coo<T, I, O> list(ctx, shape, checked_cast<O>(from.edges * each, "the number of edges"));
  const auto to = list.view();
  detail::cpu::for_each_range(ctx, from.edges, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const edge e = from.edge_at(k);
      for (std::int64_t way = 0; way < each; ++way) {
        to.rowind()[each * k + way] = static_cast<I>(way == 0 ? e.from : e.to);
        to.colind()[each * k + way] = static_cast<I>(way == 0 ? e.to : e.from);
        to.values()[each * k + way] = static_cast<T>(e.value);
      }
    }
  });
  auto rows = to_csr(ctx, list);
  list = {};
  sort(ctx, rows);
  return merge_duplicates(ctx, rows);
}

/// The system promises more memory than there is and ends the process that uses it: better to
/// refuse here. In double, where no size overflows.
template <class T, class I, class O> void require_memory(std::string_view name, const source& s) {
  const auto rows = static_cast<double>(s.shape.rows);
  const auto entries = static_cast<double>(s.likely_entries);
  double bytes = rows * sizeof(O) + entries * (sizeof(I) + sizeof(T));
  if (s.edge_at) bytes += entries * (2 * sizeof(I) + sizeof(T)); // the list and the rows at once
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes <= memory || memory <= 0) return;
  checked_cast<O>(s.likely_entries, "the number of entries"); // the better reason, if it holds
  throw out_of_memory(fmt::format("{}: {} x {} with about {:.1e} entries needs {:.1e} bytes, this "
                                  "machine has {:.1e}",
                                  name, s.shape.rows, s.shape.cols, entries, bytes, memory),
                      bytes < 0x1p63 ? static_cast<std::size_t>(bytes) : SIZE_MAX);
}

} // namespace

template <class T, class I, class O>
csr<T, I, O> build(const host_context& ctx, std::string_view name, const source& from) {
  const index<I> shape{checked_cast<I>(from.shape.rows, "rows"),
                       checked_cast<I>(from.shape.cols, "columns")};
  require_memory<T, I, O>(name, from);
  return from.edge_at ? from_edges<T, I, O>(ctx, shape, from)
                      : from_rows<T, I, O>(ctx, shape, from);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> build(const host_context&, std::string_view, const source&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::gen
