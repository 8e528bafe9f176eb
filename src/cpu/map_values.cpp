#include <lacuna/op/map_values.hpp>

#include <exception>
#include <mutex>

#include "cpu/rows.hpp"

namespace lacuna::detail {

void call_on_ranges(const host_context& ctx, std::int64_t size, void* f,
                    void (*call)(void* f, std::int64_t begin, std::int64_t end)) {
  std::exception_ptr thrown; // the first; none may leave a thread
  std::mutex guard;
  cpu::for_each_range(ctx, size, cpu::entry_grain, [&](std::int64_t begin, std::int64_t end) {
    try {
      call(f, begin, end);
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!thrown) thrown = std::current_exception();
    }
  });
  if (thrown) std::rethrow_exception(thrown);
}

} // namespace lacuna::detail
