// C = alpha A B in one pass where memory allows: rows are made once, into chunks, and copied to
// their place when all are counted. Otherwise they are made twice, first for their counts. Rows are
// made by the accumulators of spgemm_rows.hpp, or sorted (spgemm_sort_rows.hpp).
#include <chrono>
#include <fstream>
#include <string>

#include <unistd.h>

#include "cpu/spgemm_chunks.hpp"
#include "cpu/spgemm_counts.hpp"
#include "cpu/spgemm_sort_rows.hpp"

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

/// Units' entries and C's rowptr, but for the sums; false if the chunks would not fit the budget.
template <spgemm_output M, class Workers, class T, class I, class O, class OC>
bool make_rows(const host_context& ctx, const spgemm_factors<T, I, O>& f, spgemm_plan& plan,
               Workers& workers, std::vector<row_chunks<T, I>>& chunks, chunk_budget& budget,
               OC* rowptr) {
  // About a huge page for columns and one for values; a small product is one chunk a thread.
  const std::int64_t first_size = std::min<std::int64_t>(
      plan.estimate.most_entries / plan.threads + 1, std::int64_t{4 << 20} / sizeof(I));
  try {
    workers.for_each_unit([&](auto& worker, int part, std::int64_t number) {
      auto& u = plan.units[number];
      auto& mine = chunks[static_cast<std::size_t>(part)];
      u.part = part;
      mine.mark(u);
      std::int64_t entries = 0;
      const bool cut = u.cut;
      run_unit<M>(worker, f, u, [&](std::int64_t row, std::int64_t count) {
        entries += count;
        if (!cut) rowptr[row + 1] = static_cast<OC>(count);
        return mine.add(ctx, budget, first_size, count);
      });
      u.entries = entries;
    });
  } catch (const chunks_full&) {
    return false;
  } catch (const out_of_memory&) {
    return false; // counting first takes less
  }
  return true;
}

template <class Workers, class T, class I, class O, class OC>
void count_rows(const spgemm_factors<T, I, O>& f, spgemm_plan& plan, Workers& workers, OC* rowptr) {
  workers.for_each_unit([&](auto& worker, int, std::int64_t number) {
    auto& u = plan.units[number];
    std::int64_t entries = 0;
    const bool cut = u.cut;
    run_unit<spgemm_output::count>(worker, f, u, [&](std::int64_t row, std::int64_t count) {
      entries += count;
      if (!cut) rowptr[row + 1] = static_cast<OC>(count);
      return row_place<T, I>{};
    });
    u.entries = entries;
  });
}

/// Rows into C, whose rowptr says where; those that units share one behind the other, by counts
/// that the plan has or `counted` makes.
template <spgemm_output M, class Workers, class T, class I, class O, class OC>
void fill_rows(const spgemm_factors<T, I, O>& f, const spgemm_plan& plan, Workers& workers,
               csr_view<T, I, OC> c) {
  const OC* const rowptr = c.rowptr().data();
  workers.for_each_unit([&](auto& worker, int, std::int64_t number) {
    const auto& u = plan.units[number];
    std::int64_t before = 0; // entries of the row that other units make
    for (std::int64_t p = number - 1; u.cut && p >= 0; --p) {
      if (!plan.units[p].cut || plan.units[p].first != u.first) break;
      before += plan.units[p].entries;
    }
    run_unit<M>(worker, f, u, [&](std::int64_t row, std::int64_t count) {
      const std::int64_t expected = u.cut ? u.entries : rowptr[row + 1] - rowptr[row];
      const bool inside = rowptr[row] + before + count <= rowptr[row + 1];
      if (count != expected || !inside)
        throw failed(fmt::format("multiply: row {} of C has {} entries, {} were counted", row,
                                 count, expected));
      return row_place<T, I>{c.colind().data() + rowptr[row] + before,
                             c.values().data() + rowptr[row] + before};
    });
  });
}

template <class T, class I, class OC>
csr<T, I, OC> no_rows(const host_context& ctx, index<I> shape) {
  csr<T, I, OC> c(ctx, shape, 0, {true, true});
  std::fill(c.rowptr().begin(), c.rowptr().end(), OC{0});
  return c;
}

template <spgemm_output M, class Worker, class T, class I, class O, class OC>
csr<T, I, OC> multiply_rows(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                            csr_view<const T, I, O> b, const spgemm_options& options) {
  const index<I> shape{a.shape().row, b.shape().col};
  const std::size_t limit = options.memory_limit;
  stage_clock clock(options.report);
  spgemm_factors<T, I, O> f(alpha, a, b);
  auto plan = plan_spgemm(ctx, f, true);
  if (options.report != nullptr) {
    options.report->products = plan.estimate.products;
    options.report->entries = 0;
  }
  if (plan.estimate.products == 0) return no_rows<T, I, OC>(ctx, shape);
  const row_bounds<T, I, O> bounds(ctx, b, f, Worker::reads_bounds);
  array<OC> rowptr(ctx, f.rows + 1);
  array<std::int64_t> sums(ctx, part_count(ctx, f.rows, entry_grain));
  spgemm_workers<Worker> workers(ctx, plan);
  clock.lap(&spgemm_report::analyse);

  const std::size_t fixed = rowptr.bytes() + sums.bytes() + bounds.low.bytes() +
                            bounds.high.bytes() + plan.units.bytes() +
                            static_cast<std::size_t>(plan.threads) * Worker::bytes(plan.sizes);
  if (limit != 0 && fixed > limit) throw_over_limit(fixed, limit);
  std::vector<row_chunks<T, I>> chunks(static_cast<std::size_t>(plan.threads));
  chunk_budget budget((limit != 0 ? limit - fixed : free_memory()) / 2); // C takes as much
  const bool made = make_rows<M>(ctx, f, plan, workers, chunks, budget, rowptr.data());
  clock.lap(&spgemm_report::fill);
  if (!made) {
    chunks.clear();
    count_rows(f, plan, workers, rowptr.data());
    clock.lap(&spgemm_report::count);
  }
  const std::int64_t entries = total_entries(plan);
  if (options.report != nullptr) options.report->entries = entries;
  require_offsets<OC>(entries);
  const std::size_t needed =
      fixed + static_cast<std::size_t>(checked_mul(entries, sizeof(T) + sizeof(I)));
  if (limit != 0 && needed > limit) throw_over_limit(needed, limit);
  // The system would promise more than it has, and end the process later.
  if (const std::size_t room = limit == 0 && !made ? available_memory() + fixed : needed;
      needed > room)
    throw out_of_memory(fmt::format("multiply: C takes {} bytes, {} are free; "
                                    "for_each_product_part makes it in parts",
                                    needed - fixed, room - fixed),
                        needed - fixed);
  array<I> col(ctx, entries);
  array<T> value(ctx, entries);
  finish_rowptr(ctx, plan, rowptr.data(), f.rows, sums);
  csr<T, I, OC> c(shape, std::move(rowptr), std::move(col), std::move(value), {true, true});
  clock.lap(&spgemm_report::allocate);
  if (!made) {
    fill_rows<M>(f, plan, workers, c.view());
    clock.lap(&spgemm_report::fill);
    return c;
  }
  array<std::int64_t> begins(ctx, plan.units.size());
  std::int64_t begin = 0;
  for (std::int64_t u = 0; u < plan.units.size(); ++u) {
    begins[u] = begin;
    begin += plan.units[u].entries;
  }
  for_each_dynamic(plan.threads, static_cast<int>(plan.units.size()), [&](int number) {
    const auto& u = plan.units[number];
    chunks[static_cast<std::size_t>(u.part)].copy(u, c.colind().data() + begins[number],
                                                  c.values().data() + begins[number]);
  });
  clock.lap(&spgemm_report::fill);
  return c;
}

} // namespace

template <class T, class I, class O, class OC>
csr<T, I, OC> spgemm(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                     csr_view<const T, I, O> b, const spgemm_options& options, bool pattern) {
  const auto by = [&]<class Worker>(std::type_identity<Worker>) {
    return pattern ? multiply_rows<spgemm_output::pattern, Worker, T, I, O, OC>(ctx, alpha, a, b,
                                                                                options)
                   : multiply_rows<spgemm_output::values, Worker, T, I, O, OC>(ctx, alpha, a, b,
                                                                               options);
  };
  if (options.method == spgemm_method::expand_sort)
    return by(std::type_identity<sorting_worker<T, I, O>>{});
  return by(std::type_identity<spgemm_worker<T, I, O>>{});
}

template <class T, class I, class O, class OC>
std::int64_t count_spgemm(const host_context& ctx, csr_view<const T, I, O> a,
                          csr_view<const T, I, O> b, vector_view<OC> rowptr) {
  detail::require_same_size("multiply", "rowptr of C", rowptr.size(), "rows of A + 1",
                            std::int64_t{a.shape().row} + 1);
  spgemm_factors<T, I, O> f(T{1}, a, b);
  auto plan = plan_spgemm(ctx, f, true);
  if (plan.estimate.products == 0) {
    std::fill(rowptr.begin(), rowptr.end(), OC{0});
    return 0;
  }
  const row_bounds<T, I, O> bounds(ctx, b, f);
  array<std::int64_t> sums(ctx, part_count(ctx, f.rows, entry_grain));
  array<OC> counts(ctx, f.rows + 1); // rowptr is the caller's until all is known
  spgemm_workers<spgemm_worker<T, I, O>> workers(ctx, plan);
  count_rows(f, plan, workers, counts.data());
  const std::int64_t entries = total_entries(plan);
  require_offsets<OC>(entries);
  finish_rowptr(ctx, plan, counts.data(), f.rows, sums);
  std::copy(counts.begin(), counts.end(), rowptr.begin());
  return entries;
}

template <class T, class I, class O, class OC>
void fill_spgemm(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                 csr_view<const T, I, O> b, csr_view<T, I, OC> c, bool pattern) {
  spgemm_factors<T, I, O> f(alpha, a, b);
  auto plan = plan_spgemm(ctx, f, true);
  if (f.rows == 0 || (plan.estimate.products == 0 && c.size() == 0)) return;
  const row_bounds<T, I, O> bounds(ctx, b, f);
  spgemm_workers<spgemm_worker<T, I, O>> workers(ctx, plan);
  // Shares of a row know where they begin once those before them are counted.
  workers.for_each_unit([](const spgemm_unit& u) { return u.cut; },
                        [&](auto& worker, int, std::int64_t number) {
                          auto& u = plan.units[number];
                          run_unit<spgemm_output::count>(worker, f, u,
                                                         [&](std::int64_t, std::int64_t count) {
                                                           u.entries = count;
                                                           return row_place<T, I>{};
                                                         });
                        });
  if (pattern)
    fill_rows<spgemm_output::pattern>(f, plan, workers, c);
  else
    fill_rows<spgemm_output::values>(f, plan, workers, c);
}

template <class T, class I, class O, class OC>
void refill_spgemm(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                   csr_view<const T, I, O> b, csr_view<T, I, OC> c) {
  spgemm_factors<T, I, O> f(alpha, a, b);
  const auto plan = plan_spgemm(ctx, f, true);
  if (f.rows == 0 || c.size() == 0) {
    if (plan.estimate.products != 0)
      throw bad_input("multiply: C has no entries, A B has; it was made for other matrices");
    return;
  }
  const row_bounds<T, I, O> bounds(ctx, b, f);
  spgemm_workers<spgemm_worker<T, I, O>> workers(ctx, plan);
  const OC* const rowptr = c.rowptr().data();
  const I* const col = c.colind().data();
  workers.for_each_unit([&](auto& worker, int, std::int64_t number) {
    const auto& u = plan.units[number];
    for (std::int64_t i = u.first; i < u.last; ++i) {
      const I *first = col + rowptr[i], *last = col + rowptr[i + 1];
      if (u.cut) {
        first = std::lower_bound(first, last, u.columns.begin);
        last = std::lower_bound(first, last, u.columns.end);
      }
      if (!worker.refill(f, i, u.columns, first, last, c.values().data() + (first - col)))
        throw bad_input(fmt::format(
            "multiply: row {} of A B has an entry where C, made for other matrices, has none", i));
    }
  });
}

#define LACUNA_INSTANTIATE_WIDTHS(T, I, O, OC)                                                     \
  template csr<T, I, OC> spgemm(const host_context&, T, csr_view<const T, I, O>,                   \
                                csr_view<const T, I, O>, const spgemm_options&, bool);             \
  template std::int64_t count_spgemm(const host_context&, csr_view<const T, I, O>,                 \
                                     csr_view<const T, I, O>, vector_view<OC>);                    \
  template void fill_spgemm(const host_context&, T, csr_view<const T, I, O>,                       \
                            csr_view<const T, I, O>, csr_view<T, I, OC>, bool);                    \
  template void refill_spgemm(const host_context&, T, csr_view<const T, I, O>,                     \
                              csr_view<const T, I, O>, csr_view<T, I, OC>);
// Offsets of 32 bits may grow to 64.
#define LACUNA_INSTANTIATE_WIDE(T, I) LACUNA_INSTANTIATE_WIDTHS(T, I, std::int32_t, std::int64_t)
#define LACUNA_INSTANTIATE(T, I, O) LACUNA_INSTANTIATE_WIDTHS(T, I, O, O)
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE_WIDE)

} // namespace lacuna::detail::cpu
