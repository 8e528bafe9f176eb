// y = alpha A x + beta z on the host, A in CSR-k: threads take super-rows (k = 3:
// super-super-rows), a fixed share each where rows are alike, else the next share when done with
// one, beginning with the pieces of long rows. A sum's order is the format's, so threads do not
// change it.
#include <lacuna/format/csr_k.hpp>

#include "cpu/multiply_csr_dense.hpp"
#include "cpu/shares.hpp"

namespace lacuna::detail::cpu {
namespace {

template <class T, class I, class O> class super_row_multiply {
public:
  super_row_multiply(const row_arguments<T, I, O>& p, csr_k_view<const T, I, O> a)
      : p_(p), a_(a), kernels_(best_row_kernels<T, I, O>()),
        units_((a.grouping().k == 3 ? a.super_super_rows() : a.super_rows()).size() - 1) {}

  /// The units of share `share`, of which each has about as many rows and entries. They follow one
  /// another, so the rows between two long ones are one call.
  void run_share(int share, int shares) const {
    std::int64_t row = first_row_of_share(share, shares);
    const std::int64_t end = first_row_of_share(share + 1, shares);
    for (std::int64_t i = first_long(row); i < a_.long_row_count() && long_row(i) < end; ++i) {
      kernels_.rows(p_, row, long_row(i));
      row = long_row(i) + 1;
    }
    kernels_.rows(p_, row, end);
  }
  /// Pieces of long rows; sums has a place for each, unless every long row is one piece.
  void run_pieces(std::int64_t first, std::int64_t last, T* sums) const {
    for (std::int64_t k = first; k < last; ++k) {
      const csr_k_piece<I, O> piece = a_.pieces()[k];
      const T sum = kernels_.piece(p_, piece.first, piece.last);
      if (pieces_of(piece.long_row) == 1)
        store_sum(p_, piece.row, 0, sum);
      else
        sums[k] = sum;
    }
  }
  void join_pieces(const T* sums) const {
    for (std::int64_t i = 0; i < a_.long_row_count(); ++i) {
      if (pieces_of(i) == 1) continue;
      T sum{0};
      for (std::int64_t k = a_.long_rows()[i]; k < a_.long_rows()[i + 1]; ++k) sum += sums[k];
      store_sum(p_, long_row(i), 0, sum);
    }
  }

private:
  /// First row of a unit, a super-row or super-super-row.
  [[nodiscard]] std::int64_t row_of(std::int64_t unit) const {
    return a_.super_rows()[a_.grouping().k == 3 ? std::int64_t{a_.super_super_rows()[unit]} : unit];
  }
  [[nodiscard]] std::int64_t long_row(std::int64_t i) const {
    return a_.pieces()[a_.long_rows()[i]].row;
  }
  [[nodiscard]] std::int64_t pieces_of(std::int64_t i) const {
    return a_.long_rows()[i + 1] - a_.long_rows()[i];
  }
  /// The first i in [0, size) for which at(i) is not below target, or size.
  template <class At>
  static std::int64_t lower_bound(std::int64_t size, std::int64_t target, At&& at) {
    std::int64_t low = 0, high = size;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (at(middle) < target)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
  [[nodiscard]] std::int64_t first_row_of_share(int share, int shares) const {
    const std::int64_t rows = a_.shape().row;
    const auto before = [&](std::int64_t unit) { return row_of(unit) + p_.rowptr[row_of(unit)]; };
    return row_of(lower_bound(units_, part_begin(rows + p_.rowptr[rows], share, shares), before));
  }
  [[nodiscard]] std::int64_t first_long(std::int64_t row) const {
    return lower_bound(a_.long_row_count(), row, [&](std::int64_t i) { return long_row(i); });
  }

  const row_arguments<T, I, O>& p_;
  csr_k_view<const T, I, O> a_;
  const row_kernels<T, I, O>& kernels_;
  std::int64_t units_;
};

} // namespace

template <class T, class I, class O>
void multiply_format(const host_context& ctx, T alpha, csr_k_view<const T, I, O> a,
                     dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y) {
  if (!are_vectors(x, beta, z, y)) return multiply_csr_dense(ctx, alpha, a.rows(), x, beta, z, y);
  const std::int64_t rows = a.shape().row, pieces = a.pieces().size();
  if (rows == 0) return;
  const csr_view<const T, I, O> m = a.rows();
  const row_arguments<T, I, O> p{m.rowptr().data(),
                                 m.colind().data(),
                                 m.values().data(),
                                 x.data(),
                                 z.data(),
                                 y.data(),
                                 alpha,
                                 beta};
  const super_row_multiply<T, I, O> work(p, a);
  const int threads = part_count(ctx, rows + m.size(), entry_grain);
  if (a.grouping().regular && pieces == 0)
    return for_each_part(ctx, threads, 1,
                         [&](int share, int shares) { work.run_share(share, shares); });

  const bool joins = pieces > a.long_row_count();
  array<T> sums(ctx, joins ? pieces : 0);
  const int shares = threads == 1 ? 1 : threads * shares_per_thread;
  const int piece_shares = static_cast<int>(std::min<std::int64_t>(pieces, shares));
  for_each_dynamic(threads, piece_shares + shares, [&](int share) {
    if (share < piece_shares)
      work.run_pieces(part_begin(pieces, share, piece_shares),
                      part_begin(pieces, share + 1, piece_shares), sums.data());
    else
      work.run_share(share - piece_shares, shares);
  });
  if (joins) work.join_pieces(sums.data());
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_format<T, I, O>(const host_context&, T, csr_k_view<const T, I, O>,        \
                                         dense_view<const T>, T, dense_view<const T>,              \
                                         dense_view<T>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
