// C = alpha A B in one pass: rows are made once, into chunks, and copied to their place when all
// are counted. Where memory does not allow that, or C is large and few products coincide, those
// that are left are made twice, first for their counts. Rows are made by the accumulators of
// spgemm_rows.cpp, or sorted (spgemm_sort_rows.cpp).
#include <chrono>
#include <fstream>
#include <string>

#include <unistd.h>

#include "core/kernel_offsets.hpp"
#include "cpu/spgemm_counts.hpp"
#include "cpu/spgemm_worker.hpp"

namespace lacuna::detail::cpu {
namespace {

/// Memory that no one uses now.
std::size_t free_memory() {
  return static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// The same, and what the system keeps there but can do without. Reads a file, where there is one:
/// tens of microseconds.
std::size_t available_memory() {
  std::ifstream in("/proc/meminfo");
  std::string word;
  while (in >> word)
    if (std::size_t kibibytes = 0; word == "MemAvailable:" && in >> kibibytes)
      return 1024 * kibibytes;
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

[[noreturn]] void throw_over_limit(std::size_t needed, std::size_t limit) {
  throw out_of_memory(
      fmt::format("multiply: result and workspace take {} bytes, the limit is {}", needed, limit),
      needed);
}

/// Seconds of each stage, for those who ask.
class stage_clock {
public:
  explicit stage_clock(spgemm_report* report) : report_(report) {}
  /// The stage that ends here.
  void lap(double spgemm_report::*stage) {
    const auto now = std::chrono::steady_clock::now();
    if (report_ != nullptr) report_->*stage += std::chrono::duration<double>(now - then_).count();
    then_ = now;
  }

private:
  spgemm_report* report_;
  std::chrono::steady_clock::time_point then_ = std::chrono::steady_clock::now();
};

/// Chunks take no more where few products coincide: freed host blocks of so many bytes are kept, so
/// that the next product finds them touched. New pages cost more than counting does: on a virtual
/// machine 1 to 3 s a GB, on its own hardware 0.1.
constexpr std::size_t few_chunk_bytes = std::size_t{512} << 20;

/// Makes units into chunks, as long as those have room: which, with their entries and counts of
/// rows.
template <class T, class I, class O>
void make_units(const spgemm_factors<T, I, O>& f, spgemm_schedule& schedule, spgemm_output what,
                spgemm_workers<spgemm_worker<T, I, O>>& workers,
                std::vector<row_chunks<T, I>>& chunks, chunk_budget& budget,
                offset_pointer rowptr) {
  try {
    workers.for_each_unit([](const spgemm_unit&) { return true; },
                          [&](spgemm_worker<T, I, O>& worker, int part, std::int64_t number) {
                            auto& u = schedule.units[number];
                            auto& mine = chunks[static_cast<std::size_t>(part)];
                            u.part = part;
                            mine.mark(u);
                            row_sink<T, I> sink(u, rowptr, &mine);
                            worker.make(f, u, what, sink);
                            u.entries = sink.entries();
                            u.made = true;
                            if (!u.cut) budget.note(u.products, u.entries);
                          });
  } catch (const chunks_full&) {
  } catch (const out_of_memory&) { // counting first takes less
  }
}

/// Entries of units that are not made, and counts of their rows.
template <class T, class I, class O>
void count_units(const spgemm_factors<T, I, O>& f, spgemm_schedule& schedule,
                 spgemm_workers<spgemm_worker<T, I, O>>& workers, offset_pointer rowptr) {
  workers.for_each_unit([](const spgemm_unit& u) { return !u.made; },
                        [&](spgemm_worker<T, I, O>& worker, int, std::int64_t number) {
                          auto& u = schedule.units[number];
                          row_sink<T, I> sink(u, rowptr, nullptr);
                          worker.make(f, u, spgemm_output::count, sink);
                          u.entries = sink.entries();
                        });
}

/// Units that are not made into C, whose rowptr says where; rows that units share one behind the
/// other.
template <class T, class I, class O>
void fill_units(const spgemm_factors<T, I, O>& f, const spgemm_schedule& schedule,
                spgemm_output what, spgemm_workers<spgemm_worker<T, I, O>>& workers,
                offset_pointer rowptr, I* col, T* value) {
  workers.for_each_unit([](const spgemm_unit& u) { return !u.made; },
                        [&](spgemm_worker<T, I, O>& worker, int, std::int64_t number) {
                          const auto& u = schedule.units[number];
                          std::int64_t before = 0; // entries of the row that other units make
                          for (std::int64_t p = number - 1; u.cut && p >= 0; --p) {
                            if (!schedule.units[p].cut || schedule.units[p].first != u.first) break;
                            before += schedule.units[p].entries;
                          }
                          row_sink<T, I> sink(u, rowptr, col, value, before);
                          worker.make(f, u, what, sink);
                        });
}

/// Units that are made, to their place in C.
template <class T, class I>
void copy_units(const host_context& ctx, const spgemm_schedule& schedule,
                const std::vector<row_chunks<T, I>>& chunks, I* col, T* value) {
  array<std::int64_t> begins(ctx, schedule.units.size());
  std::int64_t begin = 0;
  for (std::int64_t u = 0; u < schedule.units.size(); ++u) {
    begins[u] = begin;
    begin += schedule.units[u].entries;
  }
  for_each_dynamic(schedule.threads, static_cast<int>(schedule.units.size()), [&](int number) {
    const auto& u = schedule.units[number];
    if (u.made)
      chunks[static_cast<std::size_t>(u.part)].copy(u, col + begins[number],
                                                    value + begins[number]);
  });
}

template <class T, class I> struct made_entries {
  array<I> col;
  array<T> value;
};

/// Columns and values of C, and its rowptr, rows of A + 1 elements.
template <class T, class I, class O>
made_entries<T, I> multiply_rows(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                                 csr_view<const T, I, O> b, const spgemm_options& options,
                                 bool pattern, offset_pointer rowptr) {
  const std::size_t limit = options.memory_limit;
  const bool sorting = options.method == spgemm_method::expand_sort;
  const auto what = pattern ? spgemm_output::pattern : spgemm_output::values;
  stage_clock clock(options.report);
  spgemm_factors<T, I, O> f(alpha, a, b);
  auto schedule = schedule_spgemm(ctx, f, true);
  if (options.report != nullptr) {
    options.report->products = schedule.estimate.products;
    options.report->entries = 0;
  }
  if (schedule.estimate.products == 0) {
    for (std::int64_t i = 0; i <= f.rows; ++i) rowptr.set(i, 0);
    return {};
  }
  const row_bounds<T, I, O> bounds(ctx, b, f, !sorting);
  array<std::int64_t> sums(ctx, part_count(ctx, f.rows, entry_grain));
  spgemm_workers<spgemm_worker<T, I, O>> workers(ctx, schedule, maker_of<T, I, O>(options.method));
  clock.lap(&spgemm_report::analyse);

  const std::size_t fixed =
      static_cast<std::size_t>(f.rows + 1) * (rowptr.is_wide() ? 8 : 4) + sums.bytes() +
      bounds.low.bytes() + bounds.high.bytes() + schedule.units.bytes() +
      static_cast<std::size_t>(schedule.threads) * schedule.sizes.template bytes<T, I>(sorting);
  if (limit != 0 && fixed > limit) throw_over_limit(fixed, limit);
  chunk_budget budget((limit != 0 ? limit - fixed : free_memory()) / 2, // C takes as much
                      few_chunk_bytes);
  // About a huge page for columns and one for values; a small product is one chunk per thread.
  const std::int64_t first_size = std::min<std::int64_t>(
      schedule.estimate.most_entries / schedule.threads + 1, std::int64_t{4 << 20} / sizeof(I));
  std::vector<row_chunks<T, I>> chunks;
  for (int part = 0; part < schedule.threads; ++part) chunks.emplace_back(ctx, budget, first_size);
  make_units(f, schedule, what, workers, chunks, budget, rowptr);
  clock.lap(&spgemm_report::fill);
  const bool made = std::all_of(schedule.units.begin(), schedule.units.end(),
                                [](const spgemm_unit& u) { return u.made; });
  if (!made) {
    count_units(f, schedule, workers, rowptr);
    clock.lap(&spgemm_report::count);
  }
  const std::int64_t entries = total_entries(schedule);
  if (options.report != nullptr) options.report->entries = entries;
  rowptr.visit([&]<class OC>(OC*) { require_offsets<OC>(entries); });
  const std::size_t needed =
      fixed + static_cast<std::size_t>(checked_mul(entries, sizeof(T) + sizeof(I)));
  if (limit != 0 && needed > limit) throw_over_limit(needed, limit);
  std::size_t in_chunks = 0;
  for (const auto& each : chunks) in_chunks += each.bytes();
  if (limit != 0 && !made &&
      needed + in_chunks > limit) { // no room for both: all rows are made again
    chunks.clear();
    for (spgemm_unit& u : schedule.units) u.made = false;
  }
  // The system would promise more than it has, and end the process later.
  if (const std::size_t room = limit == 0 && !made ? available_memory() + fixed : needed;
      needed > room)
    throw out_of_memory(fmt::format("multiply: C takes {} bytes, {} are free; "
                                    "for_each_product_part makes it in parts",
                                    needed - fixed, room - fixed),
                        needed - fixed);
  made_entries<T, I> c{array<I>(ctx, entries), array<T>(ctx, entries)};
  rowptr.visit([&](auto* offsets) { finish_rowptr(ctx, schedule, offsets, f.rows, sums); });
  clock.lap(&spgemm_report::allocate);
  copy_units(ctx, schedule, chunks, c.col.data(), c.value.data());
  chunks.clear();
  if (!made) fill_units(f, schedule, what, workers, rowptr, c.col.data(), c.value.data());
  clock.lap(&spgemm_report::fill);
  return c;
}

/// Counts into rowptr, rows of A + 1 elements; returns C's entries.
template <class T, class I, class O>
std::int64_t count(const host_context& ctx, csr_view<const T, I, O> a, csr_view<const T, I, O> b,
                   offset_pointer rowptr) {
  spgemm_factors<T, I, O> f(T{1}, a, b);
  auto schedule = schedule_spgemm(ctx, f, true);
  if (schedule.estimate.products == 0) {
    for (std::int64_t i = 0; i <= f.rows; ++i) rowptr.set(i, 0);
    return 0;
  }
  const row_bounds<T, I, O> bounds(ctx, b, f);
  array<std::int64_t> sums(ctx, part_count(ctx, f.rows, entry_grain));
  spgemm_workers<spgemm_worker<T, I, O>> workers(ctx, schedule, make_accumulators<T, I, O>);
  count_units(f, schedule, workers, rowptr);
  const std::int64_t entries = total_entries(schedule);
  rowptr.visit([&]<class OC>(OC* offsets) {
    require_offsets<OC>(entries);
    finish_rowptr(ctx, schedule, offsets, f.rows, sums);
  });
  return entries;
}

/// Columns and values of a C of so many entries, whose rowptr is there.
template <class T, class I, class O>
void fill(const host_context& ctx, T alpha, csr_view<const T, I, O> a, csr_view<const T, I, O> b,
          offset_pointer rowptr, I* col, T* value, std::int64_t entries, bool pattern) {
  spgemm_factors<T, I, O> f(alpha, a, b);
  auto schedule = schedule_spgemm(ctx, f, true);
  if (f.rows == 0 || (schedule.estimate.products == 0 && entries == 0)) return;
  const row_bounds<T, I, O> bounds(ctx, b, f);
  spgemm_workers<spgemm_worker<T, I, O>> workers(ctx, schedule, make_accumulators<T, I, O>);
  // Shares of a row know where they begin once those before them are counted.
  workers.for_each_unit([](const spgemm_unit& u) { return u.cut; },
                        [&](spgemm_worker<T, I, O>& worker, int, std::int64_t number) {
                          auto& u = schedule.units[number];
                          row_sink<T, I> sink(u, rowptr, nullptr);
                          worker.make(f, u, spgemm_output::count, sink);
                          u.entries = sink.entries();
                        });
  fill_units(f, schedule, pattern ? spgemm_output::pattern : spgemm_output::values, workers, rowptr,
             col, value);
}

} // namespace

void throw_miscounted(std::int64_t row, std::int64_t made, std::int64_t counted) {
  throw failed(
      fmt::format("multiply: row {} of C has {} entries, {} were counted", row, made, counted));
}

template <class T, class I, class O, class OC>
csr<T, I, OC> spgemm(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                     csr_view<const T, I, O> b, const spgemm_options& options, bool pattern) {
  const with_kernel_offsets<T, I, O, space::host> left(ctx, a), right(ctx, b);
  array<OC> rowptr(ctx, std::int64_t{a.shape().row} + 1);
  auto c = multiply_rows(ctx, alpha, left.view(), right.view(), options, pattern, rowptr.data());
  return {{a.shape().row, b.shape().col},
          std::move(rowptr),
          std::move(c.col),
          std::move(c.value),
          {true, true}};
}

template <class T, class I, class O, class OC>
std::int64_t count_spgemm(const host_context& ctx, csr_view<const T, I, O> a,
                          csr_view<const T, I, O> b, vector_view<OC> rowptr) {
  detail::require_same_size("multiply", "rowptr of C", rowptr.size(), "rows of A + 1",
                            std::int64_t{a.shape().row} + 1);
  const with_kernel_offsets<T, I, O, space::host> left(ctx, a), right(ctx, b);
  array<OC> counts(ctx, rowptr.size()); // rowptr is the caller's until all is known
  const std::int64_t entries = count(ctx, left.view(), right.view(), counts.data());
  std::copy(counts.begin(), counts.end(), rowptr.begin());
  return entries;
}

template <class T, class I, class O, class OC>
void fill_spgemm(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                 csr_view<const T, I, O> b, csr_view<T, I, OC> c, bool pattern) {
  const with_kernel_offsets<T, I, O, space::host> left(ctx, a), right(ctx, b);
  fill(ctx, alpha, left.view(), right.view(), c.rowptr().data(), c.colind().data(),
       c.values().data(), c.size(), pattern);
}

#define LACUNA_INSTANTIATE_WIDTHS(T, I, O, OC)                                                     \
  template csr<T, I, OC> spgemm(const host_context&, T, csr_view<const T, I, O>,                   \
                                csr_view<const T, I, O>, const spgemm_options&, bool);             \
  template std::int64_t count_spgemm(const host_context&, csr_view<const T, I, O>,                 \
                                     csr_view<const T, I, O>, vector_view<OC>);                    \
  template void fill_spgemm(const host_context&, T, csr_view<const T, I, O>,                       \
                            csr_view<const T, I, O>, csr_view<T, I, OC>, bool);
// Offsets of 32 bits may grow to 64.
#define LACUNA_INSTANTIATE_WIDE(T, I) LACUNA_INSTANTIATE_WIDTHS(T, I, std::int32_t, std::int64_t)
#define LACUNA_INSTANTIATE(T, I, O) LACUNA_INSTANTIATE_WIDTHS(T, I, O, O)
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
LACUNA_FOR_EACH_NARROW_PAIR(LACUNA_INSTANTIATE_WIDE)

} // namespace lacuna::detail::cpu
