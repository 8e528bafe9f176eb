// Products in parts: C's rows are counted first, then made in ranges.
#include <algorithm>
#include <string>
#include <vector>

#include <lacuna/core/memory.hpp>
#include <lacuna/op/spgemm_parts.hpp>

namespace lacuna::detail {
namespace {

/// Bytes that a call may take in the context's space.
template <space S> std::size_t memory_for(const context<S>& ctx, const spgemm_options& options) {
  if (options.memory_limit != 0) return options.memory_limit;
  if constexpr (S == space::host) {
    return std::size_t{1} << 62U;
  } else {
    const auto used = static_cast<std::size_t>(memory(S).in_use);
    const std::size_t all = ctx.properties().memory_bytes / 16 * 15; // the driver's share
    return all > used ? all - used : 1;
  }
}

/// Where the rows of A B begin, on the host.
template <class T, class I, class O, space S>
array<std::int64_t> count_rows_of_product(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                          csr_view<const T, I, O, S> b) {
  require_same_size("multiply", "columns of A", a.shape().col, "rows of B", b.shape().row);
  array<std::int64_t, S> rowptr(ctx, std::int64_t{a.shape().row} + 1);
  if constexpr (S == space::host) {
    cpu::count_spgemm<T, I, O, std::int64_t>(ctx, a, b, rowptr.view());
    return rowptr;
  } else {
    std::shared_ptr<const kept_analysis> not_kept;
    gpu::count_spgemm<T, I, O, std::int64_t>(ctx, a, b, rowptr.view(), not_kept);
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

/// Parts one behind the other in C, which has room for them.
template <class T, class I, space To, space From>
struct part_collector final : part_taker<T, I, From> {
  part_collector(const context<To>& its, csr<T, I, std::int64_t, To>& result,
                 const array<std::int64_t>& offsets)
      : ctx(its), c(result), rowptr(offsets) {}
  const context<To>& ctx;
  csr<T, I, std::int64_t, To>& c;
  const array<std::int64_t>& rowptr; // on the host
  std::int64_t entries = 0;

  void take(std::int64_t first, csr<T, I, std::int64_t, From>&& part) override {
    const std::int64_t count = part.size();
    require_same_size("multiply_in_parts", "a part of C", entries + count, "entries as counted",
                      rowptr[first + part.shape().row]);
    copy_bytes(ctx, c.colind().data() + entries, std::as_const(part).colind().data(),
               part.colind().size() * sizeof(I), From);
    copy_bytes(ctx, c.values().data() + entries, std::as_const(part).values().data(),
               part.values().size() * sizeof(T), From);
    if constexpr (From == space::device) ctx.synchronize(); // the part goes
    entries += count;
  }
};

} // namespace

template <class T, class I, class O, space S>
void make_parts(const context<S>& ctx, const matrix_operand<T, I, O, S>& a,
                const matrix_operand<T, I, O, S>& b, const spgemm_options& options,
                part_taker<T, I, S>& to) {
  const sparse_factor<T, I, O, S> left(ctx, a), right(ctx, b);
  const double alpha = a.alpha * b.alpha;
  const std::size_t limit = memory_for(ctx, options);
  const auto& host = default_context<space::host>();

  const array<std::int64_t> counted = count_rows_of_product(ctx, left.a, right.a);
  const auto rowptr = copy_to(host, left.a.rowptr());
  std::size_t share = limit / 2; // of a part's entries; workspace and a copy take the rest
  for (std::int64_t first = 0; first < left.a.shape().row;) {
    const std::int64_t last = rows_within(counted, first, sizeof(T) + sizeof(I), share);
    csr<T, I, std::int64_t, S> part;
    try {
      const row_slice<T, I, O, S> rows(ctx, left.a, rowptr, first, last);
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
    to.take(first, std::move(part));
    first = last;
  }
}

template <space To, class T, class I, class O, space S>
csr<T, I, std::int64_t, To>
collect_parts(const context<S>& ctx, const context<To>& to, const matrix_operand<T, I, O, S>& a,
              const matrix_operand<T, I, O, S>& b, const spgemm_options& options) {
  array<std::int64_t> rowptr;
  {
    const sparse_factor<T, I, O, S> left(ctx, a), right(ctx, b);
    rowptr = count_rows_of_product(ctx, left.a, right.a);
  }
  csr<T, I, std::int64_t, To> c(to, {static_cast<I>(a.rows()), static_cast<I>(b.cols())},
                                rowptr[a.rows()], {true, true});
  copy_bytes(to, c.rowptr().data(), rowptr.data(), rowptr.bytes(), space::host);
  part_collector<T, I, To, S> collector(to, c, rowptr);
  make_parts(ctx, a, b, options, collector);
  return c;
}

template <class T, class I, class O, space S>
csr<T, I, std::int64_t> multiply_blocks(const context<S>& ctx, const host_context& host,
                                        const matrix_operand<T, I, O, space::host>& a,
                                        const matrix_operand<T, I, O, space::host>& b,
                                        const spgemm_options& options) {
  require_same_size("multiply", "columns of A", a.cols(), "rows of B", b.rows());
  const sparse_factor<T, I, O, space::host> left(host, a), right(host, b);
  const double alpha = a.alpha * b.alpha;
  const std::size_t limit = memory_for(ctx, options);
  const std::size_t entry = sizeof(T) + sizeof(I);
  const auto a_rowptr = copy_to(host, left.a.rowptr()), b_rowptr = copy_to(host, right.a.rowptr());
  using result = csr<T, I, std::int64_t>;
  const std::int64_t rows = left.a.shape().row, inner = right.a.shape().row;
  std::vector<result> ranges; // of C's rows
  for (std::int64_t first = 0, last; first < rows; first = last) {
    last = rows_within(a_rowptr, first, entry, limit / 8);
    result sum;
    for (std::int64_t b_first = 0, b_last; b_first < inner; b_first = b_last) {
      b_last = rows_within(b_rowptr, b_first, entry, limit / 4);
      const auto block = copy_to(ctx, block_of(host, left.a, first, last, b_first, b_last));
      const auto b_rows =
          copy_to(ctx, row_slice<T, I, O, space::host>(host, right.a, b_rowptr, b_first, b_last).a);
      spgemm_options within = options;
      within.memory_limit = options.memory_limit == 0 ? 0 : limit / 2;
      auto partial =
          collect_parts(ctx, host, operand(scaled(alpha, block)), operand(b_rows), within);
      sum = b_first == 0 ? std::move(partial) : add_rows(host, sum, partial);
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

#define LACUNA_INSTANTIATE_IN(T, I, O, S)                                                          \
  template void make_parts(const context<S>&, const matrix_operand<T, I, O, S>&,                   \
                           const matrix_operand<T, I, O, S>&, const spgemm_options&,               \
                           part_taker<T, I, S>&);                                                  \
  template csr<T, I, std::int64_t> collect_parts(                                                  \
      const context<S>&, const host_context&, const matrix_operand<T, I, O, S>&,                   \
      const matrix_operand<T, I, O, S>&, const spgemm_options&);                                   \
  template csr<T, I, std::int64_t> multiply_blocks(                                                \
      const context<S>&, const host_context&, const matrix_operand<T, I, O, space::host>&,         \
      const matrix_operand<T, I, O, space::host>&, const spgemm_options&);
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  LACUNA_INSTANTIATE_IN(T, I, O, space::host)                                                      \
  LACUNA_INSTANTIATE_IN(T, I, O, space::device)                                                    \
  template csr<T, I, std::int64_t, space::device> collect_parts(                                   \
      const device_context&, const device_context&, const matrix_operand<T, I, O, space::device>&, \
      const matrix_operand<T, I, O, space::device>&, const spgemm_options&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail
