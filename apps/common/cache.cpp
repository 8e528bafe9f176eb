#include "common/cache.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <unistd.h>

namespace lacuna::app {
namespace {

std::string line_of(const std::filesystem::path& file) {
  std::string text;
  std::ifstream stream(file);
  std::getline(stream, text);
  return text;
}

} // namespace

double last_cache_bytes() {
  namespace fs = std::filesystem;
  int last_level = 0;
  double bytes = 0;
  std::set<std::string> seen; // caches of the last level, by the CPUs that share them
  for (int cpu = 0;; ++cpu) {
    const fs::path folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache";
    std::error_code missing;
    if (!fs::is_directory(folder, missing)) break;
    for (int k = 0; fs::is_directory(folder / ("index" + std::to_string(k)), missing); ++k) {
      const fs::path cache = folder / ("index" + std::to_string(k));
      const int level = std::atoi(line_of(cache / "level").c_str());
      if (level > last_level) {
        last_level = level;
        bytes = 0;
        seen.clear();
      }
      if (level == last_level && seen.insert(line_of(cache / "shared_cpu_list")).second)
        bytes += 1024 * std::atof(line_of(cache / "size").c_str()); // "32768K"
    }
  }
  if (bytes > 0) return bytes;
  return static_cast<double>(std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE)));
}

} // namespace lacuna::app
