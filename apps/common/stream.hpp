// STREAM's passes over arrays that no cache holds: what the memory can do.
#pragma once

#include <cstdint>

#include <lacuna/core/array.hpp>

namespace lacuna::app {

enum class pass { triad, copy };

/// a = b + 3 c (24 bytes per element) or a = b (16). As in STREAM the read of a line before it is
/// written is not counted.
class stream_arrays {
public:
  stream_arrays(const host_context& ctx, pass what, std::int64_t size);
  void run();
  [[nodiscard]] double bytes() const; ///< moved by one run

private:
  int threads_;
  pass what_;
  std::int64_t size_;
  array<double> a_, b_, c_;
};

} // namespace lacuna::app
