// What the emulator's sources share: settings, failures, launches, memory.
#pragma once
#include "include/cuda_runtime.hpp"

#include <optional>
#include <string>

namespace emu {

enum class thread_order { forward, reverse, random };

/// From LACUNA_EMULATOR_… (README.md).
struct settings {
  int threads, fill, multiprocessors, devices;
  bool fence, protect, check, trace, jitter;
  std::size_t stack_bytes, memory_bytes;
  thread_order order;
  unsigned seed;
};
const settings& options();

constexpr std::size_t most_shared = 227 * 1024; // bytes of a block
constexpr std::size_t page_bytes = 4096;

/// Bytes behind (and before) memory that nobody may write.
constexpr std::size_t guard_bytes = 64;
constexpr unsigned char guard_value = 0xa7;
bool guard_intact(const char* p, std::size_t n = guard_bytes);

/// Source lines of an address, inlined calls from the inside outwards.
std::string place_of(const void* address);
/// Says what is wrong, in which kernel, block and thread, and where in the source; then aborts.
[[noreturn]] void fail(const char* what, const void* at = nullptr);

struct launch {
  config c;
  const char* name;
  const void* closure;
  void (*invoke)(const void*);
  std::uint64_t serial = 0;
};
/// All blocks of it, before it returns.
void execute(launch l);
/// The one that runs, or nullptr.
extern const launch* volatile running;
/// Reports faults of this thread as `fail` does; `stack` is what the handler runs on, for good.
void report_faults(std::vector<char>& stack);

/// While one lives, device memory may be read and written (LACUNA_EMULATOR_PROTECT).
struct device_access {
  device_access();
  ~device_access();
  device_access(const device_access&) = delete;
};
/// Whether p is in memory that is closed to the host.
bool is_protected(const void* p);

struct allocation {
  char* at;
  std::size_t bytes;
  char* base; // of all that was taken from the system, guards too
  std::size_t mapped;
  int device;
  bool host;
};
/// nullptr if there is no room.
void* allocate(std::size_t bytes, int device, bool host);
/// False if there is no such allocation. Freed device memory is filled with 0xef.
bool release_memory(void* p, bool host);
/// The one that p is in, or ends.
std::optional<allocation> find_allocation(const void* p);
/// An error if [p, p + n) is not the device's, or is and should not be; fails if it leaves its
/// allocation.
cudaError_t check_range(const void* p, std::size_t n, bool is_device, const char* what);
/// Fails if something was written next to an allocation.
void check_guards();
std::size_t memory_used(); // bytes of the device's

} // namespace emu
