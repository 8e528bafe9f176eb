// --device auto|host|cuda[:K]: what was asked for, and which engine that means on this machine.
#pragma once

#include <optional>
#include <string>

namespace lacuna::app {

struct device_request {
  enum class where { automatic, host, cuda } kind = where::automatic;
  int index = 0; ///< of the CUDA device
};

/// Empty if the text is none of auto, host, cuda, cuda:K.
std::optional<device_request> parse_device(const std::string& text);

struct engine {
  std::optional<int> device; ///< empty: the CPU
  std::string why;           ///< one clause for the user
};

/// A pure function of the request and of the devices there are. Throws device_error if a device was
/// asked for and is missing.
engine choose_engine(device_request request, bool built_with_cuda, int devices);
/// The same, with this build and this machine.
engine choose_engine(device_request request);

} // namespace lacuna::app
