// Which device kernel multiplies a CSR matrix with a vector. Measured on an H200 against each
// other and cuSPARSE; the figures are in docs/gpu.md.
#include <fmt/format.h>

#include <lacuna/core/error.hpp>
#include <lacuna/op/inspection.hpp>

namespace lacuna {

namespace {

/// Threads that a multiprocessor runs at once.
constexpr std::int64_t resident_threads = 2048;
/// Longest row for tiles of whole rows: half of what a tile holds.
constexpr std::int64_t longest_whole_row = 1280;

/// Lanes for even rows of `mean` entries: each lane has a few entries to load at once.
int lanes_for(double mean, std::size_t value_bytes) {
  const double per_lane = value_bytes == 8 ? 3.4 : 6.8;
  int lanes = 2;
  while (lanes < 8 && mean > per_lane * lanes) lanes *= 2;
  while (lanes < 32 && mean > 20 * lanes) lanes *= 2;
  return lanes;
}

} // namespace

spmv_kernel choose_spmv_kernel(std::int64_t rows, const row_statistics& lengths,
                               std::size_t value_bytes, int multiprocessors) {
  const double mean = lengths.mean;
  // One thread a row: neighbouring rows are so short that their entries share sectors.
  if (mean <= 8 && static_cast<double>(lengths.longest) <= 2 * mean + 8)
    return {spmv_method::rows, 1};
  const std::int64_t at_once = multiprocessors * resident_threads;
  const bool even = lengths.deviation <= 0.2 * mean;
  if (even && mean >= 20) {
    int lanes = lanes_for(mean, value_bytes);
    // A little more than all threads at once would leave most of the device idle in the end.
    while (lanes > 8 && rows * lanes > at_once && rows * lanes < 4 * at_once) lanes /= 2;
    if (rows * lanes >= at_once / 5) return {spmv_method::rows, lanes};
  }
  // All rows at once: waiting for the longest costs less than a tile's two phases.
  if (lengths.longest <= 128 && rows * 8 <= 2 * at_once) return {spmv_method::rows, 8};
  if (lengths.longest <= longest_whole_row) return {spmv_method::whole_row_tiles, 0};
  return {spmv_method::split_tiles, 0};
}

namespace detail {

std::string explain_multiply(space s, const row_statistics& lengths, spmv_kernel kernel,
                             bool has_transposed, bool values_stay) {
  const std::string rows = fmt::format("rows of {:.1f} ± {:.1f} entries, the longest {}",
                                       lengths.mean, lengths.deviation, lengths.longest);
  const std::string across = !has_transposed ? ""
                             : values_stay   ? "uses a transposed copy; "
                                             : "fetches values into a transposed pattern; ";
  if (s == space::host)
    return fmt::format("{}{}: shares of equal entries a thread, long rows in pieces", across, rows);
  switch (kernel.method) {
  case spmv_method::rows:
    return fmt::format("{}{}: even, so {} lane{} a row", across, rows, kernel.lanes,
                       kernel.lanes == 1 ? "" : "s");
  case spmv_method::whole_row_tiles:
    return fmt::format("{}{}: uneven but none long, so tiles of whole rows", across, rows);
  case spmv_method::split_tiles: break;
  }
  return fmt::format("{}{}: equal shares of rows and entries, long rows cut", across, rows);
}

} // namespace detail
} // namespace lacuna
