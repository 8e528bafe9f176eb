// Entries chosen by a rule, rows and columns: a bit for each entry that is looked at, a running sum
// of the bits in words of 32, and each entry finds its place from these. Dealt out by entries, so
// that long rows are shared. Nothing here depends on the width of offsets but the result's memory.
#include "gpu/parts/chosen_rows.cuh"
#include "gpu/parts/entries.cuh"
#include "op/keeps_entry.hpp"

namespace lacuna::detail::gpu {
namespace {

/// The entries that a choice is made of.
template <class T, class I> struct candidates {
  looked_at<I> in;
  const I* colind;
  const T* values;
  entry_choice<T, I> choice;
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
kept_entries mark_selected(const device_context& ctx, const candidates<T, I>& from) {
  const std::int64_t words = (from.in.end - from.in.begin + 31) / 32;
  kept_entries kept{array<unsigned, space::device>(ctx, words),
                    array<std::int64_t, space::device>(ctx, words + 1)};
  array<int, space::device> counts(ctx, words);
  for_each_entry(
      ctx, from.in.starts, from.in.count, from.in.begin, from.in.end, "select: mark",
      [from, by_value = reads_values(from.choice.rule), masks = kept.masks.data(),
       counts = counts.data()] __device__(bool inside, std::int64_t row, std::int64_t k) {
        bool keep = false;
        if (inside) {
          const auto at = from.in.stored(row, k);
          keep = keeps_entry(from.choice, by_value, at.row, from.colind[at.entry], from.values,
                             at.entry);
        }
        const unsigned votes = __ballot_sync(whole_warp, keep);
        if (threadIdx.x % 32 != 0) return;
        masks[(k - from.in.begin) / 32] = votes;
        counts[(k - from.in.begin) / 32] = __popc(votes);
      });
  exclusive_sums(ctx, words, counts.data(), kept.sums.data());
  return kept;
}

template <class T, class I>
void write_selected(const device_context& ctx, const candidates<T, I>& from,
                    const kept_entries& kept, write_offsets to_rowptr, I* to_column, T* to_value) {
  for_each(ctx, from.in.count + 1, "select: rows",
           [starts = from.in.starts, begin = from.in.begin, masks = kept.masks.data(),
            sums = kept.sums.data(), to_rowptr] __device__(std::int64_t row) {
             to_rowptr.set(row, kept_before(masks, sums, starts[row] - begin));
           });
  for_each_entry(ctx, from.in.starts, from.in.count, from.in.begin, from.in.end, "select: entries",
                 [from, masks = kept.masks.data(), sums = kept.sums.data(), to_column,
                  to_value] __device__(bool inside, std::int64_t row, std::int64_t k) {
                   const std::int64_t place = k - from.in.begin;
                   if (!inside || (masks[place / 32] >> (place % 32) & 1u) == 0) return;
                   const std::int64_t stored = from.in.stored(row, k).entry;
                   const std::int64_t to = kept_before(masks, sums, place);
                   to_column[to] = static_cast<I>(new_column(from.choice, from.colind[stored]));
                   to_value[to] = from.values[stored];
                 });
}

} // namespace

template <class T, class I, class O>
csr<T, I, O, space::device> select_entries(const device_context& ctx,
                                           csr_view<const T, I, O, space::device> a,
                                           const entry_choice<T, I>& choice, facts order) {
  const device_guard guard(ctx.device());
  if (choice.shape.row == 0) return without_rows<T, I, O>(ctx, choice.shape, order);
  const chosen_rows<I> chosen(ctx, a, choice.rows, choice.first_row, choice.shape.row);
  const candidates<T, I> from{chosen.rows(), a.colind().data(), a.values().data(), choice};
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
  // The first position outside, the first that repeats, the first that is not above the one before
  // it, the first below that.
  array<position, space::device> firsts(ctx, 4);
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
             if (p > 0 && index < list[p - 1]) atomicMin(firsts + 3, static_cast<position>(p));
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
  position found[4];
  read_back(ctx, found, firsts.data(), 4);
  constexpr position none = ~position{0};
  list_facts facts;
  facts.ascends = found[2] == none;
  facts.sorted = found[3] == none;
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
