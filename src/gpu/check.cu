// Invariants on the device: one flag says whether all hold. If not, the matrix is copied to the
// host, whose check finds the place and writes the message.
#include "gpu/parts/cuda.cuh"
#include <lacuna/op/check.hpp>
#include <lacuna/op/copy.hpp>

namespace lacuna::detail::gpu {
namespace {

/// Whether broken(i) holds for some i in [0, n); waits.
template <class F> bool any(const device_context& ctx, std::int64_t n, F broken) {
  array<int, space::device> any_broken(ctx, 1);
  check(cudaMemsetAsync(any_broken.data(), 0, any_broken.bytes(), ctx.stream()), "check: memset");
  for_each(ctx, n, "check", [broken, any_broken = any_broken.data()] __device__(std::int64_t i) {
    if (broken(i)) *any_broken = 1;
  });
  int value = 0;
  read_back(ctx, &value, any_broken.data(), 1);
  return value != 0;
}

/// Facts that only a sort can test are left to the host.
bool testable(facts f) { return !f.unique || f.sorted; }

template <class T, class I, class O>
bool holds(const device_context& ctx, csr_view<const T, I, O, space::device> a) {
  const I rows = a.shape().row, cols = a.shape().col;
  const std::int64_t nnz = a.size();
  if (rows < 0 || cols < 0 || nnz < 0 || a.rowptr().data() == nullptr || !testable(a.order()) ||
      (nnz > 0 && (a.colind().data() == nullptr || a.values().data() == nullptr)))
    return false;
  const O* rowptr = a.rowptr().data();
  const I* colind = a.colind().data();
  if (any(ctx, std::int64_t{rows} + 1, [rowptr, nnz, rows] __device__(std::int64_t r) {
        return (r == 0 && rowptr[0] != 0) || (r == rows && rowptr[r] != nnz) ||
               (r < rows && rowptr[r + 1] < rowptr[r]);
      }))
    return false;
  if (any(ctx, nnz,
          [colind, cols] __device__(std::int64_t k) { return colind[k] < 0 || colind[k] >= cols; }))
    return false;
  const facts f = a.order();
  if (!f.sorted) return true;
  return !any(ctx, rows, [rowptr, colind, f] __device__(std::int64_t r) {
    for (O k = rowptr[r]; k + 1 < rowptr[r + 1]; ++k)
      if (colind[k + 1] < colind[k] || (f.unique && colind[k + 1] == colind[k])) return true;
    return false;
  });
}

template <class T, class I, class O>
bool holds(const device_context& ctx, coo_view<const T, I, O, space::device> a) {
  const I rows = a.shape().row, cols = a.shape().col;
  const std::int64_t nnz = a.size();
  if (rows < 0 || cols < 0 || nnz < 0 || !testable(a.order()) ||
      (nnz > 0 && (a.rowind().data() == nullptr || a.colind().data() == nullptr ||
                   a.values().data() == nullptr)))
    return false;
  return !any(ctx, nnz,
              [row = a.rowind().data(), col = a.colind().data(), rows, cols,
               f = a.order()] __device__(std::int64_t k) {
                if (row[k] < 0 || row[k] >= rows || col[k] < 0 || col[k] >= cols) return true;
                if (!f.sorted || k == 0 || row[k] > row[k - 1]) return false;
                if (row[k] < row[k - 1] || col[k] < col[k - 1]) return true;
                return f.unique && col[k] == col[k - 1];
              });
}

/// Views with impossible sizes or null arrays cannot be copied: the host's check gets them as they
/// are, and stops before it reads an element.
template <class View> bool copyable(View a) {
  return a.size() >= 0 && a.shape().row >= 0 && a.shape().col >= 0;
}

} // namespace

template <class T, class I, class O>
void check_csr(const device_context& ctx, csr_view<const T, I, O, space::device> a) {
  const device_guard guard(ctx.device());
  if (holds(ctx, a)) return;
  const host_context host;
  if (!copyable(a) || a.rowptr().data() == nullptr ||
      (a.size() > 0 && (a.colind().data() == nullptr || a.values().data() == nullptr)))
    return detail::cpu::check_csr<T, I, O>(
        host, {a.values().data(), a.rowptr().data(), a.colind().data(), a.shape(), a.size()});
  ctx.synchronize();
  const auto copy = copy_to(host, a);
  detail::cpu::check_csr<T, I, O>(host, copy.view());
}

template <class T, class I, class O>
void check_coo(const device_context& ctx, coo_view<const T, I, O, space::device> a) {
  const device_guard guard(ctx.device());
  if (holds(ctx, a)) return;
  const host_context host;
  if (!copyable(a) ||
      (a.size() > 0 && (a.rowind().data() == nullptr || a.colind().data() == nullptr ||
                        a.values().data() == nullptr)))
    return detail::cpu::check_coo<T, I, O>(
        host, {a.values().data(), a.rowind().data(), a.colind().data(), a.shape(), a.size()});
  ctx.synchronize();
  const auto copy = copy_to(host, a);
  detail::cpu::check_coo<T, I, O>(host, copy.view());
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void check_csr<T, I, O>(const device_context&, csr_view<const T, I, O, space::device>); \
  template void check_coo<T, I, O>(const device_context&, coo_view<const T, I, O, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
