// Entries chosen by a rule, rows and columns: a bit for each entry that is looked at, a running sum
// of the bits in words of 32, and each entry finds its place from these. Dealt out by entries, so
// that long rows are shared. Nothing here depends on the width of offsets but the result's memory.
#include "gpu/parts/entries.cuh"
#include "gpu/parts/scan.cuh"
#include "op/keeps_entry.hpp"

namespace lacuna::detail::gpu {
namespace {

/// The entries that are looked at: those of rows that follow one another, numbered as they are
/// stored, or those of listed rows, numbered one after another.
template <class T, class I> struct looked_at {
  read_offsets rowptr;
  const I* colind;
  const T* values;
  entry_choice<T, I> choice;
  read_offsets starts; ///< of the result's rows in this numbering
  std::int64_t begin, end;

  struct place {
    std::int64_t row, entry;
  };
  /// Where entry k of row `row` of the result is stored.
  __device__ place stored(std::int64_t row, std::int64_t k) const {
    if (choice.rows == nullptr) return {choice.first_row + row, k};
    const std::int64_t from = choice.rows[row];
    return {from, rowptr[from] + (k - starts[row])};
  }
};

/// Bit l of masks[w]: entry begin + 32 w + l is kept; sums[w]: those kept before that word.
struct kept_entries {
  array<unsigned, space::device> masks;
  array<std::int64_t, space::device> sums;
};
__device__ std::int64_t kept_before(const unsigned* masks, const std::int64_t* sums,
                                    std::int64_t place) {
  const std::int64_t word = place / 32;
  const unsigned below = (1u << (place % 32)) - 1;
  return sums[word] + (below == 0 ? 0 : __popc(masks[word] & below));
}

template <class T, class I>
kept_entries mark_selected(const device_context& ctx, const looked_at<T, I>& from) {
  const std::int64_t words = (from.end - from.begin + 31) / 32;
  kept_entries kept{array<unsigned, space::device>(ctx, words),
                    array<std::int64_t, space::device>(ctx, words + 1)};
  array<int, space::device> counts(ctx, words);
  for_each_entry(
      ctx, from.starts, from.choice.shape.row, from.begin, from.end, "select: mark",
      [from, by_value = reads_values(from.choice.rule), masks = kept.masks.data(),
       counts = counts.data()] __device__(bool inside, std::int64_t row, std::int64_t k) {
        bool keep = false;
        if (inside) {
          const auto at = from.stored(row, k);
          keep = keeps_entry(from.choice, by_value, at.row, from.colind[at.entry], from.values,
                             at.entry);
        }
        const unsigned votes = __ballot_sync(whole_warp, keep);
        if (threadIdx.x % 32 != 0) return;
        masks[(k - from.begin) / 32] = votes;
        counts[(k - from.begin) / 32] = __popc(votes);
      });
  exclusive_sums(ctx, words, counts.data(), kept.sums.data());
  return kept;
}

template <class T, class I>
void write_selected(const device_context& ctx, const looked_at<T, I>& from,
                    const kept_entries& kept, write_offsets to_rowptr, I* to_column, T* to_value) {
  for_each(ctx, std::int64_t{from.choice.shape.row} + 1, "select: rows",
           [starts = from.starts, begin = from.begin, masks = kept.masks.data(),
            sums = kept.sums.data(), to_rowptr] __device__(std::int64_t row) {
             to_rowptr.set(row, kept_before(masks, sums, starts[row] - begin));
           });
  for_each_entry(ctx, from.starts, from.choice.shape.row, from.begin, from.end, "select: entries",
                 [from, masks = kept.masks.data(), sums = kept.sums.data(), to_column,
                  to_value] __device__(bool inside, std::int64_t row, std::int64_t k) {
                   const std::int64_t place = k - from.begin;
                   if (!inside || (masks[place / 32] >> (place % 32) & 1u) == 0) return;
                   const std::int64_t stored = from.stored(row, k).entry;
                   const std::int64_t to = kept_before(masks, sums, place);
                   to_column[to] = static_cast<I>(new_column(from.choice, from.colind[stored]));
                   to_value[to] = from.values[stored];
                 });
}

/// Row i of the result has as many entries to look at as row rows[i] of the matrix.
template <class I>
array<std::int64_t, space::device> start_listed_rows(const device_context& ctx, read_offsets rowptr,
                                                     const I* rows, std::int64_t count) {
  array<std::int64_t, space::device> lengths(ctx, count), starts(ctx, count + 1);
  for_each(ctx, count, "select: listed rows",
           [rowptr, rows, lengths = lengths.data()] __device__(std::int64_t i) {
             lengths[i] = rowptr[std::int64_t{rows[i]} + 1] - rowptr[rows[i]];
           });
  exclusive_sums(ctx, count, lengths.data(), starts.data());
  return starts;
}

template <class V> V value_at(const device_context& ctx, const V* p) {
  V value{};
  read_back(ctx, &value, p, 1);
  return value;
}

} // namespace

template <class T, class I, class O>
csr<T, I, O, space::device> select_entries(const device_context& ctx,
                                           csr_view<const T, I, O, space::device> a,
                                           const entry_choice<T, I>& choice, facts order) {
  const device_guard guard(ctx.device());
  const std::int64_t rows = choice.shape.row;
  if (rows == 0) {
    csr<T, I, O, space::device> none(ctx, choice.shape, 0, order);
    check(cudaMemsetAsync(none.rowptr().data(), 0, sizeof(O), ctx.stream()), "select");
    return none;
  }
  const O* const rowptr = a.rowptr().data();
  const O* const first = rowptr + choice.first_row;
  array<std::int64_t, space::device> listed;
  looked_at<T, I> from{rowptr, a.colind().data(), a.values().data(), choice, first, 0, a.size()};
  if (choice.rows != nullptr) {
    listed = start_listed_rows<I>(ctx, rowptr, choice.rows, rows);
    from.starts = std::as_const(listed).data();
    from.end = value_at(ctx, listed.data() + rows);
  } else if (rows != a.shape().row) {
    from.begin = value_at(ctx, first);
    from.end = value_at(ctx, first + rows);
  }
  const kept_entries kept = mark_selected(ctx, from);
  const std::int64_t entries = value_at(ctx, kept.sums.data() + kept.masks.size());
  csr<T, I, O, space::device> result(ctx, choice.shape,
                                     checked_cast<O>(entries, "the number of entries"), order);
  write_selected<T, I>(ctx, from, kept, result.rowptr().data(), result.colind().data(),
                       result.values().data());
  return result;
}

template <class I>
list_facts examine_list(const device_context& ctx, vector_view<const I, space::device> list,
                        std::int64_t limit, vector_view<I, space::device> places) {
  const device_guard guard(ctx.device());
  using position = unsigned long long;
  using place = std::conditional_t<sizeof(I) == 8, position, unsigned>;
  // The first position outside, the first that repeats, the first below the one before it.
  array<position, space::device> firsts(ctx, 3);
  check(cudaMemsetAsync(firsts.data(), 0xff, firsts.bytes(), ctx.stream()), "submatrix");
  if (!places.empty()) // -1, the largest as an unsigned number
    check(cudaMemsetAsync(places.data(), 0xff, static_cast<std::size_t>(limit) * sizeof(I),
                          ctx.stream()),
          "submatrix");
  const bool numbered = !places.empty();
  for_each(ctx, list.size(), "submatrix: list",
           [list = list.data(), limit, numbered, firsts = firsts.data(),
            to = reinterpret_cast<place*>(places.data())] __device__(std::int64_t p) {
             const I index = list[p];
             if (p > 0 && index <= list[p - 1]) atomicMin(firsts + 2, static_cast<position>(p));
             if (index < 0 || index >= limit)
               atomicMin(firsts, static_cast<position>(p));
             else if (numbered)
               atomicMin(to + index, static_cast<place>(p));
           });
  if (numbered)
    for_each(ctx, list.size(), "submatrix: repeated",
             [list = list.data(), limit, firsts = firsts.data(),
              places = places.data()] __device__(std::int64_t p) {
               const I index = list[p];
               if (index >= 0 && index < limit && places[index] != p)
                 atomicMin(firsts + 1, static_cast<position>(p));
             });
  position found[3];
  read_back(ctx, found, firsts.data(), 3);
  constexpr position none = ~position{0};
  list_facts facts;
  facts.ascends = found[2] == none;
  // As on the host: what comes first in the list.
  const position first = std::min(found[0], found[1]);
  if (first == none) return facts;
  (first == found[0] ? facts.outside : facts.repeated) = static_cast<std::int64_t>(first);
  facts.index = value_at(ctx, list.data() + first);
  return facts;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O, space::device> select_entries<T, I, O>(                                    \
      const device_context&, csr_view<const T, I, O, space::device>, const entry_choice<T, I>&,    \
      facts);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
template list_facts examine_list<std::int32_t>(const device_context&,
                                               vector_view<const std::int32_t, space::device>,
                                               std::int64_t,
                                               vector_view<std::int32_t, space::device>);
template list_facts examine_list<std::int64_t>(const device_context&,
                                               vector_view<const std::int64_t, space::device>,
                                               std::int64_t,
                                               vector_view<std::int64_t, space::device>);

} // namespace lacuna::detail::gpu
