// C = alpha A + beta B: entries of C are counted tile by tile, scanned, and written. Two launches
// over the data and one wait, for the size of C.
//
// Bytes, with 4-byte columns and 8-byte values: 5 (nnz A + nnz B) to count, 13 (nnz A + nnz B) and
// 12 nnz C to fill. Equal patterns: 8 nnz to notice, 32 nnz to add values and copy columns.
#include "core/kernel_offsets.hpp"
#include "gpu/add_tiles.cuh"
#include "gpu/parts/any_of.cuh"
#include "gpu/parts/sort.cuh"
#include <lacuna/op/add.hpp>

namespace lacuna::detail::gpu {
namespace {

/// Elements that a block compares before it looks whether another one has found a difference.
constexpr int compared_per_thread = 8;
constexpr std::int64_t compared_per_block = std::int64_t{block_threads} * compared_per_thread;

template <class X>
__global__ void compare_kernel(const X* __restrict__ x, const X* __restrict__ y, std::int64_t n,
                               std::int64_t* differ) {
  for (std::int64_t base = blockIdx.x * compared_per_block; base < n;
       base += gridDim.x * compared_per_block) {
    bool differs = threadIdx.x == 0 && *static_cast<volatile std::int64_t*>(differ) != 0;
#pragma unroll
    for (int u = 0; u < compared_per_thread; ++u) {
      const std::int64_t k = base + u * block_threads + threadIdx.x;
      if (k < n) differs |= load_once(x + k) != load_once(y + k);
    }
    // One thread says so: a store by every thread would take longer than comparing all elements.
    if (__syncthreads_or(differs) != 0) {
      if (threadIdx.x == 0) *differ = 1;
      return;
    }
  }
}
template <class X>
void compare(const device_context& ctx, const X* x, const X* y, std::int64_t n,
             std::int64_t* differ) {
  if (x == y || n == 0) return;
  const std::int64_t blocks = (n + compared_per_block - 1) / compared_per_block;
  const std::int64_t most = std::int64_t{8} * ctx.properties().multiprocessors;
  compare_kernel<<<static_cast<unsigned>(min(blocks, most)), block_threads, 0, ctx.stream()>>>(
      x, y, n, differ);
  check_launch("compare_kernel");
}

template <class T, class I, class O>
bool same_arrays(csr_view<const T, I, O, space::device> a,
                 csr_view<const T, I, O, space::device> b) {
  return a.rowptr().data() == b.rowptr().data() && a.colind().data() == b.colind().data();
}

constexpr int values_per_thread = 4;

/// c = alpha a + beta b, and columns copied.
template <class T, class I>
__global__ void add_values_kernel(T alpha, const T* a, T beta, const T* b, T* c, const I* from_col,
                                  I* to_col, std::int64_t n) {
  const std::int64_t base =
      static_cast<std::int64_t>(blockIdx.x) * (block_threads * values_per_thread) + threadIdx.x;
#pragma unroll
  for (int u = 0; u < values_per_thread; ++u) {
    const std::int64_t k = base + u * block_threads;
    if (k >= n) continue;
    c[k] = summed(scaled_value(alpha, a[k]), scaled_value(beta, b[k]));
    if (to_col != nullptr) to_col[k] = from_col[k];
  }
}
/// Without columns if to_col is null; c may be a or b.
template <class T, class I>
void add_values(const device_context& ctx, T alpha, const T* a, T beta, const T* b, T* c,
                const I* from_col, I* to_col, std::int64_t n) {
  if (n == 0) return;
  const std::int64_t threads = (n + values_per_thread - 1) / values_per_thread;
  add_values_kernel<<<blocks_for(threads), block_threads, 0, ctx.stream()>>>(alpha, a, beta, b, c,
                                                                             from_col, to_col, n);
  check_launch("add_values_kernel");
}

template <class From, class To>
void copy_offsets(const device_context& ctx, const From* from, To* to, std::int64_t n) {
  for_each(ctx, n, "add: rowptr",
           [from, to] __device__(std::int64_t r) { to[r] = static_cast<To>(from[r]); });
}

/// A + B, counted; needs a row at least. If `compares`, patterns are compared first, and not
/// counted if they are equal.
template <class T, class I, class O> class tiled_sum {
public:
  using view = csr_view<const T, I, O, space::device>;
  tiled_sum(const device_context& ctx, view a, view b, bool compares)
      : ctx_(ctx), a_entries_(a.size()), compares_(compares && a.size() == b.size()),
        pair_(ctx, a, b) {
    std::int64_t* const differ = pair_.total() + 1;
    if (compares_) {
      check(cudaMemsetAsync(differ, 0, sizeof(std::int64_t), ctx.stream()), "add: memset");
      compare(ctx, a.colind().data(), b.colind().data(), a.size(), differ);
      compare(ctx, a.rowptr().data(), b.rowptr().data(), a.rowptr().size(), differ);
    }
    pair_.template walk<add_entries::of_either>(compares_ ? differ : nullptr);
    pair_.place();
  }

  struct size_and_equality {
    std::int64_t entries; ///< of C
    bool equal;           ///< the patterns, as far as they were compared
  };
  /// Waits.
  size_and_equality count() const {
    std::int64_t values[2] = {0, 1}; // entries, whether the patterns differ
    read_back(ctx_, values, pair_.total(), compares_ ? 2 : 1);
    const bool equal = values[1] == 0;
    return {equal ? a_entries_ : values[0], equal};
  }
  void fill(T alpha, T beta, write_offsets rowptr, I* col, T* value) const {
    auto p = pair_.arguments(alpha, beta);
    p.rowptr = rowptr;
    p.col = col;
    p.value = value;
    pair_.template fill<add_fill::all>(p);
  }
  /// A += beta B in A's values, if A has an entry wherever B has one.
  void add_to(T beta, T* value) const {
    auto p = pair_.arguments(T{1}, beta);
    p.value = value;
    pair_.template fill<add_fill::values>(p);
  }

private:
  const device_context& ctx_;
  std::int64_t a_entries_;
  bool compares_;
  tiled_pair<T, I, O> pair_;
};

} // namespace

template <class T, class I, class O>
bool rows_ascend(const device_context& ctx, csr_view<const T, I, O, space::device> a) {
  const device_guard guard(ctx.device());
  if (a.size() < 2) return true;
  // Columns may decrease only where a row begins: about once per row, so few threads look for
  // theirs.
  return !any_of(ctx, a.size() - 1, "rows_ascend",
                 [col = a.colind().data(), rowptr = a.rowptr().data(),
                  rows = std::int64_t{a.shape().row}] __device__(std::int64_t before) {
                   const std::int64_t k = before + 1;
                   return col[k] <= col[before] && rowptr[row_of(rowptr, rows, k)] != k;
                 });
}

template <class T, class I, class O, class OC>
csr<T, I, OC, space::device> add_csr(const device_context& ctx, T alpha,
                                     csr_view<const T, I, O, space::device> a, T beta,
                                     csr_view<const T, I, O, space::device> b) {
  const device_guard guard(ctx.device());
  const auto make = [&](std::int64_t entries) {
    if (!fits<OC>(entries)) detail::throw_too_many_entries(entries);
    return csr<T, I, OC, space::device>(ctx, a.shape(), static_cast<OC>(entries), {true, true});
  };
  if (a.shape().row == 0) {
    auto c = make(0);
    check(cudaMemsetAsync(c.rowptr().data(), 0, sizeof(OC), ctx.stream()), "add: memset");
    return c;
  }
  const auto add_equal = [&] {
    auto c = make(a.size());
    copy_offsets(ctx, a.rowptr().data(), c.rowptr().data(), c.rowptr().size());
    add_values(ctx, alpha, a.values().data(), beta, b.values().data(), c.values().data(),
               a.colind().data(), c.colind().data(), a.size());
    return c;
  };
  if (same_arrays(a, b)) return add_equal();
  const with_kernel_offsets<T, I, O, space::device> left(ctx, a), right(ctx, b);
  const tiled_sum<T, I, kernel_offset<I, O>> sum(ctx, left.view(), right.view(), true);
  const auto [entries, equal] = sum.count();
  if (equal) return add_equal();
  auto c = make(entries);
  sum.fill(alpha, beta, c.rowptr().data(), c.colind().data(), c.values().data());
  return c;
}

template <class T, class I, class O>
std::int64_t count_add(const device_context& ctx, csr_view<const T, I, O, space::device> a,
                       csr_view<const T, I, O, space::device> b) {
  const device_guard guard(ctx.device());
  if (a.shape().row == 0) return 0;
  if (same_arrays(a, b)) return a.size();
  const with_kernel_offsets<T, I, O, space::device> left(ctx, a), right(ctx, b);
  const tiled_sum<T, I, kernel_offset<I, O>> sum(ctx, left.view(), right.view(), true);
  return sum.count().entries;
}

template <class T, class I, class O>
void fill_add(const device_context& ctx, T alpha, csr_view<const T, I, O, space::device> a, T beta,
              csr_view<const T, I, O, space::device> b, csr_view<T, I, O, space::device> c) {
  const device_guard guard(ctx.device());
  if (a.shape().row == 0) {
    if (c.size() != 0) detail::throw_other_count(c.size(), 0);
    if (c.rowptr().data() != nullptr)
      check(cudaMemsetAsync(c.rowptr().data(), 0, sizeof(O), ctx.stream()), "add: memset");
    return;
  }
  const with_kernel_offsets<T, I, O, space::device> left(ctx, a), right(ctx, b);
  const tiled_sum<T, I, kernel_offset<I, O>> sum(ctx, left.view(), right.view(), false);
  if (const std::int64_t entries = sum.count().entries; entries != c.size())
    detail::throw_other_count(c.size(), entries);
  sum.fill(alpha, beta, c.rowptr().data(), c.colind().data(), c.values().data());
}

template <class T, class I, class O>
void add_to_csr(const device_context& ctx, T alpha, csr_view<const T, I, O, space::device> a,
                csr_view<T, I, O, space::device> c) {
  const device_guard guard(ctx.device());
  const csr_view<const T, I, O, space::device> c_read = c;
  if (a.size() == 0) return;
  const auto add_equal = [&] {
    add_values<T, I>(ctx, T{1}, c_read.values().data(), alpha, a.values().data(), c.values().data(),
                     nullptr, nullptr, a.size());
  };
  if (same_arrays(a, c_read)) return add_equal();
  const with_kernel_offsets<T, I, O, space::device> left(ctx, c_read), right(ctx, a);
  const tiled_sum<T, I, kernel_offset<I, O>> sum(ctx, left.view(), right.view(), true);
  const auto [entries, equal] = sum.count();
  if (equal) return add_equal();
  if (entries == c.size()) return sum.add_to(alpha, c.values().data());
  // The host finds the entry that has no place, and writes the message.
  const host_context host;
  const auto a_there = copy_to(host, a);
  auto c_there = copy_to(host, c_read);
  detail::cpu::add_to_csr<T, I, O>(host, alpha, a_there.view(), c_there.view());
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template bool rows_ascend(const device_context&, csr_view<const T, I, O, space::device>);        \
  template csr<T, I, O, space::device> add_csr(const device_context&, T,                           \
                                               csr_view<const T, I, O, space::device>, T,          \
                                               csr_view<const T, I, O, space::device>);            \
  template std::int64_t count_add(const device_context&, csr_view<const T, I, O, space::device>,   \
                                  csr_view<const T, I, O, space::device>);                         \
  template void fill_add(const device_context&, T, csr_view<const T, I, O, space::device>, T,      \
                         csr_view<const T, I, O, space::device>,                                   \
                         csr_view<T, I, O, space::device>);                                        \
  template void add_to_csr(const device_context&, T, csr_view<const T, I, O, space::device>,       \
                           csr_view<T, I, O, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
/// C's offsets wider than A's.
#define LACUNA_INSTANTIATE_WIDE(T, I)                                                              \
  template csr<T, I, std::int64_t, space::device> add_csr(                                         \
      const device_context&, T, csr_view<const T, I, std::int32_t, space::device>, T,              \
      csr_view<const T, I, std::int32_t, space::device>);
LACUNA_FOR_EACH_NARROW_PAIR(LACUNA_INSTANTIATE_WIDE)

} // namespace lacuna::detail::gpu
