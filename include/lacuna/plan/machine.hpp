// What the planner knows about a machine: how long each kernel takes for its work. Built in for an
// H200, scaled to other GPUs, and for x86; measured and stored by `lacuna tune`. Which kernels and
// thresholds there are is the formats' to say (src/plan/formats).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <lacuna/core/context.hpp>
#include <lacuna/op/spgemm_options.hpp>
#include <lacuna/plan/decision.hpp>

namespace lacuna {

/// Seconds for some work: a line through measurements.
struct spmv_cost {
  double fixed = 0;   ///< seconds, whatever the work
  double stream = 0;  ///< seconds per byte
  double gather = 0;  ///< seconds per byte
  double row = 0;     ///< seconds per row
  double entry = 0;   ///< seconds per entry
  double convert = 0; ///< making the format, in products of CSR
  [[nodiscard]] double seconds(const spmv_work& w) const {
    return fixed + stream * w.stream + gather * w.gather + row * w.rows + entry * w.entries;
  }
};

struct spmv_machine {
  std::string name;   ///< "NVIDIA H200", "x86 AVX2, 2 threads"
  std::string origin; ///< "built in", or the file it was read from
  bool device = false;
  int workers = 1;                                    ///< multiprocessors, or threads
  std::map<std::string, spmv_cost, std::less<>> cost; ///< by kernel: "ell_even"
  std::map<std::string, double, std::less<>> numbers; ///< thresholds of formats: "piece"
  spgemm_thresholds spgemm;                           ///< of a device
  /// What of its file was not used or not there, one sentence each.
  std::vector<std::string> remarks;

  /// Throw std::out_of_range for a name that no format has.
  [[nodiscard]] LACUNA_EXPORT const spmv_cost& of(std::string_view kernel) const;
  LACUNA_EXPORT spmv_cost& of(std::string_view kernel);
  [[nodiscard]] LACUNA_EXPORT double number(std::string_view which) const;
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
/// Bytes per second of the device's memory, from its clock and bus; 0 if the driver tells no clock.
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
inline constexpr int machine_file_version = 3;
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
