#include "support/engine.hpp"

namespace lacuna::test {

const host_context& host_engine::context() {
  static const host_context ctx(host_options{.threads = 3});
  return ctx;
}

const device_context& cuda_engine::context() {
  // Never destroyed: at exit the driver may be gone before it.
  static const auto* const ctx = new device_context;
  return *ctx;
}

} // namespace lacuna::test
