#include <lacuna/plan/compaction.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace lacuna {
namespace {

/// What a compaction costs, in products of the compact matrix. H200, 9.6 M entries in 2^20
/// rows: 1.8 to 2.2. EPYC, one thread, 3 to 4 M entries: 2 to 3.
constexpr double compaction_products_device = 2.0, compaction_products_host = 2.5;

/// Bytes that a segment beyond a row's first makes a product read: sectors of 32 bytes that it
/// shares with nobody, of columns and of values.
constexpr double segment_bytes = 64;
/// And seconds by which a host's thread waits for them: 10 to 40 ns on the same matrices after 20
/// batches, 15 where one batch made a second segment in every row.
constexpr double segment_wait = 15e-9;

/// Bytes of x that an entry fetches beyond a contiguous read: where columns are is not known. With
/// it 9.6 M entries in 2^20 rows are predicted at 84 us on an H200, which takes 97.
constexpr double gathered_bytes = 16;

/// Places behind a further segment that began with an entry, by dynamic_csr_options' defaults.
double free_places(double mean) {
  const auto row = static_cast<std::int64_t>(mean);
  return static_cast<double>(
      detail::usual_slack(row, dynamic_csr_options{}.slack_share).of(1, row + 1));
}

} // namespace

compaction_advice advise_compaction(const spmv_machine& machine, const dynamic_statistics& m,
                                    const type_widths& widths, double multiplies) {
  if (multiplies < 0) throw bad_input("advise_compaction: the number of multiplies is negative");
  compaction_advice advice;
  advice.repaid_after = std::numeric_limits<double>::infinity();
  if (m.compact || m.entries == 0) {
    advice.reason = m.compact ? "it is compact" : "there are no entries";
    return advice;
  }
  const auto rows = static_cast<double>(m.rows), entries = static_cast<double>(m.entries);
  const double mean = std::max(1.0, entries / std::max(1.0, rows));
  const double more = std::clamp(static_cast<double>(m.used - m.entries) / free_places(mean), 0.0,
                                 rows * std::max(0, m.segments_max - 1));
  const auto offset = static_cast<double>(widths.offset);
  spmv_work compact;
  compact.stream = entries * static_cast<double>(widths.value + widths.index) + rows * offset +
                   2 * rows * static_cast<double>(widths.value);
  compact.gather = entries * gathered_bytes;
  compact.rows = rows;
  compact.entries = entries;
  spmv_work now = compact; // ends and counts of rows, and what further segments add
  now.stream += rows * (offset + 1) + more * (2 * offset + segment_bytes);
  now.rows += more;
  const spmv_cost& cost = machine.of("dynamic_csr");
  const double wait = machine.device ? 0 : more * segment_wait / std::max(1, machine.workers);
  const double least = cost.seconds(compact), gain = cost.seconds(now) + wait - least;
  const double price = machine.device ? compaction_products_device : compaction_products_host;
  advice.slowdown = 1 + gain / least;
  if (gain > 0) advice.repaid_after = std::ceil(price * least / gain);
  advice.pays = multiplies >= advice.repaid_after;
  advice.reason = fmt::format("a product is predicted to take {:.2f} times that of the compact "
                              "matrix; compaction costs about {:.1f} products and is repaid by "
                              "{:.0f}, {:.0f} {} expected",
                              advice.slowdown, price, advice.repaid_after, multiplies,
                              multiplies == 1 ? "is" : "are");
  return advice;
}

} // namespace lacuna
