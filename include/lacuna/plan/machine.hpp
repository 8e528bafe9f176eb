// What the planner knows about a machine: how long each kernel takes for its work. Built in for an
// H200, scaled to other GPUs, and for x86; measured and stored by `lacuna tune`.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <lacuna/op/csr_k.hpp>
#include <lacuna/op/spgemm_options.hpp>

namespace lacuna {

/// The kernels that plans choose between.
enum class spmv_class {
  csr_rows,     ///< CSR, a few lanes a row; on a host, all of CSR
  csr_tiles,    ///< CSR, tiles of whole rows (device)
  csr_split,    ///< CSR, tiles that cut rows (device)
  packed_csr,   ///< CSR with packed columns
  ell_diagonal, ///< ell_csr, rows in order, slices by diagonals
  ell_even,     ///< ell_csr, rows in order, slices of one width
  ell_slices,   ///< ell_csr, rows in order, slices of several widths
  ell_sorted,   ///< ell_csr, rows by length, long rows in pieces
  csr_k         ///< CSR-k
};
inline constexpr int spmv_class_count = 9;
LACUNA_EXPORT const char* name_of(spmv_class c);

/// What one multiplication has to do.
struct spmv_work {
  double stream = 0;  ///< bytes that are read or written once: the matrix, x, y
  double gather = 0;  ///< bytes of x in sectors of 32 that are read anew for every 32 lanes
  double rows = 0;    ///< rows
  double entries = 0; ///< entries, padding included
};
/// Seconds for some work: a line through measurements.
struct spmv_cost {
  double fixed = 0;   ///< seconds, whatever the work
  double stream = 0;  ///< seconds a byte
  double gather = 0;  ///< seconds a byte
  double row = 0;     ///< seconds a row
  double entry = 0;   ///< seconds an entry
  double convert = 0; ///< making the format, in products of CSR
  [[nodiscard]] double seconds(const spmv_work& w) const {
    return fixed + stream * w.stream + gather * w.gather + row * w.rows + entry * w.entries;
  }
};

struct spmv_machine {
  std::string name;   ///< "NVIDIA H200", "x86 AVX2, 2 threads"
  std::string origin; ///< "built in", or the file it was read from
  bool device = false;
  int workers = 1;           ///< multiprocessors, or threads
  double transposition = 12; ///< in products of CSR
  std::array<spmv_cost, spmv_class_count> cost{};
  /// ell_csr: entries of a piece; rows for each worker below which rows get several lanes, and the
  /// entries a lane has then; padding that rows in order may cost.
  std::int64_t piece = 2048;
  std::int64_t few_rows = 1024;
  std::int64_t lane_entries = 8;
  double padding = 1.15;
  csr_k_model csr_k = csr_k_model::cpu();
  spgemm_thresholds spgemm; ///< of a device
  /// What of its file was not used or not there, a sentence each.
  std::vector<std::string> remarks;

  [[nodiscard]] const spmv_cost& of(spmv_class c) const {
    return cost[static_cast<std::size_t>(c)];
  }
  spmv_cost& of(spmv_class c) { return cost[static_cast<std::size_t>(c)]; }
};

/// Built in: measured on an H200, and on an EPYC with 2 threads; a host's costs are divided among
/// its threads.
LACUNA_EXPORT spmv_machine hopper_machine(int multiprocessors);
LACUNA_EXPORT spmv_machine x86_machine(const std::string& simd, int threads);
/// The H200's costs for another GPU: streamed bytes, rows and entries go with the bandwidth of its
/// memory, gathered bytes with the multiprocessors, and with an L2 that is smaller. A guess, with
/// the right order of magnitude; `lacuna tune` measures. Where the driver does not tell the
/// memory's clock (0), its bandwidth is guessed from the width of its bus, or without that from the
/// multiprocessors; `origin` says so.
LACUNA_EXPORT spmv_machine scaled_machine(const device_properties& properties);
/// Bytes a second of the device's memory, from its clock and bus; 0 if the driver tells no clock.
LACUNA_EXPORT double memory_bandwidth(const device_properties& properties);

/// The name that a context's machine is stored under.
LACUNA_EXPORT std::string machine_name(const host_context& ctx);
LACUNA_EXPORT std::string machine_name(const device_context& ctx);
/// For the context's device or threads, without looking for a file.
LACUNA_EXPORT spmv_machine built_in_machine(const host_context& ctx);
LACUNA_EXPORT spmv_machine built_in_machine(const device_context& ctx);
/// For the context's device or threads: what `lacuna tune` has stored when the process first asks,
/// else what is built in. Whatever is in a file, it does not throw: see `remarks`.
LACUNA_EXPORT spmv_machine machine_of(const host_context& ctx);
LACUNA_EXPORT spmv_machine machine_of(const device_context& ctx);

/// Where `lacuna tune` stores a machine: in $LACUNA_CONFIG, else $XDG_CONFIG_HOME/lacuna, else
/// ~/.config/lacuna; empty if none of them is set.
LACUNA_EXPORT std::string machine_file(const std::string& machine_name);
/// What write_machine writes. Version 1 is that of files without the word.
inline constexpr int machine_file_version = 2;
/// The machine of a file, which may be of another version, damaged or cut off: what is missing or
/// out of range is that of `built_in`, what is unknown is ignored, and `remarks` tells both, with
/// the line. Kind and number of workers are always those of `built_in`: they say what runs, not how
/// fast. Nothing if there is no such file.
LACUNA_EXPORT std::optional<spmv_machine> read_machine(const std::string& file,
                                                       const spmv_machine& built_in);
/// By way of a temporary file. Throws error if it cannot be written.
LACUNA_EXPORT void write_machine(const std::string& file, const spmv_machine& machine);

/// Everything in a machine's file but its name, in that order: "piece", "csr_rows.stream".
struct machine_number {
  std::string name;
  double value = 0;
};
LACUNA_EXPORT std::vector<machine_number> numbers_of(const spmv_machine& machine);

} // namespace lacuna
