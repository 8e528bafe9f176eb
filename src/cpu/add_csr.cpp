// C = alpha A + beta B by merging rows: count, scan, fill. Threads share rows and entries evenly,
// long rows too.
//
// Bytes: the columns of A and B twice, all else once. Entries are counted, and whole rows merged,
// with vectors; what is left is merged in steps without branches, since nothing predicts which of
// two columns is the smaller.
#include <lacuna/op/add.hpp>

#include <atomic>
#include <bit>

#include <fmt/format.h>

#include "cpu/match_parts.hpp"
#include "cpu/merge_kernels.hpp"

namespace lacuna::detail {

void throw_too_many_entries(std::int64_t entries) {
  throw unsupported(fmt::format(
      "add: C has {} entries, which 32-bit offsets cannot number; use add_wide", entries));
}
std::string explain_sum(std::int64_t entries) {
  return fmt::format("C has {} entries; nothing else is kept", entries);
}
void throw_no_place(std::int64_t row, std::int64_t column) {
  throw bad_input(fmt::format(
      "add_to: A has an entry at row {}, column {}, C has none there; use add", row, column));
}
void throw_other_count(std::int64_t counted, std::int64_t entries) {
  throw bad_input(fmt::format(
      "add_compute: A + B has {1} entries, {0} were counted; add_inspect again", counted, entries));
}

} // namespace lacuna::detail

namespace lacuna::detail::cpu {
namespace {

template <class T> using bits_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
/// One of two, or their sum if both masks are set; without a branch, which compilers make for
/// floating-point values, and nothing predicts which it will be.
template <class T>
T left_right_or_both(std::int64_t left_mask, T left, std::int64_t right_mask, T right) {
  using bits = bits_of<T>;
  const bits both = std::bit_cast<bits>(left + right);
  return std::bit_cast<T>(static_cast<bits>(
      both ^ ((both ^ std::bit_cast<bits>(left)) & ~static_cast<bits>(right_mask)) ^
      ((both ^ std::bit_cast<bits>(right)) & ~static_cast<bits>(left_mask))));
}

/// Returns the number of entries written. `more`: a column may be read behind both rows; steps then
/// load what the next one may need before they know whether it does.
template <class T, class I>
std::int64_t fill_row(T alpha, const I* a, const T* a_value, std::int64_t a_size, T beta,
                      const I* b, const T* b_value, std::int64_t b_size, bool more, I* col,
                      T* value) {
  if (same_columns(a, a_size, b, b_size)) {
    for (std::int64_t k = 0; k < a_size; ++k) {
      col[k] = a[k];
      value[k] = alpha * a_value[k] + beta * b_value[k];
    }
    return a_size;
  }
  std::int64_t i = 0, j = 0, at = 0;
  if (more && a_size > 0 && b_size > 0) {
    I x = a[0], y = b[0];
    do {
      const std::int64_t from_a = -static_cast<std::int64_t>(x <= y); // all bits, or none
      const std::int64_t from_b = -static_cast<std::int64_t>(y <= x);
      const I next_x = a[i + 1], next_y = b[j + 1], this_x = x;
      col[at] = std::min(x, y);
      value[at++] = left_right_or_both(from_a, alpha * a_value[i], from_b, beta * b_value[j]);
      x = x <= y ? next_x : x;
      y = y <= this_x ? next_y : y;
      i -= from_a;
      j -= from_b;
    } while (i < a_size && j < b_size);
  }
  while (i < a_size && j < b_size) {
    const I x = a[i], y = b[j];
    const std::int64_t from_a = -static_cast<std::int64_t>(x <= y);
    const std::int64_t from_b = -static_cast<std::int64_t>(y <= x);
    col[at] = std::min(x, y);
    value[at++] = left_right_or_both(from_a, alpha * a_value[i], from_b, beta * b_value[j]);
    i -= from_a;
    j -= from_b;
  }
  for (; i < a_size; ++i) {
    col[at] = a[i];
    value[at++] = alpha * a_value[i];
  }
  for (; j < b_size; ++j) {
    col[at] = b[j];
    value[at++] = beta * b_value[j];
  }
  return at;
}

/// f(begin, end) tells whether all is well in shares of [0, size); others stop early if not.
template <class F> bool all_of(const host_context& ctx, std::int64_t size, F f) {
  constexpr std::int64_t step = 4096;
  std::atomic<bool> result{true};
  for_each_range(ctx, size, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end && result.load(std::memory_order_relaxed); begin += step)
      if (!f(begin, std::min(begin + step, end))) result.store(false, std::memory_order_relaxed);
  });
  return result.load();
}
template <class X>
bool same_array(const host_context& ctx, const X* x, const X* y, std::int64_t n) {
  return x == y || all_of(ctx, n, [=](std::int64_t begin, std::int64_t end) {
           return std::memcmp(x + begin, y + begin, (end - begin) * sizeof(X)) == 0;
         });
}
template <class T, class I, class O>
bool same_pattern(const host_context& ctx, csr_view<const T, I, O> a, csr_view<const T, I, O> b) {
  if (a.shape().row == 0) return true; // there may be no arrays at all
  return a.size() == b.size() && same_array(ctx, a.colind().data(), b.colind().data(), a.size()) &&
         same_array(ctx, a.rowptr().data(), b.rowptr().data(), a.rowptr().size());
}

template <class From, class To>
void copy_array(const host_context& ctx, const From* from, std::int64_t size, To* to) {
  for_each_range(ctx, size, entry_grain, [=](std::int64_t begin, std::int64_t end) {
    std::copy(from + begin, from + end, to + begin);
  });
}
template <class T>
void add_values(const host_context& ctx, T alpha, const T* a, T beta, const T* b, std::int64_t size,
                T* c) {
  for_each_range(ctx, size, entry_grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) c[k] = alpha * a[k] + beta * b[k];
  });
}

/// The sum of two different patterns, in parts. Counting and filling are cut alike.
template <class T, class I, class O> class row_sums {
public:
  row_sums(const host_context& ctx, csr_view<const T, I, O> a, csr_view<const T, I, O> b)
      : a_(a), b_(b), pair_(a, b),
        threads_(part_count(ctx, pair_.rows == 0 ? 0 : pair_.before(pair_.rows), entry_grain)),
        parts_(threads_ == 1 ? 1 : threads_ * parts_per_thread),
        first_(ctx, std::int64_t{parts_} + 1) {}

  /// Entries of C.
  std::int64_t count() {
    first_[0] = 0;
    for_each_dynamic(threads_, parts_, [&](int part) {
      const path_cut from = pair_.cut(part, parts_), to = pair_.cut(part + 1, parts_);
      const std::int64_t matches = count_matches(pair_, from, to);
      first_[part + 1] = (to.a - from.a) + (to.b - from.b) - matches;
    });
    for (int part = 0; part < parts_; ++part) first_[part + 1] += first_[part];
    return first_[parts_];
  }

  /// After count(), which said how long col and value must be.
  template <class OC> void fill(T alpha, T beta, OC* rowptr, I* col, T* value) const {
    if (rowptr != nullptr) rowptr[0] = 0; // null: no rows, no arrays
    const T *const a_value = a_.values().data(), *const b_value = b_.values().data();
    for_each_dynamic(threads_, parts_, [&](int part) {
      std::int64_t at = first_[part];
      path_cut from = pair_.cut(part, parts_);
      const path_cut to = pair_.cut(part + 1, parts_);
      const auto fill = [&](std::int64_t row, std::int64_t a, std::int64_t a_end, std::int64_t b,
                            std::int64_t b_end, bool ends) {
        const bool more = a_end < a_.size() && b_end < b_.size();
        at += fill_row(alpha, pair_.a_col + a, a_value + a, a_end - a, beta, pair_.b_col + b,
                       b_value + b, b_end - b, more, col + at, value + at);
        if (ends) rowptr[row + 1] = static_cast<OC>(at);
      };
      from = pair_.finish_row(from, to, fill);
      const std::int64_t next = merge_rows<T, I, O>(
          merge_rule::sum_all, {alpha, pair_.a_rowptr, pair_.a_col, a_value, a_.size()},
          {beta, pair_.b_rowptr, pair_.b_col, b_value, b_.size()}, from.row, to.row, at,
          first_[part + 1], col, value,
          [=](std::int64_t row, std::int64_t end) { rowptr[row + 1] = static_cast<OC>(end); });
      if (next > from.row) from = pair_.begin_of(next);
      pair_.for_each_row(from, to, fill);
    });
  }

private:
  csr_view<const T, I, O> a_, b_;
  pattern_pair<I, O> pair_;
  int threads_, parts_;
  array<std::int64_t> first_; // first entry of C of each part
};

/// How many of `steps` steps from a column to the next do not ascend.
template <class I> std::int64_t count_falls(const I* col, std::int64_t steps) {
  constexpr std::int64_t block = 4096;
  std::int64_t all = 0;
  for (std::int64_t begin = 0; begin < steps; begin += block) {
    const std::int64_t end = std::min(begin + block, steps);
    I falls = 0; // as wide as columns are, so that vectors of both have as many lanes
    for (std::int64_t k = begin; k < end; ++k) falls += col[k + 1] <= col[k] ? 1 : 0;
    all += falls;
  }
  return all;
}

} // namespace

template <class T, class I, class O>
bool rows_ascend(const host_context& ctx, csr_view<const T, I, O> a) {
  const std::int64_t rows = a.shape().row;
  const O* const rowptr = a.rowptr().data();
  const I* const col = a.colind().data();
  if (rows == 0) return true;
  // Columns that do not ascend are counted in all entries at once, with vectors, and then where
  // rows begin: they are the same if there are no others.
  std::atomic<bool> result{true};
  for_each_part(ctx, rows + a.size(), entry_grain, [&](int part, int parts) {
    std::int64_t row = first_row(rowptr, rows, part, parts);
    const std::int64_t row_end = first_row(rowptr, rows, part + 1, parts);
    const std::int64_t first = rowptr[row];
    constexpr std::int64_t step = 1024; // rows
    while (row < row_end && result.load(std::memory_order_relaxed)) {
      const std::int64_t step_end = std::min(row + step, row_end);
      const std::int64_t from = std::max<std::int64_t>(rowptr[row], first + 1);
      const std::int64_t falls = count_falls(col + from - 1, rowptr[step_end] - from);
      std::int64_t between_rows = 0;
      for (; row < step_end; ++row) {
        const std::int64_t k = rowptr[row];
        if (k > first && k < rowptr[row + 1]) between_rows += col[k] <= col[k - 1] ? 1 : 0;
      }
      if (falls != between_rows) result.store(false, std::memory_order_relaxed);
    }
  });
  return result.load();
}

template <class T, class I, class O, class OC>
csr<T, I, OC> add_csr(const host_context& ctx, T alpha, csr_view<const T, I, O> a, T beta,
                      csr_view<const T, I, O> b) {
  const auto make = [&](std::int64_t entries) {
    if (!fits<OC>(entries)) detail::throw_too_many_entries(entries);
    return csr<T, I, OC>(ctx, a.shape(), static_cast<OC>(entries), {true, true});
  };
  if (same_pattern(ctx, a, b)) {
    auto c = make(a.size());
    if (a.rowptr().empty())
      c.rowptr()[0] = 0;
    else
      copy_array(ctx, a.rowptr().data(), c.rowptr().size(), c.rowptr().data());
    copy_array(ctx, a.colind().data(), a.size(), c.colind().data());
    add_values(ctx, alpha, a.values().data(), beta, b.values().data(), a.size(), c.values().data());
    return c;
  }
  row_sums<T, I, O> sums(ctx, a, b);
  auto c = make(sums.count());
  sums.fill(alpha, beta, c.rowptr().data(), c.colind().data(), c.values().data());
  return c;
}

template <class T, class I, class O>
std::int64_t count_add(const host_context& ctx, csr_view<const T, I, O> a,
                       csr_view<const T, I, O> b) {
  return same_pattern(ctx, a, b) ? a.size() : row_sums<T, I, O>(ctx, a, b).count();
}

template <class T, class I, class O>
void fill_add(const host_context& ctx, T alpha, csr_view<const T, I, O> a, T beta,
              csr_view<const T, I, O> b, csr_view<T, I, O> c) {
  row_sums<T, I, O> sums(ctx, a, b);
  const std::int64_t entries = sums.count();
  if (entries != c.size()) detail::throw_other_count(c.size(), entries);
  sums.fill(alpha, beta, c.rowptr().data(), c.colind().data(), c.values().data());
}

template <class T, class I, class O>
void add_to_csr(const host_context& ctx, T alpha, csr_view<const T, I, O> a, csr_view<T, I, O> c) {
  const csr_view<const T, I, O> c_read = c;
  const T* const from = a.values().data();
  T* const to = c.values().data();
  if (same_pattern(ctx, a, c_read)) {
    for_each_range(ctx, a.size(), entry_grain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) to[k] += alpha * from[k];
    });
    return;
  }
  // A cut keeps entries of one coordinate together, so both passes see whole pairs.
  const pattern_pair<I, O> pair(a, c_read);
  const int threads = part_count(ctx, pair.rows == 0 ? 0 : pair.before(pair.rows), entry_grain);
  const auto for_each_pair = [&](int part, auto match, auto missing) {
    pair.for_each_row(pair.cut(part, threads), pair.cut(part + 1, threads),
                      [&](std::int64_t row, std::int64_t k, std::int64_t k_end, std::int64_t at,
                          std::int64_t at_end, bool) {
                        for (; k < k_end; ++k) {
                          while (at < at_end && pair.b_col[at] < pair.a_col[k]) ++at;
                          if (at == at_end || pair.b_col[at] != pair.a_col[k])
                            return missing(row, k);
                          match(k, at++);
                        }
                      });
  };
  array<path_cut> lost(ctx, threads); // each part's first entry without a place: row, entry
  for_each_part(ctx, threads, 1, [&](int part, int) {
    path_cut first{-1, 0, 0};
    for_each_pair(
        part, [](std::int64_t, std::int64_t) {},
        [&](std::int64_t row, std::int64_t k) {
          if (first.row < 0) first = {row, k, 0};
        });
    lost[part] = first;
  });
  for (const path_cut& each : lost)
    if (each.row >= 0) detail::throw_no_place(each.row, pair.a_col[each.a]);
  for_each_part(ctx, threads, 1, [&](int part, int) {
    for_each_pair(
        part, [&](std::int64_t k, std::int64_t at) { to[at] += alpha * from[k]; },
        [](std::int64_t, std::int64_t) {});
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template bool rows_ascend(const host_context&, csr_view<const T, I, O>);                         \
  template csr<T, I, O> add_csr(const host_context&, T, csr_view<const T, I, O>, T,                \
                                csr_view<const T, I, O>);                                          \
  template std::int64_t count_add(const host_context&, csr_view<const T, I, O>,                    \
                                  csr_view<const T, I, O>);                                        \
  template void fill_add(const host_context&, T, csr_view<const T, I, O>, T,                       \
                         csr_view<const T, I, O>, csr_view<T, I, O>);                              \
  template void add_to_csr(const host_context&, T, csr_view<const T, I, O>, csr_view<T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
/// C's offsets wider than A's.
#define LACUNA_INSTANTIATE_WIDE(T, I)                                                              \
  template csr<T, I, std::int64_t> add_csr(const host_context&, T,                                 \
                                           csr_view<const T, I, std::int32_t>, T,                  \
                                           csr_view<const T, I, std::int32_t>);
LACUNA_FOR_EACH_NARROW_PAIR(LACUNA_INSTANTIATE_WIDE)

} // namespace lacuna::detail::cpu
