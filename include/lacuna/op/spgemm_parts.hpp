// Products whose result, or whose operands, are larger than the memory they may take.
//
//   spgemm_options limit{.memory_limit = 2'000'000'000};
//   for_each_product_part(ctx, a, b, limit, f);                     f(first row, part of C)
//   auto c = multiply_in_parts(ctx, a, b, limit);                   C where A and B are
//   auto c = multiply_to_host(device, host, a, b, limit);           C on the host, part by part
//   auto c = multiply_out_of_core(device, host, a, b, limit);       A and B on the host, too
//
// C's rows are counted first, then made in ranges whose entries and workspace stay below the limit
// (0: what the device has free; on the host: all in one). Offsets of C have 64 bits. The first
// three give the bits that multiply does. Throws out_of_memory, with the sizes, when not even one
// row fits; operands are as they were.
#pragma once

#include <algorithm>

#include <lacuna/core/memory.hpp>
#include <lacuna/op/spgemm_phases.hpp>

namespace lacuna {
namespace detail {

/// Bytes that a call may take in the context's space.
template <space S> std::size_t memory_for(const context<S>& ctx, const spgemm_options& options) {
  if (options.memory_limit != 0) return options.memory_limit;
  if constexpr (S == space::host) {
    return std::size_t{1} << 62U;
  } else {
    const auto used = static_cast<std::size_t>(memory(S).in_use);
    const std::size_t total = ctx.properties().memory_bytes / 16 * 15; // the driver's share
    return total > used ? total - used : 1;
  }
}

/// Where the rows of A B begin, on the host.
template <class T, class I, class O, space S>
array<std::int64_t> count_rows_of_product(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                          csr_view<const T, I, O, S> b) {
  require_same_size("multiply", "columns of A", a.shape().col, "rows of B", b.shape().row);
  array<std::int64_t, S> rowptr(ctx, std::int64_t{a.shape().row} + 1);
  if constexpr (S == space::host) {
    detail::cpu::count_spgemm<T, I, O, std::int64_t>(ctx, a, b, rowptr.view());
    return rowptr;
  } else {
    std::shared_ptr<const kept_analysis> not_kept;
    detail::gpu::count_spgemm<T, I, O, std::int64_t>(ctx, a, b, rowptr.view(), not_kept);
    return copy_to(default_context<space::host>(), rowptr);
  }
}

/// Rows [first, last) of a csr matrix as a matrix: row pointers of its own, the rest viewed.
/// `rowptr` is the matrix's, on the host.
template <class T, class I, class O, space S> struct row_slice {
  array<O, S> rowptr;
  csr_view<const T, I, O, S> a;
  row_slice(const context<S>& ctx, csr_view<const T, I, O, S> all, const array<O>& host_rowptr,
            std::int64_t first, std::int64_t last) {
    const O begin = host_rowptr[first];
    array<O> moved(default_context<space::host>(), last - first + 1);
    for (std::int64_t i = first; i <= last; ++i) moved[i - first] = host_rowptr[i] - begin;
    rowptr = copy_to(ctx, moved);
    a = {all.values().data() + begin,
         rowptr.data(),
         all.colind().data() + begin,
         {static_cast<I>(last - first), all.shape().col},
         static_cast<O>(host_rowptr[last] - begin),
         all.order()};
  }
};

/// A last row such that rows [first, last) of a matrix with these row pointers take no more than
/// `bytes`; at least one row.
template <class O>
std::int64_t rows_within(const array<O>& rowptr, std::int64_t first, std::size_t entry_bytes,
                         std::size_t bytes) {
  const std::int64_t rows = rowptr.size() - 1;
  const auto fits_in = [&](std::int64_t last) {
    return static_cast<std::size_t>(rowptr[last] - rowptr[first]) * entry_bytes +
               static_cast<std::size_t>(last - first + 1) * 3 * sizeof(std::int64_t) <=
           bytes;
  };
  std::int64_t low = first + 1, high = rows; // the answer is in [low, high]
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (fits_in(middle))
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

} // namespace detail

/// Calls f(first row, csr<T, I, int64, S> part) for ranges of C's rows, in order. A and B stay as
/// they are; what f does with a part is its own matter.
template <space S, class A, class B, class F>
  requires(detail::are_sparse<A, B>)
void for_each_product_part(const context<S>& ctx, const A& a, const B& b,
                           const spgemm_options& options, F f) {
  const auto a_op = detail::operand(a);
  const auto b_op = detail::operand(b);
  using T = typename decltype(a_op)::scalar_type;
  using I = typename decltype(a_op)::index_type;
  using O = typename decltype(a_op)::offset_type;
  detail::require_like_factors<S, decltype(a_op), decltype(b_op)>();
  const detail::sparse_factor<T, I, O, S> left(ctx, a_op), right(ctx, b_op);
  const double alpha = a_op.alpha * b_op.alpha;
  const std::size_t limit = detail::memory_for(ctx, options);
  const auto& host = default_context<space::host>();

  const array<std::int64_t> counted = detail::count_rows_of_product(ctx, left.a, right.a);
  const auto rowptr = copy_to(host, left.a.rowptr());
  std::size_t share = limit / 2; // of a part's entries; workspace and a copy take the rest
  for (std::int64_t first = 0; first < left.a.shape().row;) {
    const std::int64_t last = detail::rows_within(counted, first, sizeof(T) + sizeof(I), share);
    csr<T, I, std::int64_t, S> part;
    try {
      const detail::row_slice<T, I, O, S> rows(ctx, left.a, rowptr, first, last);
      spgemm_options within = options;
      within.memory_limit = options.memory_limit == 0 ? 0 : limit;
      part = multiply_wide(ctx, scaled(alpha, rows.a), right.a, within);
    } catch (const out_of_memory& e) {
      if (last - first == 1)
        throw out_of_memory("multiply: row " + std::to_string(first) + " of C alone, " +
                                std::to_string(counted[last] - counted[first]) +
                                " entries, does not fit: " + e.what(),
                            e.bytes());
      // Fewer rows, by what these took; at last one.
      share =
          static_cast<std::size_t>(counted[last] - counted[first]) * (sizeof(T) + sizeof(I)) / 2;
      continue;
    }
    f(first, std::move(part));
    first = last;
  }
}

namespace detail {

/// Parts one behind the other in C, which has room for them.
template <class T, class I, space S> struct part_collector {
  const context<S>& ctx;
  csr<T, I, std::int64_t, S>& c;
  array<std::int64_t>& rowptr; // on the host
  std::int64_t entries = 0;

  template <space From>
  void operator()(std::int64_t first, const csr<T, I, std::int64_t, From>& part) {
    const std::int64_t count = part.size();
    require_same_size("multiply_in_parts", "a part of C", entries + count, "entries as counted",
                      rowptr[first + part.shape().row]);
    copy_bytes(ctx, c.colind().data() + entries, part.colind().data(),
               part.colind().size() * sizeof(I), From);
    copy_bytes(ctx, c.values().data() + entries, part.values().data(),
               part.values().size() * sizeof(T), From);
    if constexpr (From == space::device) part_wait(part);
    entries += count;
  }
  template <class Part> void part_wait(const Part&) const { ctx.synchronize(); }
};

template <space To, space S, class A, class B>
auto collect_parts(const context<S>& ctx, const context<To>& to_ctx, const A& a, const B& b,
                   const spgemm_options& options) {
  using Op = operand_t<A>;
  using T = typename Op::scalar_type;
  using I = typename Op::index_type;
  using O = typename Op::offset_type;
  require_like_factors<S, Op, operand_t<B>>();
  const auto a_op = operand(a);
  const auto b_op = operand(b);
  array<std::int64_t> rowptr;
  {
    const sparse_factor<T, I, O, S> left(ctx, a_op), right(ctx, b_op);
    rowptr = count_rows_of_product(ctx, left.a, right.a);
  }
  csr<T, I, std::int64_t, To> c(to_ctx, {static_cast<I>(a_op.rows()), static_cast<I>(b_op.cols())},
                                rowptr[a_op.rows()], {true, true});
  copy_bytes(to_ctx, c.rowptr().data(), rowptr.data(), rowptr.bytes(), space::host);
  for_each_product_part(ctx, a, b, options, part_collector<T, I, To>{to_ctx, c, rowptr});
  return c;
}

} // namespace detail

/// C where A and B are. The limit is on what is taken beside C itself.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_in_parts(const context<S>& ctx, const A& a, const B& b,
                       const spgemm_options& options = {}) {
  return detail::collect_parts(ctx, ctx, a, b, options);
}

/// C on the host from A and B on a device (or on the host: then the limit alone matters). The
/// limit is on the first context's memory.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_to_host(const context<S>& ctx, const host_context& host, const A& a, const B& b,
                      const spgemm_options& options = {}) {
  return detail::collect_parts(ctx, host, a, b, options);
}

namespace detail {

/// Entries of rows [first, last) whose columns are in [col_begin, col_end), which become 0, 1, ….
template <class T, class I, class O>
csr<T, I, O> block_of(const host_context& host, csr_view<const T, I, O> a, std::int64_t first,
                      std::int64_t last, std::int64_t col_begin, std::int64_t col_end) {
  const O *const rowptr = a.rowptr().data(), begin = rowptr[first];
  const auto inside = [&](std::int64_t k) {
    return a.colind()[k] >= col_begin && a.colind()[k] < col_end;
  };
  O count = 0;
  for (std::int64_t k = begin; k < rowptr[last]; ++k) count += inside(k) ? 1 : 0;
  csr<T, I, O> block(host, {static_cast<I>(last - first), static_cast<I>(col_end - col_begin)},
                     count, a.order());
  O at = 0;
  block.rowptr()[0] = 0;
  for (std::int64_t i = first; i < last; ++i) {
    for (std::int64_t k = rowptr[i]; k < rowptr[i + 1]; ++k)
      if (inside(k)) {
        block.colind()[at] = static_cast<I>(a.colind()[k] - col_begin);
        block.values()[at++] = a.values()[k];
      }
    block.rowptr()[i - first + 1] = at;
  }
  return block;
}

/// Sum of two sorted matrices of one shape on the host, x before y.
template <class T, class I>
csr<T, I, std::int64_t> add_rows(const host_context& host, const csr<T, I, std::int64_t>& x,
                                 const csr<T, I, std::int64_t>& y) {
  const auto for_each = [&](auto both) {
    for (std::int64_t i = 0; i < x.shape().row; ++i) {
      std::int64_t p = x.rowptr()[i], q = y.rowptr()[i];
      const std::int64_t p_end = x.rowptr()[i + 1], q_end = y.rowptr()[i + 1];
      while (p < p_end || q < q_end) {
        const bool take_x = q == q_end || (p < p_end && x.colind()[p] <= y.colind()[q]);
        const bool take_y = p == p_end || (q < q_end && y.colind()[q] <= x.colind()[p]);
        both(i, take_x ? p : -1, take_y ? q : -1);
        p += take_x ? 1 : 0;
        q += take_y ? 1 : 0;
      }
    }
  };
  std::int64_t count = 0;
  for_each([&](std::int64_t, std::int64_t, std::int64_t) { ++count; });
  csr<T, I, std::int64_t> sum(host, x.shape(), count, {true, true});
  std::fill(sum.rowptr().begin(), sum.rowptr().end(), 0);
  std::int64_t at = 0;
  for_each([&](std::int64_t i, std::int64_t p, std::int64_t q) {
    sum.colind()[at] = p >= 0 ? x.colind()[p] : y.colind()[q];
    sum.values()[at] = p < 0   ? y.values()[q]
                       : q < 0 ? x.values()[p]
                               : x.values()[p] + y.values()[q];
    sum.rowptr()[i + 1] = ++at;
  });
  for (std::int64_t i = 0; i < x.shape().row; ++i)
    sum.rowptr()[i + 1] = std::max(sum.rowptr()[i], sum.rowptr()[i + 1]);
  return sum;
}

} // namespace detail

/// C on the host from A and B on the host, neither of which need fit the device: ranges of A's rows
/// meet ranges of B's, and the partial results are added on the host. An entry's products are added
/// range by range of B: the bits may differ from multiply's, but not from run to run.
/// The first context may be a host's, too.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_out_of_core(const context<S>& ctx, const host_context& host, const A& a, const B& b,
                          const spgemm_options& options = {}) {
  const auto a_op = detail::operand(a);
  const auto b_op = detail::operand(b);
  using T = typename decltype(a_op)::scalar_type;
  using I = typename decltype(a_op)::index_type;
  using O = typename decltype(a_op)::offset_type;
  detail::require_like_factors<space::host, decltype(a_op), decltype(b_op)>();
  detail::require_same_size("multiply", "columns of A", a_op.cols(), "rows of B", b_op.rows());
  const detail::sparse_factor<T, I, O, space::host> left(host, a_op), right(host, b_op);
  const double alpha = a_op.alpha * b_op.alpha;
  const std::size_t limit = detail::memory_for(ctx, options);
  const std::size_t entry = sizeof(T) + sizeof(I);
  const auto a_rowptr = copy_to(host, left.a.rowptr()), b_rowptr = copy_to(host, right.a.rowptr());
  using result = csr<T, I, std::int64_t>;
  const std::int64_t rows = left.a.shape().row, inner = right.a.shape().row;
  std::vector<result> ranges; // of C's rows
  for (std::int64_t first = 0, last; first < rows; first = last) {
    last = detail::rows_within(a_rowptr, first, entry, limit / 8);
    result sum;
    for (std::int64_t b_first = 0, b_last; b_first < inner; b_first = b_last) {
      b_last = detail::rows_within(b_rowptr, b_first, entry, limit / 4);
      const auto block = copy_to(ctx, detail::block_of(host, left.a, first, last, b_first, b_last));
      const auto b_rows = copy_to(
          ctx, detail::row_slice<T, I, O, space::host>(host, right.a, b_rowptr, b_first, b_last).a);
      spgemm_options within = options;
      within.memory_limit = options.memory_limit == 0 ? 0 : limit / 2;
      auto partial = multiply_to_host(ctx, host, scaled(alpha, block), b_rows, within);
      sum = b_first == 0 ? std::move(partial) : detail::add_rows(host, sum, partial);
    }
    if (inner == 0) {
      sum = result(host, {static_cast<I>(last - first), right.a.shape().col}, 0, {true, true});
      std::fill(sum.rowptr().begin(), sum.rowptr().end(), 0);
    }
    ranges.push_back(std::move(sum));
  }
  std::int64_t nnz = 0;
  for (const result& r : ranges) nnz = checked_add(nnz, r.size());
  result c(host, {static_cast<I>(rows), right.a.shape().col}, nnz, {true, true});
  c.rowptr()[0] = 0;
  std::int64_t row = 0, at = 0;
  for (result& r : ranges) {
    for (std::int64_t i = 0; i < r.shape().row; ++i) c.rowptr()[++row] = at + r.rowptr()[i + 1];
    std::copy(r.colind().begin(), r.colind().end(), c.colind().begin() + at);
    std::copy(r.values().begin(), r.values().end(), c.values().begin() + at);
    at += r.size();
    r = {};
  }
  return c;
}

} // namespace lacuna
