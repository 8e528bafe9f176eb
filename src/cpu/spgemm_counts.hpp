// Internal: rowptr of C from the rows' counts.
#pragma once

#include <fmt/format.h>

#include "cpu/scatter.hpp"
#include "cpu/spgemm_units.hpp"

namespace lacuna::detail::cpu {

/// Throws unsupported if C's entries do not fit OC.
template <class OC> void require_offsets(std::int64_t entries) {
  if (!fits<OC>(entries))
    throw unsupported(fmt::format("multiply: C has {} entries, more than offsets of {} bits can "
                                  "count: use multiply_wide",
                                  entries, 8 * sizeof(OC)));
}

/// Counts of rows that units share are in the units; then rowptr[i + 1], a count so far, becomes
/// the sum of all up to it. Units' entries must fit OC.
template <class OC>
void finish_rowptr(const host_context& ctx, const spgemm_schedule& schedule, OC* rowptr,
                   std::int64_t rows, array<std::int64_t>& sums) {
  rowptr[0] = 0;
  for (const spgemm_unit& u : schedule.units)
    if (u.cut) rowptr[u.last] = 0;
  for (const spgemm_unit& u : schedule.units)
    if (u.cut) rowptr[u.last] += static_cast<OC>(u.entries);
  inclusive_scan(ctx, rowptr, rows, sums);
}

inline std::int64_t total_entries(const spgemm_schedule& schedule) {
  std::int64_t sum = 0;
  for (const spgemm_unit& u : schedule.units) sum = checked_add(sum, u.entries);
  return sum;
}

} // namespace lacuna::detail::cpu
