#include "cpu/amg_galerkin.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <limits>
#include <memory>
#include <utility>

#include <lacuna/core/checked.hpp>
#include <lacuna/core/error.hpp>

#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {
namespace {

/// Runs of a chunk at least: 4 MB of doubles, which the host keeps when they are freed.
constexpr std::int64_t chunk_runs = std::int64_t{1} << 19;

} // namespace

/// What a thread makes rows with. No two are on one cache line.
template <class T> struct alignas(128) amg_galerkin<T>::worker {
  const host_context& ctx;
  array<int> slot; ///< of a run: where the row in work has it, else below its first; -1 at first
  array<std::uint64_t> words; ///< to sort runs: a bit for each, 0 between rows
  std::vector<row_chunk> chunks;
  int used = 0; ///< runs of the last chunk
  std::exception_ptr failure;

  worker(const host_context& on, std::int64_t runs)
      : ctx(on), slot(on, runs), words(on, runs / 64 + 1) {}
  void ready() {
    std::fill(slot.begin(), slot.end(), -1);
    std::fill(words.begin(), words.end(), std::uint64_t{0});
  }
  [[nodiscard]] bool has_room(std::int64_t runs) const {
    return !chunks.empty() && chunks.back().numbers.size() - used >= runs;
  }
  /// The chunk, with room for so many runs more.
  row_chunk& room(std::int64_t runs, std::int64_t values_of_each) {
    if (!has_room(runs)) {
      // The first is small: coarse levels have few rows.
      const std::int64_t size =
          std::max(runs, (chunks.empty() ? chunk_runs / 64 : chunk_runs) / values_of_each);
      row_chunk next{array<int>(ctx, size), array<T>(ctx, size * values_of_each)};
      chunks.push_back(std::move(next));
      used = 0;
      std::fill(slot.begin(), slot.end(), -1);
    }
    return chunks.back();
  }
  /// Slots of a row whose runs are known, from the returned one on; all others are below it.
  /// columns[V s] is the first of run s.
  int number_slots(const int* columns, int count, int V = 1) {
    if (used > std::numeric_limits<int>::max() - count) {
      used = 0;
      std::fill(slot.begin(), slot.end(), -1);
    }
    const int begin = used;
    for (int s = 0; s < count; ++s) slot[columns[s * V] / V] = begin + s;
    used += count;
    return begin;
  }
  /// f(run) for runs of a row in their order.
  template <class F> void in_order(const int* runs, int count, F f) {
    int low = std::numeric_limits<int>::max(), high = -1;
    for (int s = 0; s < count; ++s) {
      const int w = runs[s] / 64;
      words[w] |= std::uint64_t{1} << (runs[s] % 64);
      low = std::min(low, w);
      high = std::max(high, w);
    }
    for (int w = low; w <= high; ++w)
      for (std::uint64_t bits = std::exchange(words[w], 0); bits != 0; bits &= bits - 1)
        f(64 * w + std::countr_zero(bits));
  }
};

/// f(worker, first, last) on shares of rows, each on a thread with a worker of its own. Returns
/// their chunks, to which `made` refers from then on; throws what one threw.
template <class T>
template <class F>
auto amg_galerkin<T>::for_each_share(const host_context& ctx, const int* rowptr, std::int64_t rows,
                                     std::int64_t runs, made_row* made, const F& f)
    -> std::vector<row_chunk> {
  const int parts = part_count(ctx, rows + rowptr[rows], entry_grain);
  std::vector<std::unique_ptr<worker>> workers;
  for (int part = 0; part < parts; ++part) workers.push_back(std::make_unique<worker>(ctx, runs));
  for_each_part(ctx, parts, 1, [&](int part, int) {
    worker& w = *workers[static_cast<std::size_t>(part)];
    try {
      w.ready();
      f(w, first_row(rowptr, rows, part, parts), first_row(rowptr, rows, part + 1, parts));
    } catch (...) {
      w.failure = std::current_exception();
    }
  });
  std::vector<row_chunk> chunks;
  for (int part = 0; part < parts; ++part) {
    worker& w = *workers[static_cast<std::size_t>(part)];
    if (w.failure) std::rethrow_exception(w.failure);
    if (made == nullptr) continue;
    const auto before = static_cast<int>(chunks.size());
    const std::int64_t last = first_row(rowptr, rows, part + 1, parts);
    for (std::int64_t i = first_row(rowptr, rows, part, parts); before > 0 && i < last; ++i)
      made[i].chunk += before;
    for (row_chunk& chunk : w.chunks) chunks.push_back(std::move(chunk));
  }
  return chunks;
}

template <class T>
template <int V>
void amg_galerkin<T>::make_rows(const host_context& ctx, view a, view p) {
  const std::int64_t n = a.shape().row, runs = p.shape().col / V;
  const int *const a_row = a.rowptr().data(), *const a_col = a.colind().data();
  const int *const p_row = p.rowptr().data(), *const p_col = p.colind().data();
  const T *const a_value = a.values().data(), *const p_value = p.values().data();
  int longest = 0; // row of P, in runs
  for (std::int64_t k = 0; k < n; ++k) longest = std::max(longest, (p_row[k + 1] - p_row[k]) / V);
  array<made_row> made(ctx, n);
  chunks_ = for_each_share(
      ctx, a_row, n, runs, made.data(), [&](worker& w, std::int64_t first, std::int64_t last) {
        int* const slot = w.slot.data();
        for (std::int64_t i = first; i < last; ++i) {
          std::int64_t most = std::int64_t{a_row[i + 1] - a_row[i]} * longest;
          if (!w.has_room(std::min(most, runs))) { // one long row of P is not every row's
            most = 0;
            for (int k = a_row[i]; k < a_row[i + 1]; ++k)
              most += (p_row[a_col[k] + 1] - p_row[a_col[k]]) / V;
          }
          row_chunk& chunk = w.room(std::min(most, runs), V);
          int* const number = chunk.numbers.data();
          T* const sums = chunk.values.data();
          const int begin = w.used;
          int end = begin;
          for (int k = a_row[i]; k < a_row[i + 1]; ++k) {
            const T by = a_value[k];
            const int stop = p_row[a_col[k] + 1];
            for (int l = p_row[a_col[k]]; l < stop; l += V) {
              const int h = p_col[l] / V;
              const int known = slot[h];
              if (known < begin) {
                slot[h] = end;
                number[end] = h;
                T* const sum = sums + std::int64_t{V} * end++;
                for (int q = 0; q < V; ++q) sum[q] = T{0} + by * p_value[l + q];
              } else {
                T* const sum = sums + std::int64_t{V} * known;
                for (int q = 0; q < V; ++q) sum[q] += by * p_value[l + q];
              }
            }
          }
          made[i] = {static_cast<int>(w.chunks.size()) - 1, begin, end - begin};
          w.used = end;
        }
      });
  rows_ = std::move(made); // last: empty() if something threw
}

template <class T>
template <int V>
auto amg_galerkin<T>::make_result(const host_context& ctx, view r, view p) -> matrix {
  constexpr int square = V * V;
  const std::int64_t runs = p.shape().col / V, rows = r.shape().row;
  const int *const r_row = r.rowptr().data(), *const r_col = r.colind().data();
  const T* const r_value = r.values().data();
  array<made_row> made(ctx, runs);
  array<int> starts(ctx, runs + 1); // of R's rows, V at a time
  for (std::int64_t g = 0; g <= runs; ++g) starts[g] = r_row[g * V] / V;
  const auto chunks =
      for_each_share(ctx, starts.data(), runs, runs, made.data(),
                     [&](worker& w, std::int64_t first, std::int64_t last) {
                       int* const slot = w.slot.data();
                       for (std::int64_t g = first; g < last; ++g) {
                         const int* const at = r_row + g * V;
                         std::int64_t most = 0;
                         for (int t = at[0]; t < at[1]; ++t) most += rows_[r_col[t]].count;
                         row_chunk& chunk = w.room(std::min(most, runs), square);
                         int* const number = chunk.numbers.data();
                         T* const sums = chunk.values.data();
                         const int begin = w.used;
                         int end = begin;
                         for (int t = 0; t < at[1] - at[0]; ++t) {
                           const made_row from = rows_[r_col[at[0] + t]];
                           const row_chunk& holder = chunks_[static_cast<std::size_t>(from.chunk)];
                           const int* const numbers = holder.numbers.data() + from.at;
                           const T* value = holder.values.data() + std::int64_t{V} * from.at;
                           T by[V];
                           for (int q = 0; q < V; ++q) by[q] = r_value[at[q] + t];
                           for (int e = 0; e < from.count; ++e, value += V) {
                             const int h = numbers[e];
                             const int known = slot[h];
                             if (known < begin) {
                               slot[h] = end;
                               number[end] = h;
                               T* const sum = sums + std::int64_t{square} * end++;
                               for (int q = 0; q < V; ++q)
                                 for (int s = 0; s < V; ++s)
                                   sum[q * V + s] = T{0} + by[q] * value[s];
                             } else {
                               T* const sum = sums + std::int64_t{square} * known;
                               for (int q = 0; q < V; ++q)
                                 for (int s = 0; s < V; ++s) sum[q * V + s] += by[q] * value[s];
                             }
                           }
                         }
                         made[g] = {static_cast<int>(w.chunks.size()) - 1, begin, end - begin};
                         w.used = end;
                       }
                     });
  array<int> rowptr(ctx, rows + 1);
  std::int64_t entries = 0;
  for (std::int64_t g = 0; g < runs; ++g)
    for (int q = 0; q < V; ++q, entries += std::int64_t{V} * made[g].count)
      rowptr[g * V + q] = static_cast<int>(entries);
  rowptr[rows] = checked_cast<int>(entries, "entries of a coarse matrix");
  array<int> colind(ctx, entries);
  array<T> values(ctx, entries);
  for_each_share(ctx, starts.data(), runs, runs, nullptr,
                 [&](worker& w, std::int64_t first, std::int64_t last) {
                   for (std::int64_t g = first; g < last; ++g) {
                     const made_row from = made[g];
                     const row_chunk& holder = chunks[static_cast<std::size_t>(from.chunk)];
                     const int* const numbers = holder.numbers.data() + from.at;
                     const T* const sums = holder.values.data() + std::int64_t{square} * from.at;
                     for (int s = 0; s < from.count; ++s) w.slot[numbers[s]] = s;
                     int to[V];
                     std::copy_n(rowptr.data() + g * V, V, to);
                     w.in_order(numbers, from.count, [&](int h) {
                       const T* sum = sums + std::int64_t{square} * w.slot[h];
                       for (int q = 0; q < V; ++q)
                         for (int s = 0; s < V; ++s, ++to[q]) {
                           colind[to[q]] = h * V + s;
                           values[to[q]] = *sum++;
                         }
                     });
                   }
                 });
  return {{static_cast<int>(rows), p.shape().col},
          std::move(rowptr),
          std::move(colind),
          std::move(values),
          {true, true}};
}

template <class T>
template <int V>
void amg_galerkin<T>::refill_runs(const host_context& ctx, view r, view a, view p, matrix& c) {
  const std::int64_t n = a.shape().row, runs = p.shape().col / V;
  const int *const a_row = a.rowptr().data(), *const a_col = a.colind().data();
  const int *const p_row = p.rowptr().data(), *const p_col = p.colind().data();
  const int *const r_row = r.rowptr().data(), *const r_col = r.colind().data();
  const T *const a_value = a.values().data(), *const p_value = p.values().data();
  const T* const r_value = r.values().data();
  const int *const rowptr = c.rowptr().data(), *const colind = c.colind().data();
  T* const values = c.values().data();
  const auto check = [](int least) {
    if (least < 0)
      throw bad_input("amg: a product of R A P has no place in the pattern that was set up");
  };
  for_each_share(ctx, a_row, n, runs, nullptr,
                 [&](worker& w, std::int64_t first, std::int64_t last) {
                   int* const slot = w.slot.data();
                   int least = 0;
                   for (std::int64_t i = first; i < last; ++i) {
                     const made_row to = rows_[i];
                     row_chunk& holder = chunks_[static_cast<std::size_t>(to.chunk)];
                     T* const sums = holder.values.data() + std::int64_t{V} * to.at;
                     const int begin = w.number_slots(holder.numbers.data() + to.at, to.count);
                     std::fill_n(sums, V * to.count, T{0});
                     for (int k = a_row[i]; k < a_row[i + 1]; ++k) {
                       const T by = a_value[k];
                       const int stop = p_row[a_col[k] + 1];
                       for (int l = p_row[a_col[k]]; l < stop; l += V) {
                         const int s = slot[p_col[l] / V] - begin;
                         least = std::min(least, s);
                         if (s < 0) continue;
                         for (int q = 0; q < V; ++q) sums[V * s + q] += by * p_value[l + q];
                       }
                     }
                   }
                   check(least);
                 });
  array<int> starts(ctx, runs + 1);
  for (std::int64_t g = 0; g <= runs; ++g) starts[g] = r_row[g * V] / V;
  for_each_share(ctx, starts.data(), runs, runs, nullptr,
                 [&](worker& w, std::int64_t first, std::int64_t last) {
                   int* const slot = w.slot.data();
                   int least = 0;
                   for (std::int64_t g = first; g < last; ++g) {
                     const int* const at = r_row + g * V;
                     const int* const to = rowptr + g * V;
                     const int begin = w.number_slots(colind + to[0], (to[1] - to[0]) / V, V);
                     std::fill(values + to[0], values + to[V], T{0});
                     for (int t = 0; t < at[1] - at[0]; ++t) {
                       const made_row from = rows_[r_col[at[0] + t]];
                       const row_chunk& holder = chunks_[static_cast<std::size_t>(from.chunk)];
                       const int* const numbers = holder.numbers.data() + from.at;
                       const T* value = holder.values.data() + std::int64_t{V} * from.at;
                       for (int e = 0; e < from.count; ++e, value += V) {
                         const int s = slot[numbers[e]] - begin;
                         least = std::min(least, s);
                         if (s < 0) continue;
                         for (int q = 0; q < V; ++q) {
                           T* const sum = values + to[q] + V * s;
                           for (int u = 0; u < V; ++u) sum[u] += r_value[at[q] + t] * value[u];
                         }
                       }
                     }
                   }
                   check(least);
                 });
}

/// f<V>() of the sizes of runs that are compiled: those of elasticity in 2D and 3D. Others are runs
/// of 1.
template <class F> static auto with_run(int block, const F& f) {
  if (block == 3) return f.template operator()<3>();
  if (block == 6) return f.template operator()<6>();
  return f.template operator()<1>();
}

template <class T>
auto amg_galerkin<T>::make(const host_context& ctx, view r, view a, view p, int block) -> matrix {
  prepare(ctx, a, p, block);
  return with_run(block, [&]<int V>() { return make_result<V>(ctx, r, p); });
}
template <class T>
void amg_galerkin<T>::prepare(const host_context& ctx, view a, view p, int block) {
  block_ = block;
  with_run(block, [&]<int V>() { make_rows<V>(ctx, a, p); });
}
template <class T>
void amg_galerkin<T>::refill(const host_context& ctx, view r, view a, view p, matrix& c) {
  with_run(block_, [&]<int V>() { refill_runs<V>(ctx, r, a, p, c); });
}

template <class T> std::size_t amg_galerkin<T>::bytes() const {
  std::size_t sum = rows_.bytes();
  for (const row_chunk& chunk : chunks_) sum += chunk.numbers.bytes() + chunk.values.bytes();
  return sum;
}

#define LACUNA_INSTANTIATE(T) template class amg_galerkin<T>;
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
