// Settings, from the environment.
#include "emulator.hpp"

#include <cstdio>
#include <cstdlib>

namespace emu {
namespace {
long number(const char* name, long value) {
  const char* s = std::getenv(name);
  return s == nullptr || *s == 0 ? value : std::strtol(s, nullptr, 0);
}
thread_order order_of(const char* name) {
  const char* s = std::getenv(name);
  const std::string order = s == nullptr || *s == 0 ? "forward" : s;
  if (order == "forward") return thread_order::forward;
  if (order == "reverse") return thread_order::reverse;
  if (order == "random") return thread_order::random;
  std::fprintf(stderr, "emulator: %s is forward, reverse or random, not %s\n", name, s);
  std::abort();
}
} // namespace
const settings& options() {
  static const settings all{
      .threads = int(number("LACUNA_EMULATOR_THREADS", 2)),
      .fill = int(number("LACUNA_EMULATOR_FILL", 0xcd)),
      .multiprocessors = int(number("LACUNA_EMULATOR_SMS", 8)),
      .devices = int(number("LACUNA_EMULATOR_DEVICES", 1)),
      .fence = number("LACUNA_EMULATOR_FENCE", 0) != 0,
      .protect = number("LACUNA_EMULATOR_PROTECT", 0) != 0,
      .check = number("LACUNA_EMULATOR_CHECK", 0) != 0,
      .trace = number("LACUNA_EMULATOR_TRACE", 0) != 0,
      .jitter = number("LACUNA_EMULATOR_JITTER", 0) != 0,
      .stack_bytes = std::size_t(number("LACUNA_EMULATOR_STACK", 64 * 1024)),
      .memory_bytes = std::size_t(number("LACUNA_EMULATOR_MEMORY_GB", 16)) << 30,
      .order = order_of("LACUNA_EMULATOR_ORDER"),
      .seed = unsigned(number("LACUNA_EMULATOR_SEED", 1)),
  };
  return all;
}

} // namespace emu
