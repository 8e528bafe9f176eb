#include "bench/memory_peak.hpp"

#include <array>
#include <fstream>
#include <malloc.h>
#include <string>
#include <sys/resource.h>

namespace lacuna::bench {
namespace {

std::int64_t& before_resets(space s) {
  static std::array<std::int64_t, 2> most = {};
  return most[s == space::host ? 0 : 1];
}

std::int64_t resident_before_resets = 0;

/// "VmRSS" is what is resident now, "VmHWM" the most that was. Bytes; 0: the system does not say.
std::int64_t status_of(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;)
    if (word == key + ":") {
      std::int64_t kilobytes = 0;
      file >> kilobytes;
      return 1024 * kilobytes;
    }
  return 0;
}

} // namespace

std::int64_t peak_of_process(space s) { return std::max(before_resets(s), memory(s).peak); }

std::int64_t resident_peak_of_process() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::max(resident_before_resets, std::int64_t{1024} * usage.ru_maxrss);
}

peak_meter::peak_meter(space s, bool resident) : space_(s), arrays_before_(memory(s).in_use) {
  before_resets(s) = peak_of_process(s);
  reset_memory_peak(s);
  if (!resident) return;
  resident_before_resets = resident_peak_of_process();
  malloc_trim(0);
  std::ofstream peaks("/proc/self/clear_refs");
  peaks << "5" << std::flush; // sets VmHWM to VmRSS
  if (peaks) resident_before_ = status_of("VmRSS");
}

std::int64_t peak_meter::bytes() const {
  if (const std::int64_t arrays = memory(space_).peak - arrays_before_; arrays > 0) return arrays;
  if (resident_before_ == 0) return 0;
  return std::max<std::int64_t>(status_of("VmHWM") - resident_before_, 0);
}

} // namespace lacuna::bench
