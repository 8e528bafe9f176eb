// The two places where a suite can run. Each returns whether Lacuna's results were all right.
#pragma once

#include "bench/settings.hpp"

namespace lacuna::bench {

bool run_on_host(const settings& s, const std::string& why);
/// Not there in a build without CUDA.
bool run_on_device(const settings& s, int device, const std::string& why);

} // namespace lacuna::bench
