#include "common/exit.hpp"
#include "common/json.hpp"
#include "common/print.hpp"
#include "common/text.hpp"
#include "lacuna/options.hpp"
#include <lacuna/core/config.hpp>
#include <lacuna/core/context.hpp>

namespace lacuna::app {
namespace {

json cuda_facts() {
#ifdef LACUNA_CUDA_TOOLKIT
  return {{"toolkit", LACUNA_CUDA_TOOLKIT}, {"architectures", LACUNA_CUDA_ARCHITECTURES}};
#else
  return nullptr;
#endif
}

json device_facts() {
  json devices = json::array();
  for (int k = 0; k < device_count(); ++k) {
    const device_context ctx({.device = k});
    const auto& p = ctx.properties();
    devices.push_back({{"name", p.name},
                       {"compute_capability", p.compute_capability},
                       {"multiprocessors", p.multiprocessors},
                       {"memory_bytes", p.memory_bytes}});
  }
  return devices;
}

} // namespace

int print_version(const options& o) {
  const json facts = {
      {"version", LACUNA_VERSION},       {"compiler", LACUNA_COMPILER},
      {"build_type", LACUNA_BUILD_TYPE}, {"cuda", cuda_facts()},
      {"simd", simd_target()},           {"threads", host_context({o.threads}).threads()},
      {"devices", device_facts()}};
  if (o.json) {
    print_json(facts);
    return exit_done;
  }
  print("lacuna {}\n", LACUNA_VERSION);
  if (o.quiet) return exit_done;
  print("  compiler  {}, {}\n", LACUNA_COMPILER, LACUNA_BUILD_TYPE);
  if (facts["cuda"].is_null())
    print("  CUDA      no GPU part\n");
  else
    print("  CUDA      toolkit {}, architectures {}\n", facts["cuda"]["toolkit"].get<std::string>(),
          facts["cuda"]["architectures"].get<std::string>());
  print("  SIMD      {}\n", simd_target());
  print("  threads   {}\n", facts["threads"].get<int>());
  if (facts["devices"].empty()) print("  devices   none found\n");
  for (std::size_t k = 0; k < facts["devices"].size(); ++k) {
    const auto& d = facts["devices"][k];
    print("  cuda:{}    {}, compute capability {:.1f}, {}\n", k, d["name"].get<std::string>(),
          d["compute_capability"].get<int>() / 10.0, human_bytes(d["memory_bytes"].get<double>()));
  }
  return exit_done;
}

} // namespace lacuna::app
