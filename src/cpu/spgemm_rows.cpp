// Rows of C = alpha A B, mostly one at a time. A row's products, and the columns that they
// span, choose the accumulator:
//   few    several rows at a time are put in order by comparing each product with all of its row
//          (spgemm_few.cpp)
//   copy   A's row has one entry: B's row, scaled
//   dense  a window of sums over the span, with one byte per column that was met
//   tree   the same where few were met: one bit per column, in words that a second level marks
//   hash   few products over a long span: linear probing, then each key's rank
//   sort   many products over a span too long for a window: the same table, then a sort
//   recipe the row before, moved along the diagonal (spgemm_recipe.hpp)
// Neighbouring rows of A with the same columns share a dense window of four sums per column.
// All of them add products in the order of A's row to a sum that begins as -0, which changes no
// bit of what is added to it: a row has the same bits whatever made it.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <lacuna/core/array.hpp>
#include <lacuna/format/csr.hpp>

#include "cpu/spgemm_few.hpp"
#include "cpu/spgemm_kernels.hpp"
#include "cpu/spgemm_recipe.hpp"
#include "cpu/spgemm_worker.hpp"

namespace lacuna::detail::cpu {
namespace {

template <class T, class I, class O> class accumulators final : public spgemm_worker<T, I, O> {
public:
  accumulators(const host_context& ctx, const spgemm_sizes& sizes)
      : sizes_(sizes), sum_(ctx, sizes.window + 128), marks_(ctx, sizes.window + 128),
        leaves_(ctx, sizes.window / 64 + 2), tops_(ctx, sizes.window / 4096 + 2),
        place_(ctx, sizes.window / 64 + 130), bits_(ctx, sizes.window / 64 + 130),
        key_(ctx, sizes.slots), key_sum_(ctx, sizes.slots), used_(ctx, sizes.slots),
        order_(ctx, sizes.slots / 2 + 16), recipe_(ctx, sizes.window) {}

  void ready() override {
    std::fill(sum_.begin(), sum_.end(), T{-0.0});
    std::fill(marks_.begin(), marks_.end(), std::uint8_t{0});
    std::fill(leaves_.begin(), leaves_.end(), std::uint64_t{0});
    std::fill(tops_.begin(), tops_.end(), std::uint64_t{0});
    std::fill(key_.begin(), key_.end(), I{-1});
    std::fill(key_sum_.begin(), key_sum_.end(), T{-0.0});
  }

  void make(const spgemm_factors<T, I, O>& f, const spgemm_unit& u, spgemm_output what,
            row_sink<T, I>& out) override {
    switch (what) {
    case spgemm_output::count: return make<spgemm_output::count>(f, u, out);
    case spgemm_output::values: return make<spgemm_output::values>(f, u, out);
    case spgemm_output::pattern: return make<spgemm_output::pattern>(f, u, out);
    }
  }

private:
  using factors = spgemm_factors<T, I, O>;
  struct row_span {
    std::int64_t products = 0, low = std::numeric_limits<std::int64_t>::max(), high = -1;
  };
  struct key_at {
    I key;
    I at;
  };

  template <spgemm_output M>
  void make(const factors& f, const spgemm_unit& u, row_sink<T, I>& out) {
    if (u.cut) {
      row<M, true>(f, u.first, 1, u.columns, out);
      return;
    }
    recipe_.forget();
    std::int64_t plain = M == spgemm_output::count ? u.last : u.first; // none before looks repeated
    for (std::int64_t i = u.first; i < u.last;) {
      if constexpr (M != spgemm_output::count) {
        if (recipe_.template repeat<M>(f, i, out)) {
          ++i;
          continue;
        }
        if (i >= plain && recipe_.promises(f, i, u.last)) {
          const std::int64_t before = out.entries();
          i += row<M, false>(f, i, 1, {}, out);
          const row_span s = span_of<false>(f, i - 1, {});
          if (s.products > 0)
            recipe_.keep(f, i - 1, s.products, s.low, s.high, out.last().col,
                         out.entries() - before);
          continue;
        }
      }
      std::int64_t made = 0;
      if (light_rows_ > 1) {
        if (i >= plain) {
          const std::int64_t most = std::min<std::int64_t>(u.last, i + few_rows<T, I>::most_rows);
          for (plain = i + 1; plain < most && !recipe_.promises(f, plain, u.last);) ++plain;
        }
        made = few<M>(f, i, plain, out);
      }
      i += made > 0 ? made : row<M, false>(f, i, like_rows(f, i, u.last), {}, out);
    }
  }

  /// How many rows from i on, up to 4, have the columns of row i; 1 where sharing cannot pay.
  static int like_rows(const factors& f, std::int64_t i, std::int64_t last) {
    const std::int64_t first = f.a_rowptr[i], length = f.a_rowptr[i + 1] - first;
    if (length < 4) return 1;
    int same = 1;
    while (same < 4 && i + same < last) {
      const std::int64_t next = f.a_rowptr[i + same];
      if (f.a_rowptr[i + same + 1] - next != length || f.a_col[next] != f.a_col[first] ||
          f.a_col[next + length - 1] != f.a_col[first + length - 1] ||
          std::memcmp(f.a_col + next, f.a_col + first, sizeof(I) * length) != 0)
        break;
      ++same;
    }
    return same;
  }

  /// Whether entries [first, last) of B are a run of columns without gaps, long enough for vectors.
  static bool is_run(const factors& f, std::int64_t first, std::int64_t last) {
    return last - first >= 16 && f.b_sorted && f.b_unique &&
           f.b_col[last - 1] - f.b_col[first] == last - first - 1;
  }
  /// Runs are added faster one row after the other than four rows at once.
  static bool begins_with_run(const factors& f, std::int64_t i) {
    const I row = f.a_col[f.a_rowptr[i]];
    return is_run(f, f.b_rowptr[row], f.b_rowptr[row + 1]);
  }

  /// B's rows are strewn over memory: asked for some entries of A ahead, across rows.
  /// (gcc drops calls of a function that only prefetches, unless it is inlined early.)
  [[gnu::always_inline]] static void prefetch(const factors& f, std::int64_t k) {
    if (k + 2 * ahead >= f.a_entries) return;
    __builtin_prefetch(f.b_rowptr + f.a_col[k + 2 * ahead]);
    const std::int64_t first = f.b_rowptr[f.a_col[k + ahead]];
    __builtin_prefetch(f.b_col + first);
    __builtin_prefetch(f.b_col + first + 8);
    __builtin_prefetch(f.b_value + first);
    __builtin_prefetch(f.b_value + first + 8);
  }

  template <bool cut>
  static row_span span_of(const factors& f, std::int64_t i, column_range range) {
    row_span s;
    for (std::int64_t k = f.a_rowptr[i]; k < f.a_rowptr[i + 1]; ++k) {
      prefetch(f, k);
      const auto [first, last] = f.template entries<cut>(k, range.begin, range.end);
      if (first == last) continue;
      s.products += last - first;
      s.low = std::min<std::int64_t>(s.low, f.b_sorted ? f.b_col[first] : f.b_low[f.a_col[k]]);
      s.high =
          std::max<std::int64_t>(s.high, f.b_sorted ? f.b_col[last - 1] : f.b_high[f.a_col[k]]);
    }
    return s;
  }

  /// Makes rows i .. i + same, or row i alone; returns how many.
  template <spgemm_output M, bool cut>
  std::int64_t row(const factors& f, std::int64_t i, int same, column_range range,
                   row_sink<T, I>& out) {
    const std::int64_t length = f.a_rowptr[i + 1] - f.a_rowptr[i];
    if (length == 1 && f.b_sorted && f.b_unique) {
      copy<M, cut>(f, i, range, out);
      return 1;
    }
    const row_span s = span_of<cut>(f, i, range);
    if (s.products == 0) {
      for (int r = 0; r < same; ++r) (void)out(i + r, 0);
      return same;
    }
    light_rows_ = s.products <= few_kernels_.most ? light_rows_ + 1 : 0;
    const std::int64_t base = s.low & ~std::int64_t{63};
    const std::int64_t words = (s.high - base) / 64 + 1;
    const bool fits = s.high - s.low < sizes_.window;
    if (fits && (words <= 64 || s.products > hash_limit)) {
      if (same > 1 && 4 * 64 * words <= sizes_.window && !begins_with_run(f, i))
        return like<M, cut>(f, i, same, range, base, words, out);
      if (words <= s.products)
        dense<M, cut>(f, i, range, base, words, out);
      else if (words <= 64)
        tree<M, cut, true>(f, i, range, base, words, out);
      else
        tree<M, cut, false>(f, i, range, base, words, out);
    } else {
      hash<M, cut>(f, i, range, s, out);
    }
    return 1;
  }

  template <spgemm_output M, bool cut>
  void copy(const factors& f, std::int64_t i, column_range range, row_sink<T, I>& out) {
    const std::int64_t k = f.a_rowptr[i];
    const auto [first, last] = f.template entries<cut>(k, range.begin, range.end);
    const row_place<T, I> to = out(i, last - first);
    if constexpr (M != spgemm_output::count) {
      std::copy(f.b_col + first, f.b_col + last, to.col);
      const T s = M == spgemm_output::values ? f.alpha * f.a_value[k] : T{1};
      for (std::int64_t l = first; l < last; ++l)
        to.value[l - first] = M == spgemm_output::values ? s * f.b_value[l] : s;
    }
  }

  /// Makes as many rows from row i on, up to `end`, as have few products and, after the first, do
  /// not look as if they repeated; returns how many.
  template <spgemm_output M>
  std::int64_t few(const factors& f, std::int64_t i, std::int64_t end, row_sink<T, I>& out) {
    few_rows<T, I> made;
    few_kernels_.make(f, i, end, M == spgemm_output::values, made);
    if (made.rows == 0) {
      light_rows_ = 0;
      return 0;
    }
    if (M == spgemm_output::pattern) std::fill_n(made.value, made.entries, T{1});
    out.rows(i, made.rows, made.counts, made.entries, made.col, made.value);
    return made.rows;
  }

  /// Leaves the row's marks and, if there are to be values, its sums.
  template <spgemm_output M, bool cut>
  void scatter(const factors& f, std::int64_t i, column_range range, std::int64_t base) {
    T* const sum = sum_.data();
    std::uint8_t* const marks = marks_.data();
    for (std::int64_t k = f.a_rowptr[i]; k < f.a_rowptr[i + 1]; ++k) {
      const auto [first, last] = f.template entries<cut>(k, range.begin, range.end);
      const I* const col = f.b_col + first;
      const std::int64_t count = last - first;
      if (is_run(f, first, last)) {
        const std::int64_t at = col[0] - base;
        std::memset(marks + at, 1, static_cast<std::size_t>(count));
        if constexpr (M == spgemm_output::values)
          kernels_.add_scaled(sum + at, f.alpha * f.a_value[k], f.b_value + first, count);
        continue;
      }
      if constexpr (M == spgemm_output::values) {
        const T s = f.alpha * f.a_value[k];
        const T* const value = f.b_value + first;
        for (std::int64_t l = 0; l < count; ++l) {
          const std::int64_t at = col[l] - base;
          sum[at] += s * value[l];
          marks[at] = 1;
        }
      } else {
        for (std::int64_t l = 0; l < count; ++l) {
          const std::int64_t at = col[l] - base;
          marks[at] = 1;
        }
      }
    }
  }

  template <spgemm_output M, bool cut>
  void dense(const factors& f, std::int64_t i, column_range range, std::int64_t base,
             std::int64_t words, row_sink<T, I>& out) {
    scatter<M, cut>(f, i, range, base);
    const marked_columns marked = take_marks(words);
    row_place<T, I> to = out(i, marked.count);
    if constexpr (M == spgemm_output::count) return;
    T* const sum = sum_.data();
    for (std::int64_t w = 0; w < marked.words; ++w) {
      const std::int64_t first = std::int64_t{64} * place_[w];
      std::uint64_t bits = bits_[w];
      if (bits == ~std::uint64_t{0}) {
        for (std::int64_t j = 0; j < 64; ++j) to.col[j] = static_cast<I>(base + first + j);
        if (M == spgemm_output::values) {
          std::copy_n(sum + first, 64, to.value);
          std::fill_n(sum + first, 64, T{-0.0});
        } else {
          std::fill_n(to.value, 64, T{1});
        }
        to.col += 64;
        to.value += 64;
        continue;
      }
      for (; bits != 0; bits &= bits - 1) {
        const std::int64_t at = first + std::countr_zero(bits);
        *to.col++ = static_cast<I>(base + at);
        *to.value++ = M == spgemm_output::values ? std::exchange(sum[at], T{-0.0}) : T{1};
      }
    }
  }

  /// Rows i .. i + same of the same columns: four sums for each column side by side.
  template <spgemm_output M, bool cut>
  int like(const factors& f, std::int64_t i, int same, column_range range, std::int64_t base,
           std::int64_t words, row_sink<T, I>& out) {
    T* const sum = sum_.data();
    scatter<spgemm_output::count, cut>(f, i, range, base);
    if constexpr (M == spgemm_output::values) {
      const std::int64_t row = f.a_rowptr[i], length = f.a_rowptr[i + 1] - row;
      for (std::int64_t k = 0; k < length; ++k) {
        T s[4] = {};
        for (int r = 0; r < same; ++r) s[r] = f.alpha * f.a_value[row + r * length + k];
        const auto [first, last] = f.template entries<cut>(row + k, range.begin, range.end);
        if constexpr (sizeof(I) == 4)
          kernels_.add_four(sum, s, f.b_value + first, f.b_col + first, base, last - first);
        else
          kernels_.add_four_wide(sum, s, f.b_value + first, f.b_col + first, base, last - first);
      }
    }
    const marked_columns marked = take_marks(words);
    const I* columns = nullptr;
    for (int r = 0; r < same; ++r) {
      row_place<T, I> to = out(i + r, marked.count);
      if constexpr (M == spgemm_output::count) continue;
      if (r > 0) std::copy_n(columns, marked.count, to.col);
      columns = to.col;
      for (std::int64_t w = 0; w < marked.words; ++w) {
        const std::int64_t first = std::int64_t{64} * place_[w];
        for (std::uint64_t bits = bits_[w]; bits != 0; bits &= bits - 1) {
          const std::int64_t at = first + std::countr_zero(bits);
          if (r == 0) *to.col++ = static_cast<I>(base + at);
          *to.value++ = M == spgemm_output::values ? sum[4 * at + r] : T{1};
        }
      }
    }
    if constexpr (M == spgemm_output::values)
      for (std::int64_t w = 0; w < marked.words; ++w)
        std::fill_n(sum + std::int64_t{256} * place_[w], 256, T{-0.0});
    return same;
  }

  marked_columns take_marks(std::int64_t words) {
    return kernels_.take_marks(marks_.data(), words, place_.data(), bits_.data());
  }

  /// As dense, with a bit for each column that was met and a bit for each word of those: sparse
  /// rows find their columns in order without a look at the others. `narrow`: up to 64 words.
  template <spgemm_output M, bool cut, bool narrow>
  void tree(const factors& f, std::int64_t i, column_range range, std::int64_t base,
            std::int64_t words, row_sink<T, I>& out) {
    T* const sum = sum_.data();
    std::uint64_t* const leaves = leaves_.data();
    std::uint64_t* const tops = tops_.data();
    std::uint64_t only = 0;
    std::int64_t count = 0;
    for (std::int64_t k = f.a_rowptr[i]; k < f.a_rowptr[i + 1]; ++k) {
      const auto [first, last] = f.template entries<cut>(k, range.begin, range.end);
      const T s = M == spgemm_output::values ? f.alpha * f.a_value[k] : T{1};
      for (std::int64_t l = first; l < last; ++l) {
        const auto at = static_cast<std::uint64_t>(f.b_col[l] - base);
        const std::uint64_t leaf = leaves[at / 64], bit = std::uint64_t{1} << (at % 64);
        leaves[at / 64] = leaf | bit;
        count += (leaf & bit) == 0 ? 1 : 0;
        if constexpr (narrow)
          only |= std::uint64_t{1} << (at / 64);
        else
          tops[at / 4096] |= std::uint64_t{1} << (at / 64 % 64);
        if constexpr (M == spgemm_output::values) sum[at] += s * f.b_value[l];
      }
    }
    row_place<T, I> to = out(i, count);
    const auto take = [&](std::uint64_t top, std::int64_t first_word) {
      for (; top != 0; top &= top - 1) {
        const std::int64_t w = first_word + std::countr_zero(top);
        std::uint64_t leaf = std::exchange(leaves[w], 0);
        if constexpr (M == spgemm_output::count) continue;
        for (; leaf != 0; leaf &= leaf - 1) {
          const std::int64_t at = 64 * w + std::countr_zero(leaf);
          *to.col++ = static_cast<I>(base + at);
          *to.value++ = M == spgemm_output::values ? std::exchange(sum[at], T{-0.0}) : T{1};
        }
      }
    };
    if constexpr (narrow)
      take(only, 0);
    else
      for (std::int64_t t = 0; 64 * t < words; ++t) take(std::exchange(tops[t], 0), 64 * t);
  }

  /// Fibonacci hashing: columns a power of two apart do not meet.
  static std::uint64_t slot_of(I col, int shift) {
    return (static_cast<std::uint64_t>(col) * 0x9e3779b97f4a7c15U) >> shift;
  }
  /// Slots for so many keys, at most half of them used: the shift that picks one.
  int shift_for(std::int64_t keys) const {
    const auto wanted =
        std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(2 * keys, 16)));
    return 64 - std::countr_zero(std::min(wanted, static_cast<std::uint64_t>(sizes_.slots)));
  }

  template <spgemm_output M, bool cut>
  void hash(const factors& f, std::int64_t i, column_range range, const row_span& s,
            row_sink<T, I>& out) {
    const int shift = shift_for(std::min(s.products, f.cols));
    const std::uint64_t mask = (std::uint64_t{1} << (64 - shift)) - 1;
    I* const key = key_.data();
    T* const sum = key_sum_.data();
    auto* const used = used_.data();
    std::int64_t count = 0;
    for (std::int64_t k = f.a_rowptr[i]; k < f.a_rowptr[i + 1]; ++k) {
      const auto [first, last] = f.template entries<cut>(k, range.begin, range.end);
      const T factor = M == spgemm_output::values ? f.alpha * f.a_value[k] : T{1};
      for (std::int64_t l = first; l < last; ++l) {
        const I col = f.b_col[l];
        std::uint64_t slot = slot_of(col, shift);
        while (key[slot] != col && key[slot] != -1) slot = (slot + 1) & mask;
        used[count] = static_cast<std::make_unsigned_t<I>>(slot);
        count += key[slot] == -1 ? 1 : 0;
        key[slot] = col;
        if constexpr (M == spgemm_output::values) sum[slot] += factor * f.b_value[l];
      }
    }
    const row_place<T, I> to = out(i, count);
    if constexpr (M != spgemm_output::count) {
      key_at* const order = order_.data();
      if (count <= rank_limit && s.high - s.low < std::numeric_limits<std::int32_t>::max()) {
        std::int32_t keys[rank_limit + 16], ranks[rank_limit + 16];
        for (std::int64_t n = 0; n < count; ++n)
          keys[n] = static_cast<std::int32_t>(key[used[n]] - s.low);
        kernels_.rank(keys, count, ranks);
        for (std::int64_t n = 0; n < count; ++n) {
          to.col[ranks[n]] = key[used[n]];
          to.value[ranks[n]] =
              M == spgemm_output::values ? std::exchange(sum[used[n]], T{-0.0}) : T{1};
        }
      } else {
        for (std::int64_t n = 0; n < count; ++n) order[n] = {key[used[n]], static_cast<I>(n)};
        std::sort(order, order + count,
                  [](const key_at& x, const key_at& y) { return x.key < y.key; });
        for (std::int64_t n = 0; n < count; ++n) {
          to.col[n] = order[n].key;
          to.value[n] =
              M == spgemm_output::values ? std::exchange(sum[used[order[n].at]], T{-0.0}) : T{1};
        }
      }
    }
    for (std::int64_t n = 0; n < count; ++n) key[used[n]] = -1;
  }

  /// Up to so many products over a span of more than 4096 columns are hashed: more are faster in
  /// a window. Web graph (11 products per row) 38 against 51 ms, uniform (64) 213 against 184.
  static constexpr std::int64_t hash_limit = 32;
  static constexpr std::int64_t ahead = 16; ///< entries of A

  spgemm_sizes sizes_;
  const spgemm_kernels<T>& kernels_ = best_spgemm_kernels<T>();
  const few_rows_kernels<T, I, O>& few_kernels_ = best_few_rows_kernels<T, I, O>();
  int light_rows_ = 2; ///< of few products, one after the other: from two on others are expected
  array<T> sum_;       ///< -0 but for the row in work
  array<std::uint8_t> marks_;
  array<std::uint64_t> leaves_, tops_;
  array<std::uint32_t> place_;
  array<std::uint64_t> bits_;
  array<I> key_; ///< -1: free
  array<T> key_sum_;
  array<std::make_unsigned_t<I>> used_; ///< slots in the order in which they were taken
  array<key_at> order_;
  spgemm_recipe<T, I, O> recipe_;
};

} // namespace

template <class T, class I, class O>
std::unique_ptr<spgemm_worker<T, I, O>> make_accumulators(const host_context& ctx,
                                                          const spgemm_sizes& sizes) {
  return std::make_unique<accumulators<T, I, O>>(ctx, sizes);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template std::unique_ptr<spgemm_worker<T, I, O>> make_accumulators(const host_context&,          \
                                                                     const spgemm_sizes&);
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
