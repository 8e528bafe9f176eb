#include "common/device.hpp"

#include <charconv>
#include <fmt/format.h>

#include <lacuna/core/context.hpp>
#include <lacuna/core/error.hpp>

namespace lacuna::app {

std::optional<device_request> parse_device(const std::string& text) {
  using where = device_request::where;
  if (text == "auto") return device_request{where::automatic, 0};
  if (text == "host") return device_request{where::host, 0};
  if (text == "cuda") return device_request{where::cuda, 0};
  if (!text.starts_with("cuda:")) return {};
  int index = -1;
  const auto [end, failed] = std::from_chars(text.data() + 5, text.data() + text.size(), index);
  if (failed != std::errc() || end != text.data() + text.size() || index < 0) return {};
  return device_request{where::cuda, index};
}

engine choose_engine(device_request request, bool with_cuda, int devices) {
  using where = device_request::where;
  if (request.kind == where::host) return {{}, "asked for by --device host"};
  const std::string none = with_cuda ? "no CUDA device found" : "this build has no GPU part";
  if (request.kind == where::automatic) {
    if (devices == 0) return {{}, none};
    return {0, fmt::format("{} CUDA device{} found", devices, devices == 1 ? "" : "s")};
  }
  if (devices == 0) throw device_error("--device cuda: " + none);
  if (request.index >= devices)
    throw device_error(fmt::format("--device cuda:{}: the last device found is cuda:{}",
                                   request.index, devices - 1));
  return {request.index, fmt::format("asked for by --device cuda:{}", request.index)};
}

engine choose_engine(device_request request) {
  return choose_engine(request, built_with_cuda(), device_count());
}

} // namespace lacuna::app
